//! Latencies in bins of about 3 %: small, mergeable in any order.

/// Bins of a factor of two.
const STEPS: u64 = 32;

/// Bits of a step.
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// How often each latency occurred. A bin is at most 1/32 of its lower end wide, and times below 64 ns have bins
/// of their own: a quantile is off by at most 1/64, 1.6 %. Exact integers, so any order of adding and
/// merging gives the same histogram. At most 1,920 bins; only non-empty ones are stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LatencyHistogram {
    /// By bin, growing.
    bins: Vec<LatencyBin>,
}

/// One bin that holds something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyBin {
    /// Its number, below 1,920.
    pub index: u16,
    /// Latencies in it.
    pub count: u64,
}

/// Bins there can be.
const BINS: u16 = 1920;

impl LatencyHistogram {
    /// A histogram of bins that were stored; in any order, those of equal number add up.
    pub fn from_bins(bins: impl IntoIterator<Item = LatencyBin>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        for bin in bins {
            histogram.add_many(bin.index.min(BINS - 1), bin.count);
        }
        histogram
    }

    /// The bins that hold something, growing.
    pub fn bins(&self) -> &[LatencyBin] {
        &self.bins
    }

    /// Adds one latency, nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.add_many(bin_of(ns), 1);
    }

    fn add_many(&mut self, index: u16, count: u64) {
        if count == 0 {
            return;
        }
        match self.bins.binary_search_by_key(&index, |bin| bin.index) {
            Ok(at) => self.bins[at].count = self.bins[at].count.saturating_add(count),
            Err(at) => self.bins.insert(at, LatencyBin { index, count }),
        }
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        other.bins.iter().for_each(|bin| self.add_many(bin.index, bin.count));
    }

    /// How many latencies there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.count))
    }

    /// The middle of the bin that holds the `ceil(q n)`-th smallest latency (`q` in 0..=1), nanoseconds;
    /// `None` without latencies.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0_u64;
        for bin in &self.bins {
            below = below.saturating_add(bin.count);
            if below >= rank {
                return Some(middle_of(bin.index));
            }
        }
        None
    }
}

fn bin_of(ns: u64) -> u16 {
    if ns < 2 * STEPS {
        return ns as u16;
    }
    let exponent = ns.ilog2() - STEP_BITS;
    (u64::from(exponent) * STEPS + (ns >> exponent)) as u16
}

fn middle_of(bin: u16) -> u64 {
    let bin = u64::from(bin);
    if bin < 2 * STEPS {
        return bin;
    }
    let exponent = bin / STEPS - 1;
    let mantissa = bin - exponent * STEPS;
    (mantissa << exponent) + (1 << exponent) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_no_gaps_and_a_middle_close_by() {
        let mut last = 0;
        for ns in (0..10_000).chain((0..400).map(|i| (1.1_f64.powi(i) * 1e4) as u64)).chain([u64::MAX]) {
            let bin = bin_of(ns);
            assert!(bin >= last && (ns > 10_000 || bin <= last + 1), "{ns}");
            assert!(middle_of(bin).abs_diff(ns) as f64 <= ns as f64 / 63.0, "{ns} in {}", middle_of(bin));
            last = bin;
        }
        assert_eq!(last, BINS - 1);
    }

    #[test]
    fn quantiles_are_by_nearest_rank_and_merging_is_adding() {
        let mut whole = LatencyHistogram::default();
        assert_eq!(whole.quantile(0.5), None);
        let mut parts = [LatencyHistogram::default(), LatencyHistogram::default()];
        for ns in (1..=1000_u64).map(|i| i * i * 1_000) {
            whole.add(ns);
            parts[(ns / 1_000 % 2) as usize].add(ns);
        }
        let [mut merged, second] = parts;
        merged.merge(&second);
        assert_eq!(merged, whole);
        assert_eq!(LatencyHistogram::from_bins(whole.bins().iter().rev().copied()), whole);
        for (q, exact) in [(0.5, 500.0_f64), (0.99, 990.0), (1.0, 1000.0)] {
            let found = whole.quantile(q).unwrap() as f64;
            assert!((found / (exact * exact * 1e3) - 1.0).abs() <= 1.0 / 64.0 + 1e-9, "{q}: {found}");
        }
    }

    #[test]
    fn a_stored_bin_beyond_the_last_one_does_no_harm() {
        let odd = LatencyHistogram::from_bins([LatencyBin { index: u16::MAX, count: u64::MAX }]);
        assert!(odd.quantile(0.5).unwrap() > u64::MAX / 2);
        let mut twice = odd.clone();
        twice.merge(&odd);
        assert_eq!(twice.count(), u64::MAX);
    }
}
