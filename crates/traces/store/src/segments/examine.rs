//! Examines segments that no server has open: nothing is changed.

use super::error::SegmentError;
use super::files::stray_files;
use super::layout;
use super::manifest::{self, FileKind, Manifest, Segment, SegmentKind};
use super::reader::check;
use crate::damaged_file::{DamagedFile, counted};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashSet;
use std::sync::Arc;

/// What was found of the segments of a store.
pub(crate) struct ExaminedSegments {
    /// The newest manifest; `None` if neither it nor its copy can be read: an earlier one does not name everything.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) problems: Vec<DamagedFile>,
    /// Segments with a damaged or missing file.
    pub(crate) damaged: Vec<DamagedSegment>,
}

/// A segment with a damaged or missing file.
pub(crate) struct DamagedSegment {
    pub(crate) segment: Arc<Segment>,
    /// Why it cannot be read.
    pub(crate) reason: String,
    /// Whether only files are damaged that are derived from its spans.
    pub(crate) has_its_spans: bool,
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
        let bad = damaged_files(objects, segment).await?;
        let Some((_, _, reason)) = bad.first() else { continue };
        let has_its_spans = segment.has_spans() && bad.iter().all(|(kind, _, _)| *kind != FileKind::Spans);
        let lost = match segment.kind {
            _ if has_its_spans => {
                "nothing, if it is repaired before a server reads it: its spans are intact".to_owned()
            }
            SegmentKind::Traces | SegmentKind::Late => counted(segment.spans, "span", "spans"),
            SegmentKind::Samples => counted(segment.samples, "sample", "samples"),
            SegmentKind::Events => counted(segment.events, "event", "events"),
        };
        damaged.push(DamagedSegment { segment: segment.clone(), reason: reason.clone(), has_its_spans });
        problems.extend(bad.into_iter().map(|(_, file, text)| DamagedFile {
            file,
            text,
            lost: lost.clone(),
        }));
    }
    Ok(ExaminedSegments { manifest: Some(found.manifest), problems, damaged })
}

/// Examines again what was found damaged, if a server has written a newer manifest meanwhile: what it has replaced is not damaged. The number
/// of manifests that were written.
///
/// # Errors
/// As of [`examine`].
pub(crate) async fn recheck(
    objects: &dyn ObjectStore,
    examined: &mut ExaminedSegments,
) -> Result<u64, SegmentError> {
    let Some(before) = &examined.manifest else { return Ok(0) };
    let before = before.number;
    if examined.problems.is_empty() {
        let newest = layout::manifest_numbers(objects).await?.last().copied().unwrap_or(before);
        return Ok(newest.saturating_sub(before));
    }
    let newest = manifest::newest(objects).await?.manifest;
    if newest.number == before {
        return Ok(0);
    }
    let is_named = |number: u64| newest.segments.iter().any(|segment| segment.number == number);
    let mut still_named = HashSet::new();
    for segment in newest.segments.iter() {
        still_named.extend(segment.files.keys().map(|&kind| segment.path(kind).to_string()));
    }
    // Manifests and copies that were being written are those of the server.
    examined.problems.retain(|problem| still_named.contains(&problem.file));
    examined.damaged.retain(|damaged| is_named(damaged.segment.number));
    Ok(newest.number - before)
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

/// The files of a segment that are not what was written, each with its path and what is wrong.
async fn damaged_files(
    objects: &dyn ObjectStore,
    segment: &Segment,
) -> Result<Vec<(FileKind, String, String)>, SegmentError> {
    let mut damaged = Vec::new();
    for (&kind, entry) in &segment.files {
        let path = segment.path(kind);
        let read = bytes(objects, &path).await;
        match read.and_then(|bytes| check(&bytes, entry.bytes, entry.crc32c)) {
            Ok(()) => {}
            Err(SegmentError::Damaged(reason)) => damaged.push((kind, path.to_string(), reason)),
            Err(error) => return Err(error),
        }
    }
    Ok(damaged)
}

pub(super) async fn bytes(objects: &dyn ObjectStore, path: &Path) -> Result<bytes::Bytes, SegmentError> {
    Ok(objects.get(path).await?.bytes().await?)
}
