//! Converts rows of the window table, which methods use, to times, which reports show.

use crate::sample_summary::window_start;
use laggard_model::{Nanos, Timestamp};
use laggard_report::{Onset, Window};
use laggard_samples::WindowTable;
use std::ops::Range;

/// Converts rows (windows with data, counted without gaps) to times.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    pub(super) table: &'a WindowTable,
    /// Window of each row.
    pub(super) windows: &'a [usize],
}

impl Clock<'_> {
    /// From the start of the first row's window to the end of the last's.
    pub(super) fn span(&self, rows: &Range<usize>) -> Window {
        let since = window_start(self.table, self.window(rows.start));
        let until = window_start(self.table, self.window(rows.end.saturating_sub(1).max(rows.start)) + 1);
        Window { since, until }
    }

    /// The time of an onset. A change between two windows can be up to half a window on either side of their border, and
    /// anywhere in a gap between them.
    pub(super) fn onset(&self, onset: &laggard_changes::Onset) -> Onset {
        let half = Nanos::from_ns(self.table.length.ns() / 2);
        let time = self.start(onset.row);
        let earliest = match onset.earliest {
            0 => self.start(0),
            row => self.start(row - 1).plus(half),
        };
        let latest = self.start(onset.latest.max(onset.row)).plus(half);
        Onset { at: time, earliest: earliest.min(time), latest }
    }

    fn window(&self, row: usize) -> usize {
        self.windows.get(row).copied().unwrap_or(self.table.windows)
    }

    fn start(&self, row: usize) -> Timestamp {
        window_start(self.table, self.window(row))
    }
}
