//! A manifest from the files there are, for a store whose manifests cannot be read.

use super::error::SegmentError;
use super::examine::bytes;
use super::layout::{self, FOLDERS};
use super::manifest::{FORMAT, FileEntry, FileKind, Manifest, Segment, SegmentKind};
use super::reader::decode;
use super::spans_file::{self, TraceFilter};
use super::table::{self, FileRanges};
use super::trace_index::TraceIndex;
use super::writer::SegmentFields;
use super::{events_file, files, samples_file};
use crate::LogPosition;
use bytes::Bytes;
use futures::{FutureExt, TryStreamExt};
use laggard_model::TraceId;
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::{BTreeMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// The files of one segment number.
struct SegmentFiles {
    number: u64,
    format: u32,
    slice_ns: i64,
    arrived_ns: i64,
    files: BTreeMap<FileKind, Path>,
}

/// A rebuilt manifest, and the segments whose files cannot be read.
pub(crate) struct RebuiltManifest {
    pub(crate) manifest: Manifest,
    /// Numbers, and why.
    pub(crate) unreadable: Vec<(u64, String)>,
}

/// Lists the segments of all files that can be read, and sets the others aside. Segments that share traces with one that has requests
/// are late ones: compaction assembles them, and removes copies, for example where one has replaced another. Losses that the manifest
/// listed are forgotten, and the log is replayed from its first record, so that spans may be stored twice; they are counted once.
///
/// # Errors
/// When the storage does not answer.
pub(crate) async fn rebuild(
    objects: &dyn ObjectStore,
    first_record: u64,
) -> Result<RebuiltManifest, SegmentError> {
    let mut found = list(objects).await?;
    let next_segment = found.last().map_or(1, |files| files.number + 1);
    let (mut segments, mut unreadable) = (Vec::new(), Vec::new());
    let mut seen: HashSet<TraceId> = HashSet::new();
    // Those with requests come first, the newest of them before what it may have replaced.
    found.sort_by_key(|files| (files.files.contains_key(&FileKind::Requests), files.number));
    while let Some(files) = found.pop() {
        // The library panics on some damaged footers.
        let read = AssertUnwindSafe(read(objects, &files, &mut seen)).catch_unwind().await;
        match read.unwrap_or_else(|_| Err(SegmentError::damaged("cannot be decoded"))) {
            Ok(segment) => segments.push(Arc::new(segment)),
            Err(SegmentError::Damaged(reason)) => {
                // A file that no manifest names is deleted at the next start.
                files::move_to_quarantine(objects, files.files.into_values().collect()).await;
                unreadable.push((files.number, reason));
            }
            Err(error) => return Err(error),
        }
    }
    let newest_ns = segments.iter().map(|segment| segment.last_ns).max().unwrap_or(i64::MIN);
    segments.iter_mut().for_each(|segment| Arc::make_mut(segment).newest_ns = newest_ns);
    segments.sort_by_key(|segment| segment.number);
    let last = layout::manifest_numbers(objects).await?.last().copied().unwrap_or(0);
    let position =
        LogPosition { replay_from: first_record, settled: first_record - 1, ..LogPosition::default() };
    let manifest = Manifest { number: last + 1, next_segment, position, segments, ..Manifest::empty() };
    Ok(RebuiltManifest { manifest, unreadable })
}

/// A segment of late spans from the bytes of a file of spans. `arrived_ns`: when they arrived, at the latest.
///
/// # Errors
/// When they are not what was written.
pub(super) async fn spans_segment(
    number: u64,
    slice_ns: i64,
    arrived_ns: i64,
    read: Bytes,
) -> Result<Segment, SegmentError> {
    let fields = SegmentFields { number, order: number, arrived_ns, newest_ns: arrived_ns };
    let mut segment = fields.segment(SegmentKind::Late, slice_ns);
    // The library panics on some damaged footers.
    let added = AssertUnwindSafe(async { add_spans(&mut segment, read) }).catch_unwind().await;
    added.unwrap_or_else(|_| Err(SegmentError::damaged("cannot be decoded")))?;
    Ok(segment)
}

/// The files of every segment number, ascending.
async fn list(objects: &dyn ObjectStore) -> Result<Vec<SegmentFiles>, SegmentError> {
    let mut by_number: BTreeMap<u64, SegmentFiles> = BTreeMap::new();
    for (folder, kind) in FOLDERS {
        let all: Vec<_> = objects.list(Some(&Path::from(folder))).try_collect().await?;
        for object in all {
            let slice = object.location.parts().nth(1).and_then(|part| part.as_ref().parse::<i64>().ok());
            let (Some(number), Some(seconds)) = (files::segment_of(&object.location), slice) else {
                continue;
            };
            let files = by_number.entry(number).or_insert_with(|| SegmentFiles {
                number,
                format: FORMAT,
                slice_ns: seconds.saturating_mul(1_000_000_000),
                arrived_ns: i64::MIN,
                files: BTreeMap::new(),
            });
            if folder == "forms" {
                files.format = 1;
            }
            let written = object.last_modified.timestamp_nanos_opt().unwrap_or(i64::MAX);
            files.arrived_ns = files.arrived_ns.max(written);
            files.files.insert(kind, object.location);
        }
    }
    Ok(by_number.into_values().collect())
}

/// A segment of files.
async fn read(
    objects: &dyn ObjectStore,
    files: &SegmentFiles,
    seen: &mut HashSet<TraceId>,
) -> Result<Segment, SegmentError> {
    let (number, arrived_ns) = (files.number, files.arrived_ns);
    let fields = SegmentFields { number, order: number, arrived_ns, newest_ns: i64::MIN };
    let mut segment = fields.segment(SegmentKind::Samples, files.slice_ns);
    segment.format = files.format;
    if let Some(path) = files.files.get(&FileKind::Samples) {
        let read = bytes(objects, path).await?;
        segment.files.insert(FileKind::Samples, entry(&read)?);
        let samples = samples_file::decode(FileRanges::from_bytes(read))?;
        segment.set_samples(&samples.rows);
        return Ok(segment);
    }
    if let Some(path) = files.files.get(&FileKind::Events) {
        let read = bytes(objects, path).await?;
        segment.kind = SegmentKind::Events;
        let file = entry(&read)?;
        segment.files.insert(FileKind::Events, file);
        let index = TraceIndex::read(&file, read.slice(file.tail as usize..))?;
        let (groups, ranges) = (index.groups(TraceFilter::All), FileRanges::from_bytes(read));
        segment.set_events(&events_file::decode(ranges, &index, groups, TraceFilter::All)?);
        return Ok(segment);
    }
    let Some(path) = files.files.get(&FileKind::Spans) else {
        return Err(SegmentError::damaged("has no file of spans"));
    };
    let read = bytes(objects, path).await?;
    let traces = add_spans(&mut segment, read)?;
    segment.kind = SegmentKind::Late;
    let is_known = traces.iter().any(|trace| seen.contains(trace));
    if !is_known && add_requests(objects, &mut segment, files).await? {
        segment.kind = SegmentKind::Traces;
    }
    seen.extend(traces);
    Ok(segment)
}

/// Adds the file of spans; returns their traces.
fn add_spans(segment: &mut Segment, read: Bytes) -> Result<Vec<TraceId>, SegmentError> {
    let entry = entry(&read)?;
    let index = TraceIndex::read(&entry, read.slice(entry.tail as usize..))?;
    let groups = index.groups(TraceFilter::All);
    for (range, &group) in index.ranges(&groups).into_iter().zip(&groups) {
        if !index.is_intact(group, &read[range.start as usize..range.end as usize]) {
            return Err(SegmentError::damaged("has other spans than were written"));
        }
    }
    let spans = spans_file::decode(FileRanges::from_bytes(read), &index, groups, TraceFilter::All)?;
    segment.set_spans(&spans.rows);
    segment.files.insert(FileKind::Spans, entry);
    Ok(spans.rows.chunk_by(|a, b| a.trace == b.trace).map(|rows| rows[0].trace).collect())
}

/// Adds the files of requests, if all are there and can be read.
async fn add_requests(
    objects: &dyn ObjectStore,
    segment: &mut Segment,
    files: &SegmentFiles,
) -> Result<bool, SegmentError> {
    let kinds = [FileKind::Requests, FileKind::Calls, FileKind::Structures];
    let mut all = Vec::new();
    for kind in kinds {
        let Some(path) = files.files.get(&kind) else { return Ok(false) };
        all.push(bytes(objects, path).await?);
    }
    let entries: Result<Vec<FileEntry>, SegmentError> = all.iter().map(entry).collect();
    let ranges: Vec<FileRanges> = all.into_iter().map(FileRanges::from_bytes).collect();
    let Ok([requests, calls, structures]) = <[FileRanges; 3]>::try_from(ranges) else { return Ok(false) };
    let (Ok(entries), Ok(slice)) = (entries, decode(requests, calls, structures)) else { return Ok(false) };
    segment.requests = slice.requests.len() as u64;
    segment.files.extend(kinds.into_iter().zip(entries));
    Ok(true)
}

/// What the manifest says of a file. Its rows are checked by the checksums in its footer, where it has them.
fn entry(bytes: &Bytes) -> Result<FileEntry, SegmentError> {
    let metadata = table::footer(&FileRanges::from_bytes(bytes.clone()))?;
    let groups = metadata.metadata().row_groups();
    let tail = groups.iter().map(|group| table::rows_of(group).end).max().unwrap_or(0);
    let behind = bytes.get(tail as usize..).ok_or_else(|| SegmentError::damaged("is cut short"))?;
    for (group, checksum) in groups.iter().zip(table::checksums(&metadata)?) {
        let range = table::rows_of(group);
        let rows = bytes.get(range.start as usize..range.end as usize);
        if rows.is_none_or(|rows| crc32c::crc32c(rows) != checksum) {
            return Err(SegmentError::damaged("has other rows than were written"));
        }
    }
    Ok(FileEntry {
        bytes: bytes.len() as u64,
        crc32c: crc32c::crc32c(bytes),
        tail,
        tail_crc32c: crc32c::crc32c(behind),
    })
}
