//! A window cut into equal cells, and which of them are a fair sample of it.
//!
//! At a share of one cell in 2^k, every run of 2^k neighboring cells has exactly one cell of the sample, so the sample is spread
//! evenly over the window. Which one follows from a hash, so that what happens at regular intervals is neither always in the
//! sample nor never. The sample at a share contains those at all smaller shares: reading more never discards what was read.

use crate::time_slice::TimeSlice;
use laggard_model::{Nanos, mix64};

/// Most halvings of a window: a million cells.
pub(crate) const DEPTH_MAX: u32 = 20;

/// A window of 2^depth cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grid {
    pub(crate) window: TimeSlice,
    pub(crate) depth: u32,
}

impl Grid {
    /// Number of cells.
    pub(crate) fn cells(self) -> u64 {
        1 << self.depth
    }

    /// A cell by its index in the order of time.
    pub(crate) fn cell(self, index: u64) -> TimeSlice {
        let length = u128::from(self.window.length().ns());
        let start = |index: u64| {
            let offset = (length * u128::from(index)) >> self.depth;
            self.window.since.plus(Nanos::from_ns(offset as u64))
        };
        TimeSlice { since: start(index), until: start(index + 1) }
    }

    /// The largest k for which a cell is in the sample of one cell in 2^k.
    pub(crate) fn rank(self, index: u64) -> u32 {
        let is_preferred = |height: u32| {
            let parent = index >> (height + 1);
            let level = u64::from(self.depth - height - 1);
            preferred_half(level, parent) == (index >> height) & 1
        };
        (0..self.depth).take_while(|&height| is_preferred(height)).count() as u32
    }
}

/// The half (0 or 1) of a part of the window that represents it; parts are numbered by level from the whole window, 0, down.
pub(crate) fn preferred_half(level: u64, part: u64) -> u64 {
    mix64(((level + 1) << 48) ^ part) & 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;

    fn grid(depth: u32) -> Grid {
        let time = Timestamp::from_unix_ns;
        Grid { window: TimeSlice { since: time(1_000), until: time(4_333) }, depth }
    }

    #[test]
    fn cells_cover_the_window_without_overlap() {
        for depth in [0, 1, 3, 5] {
            let grid = grid(depth);
            let cells: Vec<TimeSlice> = (0..grid.cells()).map(|index| grid.cell(index)).collect();
            assert_eq!(cells[0].since, grid.window.since);
            assert_eq!(cells[cells.len() - 1].until, grid.window.until);
            assert!(cells.windows(2).all(|pair| pair[0].until == pair[1].since), "{cells:?}");
        }
    }

    #[test]
    fn every_share_is_spread_evenly() {
        let grid = grid(10);
        for share in 0..=10 {
            let run = 1 << share;
            for first in (0..grid.cells()).step_by(run as usize) {
                let sampled = (first..first + run).filter(|&index| grid.rank(index) >= share).count();
                assert_eq!(sampled, 1, "one in {run} from {first}");
            }
        }
    }

    #[test]
    fn samples_are_not_periodic() {
        let grid = grid(12);
        let offsets: Vec<u64> =
            (0..grid.cells()).filter(|&index| grid.rank(index) >= 6).map(|index| index % 64).collect();
        let distinct: std::collections::BTreeSet<_> = offsets.iter().collect();
        assert!(offsets.len() == 64 && distinct.len() > 20, "{offsets:?}");
    }
}
