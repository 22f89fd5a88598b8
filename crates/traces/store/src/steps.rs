//! Whether this process still reads and computes: a counter of small steps, whatever question they are for.
//!
//! It belongs to the process, as the threads do that take the steps: a unit that waits for a thread is not stuck while others advance.

use std::sync::atomic::{AtomicU64, Ordering};

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Counts a step: some bytes, some rows, or a computation that took less than a second of a thread.
pub(crate) fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Steps of reading and computing that stores of this process have done. While it does not grow, nothing is read and nothing computed, or
/// what is computed takes long without a step.
pub fn steps_done() -> u64 {
    STEPS.load(Ordering::Relaxed)
}
