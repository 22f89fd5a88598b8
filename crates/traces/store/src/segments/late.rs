//! Traces whose spans are in several segments: merged when they are read, until compaction has merged them.
//!
//! A segment of late spans names traces; other segments may hold the rest of them. So do segments of several writers that
//! [share traces](super::split). Their parts of such a trace are removed from their requests and facts, and the trace is assembled
//! from all of its spans.

use super::error::SegmentError;
use super::import_notes::ImportNotes;
use super::manifest::{Manifest, Segment, SegmentKind};
use super::ranges::{TraceRange, ranges};
use super::reader::{Selection, busy, sample};
use super::shared::{JOIN, SegmentsInner, SliceKey};
use super::spans_file::SpanTable;
use crate::StoreError;
use futures::{StreamExt, TryStreamExt};
use laggard_assembly::{ClockAgreement, ClockBounds};
use laggard_engine::{RequestSlice, SliceFacts, StartRange, TraceAttributes};
use laggard_model::{Losses, ReplicaId, TraceId};
use laggard_system::available_threads;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Segments decoded at the same time. More than there are processors would need their memory for nothing.
pub(super) fn decoded_at_once() -> usize {
    available_threads().get().min(4)
}

/// An error and the segment it concerns.
pub(crate) struct LocatedError {
    pub(crate) segment: Arc<Segment>,
    pub(crate) failure: SegmentError,
}

impl LocatedError {
    /// The same in words.
    pub(crate) fn into_store_error(self) -> StoreError {
        StoreError::new(format!("segment {}: {}", self.segment.number, self.failure))
    }
}

/// Adds the segment to an error.
pub(crate) fn locate<T>(segment: &Arc<Segment>, result: Result<T, SegmentError>) -> Result<T, LocatedError> {
    result.map_err(|failure| LocatedError { segment: Arc::clone(segment), failure })
}

/// Late spans near some times, traces split across writers, and the segments that may hold the rest of both.
pub(crate) struct LateSpans {
    late: Vec<Arc<Segment>>,
    holders: Vec<Arc<Segment>>,
    /// Ascending; all their spans are in holders, but for late ones.
    split: Arc<Vec<TraceId>>,
}

/// Everything read of traces with late spans.
#[derive(Default)]
struct LateParts {
    /// The traces, assembled from all spans.
    assembled: Vec<RequestSlice>,
    /// Their parts in each holder, by its number.
    parts: BTreeMap<u64, Vec<RequestSlice>>,
    traces: HashSet<TraceId>,
}

/// The same of one range of trace ids.
pub(super) struct LateRange {
    pub(super) assembled: RequestSlice,
    parts: Vec<(u64, RequestSlice)>,
    traces: Arc<HashSet<TraceId>>,
}

/// A trace that is split across writers is taken to have so many spans.
const SPANS_OF_SPLIT_TRACE: u64 = 64;
/// Split traces between which their ids can be cut into ranges.
const SPLIT_TRACES_OF_CUT: usize = 256;

impl LateSpans {
    /// Finds late spans near any of some times in the manifest.
    pub(super) fn near_any(manifest: &Manifest, times: &[StartRange]) -> LateSpans {
        let late = manifest.meeting(SegmentKind::Late, &LateSpans::joined(times));
        let first = late.iter().map(|segment| segment.first()).min();
        let last = late.iter().map(|segment| segment.last()).max();
        let holders = first.zip(last).map_or(Vec::new(), |(first, last)| {
            manifest.meeting(SegmentKind::Traces, &LateSpans::joined(&[first..=last]))
        });
        LateSpans { late, holders, split: Arc::default() }
    }

    /// The segments that they are in, and those that may hold the rest of their traces.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.late.iter().chain(&self.holders)
    }

    /// Times, and those around them in which there may be more of a trace.
    pub(super) fn joined(times: &[StartRange]) -> Vec<StartRange> {
        times.iter().map(|time| time.start().minus(JOIN)..=time.end().plus(JOIN)).collect()
    }

    /// The same with traces that are split across the writers of some segments.
    pub(super) fn with_split(self, split: Arc<Vec<TraceId>>, segments: Vec<Arc<Segment>>) -> LateSpans {
        if split.is_empty() {
            return self;
        }
        let mut holders = self.holders;
        holders.extend(segments);
        holders.sort_unstable_by_key(|segment| segment.number);
        holders.dedup_by_key(|segment| segment.number);
        LateSpans { holders, split, ..self }
    }

    /// Those of the split traces that are in a range.
    fn split_within(&self, range: TraceRange) -> &[TraceId] {
        let from = self.split.partition_point(|&trace| trace < range.min);
        let to = self.split.partition_point(|&trace| trace <= range.max);
        &self.split[from..to]
    }

    /// Whether a segment may hold the rest of a trace with late spans.
    pub(super) fn is_holder(&self, segment: &Segment) -> bool {
        self.holders.iter().any(|holder| holder.number == segment.number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.late.is_empty() && self.split.is_empty()
    }

    /// The first of the segments of late spans, or of those with split traces.
    pub(crate) fn first(&self) -> Option<&Arc<Segment>> {
        self.late.first().or(self.holders.first())
    }

    /// Facts from import about the late spans.
    pub(crate) fn notes(&self) -> SliceFacts {
        let mut notes = ImportNotes::default();
        self.late.iter().for_each(|segment| notes.merge(&segment.notes));
        SliceFacts { losses: notes.losses(), origins: notes.origins(), ..SliceFacts::default() }
    }

    /// Keys of the slices that answer for segments, in the order of [`SegmentsInner::slices_with_late`].
    pub(crate) fn keys(&self, segments: &[Arc<Segment>]) -> Vec<SliceKey> {
        match self.is_empty() {
            true => segments.iter().map(|segment| SliceKey::Segment(segment.number)).collect(),
            false => {
                let without = segments.iter().map(|segment| self.without(segment));
                [self.key()].into_iter().chain(without).collect()
            }
        }
    }

    fn key(&self) -> SliceKey {
        SliceKey::LateSpans(numbers(&self.late), numbers(&self.holders))
    }

    fn without(&self, segment: &Segment) -> SliceKey {
        let split_by = if self.split.is_empty() { &[][..] } else { &self.holders };
        let others = self.late.iter().chain(split_by);
        SliceKey::Without(segment.number, others.map(|segment| segment.number).collect())
    }
}

fn numbers(segments: &[Arc<Segment>]) -> Arc<[u64]> {
    segments.iter().map(|segment| segment.number).collect()
}

impl SegmentsInner {
    /// Requests of segments as they were written, one in 2^`levels`, in the order of the segments.
    pub(crate) async fn slices(
        &self,
        segments: &[Arc<Segment>],
        levels: u32,
    ) -> Result<Vec<Arc<RequestSlice>>, LocatedError> {
        let reads: Vec<_> = segments
            .iter()
            .map(|segment| async move { locate(segment, self.slice(segment, levels).await) })
            .collect();
        futures::stream::iter(reads).buffered(decoded_at_once()).try_collect().await
    }

    /// Requests of traces with late spans and of split ones, if there are any, then those of `segments` without such traces; one in 2^`levels`.
    pub(crate) async fn slices_with_late(
        &self,
        late: &LateSpans,
        segments: &[Arc<Segment>],
        levels: u32,
    ) -> Result<Vec<Arc<RequestSlice>>, LocatedError> {
        if late.is_empty() {
            return self.slices(segments, levels).await;
        }
        let known = || late.keys(segments).into_iter().map(|key| self.slices.get(&(key, levels))).collect();
        if let Some(known) = known() {
            return Ok(known);
        }
        let _turn = self.late_turn.lock().await;
        if let Some(known) = known() {
            return Ok(known);
        }
        let LateParts { assembled, traces, mut parts } = self.read_late(late).await?;
        let first = late.first().expect("there are late spans or split traces");
        let merged = locate(first, sample(Arc::new(RequestSlice::merge(&assembled)), levels).await)?;
        self.slices.put((late.key(), levels), Arc::clone(&merged), merged.estimated_bytes());
        let traces = Arc::new(traces);
        let reads: Vec<_> = segments
            .iter()
            .map(|segment| {
                let (parts, traces) = (parts.remove(&segment.number), Arc::clone(&traces));
                async move {
                    let (slice, bytes) = match parts {
                        None => (locate(segment, self.slice(segment, levels).await)?, 0),
                        Some(parts) => {
                            let slice = self.slice_without_parts(segment, levels, (traces, parts)).await;
                            let slice = locate(segment, slice)?;
                            let bytes = slice.estimated_bytes();
                            (slice, bytes)
                        }
                    };
                    self.slices.put((late.without(segment), levels), Arc::clone(&slice), bytes);
                    Ok(slice)
                }
            })
            .collect();
        let slices: Vec<_> = futures::stream::iter(reads).buffered(decoded_at_once()).try_collect().await?;
        Ok([merged].into_iter().chain(slices).collect())
    }

    /// The requests of a segment without those of some traces, of which it has these parts; one in 2^`levels`.
    async fn slice_without_parts(
        &self,
        segment: &Segment,
        levels: u32,
        (traces, parts): (Arc<HashSet<TraceId>>, Vec<RequestSlice>),
    ) -> Result<Arc<RequestSlice>, SegmentError> {
        // Where a sample is read, all of them are too many to stay in memory.
        let slice =
            if levels == 0 { self.slice(segment, 0).await? } else { self.slice_once(segment).await? };
        let without =
            busy(move || Ok(Arc::new(without(&slice, &traces, &RequestSlice::merge(&parts))))).await?;
        sample(without, levels).await
    }

    /// Reads late spans, a bounded number at a time, with the rest of their traces.
    async fn read_late(&self, late: &LateSpans) -> Result<LateParts, LocatedError> {
        let mut out = LateParts::default();
        for range in self.late_ranges(late).await? {
            let read = self.late_range(late, range).await?;
            out.traces.extend(&*read.traces);
            for (number, part) in read.parts {
                out.parts.entry(number).or_default().push(part);
            }
            out.assembled.push(read.assembled);
        }
        Ok(out)
    }

    /// Ranges of trace ids with a bounded number of late spans, and of spans of split traces, each.
    pub(super) async fn late_ranges(&self, late: &LateSpans) -> Result<Vec<TraceRange>, LocatedError> {
        let mut cuts = Vec::new();
        for segment in &late.late {
            cuts.extend(locate(segment, self.index(segment).await)?.cuts());
        }
        let split = late.split.chunks(SPLIT_TRACES_OF_CUT);
        cuts.extend(split.map(|traces| (traces[0], traces.len() as u64 * SPANS_OF_SPLIT_TRACE)));
        Ok(if cuts.is_empty() { Vec::new() } else { ranges(cuts, self.limits.spans_max as u64) })
    }

    /// Late spans of a range, by the order of their segments; their traces, and those that are split.
    pub(super) async fn late_spans(
        &self,
        late: &LateSpans,
        range: TraceRange,
    ) -> Result<(Vec<(u64, SpanTable)>, HashSet<TraceId>), LocatedError> {
        let mut tables: Vec<(u64, SpanTable)> = Vec::new();
        for segment in &late.late {
            let filter = Selection::Between(range.min, range.max);
            tables.push((segment.order, locate(segment, self.spans(segment, filter).await)?));
        }
        let late_traces = tables.iter().flat_map(|(_, table)| &table.rows).map(|row| row.trace);
        let traces = late_traces.chain(late.split_within(range).iter().copied()).collect();
        Ok((tables, traces))
    }

    /// Reads the late spans of a range with the rest of their traces, and split traces.
    pub(super) async fn late_range(
        &self,
        late: &LateSpans,
        range: TraceRange,
    ) -> Result<LateRange, LocatedError> {
        let (mut tables, traces) = self.late_spans(late, range).await?;
        let traces = Arc::new(traces);
        let mut parts = Vec::new();
        for segment in &late.holders {
            let filter = Selection::These(Arc::clone(&traces));
            let table = locate(segment, self.spans(segment, filter).await)?;
            if table.rows.is_empty() {
                continue;
            }
            parts.push((segment.number, assemble(table.clone())));
            tables.push((segment.order, table));
        }
        let about = late.first().expect("ranges are of late spans or of split traces");
        let assembled = locate(about, assemble_tables(tables).await)?;
        Ok(LateRange { assembled, parts, traces })
    }

    /// The requests of a segment without those of some traces.
    pub(super) async fn slice_without(
        &self,
        segment: &Segment,
        traces: &Arc<HashSet<TraceId>>,
    ) -> Result<Arc<RequestSlice>, SegmentError> {
        let slice = self.slice_once(segment).await?;
        let table = self.spans(segment, Selection::These(Arc::clone(traces))).await?;
        if table.rows.is_empty() {
            return Ok(slice);
        }
        let traces = Arc::clone(traces);
        busy(move || Ok(Arc::new(without(&slice, &traces, &assemble(table))))).await
    }
}

/// Assembles tables of spans, in the order in which they arrived.
async fn assemble_tables(mut tables: Vec<(u64, SpanTable)>) -> Result<RequestSlice, SegmentError> {
    tables.sort_by_key(|&(order, _)| order);
    let job = move || {
        let tables = tables.into_iter().map(|(_, table)| table).collect();
        Ok(assemble(SpanTable::merge(tables)))
    };
    busy(job).await
}

fn assemble(mut table: SpanTable) -> RequestSlice {
    let attributes = TraceAttributes::from_texts(&table.attributes, &mut table.names);
    let notes = SliceFacts { texts: table.texts, ..SliceFacts::default() };
    RequestSlice::assemble(table.names, table.rows, &attributes, notes)
}

/// A slice without its facts about some traces; `part` has those.
fn without(slice: &RequestSlice, traces: &HashSet<TraceId>, part: &RequestSlice) -> RequestSlice {
    let mut out = slice.retain_traces(|trace| !traces.contains(&trace));
    let (all, less) = (&slice.facts, &part.facts);
    let mut losses = Losses::none();
    for (loss, found) in all.losses.iter() {
        let remaining = found.count.saturating_sub(less.losses.count(loss));
        losses.add_many(loss, remaining, || found.example.clone());
    }
    out.facts = SliceFacts {
        traces: all.traces.saturating_sub(less.traces),
        rows: all.rows.saturating_sub(less.rows),
        spans: all.spans.saturating_sub(less.spans),
        extent: all.extent,
        losses,
        clocks: clocks_without(slice, part),
        origins: all.origins,
        texts: all.texts.iter().filter(|(trace, _)| !traces.contains(trace)).cloned().collect(),
    };
    out
}

/// Bounds do not change: what a part of a trace proves about two clocks, the complete trace proves, too.
fn clocks_without(slice: &RequestSlice, part: &RequestSlice) -> ClockAgreement {
    let name = |replica: ReplicaId| part.names.replica_name(replica);
    let pairs = part.facts.clocks.pairs().into_iter();
    let calls: BTreeMap<(&str, &str), u64> =
        pairs.map(|((caller, callee), bounds)| ((name(caller), name(callee)), bounds.calls)).collect();
    let mut out = ClockAgreement::default();
    let beyond = part.facts.clocks.calls_beyond_limit;
    out.calls_beyond_limit = slice.facts.clocks.calls_beyond_limit.saturating_sub(beyond);
    for ((caller, callee), bounds) in slice.facts.clocks.pairs() {
        let names = (slice.names.replica_name(caller), slice.names.replica_name(callee));
        let remaining = bounds.calls.saturating_sub(calls.get(&names).copied().unwrap_or(0));
        if remaining > 0 {
            out.add_bounds((caller, callee), ClockBounds { calls: remaining, ..bounds });
        }
    }
    out
}
