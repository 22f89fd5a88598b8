//! The rank test on binned latencies.

use laggard_model::LogHistogram;
use laggard_numeric::normal_upper_tail;

/// Times in bins of at most 1/16 of their lower end, about 3 % on average.
pub type TimeHistogram = LogHistogram<4>;

/// Two-sided p-value of the Mann–Whitney test on binned times: all times of a bin are tied. Normal
/// approximation with corrections for ties and continuity; 1 when a histogram is empty or all are in one bin.
pub fn compare_histograms(before: &TimeHistogram, after: &TimeHistogram) -> f64 {
    let (n0, n1) = (before.count() as f64, after.count() as f64);
    let mut pool: Vec<(u16, f64, f64)> =
        before.bins().iter().map(|bin| (bin.index, bin.count as f64, 0.0)).collect();
    pool.extend(after.bins().iter().map(|bin| (bin.index, 0.0, bin.count as f64)));
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
    fn the_test_is_mann_whitneys_where_bins_are_exact() {
        let (before, after) = ([1, 5, 5, 9, 12, 3, 30], [4, 5, 18, 22, 31, 9]);
        let mut histograms = [TimeHistogram::default(), TimeHistogram::default()];
        before.iter().for_each(|&ns| histograms[0].add(ns));
        after.iter().for_each(|&ns| histograms[1].add(ns));
        let floats = |times: &[u64]| times.iter().map(|&ns| ns as f64).collect::<Vec<_>>();
        let exact = mann_whitney_asymptotic(&floats(&after), &floats(&before), Alternative::TwoSided);
        assert!((compare_histograms(&histograms[0], &histograms[1]) - exact.p_value).abs() < 1e-12);
    }

    #[test]
    fn an_empty_or_single_bin_comparison_has_p_value_one() {
        let mut histogram = TimeHistogram::default();
        assert_eq!(compare_histograms(&histogram, &histogram), 1.0);
        histogram.add(7);
        assert_eq!(compare_histograms(&histogram, &TimeHistogram::default()), 1.0);
        assert_eq!(compare_histograms(&histogram, &histogram), 1.0);
    }
}
