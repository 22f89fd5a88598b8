//! The intervals of time that samples represent.

use crate::points::{Point, Series};

/// A sample and the interval it represents.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SampleInterval {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) value: f64,
}

/// A sample extends to the next one of its series if that is within this multiple of the usual length.
const REACH_FACTOR: f64 = 1.5;

/// The usual length of the intervals of a series: its median distance when it is regular; else, because types that
/// did not occur are left out of some tables, the shortest usual distance of all series beside it.
pub(crate) fn usual_length(series: &Series, shortest: Option<i64>) -> Option<i64> {
    let (median, low) = (series.spacing_quantile(0.5), series.spacing_quantile(0.1));
    match (median, low) {
        (Some(median), Some(low)) if median as f64 <= REACH_FACTOR * low as f64 => Some(median),
        _ => shortest,
    }
}

/// The shortest usual distance over some series.
pub(crate) fn shortest<'s>(series: impl Iterator<Item = &'s Series>) -> Option<i64> {
    series.filter_map(|series| series.spacing_quantile(0.1)).min()
}

/// The intervals of a series whose usual length is known.
pub(crate) fn sample_intervals(points: &[Point], length: i64) -> impl Iterator<Item = SampleInterval> {
    let reach = (length as f64 * REACH_FACTOR) as i64;
    points.iter().enumerate().map(move |(index, point)| {
        let next = points.get(index + 1).map(|next| next.ns.saturating_sub(point.ns));
        let long = next.filter(|&long| long <= reach).unwrap_or(length);
        SampleInterval { from: point.ns, to: point.ns.saturating_add(long), value: point.value }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_at_the_next_sample_if_that_is_close() {
        let points = [0, 10, 24, 60].map(|ns| Point { ns, value: 1.0 });
        let ends: Vec<i64> = sample_intervals(&points, 10).map(|interval| interval.to).collect();
        assert_eq!(ends, [10, 24, 34, 70]);
    }
}
