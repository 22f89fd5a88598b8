//! What happens next.

use std::cmp::Ordering;

/// A job and when it is due, ordered so that the largest is due first: `BinaryHeap` gives the largest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// Seconds; never NaN.
    pub(crate) at: f64,
    /// Number of its arrival: what came first goes first among equal times.
    pub(crate) number: u64,
    pub(crate) job: u32,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        other.at.total_cmp(&self.at).then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}
