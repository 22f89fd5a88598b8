//! Ranges of trace ids with a bounded number of spans, for processing large inputs part by part.

use laggard_model::TraceId;

/// Trace ids from one to another, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TraceRange {
    pub(crate) min: TraceId,
    pub(crate) max: TraceId,
}

/// Ranges that cover all trace ids, each with about `rows_max` rows at most. They are cut at some traces, up to the next of which there
/// are so many rows, such as the row groups of files; one trace is never in two.
pub(crate) fn ranges(mut groups: Vec<(TraceId, u64)>, rows_max: u64) -> Vec<TraceRange> {
    groups.sort_unstable();
    let mut starts = vec![TraceId::from_value(0)];
    let mut rows = 0;
    for (min, more) in groups {
        if rows > 0 && rows + more > rows_max && starts.last().is_none_or(|&last| last < min) {
            starts.push(min);
            rows = 0;
        }
        rows += more;
    }
    let ends = starts[1..].iter().map(|start| TraceId::from_value(start.value() - 1));
    let ends: Vec<TraceId> = ends.chain([TraceId::from_value(u128::MAX)]).collect();
    starts.into_iter().zip(ends).map(|(min, max)| TraceRange { min, max }).collect()
}
