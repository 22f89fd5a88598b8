//! Which rows go into which segment.

use super::layout;
use super::manifest::SegmentKind;
use laggard_engine::SampleRow;
use laggard_model::{Nanos, SpanEvent, SpanRow, Timestamp, TraceId};
use std::collections::BTreeMap;

/// Sizes of segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentLimits {
    /// Most spans of a segment; a trace is never split.
    pub(crate) spans_max: usize,
    /// Spans of a row group: the cost of looking up one trace.
    pub(crate) group_spans: usize,
    /// Most samples of a segment.
    pub(crate) samples_max: usize,
    /// Most memory that the events of a segment take: their texts are short or long.
    pub(crate) event_bytes_max: usize,
    /// Neighboring slices with fewer rows than this together share a segment: a flush batch of few rows scattered
    /// over days must not become thousands of files.
    pub(crate) rows_shared: usize,
}

/// Memory of a span while its segment is written, bytes: its row twice, its names, its call, and what they are encoded to.
const WRITTEN_SPAN_BYTES: usize = 512;
/// Small segments cost more than they need.
const SPANS_MAX_LEAST: usize = 1 << 15;

impl SegmentLimits {
    /// The default limits, as far as the memory for open data allows: as much again is for segments that are written.
    pub(crate) fn within(memory_bytes: usize) -> SegmentLimits {
        let limits = SegmentLimits::default();
        let spans_max = (memory_bytes / WRITTEN_SPAN_BYTES).clamp(SPANS_MAX_LEAST, limits.spans_max);
        SegmentLimits { spans_max, ..limits }
    }

    /// These, as far as memory allows now; `None` where it does not suffice for a small segment.
    pub(crate) fn with_free_memory(self, bytes: usize) -> Option<SegmentLimits> {
        let spans = bytes / WRITTEN_SPAN_BYTES;
        (spans >= SPANS_MAX_LEAST).then(|| SegmentLimits { spans_max: spans.min(self.spans_max), ..self })
    }
}

impl Default for SegmentLimits {
    /// A segment is what one core decodes in a tenth of a second.
    fn default() -> SegmentLimits {
        SegmentLimits {
            spans_max: 1 << 20,
            group_spans: 1 << 15,
            samples_max: 1 << 21,
            event_bytes_max: 16 << 20,
            rows_shared: 1 << 14,
        }
    }
}

/// The segment kind and slice that a trace is written to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TracePlacement {
    pub(crate) kind: SegmentKind,
    /// Start of a slice.
    pub(crate) slice_ns: i64,
}

/// One trace among sorted rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TraceRun {
    pub(crate) trace: TraceId,
    /// Its rows.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Earliest and latest start.
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

/// The traces of rows that are sorted by trace, start and span id.
pub(crate) fn runs(rows: &[SpanRow]) -> Vec<TraceRun> {
    let mut runs = Vec::new();
    let mut from = 0;
    for spans in rows.chunk_by(|a, b| a.trace == b.trace) {
        let to = from + spans.len();
        let (first, last) = (spans[0].start, spans[spans.len() - 1].start);
        runs.push(TraceRun { trace: spans[0].trace, from, to, first, last });
        from = to;
    }
    runs
}

/// Rows of one segment to be.
#[derive(Clone, Debug)]
pub(crate) struct SegmentPlan {
    pub(crate) placement: TracePlacement,
    pub(crate) rows: Vec<SpanRow>,
}

/// Rows by segment to be, in the order of their slices; each group's rows stay sorted.
pub(crate) fn group(
    rows: &[SpanRow],
    runs: &[TraceRun],
    limits: SegmentLimits,
    placement: impl Fn(usize) -> TracePlacement,
) -> Vec<SegmentPlan> {
    let mut by_placement: BTreeMap<TracePlacement, Vec<usize>> = BTreeMap::new();
    for index in 0..runs.len() {
        by_placement.entry(placement(index)).or_default().push(index);
    }
    let mut groups: Vec<SegmentPlan> = Vec::new();
    let mut waiting: Option<(TracePlacement, Vec<usize>, usize)> = None;
    for (placement, mut members) in by_placement {
        let mut count: usize = members.iter().map(|&run| runs[run].to - runs[run].from).sum();
        if let Some((earlier, before, rows_before)) = waiting.take() {
            if earlier.kind == placement.kind && rows_before + count <= limits.rows_shared {
                members.extend(before);
                count += rows_before;
                waiting = Some((earlier, members, count));
                continue;
            }
            groups.extend(split(earlier, before, runs, rows, limits));
        }
        waiting = Some((placement, members, count));
    }
    if let Some((placement, members, _)) = waiting {
        groups.extend(split(placement, members, runs, rows, limits));
    }
    groups
}

/// The rows of some traces as groups of bounded size, by trace.
fn split(
    placement: TracePlacement,
    mut members: Vec<usize>,
    runs: &[TraceRun],
    rows: &[SpanRow],
    limits: SegmentLimits,
) -> Vec<SegmentPlan> {
    members.sort_unstable();
    let mut groups = vec![SegmentPlan { placement, rows: Vec::new() }];
    for run in members.into_iter().map(|run| runs[run]) {
        let last = groups.last().expect("there is one from the start");
        if !last.rows.is_empty() && last.rows.len() + (run.to - run.from) > limits.spans_max {
            groups.push(SegmentPlan { placement, rows: Vec::new() });
        }
        let last = groups.last_mut().expect("there is one from the start");
        last.rows.extend_from_slice(&rows[run.from..run.to]);
    }
    groups
}

/// Events of one segment to be, by trace, span, and time.
#[derive(Clone, Debug)]
pub(crate) struct EventGroup {
    pub(crate) slice_ns: i64,
    pub(crate) events: Vec<SpanEvent>,
}

/// Events by segment to be: slices of few events share one.
pub(crate) fn group_events(events: Vec<SpanEvent>, slice: Nanos, limits: SegmentLimits) -> Vec<EventGroup> {
    let mut by_slice: BTreeMap<i64, Vec<SpanEvent>> = BTreeMap::new();
    for event in events {
        by_slice.entry(layout::slice_of(event.time, slice)).or_default().push(event);
    }
    let mut groups: Vec<EventGroup> = Vec::new();
    let mut bytes = 0;
    for (slice_ns, events) in by_slice {
        let shares = groups.last().is_some_and(|last| last.events.len() + events.len() <= limits.rows_shared);
        let mut begins = !shares;
        for event in events {
            bytes += event.bytes();
            match groups.last_mut().filter(|_| !begins && bytes <= limits.event_bytes_max) {
                Some(last) => last.events.push(event),
                None => {
                    (begins, bytes) = (false, event.bytes());
                    groups.push(EventGroup { slice_ns, events: vec![event] });
                }
            }
        }
    }
    groups.iter_mut().for_each(|group| group.events.sort_unstable());
    groups
}

/// Samples of one segment to be, by time.
#[derive(Clone, Debug)]
pub(crate) struct SampleGroup {
    pub(crate) slice_ns: i64,
    pub(crate) rows: Vec<SampleRow>,
}

/// Samples by segment to be. Those of one time stay in their order.
pub(crate) fn group_samples(
    mut rows: Vec<SampleRow>,
    slice: Nanos,
    limits: SegmentLimits,
) -> Vec<SampleGroup> {
    rows.sort_by_key(|row| row.time);
    let mut groups: Vec<SampleGroup> = Vec::new();
    for rows in rows.chunk_by(|a, b| layout::slice_of(a.time, slice) == layout::slice_of(b.time, slice)) {
        let slice_ns = layout::slice_of(rows[0].time, slice);
        for rows in rows.chunks(limits.samples_max) {
            match groups.last_mut() {
                Some(last) if last.rows.len() + rows.len() <= limits.rows_shared => {
                    last.rows.extend_from_slice(rows)
                }
                _ => groups.push(SampleGroup { slice_ns, rows: rows.to_vec() }),
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_smaller_where_there_is_less_memory() {
        let spans_max = |memory_bytes| SegmentLimits::within(memory_bytes).spans_max;
        assert_eq!([64 << 30, 512 << 20].map(spans_max), [1 << 20; 2]);
        assert_eq!([256 << 20, 1].map(spans_max), [1 << 19, 1 << 15]);
        let all = SegmentLimits::within(256 << 20);
        let spans_max = |free| all.with_free_memory(free).map(|limits| limits.spans_max);
        assert_eq!([1 << 30, 64 << 20, (16 << 20) - 1].map(spans_max), [Some(1 << 19), Some(1 << 17), None]);
    }
}
