//! Rank test and shift between two samples that are divided into strata: only values of one stratum are compared.
//!
//! With `U_s` the Mann–Whitney statistic inside stratum `s` (pairs in which the later value is the larger, ties
//! as one half; Wilcoxon 1945, van Elteren 1960 for strata), the statistic is the sum of the `U_s`. Under the
//! hypothesis of equal distributions inside every stratum it has mean `sum n m / 2` and variance
//! `sum n m / 12 (N + 1 - ties / (N (N - 1)))`. The shift is the median of all differences of pairs within
//! strata (Hodges and Lehmann, *Ann. Math. Stat.* 34, 1963), its interval the differences at the ranks where
//! the test would just reject (Lehmann, *Nonparametrics*, 1975, §2.4). With one stratum all of this is the
//! ordinary Mann–Whitney test with its Hodges–Lehmann estimate.

use laggard_numeric::{Alternative, mann_whitney, normal_upper_tail};

/// Two-sided 95 % of a normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

/// Larger values (73 years in nanoseconds) are capped, so that differences of differences fit.
const VALUE_MAX: u64 = 1 << 61;

/// Values of one stratum in both sets, nanoseconds or counts; capped at 2^61.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stratum {
    /// Values before.
    pub before: Vec<u64>,
    /// Values after.
    pub after: Vec<u64>,
}

/// The shift from before to after.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shift {
    /// The median difference of two values of one stratum, after minus before.
    pub estimate: f64,
    /// Ends of the 95 % confidence interval; `None` when there are too few values for one.
    pub interval: Option<[f64; 2]>,
}

/// Outcome of the test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StratifiedTest {
    /// Two-sided p-value.
    pub p_value: f64,
    /// Probability that a value after exceeds one before in the same stratum, ties counting one half.
    pub effect: f64,
}

/// The rank test; p-value 1 and effect one half when no stratum has values of both sets. A single stratum of
/// few values is tested exactly. Time `O(N log N)`.
pub fn stratified_test(strata: &[Stratum]) -> StratifiedTest {
    let mut shared = strata.iter().filter(|stratum| !stratum.before.is_empty() && !stratum.after.is_empty());
    if let (Some(only), None) = (shared.next(), shared.next()) {
        let test = mann_whitney(&floats(&only.after), &floats(&only.before), Alternative::TwoSided);
        return StratifiedTest { p_value: test.p_value, effect: test.effect };
    }
    let (mut u, mut pairs, mut variance) = (0.0, 0.0, 0.0);
    for stratum in strata {
        let ranked = Ranked::of(stratum);
        u += ranked.u;
        pairs += ranked.pairs;
        variance += ranked.variance;
    }
    if pairs == 0.0 {
        return StratifiedTest { p_value: 1.0, effect: 0.5 };
    }
    let beyond = (u - pairs / 2.0).abs() - 0.5;
    let p_value = if variance <= 1e-9 * pairs {
        1.0
    } else {
        (2.0 * normal_upper_tail(beyond / variance.sqrt())).clamp(0.0, 1.0)
    };
    StratifiedTest { p_value, effect: u / pairs }
}

fn floats(values: &[u64]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

/// The statistic of one stratum.
struct Ranked {
    u: f64,
    pairs: f64,
    variance: f64,
}

impl Ranked {
    fn of(stratum: &Stratum) -> Ranked {
        let (n0, n1) = (stratum.before.len() as f64, stratum.after.len() as f64);
        let mut pool: Vec<(u64, bool)> = stratum.before.iter().map(|&value| (value, false)).collect();
        pool.extend(stratum.after.iter().map(|&value| (value, true)));
        pool.sort_unstable();
        let (mut u, mut ties, mut below) = (0.0, 0.0, 0.0);
        for run in pool.chunk_by(|a, b| a.0 == b.0) {
            let later = run.iter().filter(|&&(_, is_after)| is_after).count() as f64;
            let earlier = run.len() as f64 - later;
            u += later * (below + earlier / 2.0);
            below += earlier;
            let tied = run.len() as f64;
            ties += tied * tied * tied - tied;
        }
        let (pairs, total) = (n0 * n1, n0 + n1);
        let variance =
            if pairs == 0.0 { 0.0 } else { pairs / 12.0 * (total + 1.0 - ties / (total * (total - 1.0))) };
        Ranked { u, pairs, variance }
    }
}

/// The shift with its interval; `None` when no stratum has values of both sets. Sorts the strata, then finds
/// each of the needed differences by bisection: `O(N log N + 64 N)`, and no list of all pairs.
pub fn stratified_shift(strata: &mut [Stratum]) -> Option<Shift> {
    sort(strata);
    let mut variance = 0.0;
    for stratum in strata.iter() {
        let (n0, n1) = (stratum.before.len() as u64, stratum.after.len() as u64);
        variance += (n0 * n1 * (n0 + n1 + 1)) as f64 / 12.0;
    }
    let (estimate, [low, high]) = middle_difference(strata)?;
    let pairs = pairs(strata);
    let most = largest(strata);
    let outside = (pairs as f64 / 2.0 - Z95 * variance.sqrt()).floor();
    let interval = (outside >= 1.0).then(|| {
        let outside = outside as u64;
        let ends = [(outside, [-most, low]), (pairs - outside + 1, [high, most])];
        ends.map(|(rank, range)| difference_of_rank(strata, rank, range) as f64)
    });
    Some(Shift { estimate, interval })
}

fn sort(strata: &mut [Stratum]) {
    for stratum in strata {
        stratum.before.sort_unstable();
        stratum.after.sort_unstable();
    }
}

/// The estimate of [`stratified_shift`] alone. Sorts the strata.
pub(super) fn median_difference(strata: &mut [Stratum]) -> Option<f64> {
    sort(strata);
    middle_difference(strata).map(|(estimate, _)| estimate)
}

/// The median of all differences, and the two in the middle.
fn middle_difference(strata: &[Stratum]) -> Option<(f64, [i64; 2])> {
    let pairs = pairs(strata);
    if pairs == 0 {
        return None;
    }
    let most = largest(strata);
    let low = difference_of_rank(strata, pairs.div_ceil(2), [-most, most]);
    let is_both = differences_within(strata, low) > pairs / 2;
    let high = if is_both { low } else { difference_after(strata, low).unwrap_or(low) };
    Some(((low as f64 + high as f64) / 2.0, [low, high]))
}

/// The difference of two values of one stratum at this quantile of all of them, 0..1; 0 without any. The strata are sorted,
/// as [`median_difference`] leaves them.
pub(super) fn difference_at(strata: &[Stratum], quantile: f64) -> f64 {
    let pairs = pairs(strata);
    if pairs == 0 {
        return 0.0;
    }
    let rank = (quantile * pairs as f64).ceil().clamp(1.0, pairs as f64) as u64;
    let most = largest(strata);
    difference_of_rank(strata, rank, [-most, most]) as f64
}

fn pairs(strata: &[Stratum]) -> u64 {
    strata.iter().map(|stratum| stratum.before.len() as u64 * stratum.after.len() as u64).sum()
}

fn largest(strata: &[Stratum]) -> i64 {
    let values = strata.iter().flat_map(|stratum| stratum.before.iter().chain(&stratum.after));
    values.max().copied().unwrap_or(0).min(VALUE_MAX) as i64
}

/// The `rank`-th smallest difference (from 1) over all pairs within strata, which is in this range.
fn difference_of_rank(strata: &[Stratum], rank: u64, [mut low, mut high]: [i64; 2]) -> i64 {
    while low < high {
        // Rounds down for negative sums as well.
        let middle = low + (high - low) / 2;
        if differences_within(strata, middle) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The smallest difference above a limit.
fn difference_after(strata: &[Stratum], limit: i64) -> Option<i64> {
    let capped = |value: u64| value.min(VALUE_MAX) as i64;
    let smallest = strata.iter().filter_map(|stratum| {
        let mut smaller = 0;
        let above = stratum.after.iter().filter_map(|&after| {
            while smaller < stratum.before.len() && capped(after) - capped(stratum.before[smaller]) > limit {
                smaller += 1;
            }
            (smaller > 0).then(|| capped(after) - capped(stratum.before[smaller - 1]))
        });
        above.min()
    });
    smallest.min()
}

fn differences_within(strata: &[Stratum], limit: i64) -> u64 {
    strata.iter().map(|stratum| differences_up_to(stratum, limit)).sum()
}

/// Pairs of a sorted stratum whose difference is at most `limit`.
fn differences_up_to(stratum: &Stratum, limit: i64) -> u64 {
    let (mut earlier, mut count) = (0, 0);
    for &after in &stratum.after {
        // before >= after - limit: as after grows, fewer of the values before qualify.
        let least = (after.min(VALUE_MAX) as i64).saturating_sub(limit);
        while earlier < stratum.before.len() && (stratum.before[earlier].min(VALUE_MAX) as i64) < least {
            earlier += 1;
        }
        count += (stratum.before.len() - earlier) as u64;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(before: &[u64], after: &[u64]) -> Stratum {
        Stratum { before: before.to_vec(), after: after.to_vec() }
    }

    fn all_differences(strata: &[Stratum]) -> Vec<f64> {
        let pairs = strata.iter().flat_map(|stratum| {
            stratum
                .after
                .iter()
                .flat_map(|&after| stratum.before.iter().map(move |&before| after as f64 - before as f64))
        });
        let mut all: Vec<f64> = pairs.collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn one_stratum_is_mann_whitney() {
        let strata = [stratum(&[1, 4, 6, 9], &[5, 8, 11, 20, 21])];
        let test = stratified_test(&strata);
        let wanted =
            mann_whitney(&[5.0, 8.0, 11.0, 20.0, 21.0], &[1.0, 4.0, 6.0, 9.0], Alternative::TwoSided);
        assert_eq!((test.p_value, test.effect), (wanted.p_value, wanted.effect));
    }

    #[test]
    fn strata_correct_for_a_changed_mix() {
        let low: Vec<u64> = (0..40).map(|i| 100 + i).collect();
        let high: Vec<u64> = (0..40).map(|i| 1_000 + i).collect();
        let mut disjoint = [stratum(&low, &low[..10]), stratum(&high[..10], &high)];
        assert!(stratified_test(&disjoint).p_value > 0.001, "the first ten are the smallest of their kind");
        let shift = stratified_shift(&mut disjoint).unwrap();
        assert!(shift.estimate.abs() <= 20.0, "{shift:?}");
        let pooled = |first: &[u64], second: &[u64]| [first, second].concat();
        let mut together = [stratum(&pooled(&low, &high[..10]), &pooled(&low[..10], &high))];
        assert!(stratified_test(&together).p_value < 1e-6);
        assert!(stratified_shift(&mut together).unwrap().estimate > 800.0);
    }

    #[test]
    fn ranks_of_differences_are_those_of_the_full_list() {
        let mut state = 3_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..60 {
            let mut values = || (0..draw(9)).map(|_| draw(50)).collect::<Vec<u64>>();
            let mut strata: Vec<Stratum> = (0..3).map(|_| stratum(&values(), &values())).collect();
            let all = all_differences(&strata);
            let Some(shift) = stratified_shift(&mut strata) else {
                assert!(all.is_empty());
                continue;
            };
            let middle = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
            assert_eq!(shift.estimate, middle);
            for rank in 1..=all.len() {
                assert_eq!(
                    difference_of_rank(&strata, rank as u64, [-(1 << 61), 1 << 61]) as f64,
                    all[rank - 1]
                );
            }
            if let Some([low, high]) = shift.interval {
                assert!(low <= shift.estimate && shift.estimate <= high);
            }
        }
    }

    #[test]
    fn a_shift_lies_inside_its_interval() {
        let before: Vec<u64> = (0..100).map(|i| 1_000 + (i * 37) % 100).collect();
        let after: Vec<u64> = before.iter().map(|value| value + 250).collect();
        let shift = stratified_shift(&mut [stratum(&before, &after)]).unwrap();
        assert_eq!(shift.estimate, 250.0);
        let [low, high] = shift.interval.unwrap();
        assert!(240.0 < low && low < 250.0 && 250.0 < high && high < 260.0, "{low} {high}");
    }

    #[test]
    fn disjoint_strata_give_no_result() {
        let mut strata = [stratum(&[1], &[]), stratum(&[], &[5])];
        assert_eq!(stratified_test(&strata), StratifiedTest { p_value: 1.0, effect: 0.5 });
        assert_eq!(stratified_shift(&mut strata), None);
        let huge = stratified_shift(&mut [stratum(&[0], &[u64::MAX])]).unwrap();
        assert_eq!(huge, Shift { estimate: VALUE_MAX as f64, interval: None });
    }
}
