//! Which part of each window samples cover.

use crate::grid::Grid;
use std::ops::Range;

/// Parts that a window is looked at in.
const SLOTS: u32 = 64 * WORDS as u32;

/// Words of bits, one a part.
const WORDS: usize = 4;

/// Which parts of a window.
type Parts = [u64; WORDS];

/// A window counts as known from this share on; what is known then stands for all of it.
const KNOWN_MIN: f64 = 0.75;

/// Samples cover time densely when half of the windows they touch are covered to this share.
const DENSE: f64 = 0.9;

/// What samples of one kind at one place cover of every window. A slot is covered when its middle is.
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    grid: Grid,
    windows: Range<i64>,
    covered: Vec<Parts>,
    unknown: Vec<Parts>,
    events: Vec<u32>,
    /// Some samples tell of every moment (counters, rates), so that what is not covered is a gap.
    pub(crate) is_continuous: bool,
    first_event_ns: i64,
    last_event_ns: i64,
}

/// What is known of one window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Known {
    /// This share of it, 0.75 to 1; 1 also when only single events tell.
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

    /// Marks a stretch of time as told.
    pub(crate) fn cover(&mut self, from: i64, to: i64) {
        each_mask(self.grid, &self.windows, from, to, |window, word, mask| {
            self.covered[window][word] |= mask;
        });
        self.event(from);
    }

    /// Marks a stretch whose value cannot be.
    pub(crate) fn spoil(&mut self, from: i64, to: i64) {
        each_mask(self.grid, &self.windows, from, to, |window, word, mask| {
            self.unknown[window][word] |= mask;
        });
    }

    /// Marks an instant at which something was told.
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
        let into = ns.saturating_sub(self.grid.start_of(window).unix_ns()) as f64;
        let slot = ((into / length * f64::from(SLOTS)) as usize).min(SLOTS as usize - 1);
        self.covered[(window - self.windows.start) as usize][slot / 64] >> (slot % 64) & 1 == 1
    }

    /// What is known of every window.
    pub(crate) fn known(&self) -> Vec<Known> {
        if self.is_continuous || self.is_dense() {
            return (0..self.covered.len()).map(|window| self.share(window)).collect();
        }
        let mut known: Vec<Known> = (0..self.covered.len())
            .map(|window| match (self.events[window], is_none(&self.unknown[window])) {
                (0, true) => Known::Gap,
                (_, true) => Known::Share(1.0),
                _ => Known::Partly,
            })
            .collect();
        self.mistrust_ends(&mut known);
        known
    }

    fn share(&self, window: usize) -> Known {
        let (covered, unknown) = (&self.covered[window], &self.unknown[window]);
        let known: u32 =
            covered.iter().zip(unknown).map(|(covered, unknown)| (covered & !unknown).count_ones()).sum();
        match f64::from(known) / f64::from(SLOTS) {
            share if share >= KNOWN_MIN => Known::Share(share),
            _ if is_none(covered) && self.events[window] == 0 => Known::Gap,
            _ => Known::Partly,
        }
    }

    fn is_dense(&self) -> bool {
        let count = |parts: &Parts| parts.iter().map(|word| word.count_ones()).sum::<u32>();
        let mut counts: Vec<u32> = self.covered.iter().map(count).filter(|&count| count > 0).collect();
        if counts.is_empty() {
            return false;
        }
        let middle = counts.len() / 2;
        f64::from(*counts.select_nth_unstable(middle).1) >= DENSE * f64::from(SLOTS)
    }

    /// Single events do not tell when somebody began to look. The first window counts when it begins about as long
    /// before its first event as events are apart, and the last likewise.
    fn mistrust_ends(&self, known: &mut [Known]) {
        let events: u64 = self.events.iter().map(|&count| u64::from(count)).sum();
        if events == 0 {
            return;
        }
        let apart = self.last_event_ns.saturating_sub(self.first_event_ns) as f64 / events as f64;
        let allowed = (3.0 * apart).max(self.grid.length().ns() as f64 / 20.0);
        let (first, last) =
            (self.grid.window_of(self.first_event_ns), self.grid.window_of(self.last_event_ns));
        let before = self.first_event_ns.saturating_sub(self.grid.start_of(first).unix_ns()) as f64;
        let after =
            self.grid.start_of(last.saturating_add(1)).unix_ns().saturating_sub(self.last_event_ns) as f64;
        for (window, uncovered) in [(first, before), (last, after)] {
            if uncovered > allowed && self.windows.contains(&window) {
                known[(window - self.windows.start) as usize] = Known::Partly;
            }
        }
    }
}

fn is_none(parts: &Parts) -> bool {
    parts.iter().all(|&word| word == 0)
}

/// Calls back with every word of the windows that a stretch of time covers, and the bits of it in that.
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

    fn coverage() -> Coverage {
        Coverage::new(Grid::new(Nanos::from_ns(6400), Nanos::ZERO), 0..4)
    }

    #[test]
    fn dense_samples_make_windows_known_from_three_quarters() {
        let mut seen = coverage();
        for at in 0..256 {
            // The third window misses a quarter of its samples, the fourth half of them.
            if !(128..144).contains(&at) && !(192..224).contains(&at) {
                seen.cover(at * 100, at * 100 + 100);
            }
        }
        use Known::{Partly, Share};
        assert_eq!(seen.known(), [Share(1.0), Share(1.0), Share(0.75), Partly]);
        assert!(seen.covers(12_799) && !seen.covers(12_801) && !seen.covers(-1));
        seen.spoil(100, 6400);
        assert_eq!(seen.known()[0], Partly);
    }

    #[test]
    fn single_events_make_a_window_known_but_for_the_ends() {
        let mut seen = coverage();
        for ns in [5000, 6500, 9000, 14_000, 19_300] {
            seen.event(ns);
        }
        // The last event is at 19,300, just after the border, and nothing follows.
        assert_eq!(
            seen.known(),
            [Known::Share(1.0), Known::Share(1.0), Known::Share(1.0), Known::Share(1.0)]
        );
        for ns in 5000..19_300 {
            seen.event(ns);
        }
        assert_eq!(seen.known(), [Known::Partly, Known::Share(1.0), Known::Share(1.0), Known::Partly]);
    }

    #[test]
    fn nothing_is_a_gap() {
        assert_eq!(coverage().known(), [Known::Gap; 4]);
    }
}
