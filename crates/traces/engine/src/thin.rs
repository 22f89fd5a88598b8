//! Consistent thinning: complete traces are dropped by a hash of their id, so that the rest is a fair sample.

use laggard_model::{TraceId, mix64};

/// Retains one in `2^level` traces. Every input of a run makes the same decision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thinning {
    level: u32,
    rows_dropped: u64,
}

/// Thinning stops here: a limit that cannot hold one trace in 65,536 is no limit for this input.
const LEVEL_MAX: u32 = 16;

impl Thinning {
    pub(crate) fn retains(&self, trace: TraceId) -> bool {
        hash(trace) & ((1 << self.level) - 1) == 0
    }

    /// Whether a new row is retained; counts it otherwise.
    pub(crate) fn retain_row(&mut self, trace: TraceId) -> bool {
        let retained = self.level == 0 || self.retains(trace);
        self.rows_dropped += u64::from(!retained);
        retained
    }

    /// Counts a row that is dropped for lack of memory.
    pub(crate) fn count_dropped(&mut self) {
        self.rows_dropped += 1;
    }

    /// Halves the share of retained traces; false at the limit.
    pub(crate) fn halve(&mut self) -> bool {
        if self.level == LEVEL_MAX {
            return false;
        }
        self.level += 1;
        true
    }

    pub(crate) fn merge(&mut self, other: Thinning) {
        self.level = self.level.max(other.level);
        self.rows_dropped += other.rows_dropped;
    }

    /// Drops rows that are no longer retained, and frees their memory.
    pub(crate) fn apply<T>(&mut self, rows: &mut Vec<T>, trace_of: impl Fn(&T) -> TraceId) {
        if self.level == 0 {
            return;
        }
        let before = rows.len();
        rows.retain(|row| self.retains(trace_of(row)));
        self.rows_dropped += (before - rows.len()) as u64;
        rows.shrink_to(rows.len() * 2);
    }

    pub(crate) fn rows_dropped(&self) -> u64 {
        self.rows_dropped
    }

    pub(crate) fn thinning_factor(&self) -> u64 {
        1 << self.level
    }
}

/// A hash that spreads even sequential ids; its low bits decide thinning, its high bits the bucket.
pub(crate) fn hash(trace: TraceId) -> u64 {
    let value = trace.value();
    mix64((value as u64) ^ ((value >> 64) as u64).rotate_left(32) ^ 0x9E37_79B9_7F4A_7C15)
}
