//! The grid of windows: windows of equal length that cover all time. Its origin is chosen so that samples lie within windows.

use crate::points::{SPACING_SAMPLE, Series};
use laggard_model::{Nanos, Timestamp};
use std::ops::Range;

/// Windows of one length, one after the other for all time. Window 0 starts at the origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    origin_ns: i64,
    length_ns: i64,
}

/// Maximum distance of a window border from a sample's end, as a share of the sample's length, to be treated as that
/// end: exporters' clocks jitter.
const JITTER_SHARE: f64 = 0.05;

/// Minimum share of samples with a common phase for windows to use it.
const AGREEMENT_MIN: f64 = 0.9;

impl Grid {
    /// Windows that start at multiples of their length since the epoch, moved by `phase`.
    pub fn new(length: Nanos, phase: Nanos) -> Grid {
        let length_ns = i64::try_from(length.ns()).unwrap_or(i64::MAX).max(1);
        Grid { origin_ns: i64::try_from(phase.ns()).unwrap_or(0) % length_ns, length_ns }
    }

    /// Length of a window.
    pub fn length(self) -> Nanos {
        Nanos::from_ns(self.length_ns.unsigned_abs())
    }

    /// The window that an instant lies in.
    pub fn window_of(self, ns: i64) -> i64 {
        ns.saturating_sub(self.origin_ns).div_euclid(self.length_ns)
    }

    /// Start of a window, saturating.
    pub fn start_of(self, window: i64) -> Timestamp {
        Timestamp::from_unix_ns(window.saturating_mul(self.length_ns).saturating_add(self.origin_ns))
    }

    /// The windows entirely between two instants; `Timestamp::MIN` and `MAX` are unbounded.
    pub(crate) fn windows_inside(self, since: Timestamp, until: Timestamp) -> Range<i64> {
        let first = self.window_of(since.unix_ns());
        let begun = since != Timestamp::MIN && self.start_of(first) < since;
        let end = self.window_of(until.unix_ns().saturating_add(1));
        first.saturating_add(i64::from(begun))..end.saturating_add(i64::from(until == Timestamp::MAX))
    }

    /// Moves an end of an interval to a nearby window border.
    fn snap(self, ns: i64, length_ns: i64) -> i64 {
        let jitter_ns = (length_ns as f64 * JITTER_SHARE) as i64;
        let offset_ns = ns.saturating_sub(self.origin_ns).rem_euclid(self.length_ns);
        match offset_ns {
            offset_ns if offset_ns <= jitter_ns => ns.saturating_sub(offset_ns),
            offset_ns if self.length_ns - offset_ns <= jitter_ns => {
                ns.saturating_add(self.length_ns - offset_ns)
            }
            _ => ns,
        }
    }

    /// Calls `each` with every window of `windows` that an interval overlaps, and the share of the interval in it.
    pub(crate) fn overlaps(self, from: i64, to: i64, windows: &Range<i64>, mut each: impl FnMut(usize, f64)) {
        let length_ns = to.saturating_sub(from);
        let (left, right) = (self.snap(from, length_ns), self.snap(to, length_ns));
        if left >= right {
            let window = self.window_of(from.saturating_add(length_ns / 2));
            if windows.contains(&window) {
                each((window - windows.start) as usize, 1.0);
            }
            return;
        }
        let total_ns = right.saturating_sub(left) as f64;
        let first = self.window_of(left).max(windows.start);
        let last = self.window_of(right - 1).min(windows.end - 1);
        for window in first..=last {
            let start = self.start_of(window).unix_ns().max(left);
            let end = self.start_of(window + 1).unix_ns().min(right);
            each((window - windows.start) as usize, end.saturating_sub(start) as f64 / total_ns);
        }
    }
}

/// The grid for some series: if samples cover intervals of one length that divides the window, and share a phase,
/// windows start at that phase, so that no sample is split. Else they start at multiples of their length.
pub(crate) fn grid_for<'s>(series: impl Iterator<Item = &'s Series>, length: Nanos) -> Grid {
    let plain = Grid::new(length, Nanos::ZERO);
    let spaced: Vec<(&Series, i64)> =
        series.filter_map(|series| series.spacing().map(|spacing| (series, spacing))).collect();
    // Samples much shorter than a window may be split without harm, and longer ones must be.
    let fits = |spacing: i64| spacing <= plain.length_ns && spacing >= plain.length_ns / 60;
    let Some(spacing) = spaced.iter().map(|&(_, spacing)| spacing).filter(|&spacing| fits(spacing)).max()
    else {
        return plain;
    };
    if plain.length_ns % spacing != 0 {
        return plain;
    }
    let coarse = spaced.iter().filter(|&&(_, own)| own == spacing).map(|&(series, _)| series);
    match common_phase(coarse, spacing) {
        Some(phase) => Grid::new(length, Nanos::from_ns(phase.unsigned_abs())),
        None => plain,
    }
}

/// The phase that nearly all points share, in 0..spacing.
fn common_phase<'s>(series: impl Iterator<Item = &'s Series>, spacing: i64) -> Option<i64> {
    let mut phases: Vec<i64> = series
        .flat_map(|series| {
            let step = series.points.len().div_ceil(SPACING_SAMPLE).max(1);
            series.points.iter().step_by(step).map(|point| point.ns.rem_euclid(spacing))
        })
        .collect();
    phases.sort_unstable();
    let tolerance = (spacing as f64 * JITTER_SHARE / 2.0) as i64;
    let agreed = |candidate: &i64| {
        let close = phases.iter().filter(|&&phase| {
            let distance = (phase - candidate).rem_euclid(spacing);
            distance <= tolerance || spacing - distance <= tolerance
        });
        close.count() as f64 >= AGREEMENT_MIN * phases.len() as f64
    };
    // A few may deviate on either side, so several are tried; a round phase first.
    let phase = |tenth: usize| phases.get(phases.len() * tenth / 10).copied();
    std::iter::once(0).chain([5, 3, 7, 1, 9].into_iter().filter_map(phase)).find(agreed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Point;
    use laggard_model::{Measure, SampleRecord};

    fn overlaps(from: i64, to: i64) -> Vec<(usize, f64)> {
        let mut overlaps = Vec::new();
        let grid = Grid::new(Nanos::from_ns(100), Nanos::ZERO);
        grid.overlaps(from, to, &(0..10), |window, share| overlaps.push((window, share)));
        overlaps
    }

    #[test]
    fn an_interval_is_divided_by_overlap() {
        assert_eq!(overlaps(50, 250), [(0, 0.25), (1, 0.5), (2, 0.25)]);
        assert_eq!(overlaps(100, 200), [(1, 1.0)]);
        assert_eq!(overlaps(-100, 100), [(0, 0.5)], "what lies before the first window is left out");
        assert_eq!(overlaps(950, 1150), [(9, 0.25)]);
    }

    #[test]
    fn ends_close_to_a_border_are_moved_to_it() {
        assert_eq!(overlaps(102, 203), [(1, 1.0)]);
        assert_eq!(overlaps(98, 199), [(1, 1.0)]);
        assert_eq!(overlaps(99, 101), [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn only_complete_windows_are_inside() {
        let grid = Grid::new(Nanos::from_ns(100), Nanos::from_ns(30));
        let time = Timestamp::from_unix_ns;
        assert_eq!(grid.windows_inside(time(30), time(229)), 0..2);
        assert_eq!(grid.windows_inside(time(31), time(228)), 1..1);
        assert_eq!(grid.window_of(29), -1);
        assert_eq!(grid.start_of(2), time(230));
    }

    fn series(times: impl Iterator<Item = i64>) -> Series {
        let record = SampleRecord {
            time: Timestamp::from_unix_ns(0),
            measure: Measure::Transactions,
            server: "",
            tier: "",
            transaction: "",
            callee: "",
            value: 0.0,
        };
        let points = times.map(|ns| Point { ns, value: 1.0 }).collect();
        Series { points, ..Series::new(&record, &[]) }
    }

    #[test]
    fn windows_follow_the_phase_of_coarse_samples() {
        let length = Nanos::from_ns(6000);
        let every = |spacing: i64, phase: i64| series((0..50).map(move |index| phase + index * spacing));
        let start = |series: &Series| grid_for([series].into_iter(), length).start_of(0).unix_ns();
        assert_eq!(start(&every(6000, 2300)), 2300);
        assert_eq!(start(&every(2000, 6700)), 700);
        assert_eq!(start(&every(10, 7)), 0, "fine samples need no phase");
        assert_eq!(start(&every(3500, 7)), 0, "samples that do not fit are cut anyway");
        let trembling = series((0..50).map(|index| index * 6000 + 5998 + (index % 3) * 2));
        assert_eq!(start(&trembling), 0);
        let scattered = series((0..50).map(|index| index * 6000 + (index * 977) % 3000));
        assert_eq!(start(&scattered), 0);
    }
}
