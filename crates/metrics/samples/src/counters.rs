//! Turns readings of counters into increments, with resets and gaps.

use crate::points::{Point, Series};
use laggard_model::{Loss, Losses};

/// The increment of a counter between two readings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Increment {
    /// The earlier reading in ns.
    pub(crate) from: i64,
    /// The later reading in ns.
    pub(crate) to: i64,
    /// In the counter's unit, ≥ 0.
    pub(crate) mass: f64,
}

/// Readings further apart than this many times the usual distance are a gap.
const GAP_FACTOR: f64 = 2.5;

/// The increments of a counter, in order of time. A value below the one before means a new start from 0. If readings
/// are further apart than 2.5 times the usual distance and than `window_ns`, the time of the increment is unknown: that
/// is a [`Loss::CounterGap`]. After a gap with a new start, the count since is assigned to the usual distance before
/// the reading if `is_read` is true, that is, if others were read then.
pub(crate) fn increments(
    series: &Series,
    window_ns: i64,
    is_read: impl Fn(i64) -> bool,
    losses: &mut Losses,
    mut each: impl FnMut(Increment),
) {
    let Some(spacing) = series.spacing() else { return };
    let longest = ((spacing as f64 * GAP_FACTOR) as i64).max(window_ns);
    for pair in series.points.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        let fell = after.value < before.value;
        let is_gap = after.ns.saturating_sub(before.ns) > longest;
        losses.add_many(Loss::CounterReset, u64::from(fell), || series.to_string());
        let mass = if fell { after.value } else { after.value - before.value };
        match (is_gap, fell) {
            (false, _) => each(Increment { from: before.ns, to: after.ns, mass }),
            (true, true) if is_read(after.ns - spacing / 2) => {
                each(Increment { from: after.ns - spacing, to: after.ns, mass });
            }
            // A counter without increment needs no interval.
            (true, _) if mass == 0.0 => {}
            (true, _) => losses.add(Loss::CounterGap, || series.to_string()),
        }
    }
}

/// The increment of a counter up to its first reading when it appeared while others of its server were read:
/// it began at 0.
pub(crate) fn birth(series: &Series, spacing: i64, is_read: impl Fn(i64) -> bool) -> Option<Increment> {
    let first: &Point = series.points.first()?;
    let from = first.ns.saturating_sub(spacing);
    let born = first.value > 0.0 && is_read(first.ns - spacing / 2);
    born.then_some(Increment { from, to: first.ns, mass: first.value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Measure, SampleRecord, Timestamp};

    fn counter(points: &[(i64, f64)]) -> Series {
        let record = SampleRecord {
            time: Timestamp::from_unix_ns(0),
            measure: Measure::TransactionsTotal,
            server: "web-1",
            tier: "",
            transaction: "Home",
            callee: "",
            value: 0.0,
        };
        let points = points.iter().map(|&(ns, value)| Point { ns, value }).collect();
        Series { points, ..Series::new(&record, &[]) }
    }

    fn all(points: &[(i64, f64)], is_read: bool) -> (Vec<(i64, i64, f64)>, Losses) {
        let mut losses = Losses::none();
        let mut found_increments = Vec::new();
        increments(
            &counter(points),
            0,
            |_| is_read,
            &mut losses,
            |increment| {
                found_increments.push((increment.from, increment.to, increment.mass));
            },
        );
        (found_increments, losses)
    }

    #[test]
    fn a_decrease_is_a_restart_from_zero() {
        let (found_increments, losses) = all(&[(0, 5.0), (10, 7.0), (20, 3.0), (30, 3.0)], false);
        assert_eq!(found_increments, [(0, 10, 2.0), (10, 20, 3.0), (20, 30, 0.0)]);
        assert_eq!(losses.count(Loss::CounterReset), 1);
    }

    #[test]
    fn a_long_gap_is_left_out_and_counted() {
        let (found_increments, losses) = all(&[(0, 5.0), (10, 7.0), (20, 8.0), (50, 20.0), (60, 21.0)], true);
        assert_eq!(found_increments, [(0, 10, 2.0), (10, 20, 1.0), (50, 60, 1.0)]);
        assert_eq!((losses.count(Loss::CounterReset), losses.count(Loss::CounterGap)), (0, 1));
        let (found_increments, _) = all(&[(0, 5.0), (10, 7.0), (20, 8.0), (45, 20.0), (55, 21.0)], true);
        assert_eq!(found_increments.len(), 4, "one missed reading is no gap");
    }

    #[test]
    fn a_restart_after_a_gap_is_counted_while_others_are_read() {
        let points = [(0, 5.0), (10, 7.0), (20, 8.0), (90, 4.0), (100, 5.0)];
        assert_eq!(all(&points, true).0[2], (80, 90, 4.0));
        let (found_increments, losses) = all(&points, false);
        assert_eq!((found_increments.len(), losses.count(Loss::CounterGap)), (3, 1));
    }

    #[test]
    fn a_counter_that_appears_beside_others_began_at_zero() {
        let series = counter(&[(100, 4.0), (110, 6.0)]);
        assert_eq!(birth(&series, 10, |_| true), Some(Increment { from: 90, to: 100, mass: 4.0 }));
        assert_eq!(birth(&series, 10, |_| false), None);
    }
}
