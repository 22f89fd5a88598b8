//! Delays between wake-ups and switches in, by size.

use laggard_model::KernelTime;
use std::collections::BTreeMap;

/// Each power of two has this many buckets of equal width, as a power of two: a bucket is at most 1/32 of its delays wide.
const BUCKET_BITS: u32 = 5;

/// How long after its wake-ups a thread ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeupDelays {
    /// Number of wake-ups whose delay is known.
    pub count: u64,
    /// Nanoseconds together.
    pub total_ns: u64,
    /// Median in nanoseconds, within 1.6 %.
    pub median_ns: u64,
    /// 95th percentile in nanoseconds, within 1.6 %.
    pub p95_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// The wake-up of the longest; the first of several.
    pub longest_from: KernelTime,
}

/// The delays of one thread during counting. Memory: at most 1,920 buckets, whatever their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    total_ns: u64,
    longest_ns: u64,
    longest_from: KernelTime,
}

impl Delays {
    pub(crate) fn add(&mut self, woken: KernelTime, runs: KernelTime) {
        let ns = runs.since(woken);
        *self.buckets.entry(bucket(ns)).or_default() += 1;
        if self.count == 0 || ns > self.longest_ns {
            (self.longest_ns, self.longest_from) = (ns, woken);
        }
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
    }

    /// Their summary; `None` without any.
    pub(crate) fn summary(&self) -> Option<WakeupDelays> {
        (self.count > 0).then(|| WakeupDelays {
            count: self.count,
            total_ns: self.total_ns,
            median_ns: self.percentile(50),
            p95_ns: self.percentile(95),
            longest_ns: self.longest_ns,
            longest_from: self.longest_from,
        })
    }

    /// A percentile by the nearest rank: the middle of the bucket that contains it.
    fn percentile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100) as u64;
        let mut counted = 0;
        let found = self.buckets.iter().find(|&(_, count)| {
            counted += count;
            counted >= rank
        });
        found.map_or(0, |(&bucket, _)| middle(bucket).min(self.longest_ns))
    }
}

/// The bucket of a delay: below 32 ns the delay itself.
fn bucket(ns: u64) -> u16 {
    let shift = (ns.max(1).ilog2()).saturating_sub(BUCKET_BITS);
    ((shift << BUCKET_BITS) + (ns >> shift) as u32) as u16
}

fn middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    let exact = 1 << BUCKET_BITS;
    let shift = (bucket >> BUCKET_BITS).saturating_sub(1);
    let from = (bucket - (shift << BUCKET_BITS)) << shift;
    if bucket < 2 * exact { bucket } else { from + (1 << shift) / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(ns: impl IntoIterator<Item = u64>) -> Option<WakeupDelays> {
        let mut delays = Delays::default();
        for (index, ns) in ns.into_iter().enumerate() {
            let woken = KernelTime::from_ns(1_000 * index as u64);
            delays.add(woken, woken.plus_ns(ns));
        }
        delays.summary()
    }

    #[test]
    fn percentiles_are_within_a_bucket_of_the_exact_ones() {
        // 1 to 1000 µs: the 500th and the 950th.
        let summary = delays((1..=1_000).map(|us| us * 1_000)).unwrap();
        assert_eq!((summary.count, summary.longest_ns), (1_000, 1_000_000));
        assert_eq!(summary.longest_from, KernelTime::from_ns(999_000));
        for (found, exact) in [(summary.median_ns, 500_000_f64), (summary.p95_ns, 950_000.)] {
            assert!((found as f64 / exact - 1.).abs() < 0.016, "{found} for {exact}");
        }
        assert_eq!(summary.total_ns, 500_500_000);
    }

    #[test]
    fn every_delay_is_within_its_bucket() {
        let sizes =
            (0..64).flat_map(|power| [1_u64 << power, (1 << power) + (1 << power) / 3, u64::MAX >> power]);
        let mut last = (0, 0);
        let mut sorted: Vec<u64> = sizes.chain(0..200).collect();
        sorted.sort_unstable();
        for ns in sorted {
            let bucket = bucket(ns);
            assert!(ns >= last.0 && bucket >= last.1, "buckets are in the order of delays: {ns}");
            let error = middle(bucket).abs_diff(ns) as f64;
            assert!(error <= ns as f64 / 63., "{ns} is {}", middle(bucket));
            last = (ns, bucket);
        }
        assert!(last.1 < 1_920, "{}", last.1);
    }

    #[test]
    fn few_delays_have_themselves_as_percentiles() {
        assert_eq!(delays([]), None);
        let one = delays([31]).unwrap();
        assert_eq!((one.median_ns, one.p95_ns, one.longest_ns), (31, 31, 31));
        let two = delays([0, 40]).unwrap();
        assert_eq!((two.median_ns, two.p95_ns, two.longest_from), (0, 40, KernelTime::from_ns(1_000)));
    }
}
