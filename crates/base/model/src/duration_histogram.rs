//! How long operations of the program itself take, in fixed bins, as monitoring systems store them.

use crate::Nanos;

/// Upper ends of the bins, each included in its bin: 0.1 ms to 5 minutes, in nanoseconds. Longer ones are in one more bin.
pub const DURATION_BOUNDS_NS: [u64; 20] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    120_000_000_000,
    300_000_000_000,
];

/// Durations by the bins of [`DURATION_BOUNDS_NS`], and their sum. Counts only grow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DurationHistogram {
    counts: [u64; DURATION_BOUNDS_NS.len()],
    longer: u64,
    sum_ns: u64,
}

impl DurationHistogram {
    /// Adds one duration; negative ones count as zero.
    pub fn add(&mut self, duration: Nanos) {
        let ns = duration.ns();
        let bin = DURATION_BOUNDS_NS.partition_point(|bound| *bound < ns);
        let count = self.counts.get_mut(bin).unwrap_or(&mut self.longer);
        *count = count.saturating_add(1);
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// Each bound in nanoseconds, with the number of durations up to it.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let bins = DURATION_BOUNDS_NS.iter().zip(self.counts);
        bins.scan(0_u64, |below, (bound, count)| {
            *below = below.saturating_add(count);
            Some((*bound, *below))
        })
    }

    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(self.longer, |sum, count| sum.saturating_add(*count))
    }

    /// Sum of all durations.
    pub fn sum(&self) -> Nanos {
        Nanos::from_ns(self.sum_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_up_to_every_bound_that_is_not_shorter() {
        let mut histogram = DurationHistogram::default();
        for ns in [0, 100_000, 100_001, 1_000_000, 300_000_000_000, 300_000_000_001] {
            histogram.add(Nanos::from_ns(ns));
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        assert_eq!(cumulative[..4], [(100_000, 2), (250_000, 3), (500_000, 3), (1_000_000, 4)]);
        assert_eq!(cumulative.last(), Some(&(300_000_000_000, 5)));
        assert_eq!((histogram.count(), histogram.sum().ns()), (6, 600_001_200_002));
        assert!(DURATION_BOUNDS_NS.is_sorted_by(|left, right| left < right));
    }

    #[test]
    fn sums_do_not_overflow() {
        let mut histogram = DurationHistogram::default();
        histogram.add(Nanos::from_ns(u64::MAX));
        histogram.add(Nanos::from_ns(u64::MAX));
        assert_eq!((histogram.count(), histogram.sum().ns()), (2, u64::MAX));
    }
}
