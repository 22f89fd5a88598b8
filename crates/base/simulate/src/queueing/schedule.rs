//! Departures of jobs in order of time.

use std::cmp::Ordering;

/// A job and its departure time, ordered so that the largest departs first: `BinaryHeap` pops the largest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScheduledJob {
    /// Seconds; never NaN.
    pub(crate) end_s: f64,
    /// Number of its arrival: what came first goes first among equal times.
    pub(crate) number: u64,
    pub(crate) job: u32,
}

impl Ord for ScheduledJob {
    fn cmp(&self, other: &ScheduledJob) -> Ordering {
        other.end_s.total_cmp(&self.end_s).then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for ScheduledJob {
    fn partial_cmp(&self, other: &ScheduledJob) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScheduledJob {
    fn eq(&self, other: &ScheduledJob) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScheduledJob {}
