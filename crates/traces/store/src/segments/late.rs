//! Traces whose spans are in several segments: put together when they are asked for, until compaction has.
//!
//! A segment of late spans names traces; other segments may hold the rest of them. What those say of such a trace is
//! taken out of their requests and facts, and the trace is assembled from all of its spans.

use super::failure::Failure;
use super::manifest::{Manifest, Segment, SegmentKind};
use super::ranges::ranges;
use super::reading::{Selection, busy, bytes_of};
use super::shared::{JOIN, Shared, SliceKey};
use super::spans_file::SpanTable;
use super::told::Told;
use futures::{StreamExt, TryStreamExt};
use laggard_assembly::{ClockAgreement, ClockBounds};
use laggard_engine::{RequestSlice, SliceFacts};
use laggard_model::{Losses, ReplicaId, Timestamp, TraceId};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Segments decoded at the same time.
const DECODED_AT_ONCE: usize = 4;

/// A failure and the segment that it is about.
pub(crate) struct At {
    pub(crate) segment: Arc<Segment>,
    pub(crate) failure: Failure,
}

/// Says which segment a result is about.
pub(crate) fn at<T>(segment: &Arc<Segment>, result: Result<T, Failure>) -> Result<T, At> {
    result.map_err(|failure| At { segment: Arc::clone(segment), failure })
}

/// Late spans near a window, and the segments that may hold the rest of their traces.
pub(crate) struct Late {
    late: Vec<Arc<Segment>>,
    holders: Vec<Arc<Segment>>,
}

/// What is gathered of traces with late spans.
#[derive(Default)]
struct Gathered {
    /// The traces, assembled from all spans.
    whole: Vec<RequestSlice>,
    /// What each holder says of them, by its number.
    parts: BTreeMap<u64, Vec<RequestSlice>>,
    traces: HashSet<TraceId>,
}

impl Late {
    /// Finds them by what the manifest tells.
    pub(crate) fn near(manifest: &Manifest, since: Timestamp, until: Timestamp) -> Late {
        let of = |kind, since: Timestamp, until: Timestamp| {
            let meets = |segment: &&Arc<Segment>| segment.kind == kind && segment.meets(since, until);
            manifest.segments.iter().filter(meets).cloned().collect::<Vec<_>>()
        };
        let late = of(SegmentKind::Late, since.minus(JOIN), until.plus(JOIN));
        let first = late.iter().map(|segment| segment.first()).min();
        let last = late.iter().map(|segment| segment.last()).max();
        let holders = first
            .zip(last)
            .map_or(Vec::new(), |(first, last)| of(SegmentKind::Traces, first.minus(JOIN), last.plus(JOIN)));
        Late { late, holders }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.late.is_empty()
    }

    /// The first of the segments of late spans.
    pub(crate) fn first(&self) -> Option<&Arc<Segment>> {
        self.late.first()
    }

    /// What readers told of the late spans.
    pub(crate) fn told(&self) -> SliceFacts {
        let mut told = Told::default();
        self.late.iter().for_each(|segment| told.merge(&segment.told));
        SliceFacts { losses: told.losses(), origins: told.origins(), ..SliceFacts::default() }
    }

    /// Keys of the slices that answer for segments, in the order of [`Shared::slices_with_late`].
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
        SliceKey::Late(numbers(&self.late), numbers(&self.holders))
    }

    fn without(&self, segment: &Segment) -> SliceKey {
        SliceKey::Without(segment.number, numbers(&self.late))
    }
}

fn numbers(segments: &[Arc<Segment>]) -> Arc<[u64]> {
    segments.iter().map(|segment| segment.number).collect()
}

impl Shared {
    /// Requests of segments as they were written, in the order of the segments.
    pub(crate) async fn slices(&self, segments: &[Arc<Segment>]) -> Result<Vec<Arc<RequestSlice>>, At> {
        let reads: Vec<_> =
            segments.iter().map(|segment| async move { at(segment, self.slice(segment).await) }).collect();
        futures::stream::iter(reads).buffered(DECODED_AT_ONCE).try_collect().await
    }

    /// Requests of traces with late spans, if there are any, then those of `segments` without such traces.
    pub(crate) async fn slices_with_late(
        &self,
        late: &Late,
        segments: &[Arc<Segment>],
    ) -> Result<Vec<Arc<RequestSlice>>, At> {
        if late.is_empty() {
            return self.slices(segments).await;
        }
        let known: Option<Vec<_>> = late.keys(segments).iter().map(|key| self.slices.get(key)).collect();
        if let Some(known) = known {
            return Ok(known);
        }
        let plain = self.slices(segments).await?;
        let gathered = self.gather_late(late).await?;
        let whole = Arc::new(RequestSlice::merge(&gathered.whole));
        self.slices.put(late.key(), Arc::clone(&whole), bytes_of(&whole));
        let traces = Arc::new(gathered.traces);
        let mut out = vec![whole];
        let mut parts = gathered.parts;
        for (segment, slice) in segments.iter().zip(plain) {
            let (slice, bytes) = match parts.remove(&segment.number) {
                None => (slice, 0),
                Some(parts) => {
                    let traces = Arc::clone(&traces);
                    let work = move || Ok(Arc::new(without(&slice, &traces, &RequestSlice::merge(&parts))));
                    let slice = at(segment, busy(work).await)?;
                    let bytes = bytes_of(&slice);
                    (slice, bytes)
                }
            };
            self.slices.put(late.without(segment), Arc::clone(&slice), bytes);
            out.push(slice);
        }
        Ok(out)
    }

    /// Reads late spans, a bounded number at a time, with the rest of their traces.
    async fn gather_late(&self, late: &Late) -> Result<Gathered, At> {
        let mut indexes = Vec::new();
        for segment in &late.late {
            indexes.push(at(segment, self.index(segment).await)?);
        }
        let mut out = Gathered::default();
        for range in ranges(&indexes, self.limits.spans_max as u64) {
            let mut tables: Vec<(u64, SpanTable)> = Vec::new();
            for segment in &late.late {
                let wanted = Selection::Between(range.min, range.max);
                tables.push((segment.order, at(segment, self.spans(segment, wanted).await)?));
            }
            let traces: HashSet<TraceId> =
                tables.iter().flat_map(|(_, table)| &table.rows).map(|row| row.trace).collect();
            out.traces.extend(&traces);
            let traces = Arc::new(traces);
            for segment in &late.holders {
                let wanted = Selection::These(Arc::clone(&traces));
                let table = at(segment, self.spans(segment, wanted).await)?;
                if table.rows.is_empty() {
                    continue;
                }
                let part = assemble(table.clone());
                out.parts.entry(segment.number).or_default().push(part);
                tables.push((segment.order, table));
            }
            out.whole.push(at(&late.late[0], whole(tables).await)?);
        }
        Ok(out)
    }
}

/// Assembles tables of spans, in the order in which they arrived.
async fn whole(mut tables: Vec<(u64, SpanTable)>) -> Result<RequestSlice, Failure> {
    tables.sort_by_key(|&(order, _)| order);
    let work = move || {
        let tables = tables.into_iter().map(|(_, table)| table).collect();
        Ok(assemble(SpanTable::merge(tables)))
    };
    busy(work).await
}

fn assemble(table: SpanTable) -> RequestSlice {
    let told = SliceFacts { texts: table.texts, ..SliceFacts::default() };
    RequestSlice::assemble(table.names, table.rows, told)
}

/// A slice without what it says of some traces; `part` is that.
fn without(slice: &RequestSlice, traces: &HashSet<TraceId>, part: &RequestSlice) -> RequestSlice {
    let mut out = slice.retain_traces(|trace| !traces.contains(&trace));
    let (all, less) = (&slice.facts, &part.facts);
    let mut losses = Losses::none();
    for (loss, found) in all.losses.iter() {
        let left = found.count.saturating_sub(less.losses.count(loss));
        losses.add_many(loss, left, || found.example.clone());
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

/// Bounds stay as they are: what a part of a trace proved of two clocks, the whole trace proves, too.
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
        let left = bounds.calls.saturating_sub(calls.get(&names).copied().unwrap_or(0));
        if left > 0 {
            out.add_bounds((caller, callee), ClockBounds { calls: left, ..bounds });
        }
    }
    out
}
