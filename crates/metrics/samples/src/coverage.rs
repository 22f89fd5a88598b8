//! The part of each window that is covered by samples.

use crate::grid::Grid;
use std::ops::Range;

/// Number of parts into which a window is divided.
const SLOTS: u32 = 64 * WORDS as u32;

/// Number of words of bits, one bit per part.
const WORDS: usize = 4;

/// A set of slots of a window, one bit each.
type SlotMask = [u64; WORDS];

/// Minimum covered share of a known window; the known part is then extrapolated to the window.
const KNOWN_MIN: f64 = 0.75;

/// Samples are dense if half of the windows they touch are covered at least to this share.
const DENSE_MIN: f64 = 0.9;

/// The coverage of every window by samples of one kind and server. A slot is covered if its middle is.
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    grid: Grid,
    windows: Range<i64>,
    covered: Vec<SlotMask>,
    unknown: Vec<SlotMask>,
    events: Vec<u32>,
    /// Whether some samples cover time continuously (counters, rates), so that uncovered time is a gap.
    pub(crate) is_continuous: bool,
    first_event_ns: i64,
    last_event_ns: i64,
}

/// How much of a window is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum WindowKnown {
    /// This share of it, 0.75 to 1; 1 also with single events only.
    Share(f64),
    /// Too little of it.
    Partly,
    /// Nothing.
    Gap,
}

impl Coverage {
    pub(crate) fn new(grid: Grid, windows: Range<i64>) -> Coverage {
        let length = (windows.end - windows.start).max(0) as usize;
        Coverage {
            grid,
            windows,
            covered: vec![[0; WORDS]; length],
            unknown: vec![[0; WORDS]; length],
            events: vec![0; length],
            is_continuous: false,
            first_event_ns: i64::MAX,
            last_event_ns: i64::MIN,
        }
    }

    /// Marks an interval as covered.
    pub(crate) fn cover(&mut self, from: i64, to: i64) {
        each_mask(self.grid, &self.windows, from, to, |window, word, mask| {
            self.covered[window][word] |= mask;
        });
        self.event(from);
    }

    /// Marks an interval with an invalid value as unknown.
    pub(crate) fn mark_unknown(&mut self, from: i64, to: i64) {
        each_mask(self.grid, &self.windows, from, to, |window, word, mask| {
            self.unknown[window][word] |= mask;
        });
    }

    /// Marks the instant of an event.
    pub(crate) fn event(&mut self, ns: i64) {
        self.first_event_ns = self.first_event_ns.min(ns);
        self.last_event_ns = self.last_event_ns.max(ns);
        let window = self.grid.window_of(ns);
        if self.windows.contains(&window) {
            let count = &mut self.events[(window - self.windows.start) as usize];
            *count = count.saturating_add(1);
        }
    }

    /// Whether an instant is covered.
    pub(crate) fn covers(&self, ns: i64) -> bool {
        let window = self.grid.window_of(ns);
        if !self.windows.contains(&window) {
            return false;
        }
        let length = self.grid.length().ns() as f64;
        let offset_ns = ns.saturating_sub(self.grid.start_of(window).unix_ns()) as f64;
        let slot = ((offset_ns / length * f64::from(SLOTS)) as usize).min(SLOTS as usize - 1);
        self.covered[(window - self.windows.start) as usize][slot / 64] >> (slot % 64) & 1 == 1
    }

    /// How much of every window is known.
    pub(crate) fn known(&self) -> Vec<WindowKnown> {
        if self.is_continuous || self.is_dense() {
            return (0..self.covered.len()).map(|window| self.share(window)).collect();
        }
        let mut known: Vec<WindowKnown> = (0..self.covered.len())
            .map(|window| match (self.events[window], is_none(&self.unknown[window])) {
                (0, true) => WindowKnown::Gap,
                (_, true) => WindowKnown::Share(1.0),
                _ => WindowKnown::Partly,
            })
            .collect();
        self.check_ends(&mut known);
        known
    }

    fn share(&self, window: usize) -> WindowKnown {
        let (covered, unknown) = (&self.covered[window], &self.unknown[window]);
        let known: u32 =
            covered.iter().zip(unknown).map(|(covered, unknown)| (covered & !unknown).count_ones()).sum();
        match f64::from(known) / f64::from(SLOTS) {
            share if share >= KNOWN_MIN => WindowKnown::Share(share),
            _ if is_none(covered) && self.events[window] == 0 => WindowKnown::Gap,
            _ => WindowKnown::Partly,
        }
    }

    fn is_dense(&self) -> bool {
        let count = |parts: &SlotMask| parts.iter().map(|word| word.count_ones()).sum::<u32>();
        let mut counts: Vec<u32> = self.covered.iter().map(count).filter(|&count| count > 0).collect();
        if counts.is_empty() {
            return false;
        }
        let middle = counts.len() / 2;
        f64::from(*counts.select_nth_unstable(middle).1) >= DENSE_MIN * f64::from(SLOTS)
    }

    /// Single events do not show when observation began. The first window is known if its first event is about as far
    /// from its beginning as events are apart, and the last likewise.
    fn check_ends(&self, known: &mut [WindowKnown]) {
        let events: u64 = self.events.iter().map(|&count| u64::from(count)).sum();
        if events == 0 {
            return;
        }
        let distance_ns = self.last_event_ns.saturating_sub(self.first_event_ns) as f64 / events as f64;
        let allowed = (3.0 * distance_ns).max(self.grid.length().ns() as f64 / 20.0);
        let (first, last) =
            (self.grid.window_of(self.first_event_ns), self.grid.window_of(self.last_event_ns));
        let before = self.first_event_ns.saturating_sub(self.grid.start_of(first).unix_ns()) as f64;
        let after =
            self.grid.start_of(last.saturating_add(1)).unix_ns().saturating_sub(self.last_event_ns) as f64;
        for (window, uncovered) in [(first, before), (last, after)] {
            if uncovered > allowed && self.windows.contains(&window) {
                known[(window - self.windows.start) as usize] = WindowKnown::Partly;
            }
        }
    }
}

fn is_none(parts: &SlotMask) -> bool {
    parts.iter().all(|&word| word == 0)
}

/// Calls `each` with every word of the windows that an interval covers, and the mask of its bits.
fn each_mask(grid: Grid, windows: &Range<i64>, from: i64, to: i64, mut each: impl FnMut(usize, usize, u64)) {
    if to <= from {
        return;
    }
    let length = grid.length().ns() as f64;
    let slot_of = |start: i64, ns: i64| {
        let slot = ns.saturating_sub(start) as f64 / length * f64::from(SLOTS) - 0.5;
        slot.ceil().clamp(0.0, f64::from(SLOTS)) as usize
    };
    for window in grid.window_of(from).max(windows.start)..=grid.window_of(to - 1).min(windows.end - 1) {
        let start = grid.start_of(window).unix_ns();
        let (low, high) = (slot_of(start, from), slot_of(start, to));
        for word in low / 64..high.div_ceil(64) {
            let below = |slot: usize| match slot.saturating_sub(64 * word) {
                bits if bits >= 64 => u64::MAX,
                bits => (1 << bits) - 1,
            };
            each((window - windows.start) as usize, word, below(high) & !below(low));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Nanos;

    fn empty_coverage() -> Coverage {
        Coverage::new(Grid::new(Nanos::from_ns(6400), Nanos::ZERO), 0..4)
    }

    #[test]
    fn dense_samples_make_windows_known_above_three_quarters() {
        let mut coverage = empty_coverage();
        for index in 0..256 {
            // The third window misses a quarter of its samples, the fourth half of them.
            if !(128..144).contains(&index) && !(192..224).contains(&index) {
                coverage.cover(index * 100, index * 100 + 100);
            }
        }
        use WindowKnown::{Partly, Share};
        assert_eq!(coverage.known(), [Share(1.0), Share(1.0), Share(0.75), Partly]);
        assert!(coverage.covers(12_799) && !coverage.covers(12_801) && !coverage.covers(-1));
        coverage.mark_unknown(100, 6400);
        assert_eq!(coverage.known()[0], Partly);
    }

    #[test]
    fn single_events_make_all_windows_but_the_ends_known() {
        let mut coverage = empty_coverage();
        for ns in [5000, 6500, 9000, 14_000, 19_300] {
            coverage.event(ns);
        }
        // The last event is at 19,300, just after the border, and nothing follows.
        assert_eq!(
            coverage.known(),
            [
                WindowKnown::Share(1.0),
                WindowKnown::Share(1.0),
                WindowKnown::Share(1.0),
                WindowKnown::Share(1.0)
            ]
        );
        for ns in 5000..19_300 {
            coverage.event(ns);
        }
        assert_eq!(
            coverage.known(),
            [WindowKnown::Partly, WindowKnown::Share(1.0), WindowKnown::Share(1.0), WindowKnown::Partly]
        );
    }

    #[test]
    fn windows_without_samples_are_gaps() {
        assert_eq!(empty_coverage().known(), [WindowKnown::Gap; 4]);
    }
}
