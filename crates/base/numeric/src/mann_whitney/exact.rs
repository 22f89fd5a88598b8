//! The distribution of U, counted out.

use super::{Alternative, MannWhitney, TwoSamples};
use crate::ranks::{pool_of_two, rank_pool};

/// Most values, both samples together, for which [`mann_whitney`](super::mann_whitney) counts exactly.
pub const EXACT_POOL_MAX: u64 = 40;

/// Most values, both samples together, for which [`mann_whitney_permutation`] counts.
pub const PERMUTATION_POOL_MAX: u64 = 13;

/// Most pairs `n1 n2` for which [`mann_whitney_exact`] counts: beyond it the counts leave the range in
/// which floating point is exact by far, and the approximation is excellent.
const EXACT_PAIRS_MAX: u64 = 10_000;

/// Tests with the exact distribution of `U` without ties, or `None` when values are tied or the samples
/// are so large (`n1 n2 > 10000`) that the normal approximation serves as well.
///
/// Two-sided is `min(1, 2 P(U >= max(U1, n1 n2 - U1)))`. Time `O((n1 n2)^2)`.
pub fn mann_whitney_exact(x: &[f64], y: &[f64], alternative: Alternative) -> Option<MannWhitney> {
    let samples = TwoSamples::rank(x, y);
    if samples.tie_term > 0.0 || samples.n1.saturating_mul(samples.n2) > EXACT_PAIRS_MAX {
        return None;
    }
    Some(test(&samples, alternative))
}

/// Requires that no values are tied and `n1 n2 <= EXACT_PAIRS_MAX`.
pub(super) fn test(samples: &TwoSamples, alternative: Alternative) -> MannWhitney {
    if samples.n1 == 0 || samples.n2 == 0 {
        return samples.outcome(1.0, true);
    }
    let counts = arrangements(samples.n1 as usize, samples.n2 as usize);
    let pairs = samples.n1 * samples.n2;
    // Without ties the doubled rank sum is even and U is an integer.
    let u = samples.doubled_rank_sum / 2 - samples.n1 * (samples.n1 + 1) / 2;
    let all: f64 = counts.iter().sum();
    let at_least = |u: u64| counts[u as usize..].iter().sum::<f64>() / all;
    let p_value = match alternative {
        Alternative::Greater => at_least(u),
        // The distribution is symmetric about pairs / 2.
        Alternative::Less => at_least(pairs - u),
        Alternative::TwoSided => 2.0 * at_least(u.max(pairs - u)),
    };
    samples.outcome(p_value, true)
}

/// How many of the arrangements of `n1` first and `n2` second values have each `U` from 0 to `n1 n2`.
///
/// `c(i, j, u) = c(i - 1, j, u - j) + c(i, j - 1, u)`: the largest value is of the first sample and
/// beats `j` others, or of the second and beats none.
fn arrangements(n1: usize, n2: usize) -> Vec<f64> {
    let length = n1 * n2 + 1;
    let mut of_first = vec![vec![0.0; length]; n1 + 1];
    for counts in &mut of_first {
        counts[0] = 1.0;
    }
    for j in 1..=n2 {
        for i in 1..=n1 {
            let (smaller, rest) = of_first.split_at_mut(i);
            for (count, add) in rest[0][j..].iter_mut().zip(&smaller[i - 1]) {
                *count += add;
            }
        }
    }
    of_first.swap_remove(n1)
}

/// Tests with the exact conditional distribution of the rank sum given the ties: every choice of `n1`
/// of the pooled mid-ranks is equally likely. `None` for more than [`PERMUTATION_POOL_MAX`] values.
///
/// Two-sided counts the rank sums at least as far from their mean.
pub fn mann_whitney_permutation(x: &[f64], y: &[f64], alternative: Alternative) -> Option<MannWhitney> {
    let samples = TwoSamples::rank(x, y);
    if samples.total() > PERMUTATION_POOL_MAX {
        return None;
    }
    if samples.n1 == 0 || samples.n2 == 0 {
        return Some(samples.outcome(1.0, true));
    }
    let counts = choices_by_sum(&doubled_mid_ranks(x, y), x.len());
    Some(samples.outcome(share_as_extreme(&counts, &samples, alternative), true))
}

fn share_as_extreme(counts: &[f64], samples: &TwoSamples, alternative: Alternative) -> f64 {
    let observed = samples.doubled_rank_sum;
    // The mean of 2 R1 is n1 (N + 1).
    let mean = samples.n1 * (samples.total() + 1);
    let is_as_extreme = |sum: u64| match alternative {
        Alternative::Greater => sum >= observed,
        Alternative::Less => sum <= observed,
        Alternative::TwoSided => sum.abs_diff(mean) >= observed.abs_diff(mean),
    };
    let extreme: f64 =
        (0_u64..).zip(counts).filter(|(sum, _)| is_as_extreme(*sum)).map(|(_, count)| count).sum();
    extreme / counts.iter().sum::<f64>()
}

/// Twice the mid-rank of every pooled value.
fn doubled_mid_ranks(x: &[f64], y: &[f64]) -> Vec<usize> {
    let mut pool = pool_of_two(x, y);
    // One group each, so that the group sums are the ranks themselves.
    for (group, member) in (0..).zip(pool.iter_mut()) {
        member.group = group;
    }
    let count = pool.len();
    rank_pool(pool, count).doubled_rank_sums.iter().map(|&rank| rank as usize).collect()
}

/// For each sum, in how many ways `count` of the ranks add up to it.
fn choices_by_sum(ranks: &[usize], count: usize) -> Vec<f64> {
    let length = ranks.iter().sum::<usize>() + 1;
    let mut ways = vec![vec![0.0; length]; count + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        // Downwards, so that no rank is used twice.
        for size in (1..=count).rev() {
            let (fewer, rest) = ways.split_at_mut(size);
            for (sum, add) in rest[0][rank..].iter_mut().zip(&fewer[size - 1]) {
                *sum += add;
            }
        }
    }
    ways.swap_remove(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_of_two_and_two() {
        assert_eq!(arrangements(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        // All C(40, 20) arrangements, still exact.
        assert_eq!(arrangements(20, 20).iter().sum::<f64>(), 137_846_528_820.0);
    }

    #[test]
    fn permutation_equals_exact_without_ties() {
        let (x, y) = ([0.3, 7.0, 2.0, 11.0], [1.0, 3.0, 4.0, 0.1, 0.2]);
        for alternative in [Alternative::Greater, Alternative::Less, Alternative::TwoSided] {
            let exact = mann_whitney_exact(&x, &y, alternative).unwrap();
            let permuted = mann_whitney_permutation(&x, &y, alternative).unwrap();
            assert!((exact.p_value - permuted.p_value).abs() < 1e-14);
        }
    }

    #[test]
    fn ties_worked_by_hand() {
        // Pool 1 1 2, ranks 1.5 1.5 3; x = {2} has the largest of three.
        let test = mann_whitney_permutation(&[2.0], &[1.0, 1.0], Alternative::Greater).unwrap();
        assert!((test.p_value - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn uncountable_arrangements_are_none() {
        let many: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!(mann_whitney_exact(&[1.0], &[1.0], Alternative::Less), None);
        assert_eq!(mann_whitney_exact(&many[..150], &many[150..], Alternative::Less), None);
        assert_eq!(mann_whitney_permutation(&many[..7], &many[7..14], Alternative::Less), None);
        assert!(mann_whitney_permutation(&many[..6], &many[6..13], Alternative::Less).is_some());
    }
}
