//! Files of segments as objects: which there are, and what is done to those that no manifest names.

use super::error::SegmentError;
use super::layout::{self, FOLDERS};
use super::manifest::Manifest;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashSet;

/// Files of segments that a manifest does not name.
pub(super) async fn stray_files(
    objects: &dyn ObjectStore,
    manifest: &Manifest,
) -> Result<Vec<Path>, SegmentError> {
    let named: HashSet<Path> = (manifest.segments.iter())
        .flat_map(|segment| segment.files.keys().map(|&kind| segment.path(kind)))
        .collect();
    let mut stray = Vec::new();
    for (folder, _) in FOLDERS {
        let found: Vec<_> = objects.list(Some(&Path::from(folder))).try_collect().await?;
        stray.extend(found.into_iter().map(|object| object.location).filter(|path| !named.contains(path)));
    }
    Ok(stray)
}

/// Moves files of segments to the quarantine folder, where nothing is deleted.
pub(super) async fn move_to_quarantine(objects: &dyn ObjectStore, files: Vec<Path>) {
    for file in files {
        let folder = FOLDERS.iter().find(|(folder, _)| file.as_ref().starts_with(folder));
        let Some((&(_, kind), number)) = folder.zip(segment_of(&file)) else { continue };
        if let Err(error) = objects.rename(&file, &layout::quarantined(kind, number)).await {
            tracing::warn!(%file, %error, "a file could not be set aside");
        }
    }
}

pub(super) fn segment_of(file: &Path) -> Option<u64> {
    file.filename()?.strip_suffix(".parquet")?.parse().ok()
}

/// Deletes files. One that cannot be deleted only wastes space until the next start.
pub(crate) async fn delete(objects: &dyn ObjectStore, files: Vec<Path>) {
    if files.is_empty() {
        return;
    }
    let files = futures::stream::iter(files.into_iter().map(Ok)).boxed();
    let mut deleted = objects.delete_stream(files);
    while let Some(result) = deleted.next().await {
        match result {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => tracing::warn!(%error, "a file that is not needed could not be deleted"),
        }
    }
}
