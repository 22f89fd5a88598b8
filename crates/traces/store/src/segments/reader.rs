//! Reading segments: bytes from the object store, decoded on the pool for blocking work.

use super::calls_file;
use super::error::SegmentError;
use super::events_file;
use super::manifest::{FileEntry, FileKind, Segment, SegmentKind};
use super::requests_file;
use super::shared::{SegmentsInner, SliceKey};
use super::span_batch::{SpanBatch, SpanColumn};
use super::spans_file::{self, SpanTable, TraceFilter};
use super::table::FileRanges;
use super::trace_index::TraceIndex;
use crate::steps::step;
use bytes::Bytes;
use futures::StreamExt;
use laggard_engine::{RequestSlice, SlicedRequest};
use laggard_model::{Names, SpanEvent, Timestamp, TraceId};
use object_store::{GetResultPayload, ObjectStoreExt};
use std::collections::HashSet;
use std::sync::Arc;

/// Which traces, owned.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    All,
    Between(TraceId, TraceId),
    These(Arc<HashSet<TraceId>>),
}

impl Selection {
    fn filter(&self) -> TraceFilter<'_> {
        match self {
            Selection::All => TraceFilter::All,
            &Selection::Between(min, max) => TraceFilter::Between(min, max),
            Selection::These(traces) => TraceFilter::These(traces),
        }
    }
}

/// Runs a long computation on the pool for blocking work.
pub(crate) async fn busy<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, SegmentError> + Send + 'static,
) -> Result<T, SegmentError> {
    let ended = tokio::task::spawn_blocking(job).await;
    step();
    match ended {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(SegmentError::Storage("the program is shutting down".to_owned())),
    }
}

/// One request in 2^`levels`.
pub(super) async fn sample(slice: Arc<RequestSlice>, levels: u32) -> Result<Arc<RequestSlice>, SegmentError> {
    if levels == 0 { Ok(slice) } else { busy(move || Ok(Arc::new(slice.sample(levels)))).await }
}

impl Segment {
    /// The file whose rows have traces, and whose tail lists them.
    fn indexed_file(&self) -> FileKind {
        if self.kind == SegmentKind::Events { FileKind::Events } else { FileKind::Spans }
    }

    /// The manifest entry of one of its files.
    fn entry(&self, kind: FileKind) -> Result<FileEntry, SegmentError> {
        let missing = || SegmentError::damaged(format!("has no file of {}", kind.folder()));
        self.files.get(&kind).copied().ok_or_else(missing)
    }
}

impl SegmentsInner {
    /// All bytes of a file; they may be damaged.
    async fn bytes(&self, segment: &Segment, kind: FileKind) -> Result<Bytes, SegmentError> {
        let mut found = self.objects.get(&segment.path(kind)).await?;
        if let GetResultPayload::Stream(parts) = found.payload {
            found.payload = GetResultPayload::Stream(parts.inspect(|_| step()).boxed());
        }
        Ok(found.bytes().await?)
    }

    /// Some bytes of the file whose rows have traces; they may be damaged.
    async fn ranges(
        &self,
        segment: &Segment,
        ranges: &[std::ops::Range<u64>],
    ) -> Result<Vec<Bytes>, SegmentError> {
        let kind = segment.indexed_file();
        match self.objects.get_ranges(&segment.path(kind), ranges).await {
            Ok(bytes) => Ok(bytes),
            Err(object_store::Error::NotFound { .. }) => Err(SegmentError::damaged("is missing")),
            Err(error) => {
                // A truncated file fails like a device that does not respond; its length distinguishes the two.
                let length = self.objects.head(&segment.path(kind)).await?.size;
                match length == segment.entry(kind)?.bytes {
                    true => Err(error.into()),
                    false => Err(SegmentError::damaged("has another length than was written")),
                }
            }
        }
    }

    /// The index of the traces a segment has spans or events of.
    pub(crate) async fn index(&self, segment: &Segment) -> Result<Arc<TraceIndex>, SegmentError> {
        if let Some(known) = self.indexes.get(&segment.number) {
            return Ok(known);
        }
        let entry = segment.entry(segment.indexed_file())?;
        let tail = self.ranges(segment, std::slice::from_ref(&(entry.tail..entry.bytes))).await?.remove(0);
        let read = move || {
            check(&tail, entry.bytes - entry.tail, entry.tail_crc32c)?;
            TraceIndex::read(&entry, tail)
        };
        let index = Arc::new(busy(read).await?);
        self.indexes.put(segment.number, Arc::clone(&index), index.bytes());
        Ok(index)
    }

    /// Spans of a segment.
    pub(crate) async fn spans(
        &self,
        segment: &Segment,
        selection: Selection,
    ) -> Result<SpanTable, SegmentError> {
        self.rows(segment, selection, spans_file::decode).await
    }

    /// Columns of spans of a segment, without copies.
    pub(crate) async fn span_columns(
        &self,
        segment: &Segment,
        selection: Selection,
        columns: Arc<[SpanColumn]>,
    ) -> Result<Vec<SpanBatch>, SegmentError> {
        let decode = move |ranges: FileRanges, index: &TraceIndex, groups, filter: TraceFilter<'_>| {
            spans_file::decode_columns(ranges, index, groups, filter, &columns)
        };
        self.rows(segment, selection, decode).await
    }

    /// Which of some traces have spans in a segment. Its index only says which it may hold.
    pub(crate) async fn traces_among(
        &self,
        segment: &Segment,
        traces: HashSet<TraceId>,
    ) -> Result<HashSet<TraceId>, SegmentError> {
        self.rows(segment, Selection::These(Arc::new(traces)), spans_file::decode_traces).await
    }

    /// Events of a segment, by trace, span, and time.
    pub(crate) async fn events(
        &self,
        segment: &Segment,
        selection: Selection,
    ) -> Result<Vec<SpanEvent>, SegmentError> {
        self.rows(segment, selection, events_file::decode).await
    }

    /// Traces of a segment with an event in a window that has a word, which is in lower case.
    pub(crate) async fn traces_that_logged(
        &self,
        segment: &Segment,
        since: Timestamp,
        until: Timestamp,
        word: Arc<str>,
    ) -> Result<HashSet<TraceId>, SegmentError> {
        let events = self.events(segment, Selection::All).await?;
        let has_word = move |event: &SpanEvent| {
            let texts = [&event.body, &event.name, &event.attributes];
            texts.into_iter().any(|text| text.to_ascii_lowercase().contains(&*word))
        };
        let is_found = move |event: &&SpanEvent| (since..=until).contains(&event.time) && has_word(event);
        busy(move || Ok(events.iter().filter(is_found).map(|event| event.trace).collect())).await
    }

    /// What `decode` makes of the row groups that may hold traces that are wanted; nothing if none may.
    async fn rows<T: Default + Send + 'static>(
        &self,
        segment: &Segment,
        selection: Selection,
        decode: impl FnOnce(FileRanges, &TraceIndex, Vec<usize>, TraceFilter<'_>) -> Result<T, SegmentError>
        + Send
        + 'static,
    ) -> Result<T, SegmentError> {
        let index = self.index(segment).await?;
        let groups = index.groups(selection.filter());
        if groups.is_empty() {
            return Ok(T::default());
        }
        let ranges = index.ranges(&groups);
        let bytes = self.ranges(segment, &ranges).await?;
        let length = segment.entry(segment.indexed_file())?.bytes;
        let read = move || {
            let mut parts = FileRanges::with_length(length);
            for ((range, bytes), &group) in ranges.into_iter().zip(bytes).zip(&groups) {
                if !index.is_intact(group, &bytes) {
                    return Err(SegmentError::damaged("has other rows than were written"));
                }
                parts.add(range.start, bytes);
            }
            decode(parts, &index, groups, selection.filter())
        };
        busy(read).await
    }

    /// Requests of a segment as they were written, one in 2^`levels`. Queries that need them at the same time read them once.
    pub(crate) async fn slice(
        &self,
        segment: &Segment,
        levels: u32,
    ) -> Result<Arc<RequestSlice>, SegmentError> {
        let key = (SliceKey::Segment(segment.number), levels);
        if let Some(known) = self.slices.get(&key) {
            return Ok(known);
        }
        let turns = &self.slice_turns;
        let _turn = turns[segment.number as usize % turns.len()].lock().await;
        if let Some(known) = self.slices.get(&key) {
            return Ok(known);
        }
        let all = self.slice_once(segment).await?;
        let slice = sample(all, levels).await?;
        self.slices.put(key, Arc::clone(&slice), slice.estimated_bytes());
        Ok(slice)
    }

    /// All of them, for a pass over more than fits in memory, which leaves the cache to others.
    pub(crate) async fn slice_once(&self, segment: &Segment) -> Result<Arc<RequestSlice>, SegmentError> {
        if let Some(known) = self.slices.get(&(SliceKey::Segment(segment.number), 0)) {
            return Ok(known);
        }
        let (requests, calls, structures) = futures::try_join!(
            self.bytes(segment, FileKind::Requests),
            self.bytes(segment, FileKind::Calls),
            self.bytes(segment, FileKind::Structures)
        )?;
        let files = [
            (requests, segment.entry(FileKind::Requests)?),
            (calls, segment.entry(FileKind::Calls)?),
            (structures, segment.entry(FileKind::Structures)?),
        ];
        let notes = segment.notes.clone();
        let read = move || {
            let [requests, calls, structures] = files.map(|(bytes, entry)| {
                check(&bytes, entry.bytes, entry.crc32c).map(|()| FileRanges::from_bytes(bytes))
            });
            let mut slice = decode(requests?, calls?, structures?)?;
            let mut losses = notes.losses();
            losses.merge(&slice.facts.losses);
            slice.facts.losses = losses;
            slice.facts.origins.merge(&notes.origins());
            Ok(slice)
        };
        Ok(Arc::new(busy(read).await?))
    }

    /// Requests of a segment as they were written; unless they are in memory already, without their calls, which are most of the
    /// bytes, and without facts.
    pub(crate) async fn slice_without_calls(
        &self,
        segment: &Segment,
    ) -> Result<Arc<RequestSlice>, SegmentError> {
        if let Some(known) = self.slices.get(&(SliceKey::Segment(segment.number), 0)) {
            return Ok(known);
        }
        let (requests, structures) = futures::try_join!(
            self.bytes(segment, FileKind::Requests),
            self.bytes(segment, FileKind::Structures)
        )?;
        let (requests_entry, structures_entry) =
            (segment.entry(FileKind::Requests)?, segment.entry(FileKind::Structures)?);
        let read = move || {
            check(&requests, requests_entry.bytes, requests_entry.crc32c)?;
            check(&structures, structures_entry.bytes, structures_entry.crc32c)?;
            let mut names = Names::new();
            let structures = calls_file::decode_structures(FileRanges::from_bytes(structures), &mut names)?;
            let requests = requests_file::decode(FileRanges::from_bytes(requests), &mut names)?.requests;
            let has_structure = |request: &SlicedRequest| {
                structures.get(request.structure as usize).is_some_and(|structure| !structure.is_empty())
            };
            if !requests.iter().all(has_structure) {
                return Err(SegmentError::damaged("has a request without its calls"));
            }
            Ok(Arc::new(RequestSlice { names, structures, requests, ..RequestSlice::default() }))
        };
        busy(read).await
    }

    /// Traces of a segment's requests, ascending.
    pub(crate) async fn request_traces(&self, segment: &Segment) -> Result<Vec<TraceId>, SegmentError> {
        let bytes = self.bytes(segment, FileKind::Requests).await?;
        let entry = segment.entry(FileKind::Requests)?;
        busy(move || {
            check(&bytes, entry.bytes, entry.crc32c)?;
            requests_file::decode_traces(FileRanges::from_bytes(bytes))
        })
        .await
    }

    /// Samples of a segment.
    pub(crate) async fn samples(&self, segment: &Segment) -> Result<laggard_engine::Samples, SegmentError> {
        let bytes = self.bytes(segment, FileKind::Samples).await?;
        let entry = segment.entry(FileKind::Samples)?;
        busy(move || {
            check(&bytes, entry.bytes, entry.crc32c)?;
            super::samples_file::decode(FileRanges::from_bytes(bytes))
        })
        .await
    }
}

pub(super) fn check(bytes: &[u8], length: u64, checksum: u32) -> Result<(), SegmentError> {
    if bytes.len() as u64 != length {
        return Err(SegmentError::damaged("has another length than was written"));
    }
    match crc32c::crc32c(bytes) == checksum {
        true => Ok(()),
        false => Err(SegmentError::damaged("has another checksum than was written")),
    }
}

pub(super) fn decode(
    requests: FileRanges,
    calls: FileRanges,
    structures: FileRanges,
) -> Result<RequestSlice, SegmentError> {
    let mut names = Names::new();
    let structures = calls_file::decode_structures(structures, &mut names)?;
    let calls = calls_file::decode_calls(calls, &mut names)?;
    let table = requests_file::decode(requests, &mut names)?;
    for request in &table.requests {
        let structure = structures.get(request.structure as usize).filter(|structure| !structure.is_empty());
        let end = structure.map(|structure| request.first_call as usize + structure.len());
        if end.is_none_or(|end| end > calls.replica.len()) {
            return Err(SegmentError::damaged("has a request without its calls"));
        }
    }
    Ok(RequestSlice { names, structures, requests: table.requests, calls, facts: table.facts })
}
