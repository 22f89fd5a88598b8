//! Examines segments that no server has open: nothing is changed.

use super::error::SegmentError;
use super::layout;
use super::manifest::{self, Manifest, Segment};
use super::reader::check;
use super::shared::stray_files;
use crate::folder::{DamagedFile, counted};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::sync::Arc;

/// What was found of the segments of a store.
pub(crate) struct ExaminedSegments {
    /// The newest manifest; `None` if neither it nor its copy can be read: an earlier one does not name everything.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) problems: Vec<DamagedFile>,
    /// Segments with a damaged or missing file, and why they cannot be read.
    pub(crate) damaged: Vec<(Arc<Segment>, String)>,
}

/// Reads the manifests and every file that the newest one names.
///
/// # Errors
/// When the store is of a later version, or the storage does not answer.
pub(crate) async fn examine(objects: &dyn ObjectStore) -> Result<ExaminedSegments, SegmentError> {
    let found = match manifest::newest(objects).await {
        Ok(found) => found,
        Err(SegmentError::Storage(reason)) if !layout::manifest_numbers(objects).await?.is_empty() => {
            let problem = DamagedFile {
                file: "manifest".to_owned(),
                text: reason,
                lost: "which segments there are; they can be listed again".to_owned(),
            };
            return Ok(ExaminedSegments { manifest: None, problems: vec![problem], damaged: Vec::new() });
        }
        Err(error) => return Err(error),
    };
    if found.numbers.is_empty() && !stray_files(objects, &found.manifest).await?.is_empty() {
        let problem = DamagedFile {
            file: "manifest".to_owned(),
            text: "there is none, and there are files of segments".to_owned(),
            lost: "which segments there are; they can be listed again".to_owned(),
        };
        return Ok(ExaminedSegments { manifest: None, problems: vec![problem], damaged: Vec::new() });
    }
    let mut problems: Vec<DamagedFile> = Vec::new();
    for (number, error) in &found.unreadable {
        let is_copied = found.manifest.number == *number;
        let lost = if is_copied {
            "nothing: its copy can be read"
        } else {
            "which segments are its own; they can be listed again"
        };
        problems.push(DamagedFile {
            file: layout::manifest(*number).to_string(),
            text: error.to_string(),
            lost: lost.to_owned(),
        });
        if !is_copied {
            return Ok(ExaminedSegments { manifest: None, problems, damaged: Vec::new() });
        }
    }
    if found.manifest.number > 0 && found.unreadable.is_empty() {
        problems.extend(copy_problem(objects, found.manifest.number).await?);
    }
    let mut damaged = Vec::new();
    for segment in &found.manifest.segments {
        if let Some((file, reason)) = segment_problem(objects, segment).await? {
            let lost = match segment.samples {
                0 => counted(segment.spans, "span", "spans"),
                samples => counted(samples, "sample", "samples"),
            };
            problems.push(DamagedFile { file, text: reason.clone(), lost });
            damaged.push((segment.clone(), reason));
        }
    }
    Ok(ExaminedSegments { manifest: Some(found.manifest), problems, damaged })
}

async fn copy_problem(objects: &dyn ObjectStore, number: u64) -> Result<Option<DamagedFile>, SegmentError> {
    let path = layout::manifest_copy(number);
    let problem = |text: String| DamagedFile {
        file: path.to_string(),
        text,
        lost: "nothing: it is a copy of the manifest".to_owned(),
    };
    match bytes(objects, &path).await {
        Ok(text) => Ok(Manifest::parse(&text).err().map(|error| problem(error.to_string()))),
        Err(SegmentError::Damaged(reason)) => Ok(Some(problem(reason))),
        Err(error) => Err(error),
    }
}

/// The first file of a segment that is not what was written.
async fn segment_problem(
    objects: &dyn ObjectStore,
    segment: &Segment,
) -> Result<Option<(String, String)>, SegmentError> {
    for (&kind, entry) in &segment.files {
        let path = segment.path(kind);
        let read = bytes(objects, &path).await;
        match read.and_then(|bytes| check(&bytes, entry.bytes, entry.crc32c)) {
            Ok(()) => {}
            Err(SegmentError::Damaged(reason)) => return Ok(Some((path.to_string(), reason))),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

pub(super) async fn bytes(objects: &dyn ObjectStore, path: &Path) -> Result<bytes::Bytes, SegmentError> {
    Ok(objects.get(path).await?.bytes().await?)
}
