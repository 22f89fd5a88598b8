//! Latencies in bins of about 3 %: small, mergeable in any order, and precise enough for a rank test.

use laggard_numeric::normal_upper_tail;

/// Sub-divisions of a factor of two.
const STEPS: u64 = 16;

/// Bits of a step.
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// How often each time occurred, in bins whose width is at most 1/16 of their lower end; times below 32 ns have
/// bins of their own. Exact integers: any order of adding gives the same histogram. At most 976 bins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogHistogram {
    /// By bin, growing.
    bins: Vec<Bin>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bin {
    index: u16,
    count: u64,
}

impl LogHistogram {
    /// Adds one time, nanoseconds.
    pub fn add(&mut self, ns: u64) {
        self.add_many(bin_of(ns), 1);
    }

    fn add_many(&mut self, index: u16, count: u64) {
        match self.bins.binary_search_by_key(&index, |bin| bin.index) {
            Ok(position) => self.bins[position].count += count,
            Err(position) => self.bins.insert(position, Bin { index, count }),
        }
    }

    /// Adds another histogram.
    pub fn merge(&mut self, other: &LogHistogram) {
        other.bins.iter().for_each(|bin| self.add_many(bin.index, bin.count));
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// The middle of the bin that holds the `ceil(q n)`-th smallest time, nanoseconds: within about 3 % of the
    /// quantile (nearest rank). 0 without times.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0;
        for bin in &self.bins {
            below += bin.count;
            if below >= rank {
                return middle_of(bin.index);
            }
        }
        0
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

/// Two-sided p-value of the Mann–Whitney test on binned times: all times of a bin are tied. Normal
/// approximation with corrections for ties and continuity; 1 when a histogram is empty or all are in one bin.
pub fn compare_histograms(before: &LogHistogram, after: &LogHistogram) -> f64 {
    let (n0, n1) = (before.count() as f64, after.count() as f64);
    let mut pool: Vec<(u16, f64, f64)> =
        before.bins.iter().map(|bin| (bin.index, bin.count as f64, 0.0)).collect();
    pool.extend(after.bins.iter().map(|bin| (bin.index, 0.0, bin.count as f64)));
    pool.sort_unstable_by_key(|&(index, ..)| index);
    let (mut u, mut ties, mut below) = (0.0, 0.0, 0.0);
    for run in pool.chunk_by(|a, b| a.0 == b.0) {
        let here_before: f64 = run.iter().map(|&(_, before, _)| before).sum();
        let here_after: f64 = run.iter().map(|&(.., after)| after).sum();
        u += here_after * (below + here_before / 2.0);
        below += here_before;
        let tied = here_before + here_after;
        ties += tied * tied * tied - tied;
    }
    let (pairs, total) = (n0 * n1, n0 + n1);
    let variance = pairs / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance.is_nan() || variance <= 1e-9 * pairs {
        return 1.0;
    }
    let beyond = (u - pairs / 2.0).abs() - 0.5;
    (2.0 * normal_upper_tail(beyond / variance.sqrt())).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_numeric::{Alternative, mann_whitney_asymptotic};

    #[test]
    fn bins_grow_without_gaps_and_hold_their_times() {
        let mut last = 0;
        for ns in (0..5_000).chain((0..400).map(|i| (1.1_f64.powi(i) * 5_000.0) as u64)).chain([u64::MAX]) {
            let bin = bin_of(ns);
            assert!(bin >= last && (ns > 5_000 || bin <= last + 1), "{ns}");
            last = bin;
            assert!(
                middle_of(bin).abs_diff(ns) as f64 <= ns as f64 / 31.0,
                "{ns} is not in {}",
                middle_of(bin)
            );
        }
        assert_eq!(last, 975);
    }

    #[test]
    fn quantiles_by_nearest_rank() {
        let mut histogram = LogHistogram::default();
        assert_eq!(histogram.quantile(0.5), 0);
        [1, 2, 3, 30].into_iter().for_each(|ns| histogram.add(ns));
        assert_eq!([0.0, 0.5, 0.75, 1.0].map(|q| histogram.quantile(q)), [1, 2, 3, 30]);
    }

    #[test]
    fn the_test_is_mann_whitneys_where_bins_are_exact() {
        let (before, after) = ([1, 5, 5, 9, 12, 3, 30], [4, 5, 18, 22, 31, 9]);
        let mut histograms = [LogHistogram::default(), LogHistogram::default()];
        before.iter().for_each(|&ns| histograms[0].add(ns));
        after.iter().for_each(|&ns| histograms[1].add(ns));
        let floats = |times: &[u64]| times.iter().map(|&ns| ns as f64).collect::<Vec<_>>();
        let exact = mann_whitney_asymptotic(&floats(&after), &floats(&before), Alternative::TwoSided);
        assert!((compare_histograms(&histograms[0], &histograms[1]) - exact.p_value).abs() < 1e-12);
    }

    #[test]
    fn an_empty_or_single_bin_comparison_has_p_value_one() {
        let mut histogram = LogHistogram::default();
        assert_eq!(compare_histograms(&histogram, &histogram), 1.0);
        histogram.add(7);
        assert_eq!(compare_histograms(&histogram, &LogHistogram::default()), 1.0);
        assert_eq!(compare_histograms(&histogram, &histogram), 1.0);
    }
}
