//! Latencies in bins of logarithmic width: small, mergeable in any order.

/// How often each time occurred. A bin is at most `2^-STEP_BITS` of its lower end wide, and times below
/// `2^(STEP_BITS + 1)` ns have bins of their own. Exact integers, so any order of adding and merging gives the same
/// histogram. At most `(65 - STEP_BITS) 2^STEP_BITS` bins; only non-empty ones are stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogHistogram<const STEP_BITS: u32> {
    /// In ascending order.
    bins: Vec<HistogramBin>,
}

/// A non-empty bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistogramBin {
    /// Number of the bin.
    pub index: u16,
    /// Number of times in it.
    pub count: u64,
}

impl<const STEP_BITS: u32> LogHistogram<STEP_BITS> {
    /// The non-empty bins, ascending.
    pub fn bins(&self) -> &[HistogramBin] {
        &self.bins
    }

    /// Adds one time, nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.add_many(Self::bin_of(ns), 1);
    }

    fn add_many(&mut self, index: u16, count: u64) {
        match self.bins.binary_search_by_key(&index, |bin| bin.index) {
            Ok(position) => self.bins[position].count = self.bins[position].count.saturating_add(count),
            Err(position) => self.bins.insert(position, HistogramBin { index, count }),
        }
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &Self) {
        other.bins.iter().for_each(|bin| self.add_many(bin.index, bin.count));
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(0, |sum, bin| sum.saturating_add(bin.count))
    }

    /// The middle of the bin that holds the `ceil(q n)`-th smallest time (`q` in 0..=1), nanoseconds: off by at most
    /// half a bin. `None` without times.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0_u64;
        for bin in &self.bins {
            below = below.saturating_add(bin.count);
            if below >= rank {
                return Some(Self::middle_of(bin.index));
            }
        }
        None
    }

    fn bin_of(ns: u64) -> u16 {
        if ns < 2 << STEP_BITS {
            return ns as u16;
        }
        let exponent = ns.ilog2() - STEP_BITS;
        ((u64::from(exponent) << STEP_BITS) + (ns >> exponent)) as u16
    }

    fn middle_of(bin: u16) -> u64 {
        let bin = u64::from(bin);
        if bin < 2 << STEP_BITS {
            return bin;
        }
        let exponent = (bin >> STEP_BITS) - 1;
        let mantissa = bin - (exponent << STEP_BITS);
        (mantissa << exponent) + (1 << exponent) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::LogHistogram;

    fn check_bins<const STEP_BITS: u32>(last_bin: u16) {
        let steps = f64::from(1_u32 << STEP_BITS);
        let mut last = 0;
        for ns in (0..5_000).chain((0..400).map(|i| (1.1_f64.powi(i) * 5e3) as u64)).chain([u64::MAX]) {
            let bin = LogHistogram::<STEP_BITS>::bin_of(ns);
            let middle = LogHistogram::<STEP_BITS>::middle_of(bin);
            assert!(bin >= last && (ns > 5_000 || bin <= last + 1), "{ns}");
            assert!(middle.abs_diff(ns) as f64 <= ns as f64 / (2.0 * steps - 1.0), "{ns} in {middle}");
            last = bin;
        }
        assert_eq!(last, last_bin);
    }

    #[test]
    fn bins_have_no_gaps_and_a_middle_close_to_their_times() {
        check_bins::<4>(975);
        check_bins::<5>(1919);
    }

    #[test]
    fn quantiles_are_by_nearest_rank_and_merging_is_adding() {
        let mut all = LogHistogram::<5>::default();
        assert_eq!(all.quantile(0.5), None);
        let mut parts = [LogHistogram::<5>::default(), LogHistogram::default()];
        for ns in (1..=1000_u64).map(|i| i * i * 1_000) {
            all.add(ns);
            parts[(ns / 1_000 % 2) as usize].add(ns);
        }
        let [mut merged, second] = parts;
        merged.merge(&second);
        assert_eq!(merged, all);
        for (q, exact) in [(0.5, 500.0_f64), (0.99, 990.0), (1.0, 1000.0)] {
            let quantile = all.quantile(q).expect("there are times") as f64;
            assert!((quantile / (exact * exact * 1e3) - 1.0).abs() <= 1.0 / 64.0 + 1e-9, "{q}: {quantile}");
        }
    }

    #[test]
    fn small_times_are_exact() {
        let mut histogram = LogHistogram::<4>::default();
        [1, 2, 3, 30].into_iter().for_each(|ns| histogram.add(ns));
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|q| histogram.quantile(q)), [1, 2, 3, 30].map(Some));
    }
}
