//! The Mann–Whitney U test (Mann and Whitney 1947; Lehmann, *Nonparametrics*, for ties).
//!
//! `U` counts the pairs in which the first sample's value is the larger one, ties as one half. Values
//! are expected to be finite; a NaN ranks above every number.

mod asymptotic;
mod exact;
mod one_vs_rest;
mod weighted;

pub use asymptotic::mann_whitney_asymptotic;
pub use exact::{EXACT_POOL_MAX, PERMUTATION_POOL_MAX, mann_whitney_exact, mann_whitney_permutation};
pub use one_vs_rest::mann_whitney_one_vs_rest;
pub use weighted::weighted_mann_whitney_one_vs_rest;

use crate::ranks::{pool_of_two, rank_pool};

/// The alternative hypothesis of a rank test about the first sample.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alternative {
    /// Its values are larger or smaller.
    TwoSided,
    /// Its values are larger.
    Greater,
    /// Its values are smaller.
    Less,
}

/// Outcome of a Mann–Whitney test of a first sample (size `n1`) against a second (`n2`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MannWhitney {
    /// `U1 = R1 - n1 (n1 + 1) / 2`, from 0 to `n1 n2`; a multiple of one half.
    pub u: f64,
    /// Probability of a `U` at least as extreme if both samples had one distribution; 1 when a sample is
    /// empty or all values are equal.
    pub p_value: f64,
    /// Effect size `A = U1 / (n1 n2)`, 0 to 1: the chance that a value of the first sample exceeds one
    /// of the second. One half when either is empty.
    pub effect: f64,
    /// Whether the p-value was counted out rather than approximated.
    pub exact: bool,
}

/// Tests with the exact distribution when no values are tied and there are at most
/// [`EXACT_POOL_MAX`] of them, else with the normal approximation.
pub fn mann_whitney(x: &[f64], y: &[f64], alternative: Alternative) -> MannWhitney {
    let samples = TwoSamples::rank(x, y);
    if samples.total() <= EXACT_POOL_MAX && samples.tie_term == 0.0 {
        return exact::test(&samples, alternative);
    }
    asymptotic::test(&samples, alternative)
}

/// Sizes, rank sum, and ties of two samples, which is all that the tests use of them.
struct TwoSamples {
    n1: u64,
    n2: u64,
    /// `2 R1`, twice the rank sum of the first sample.
    doubled_rank_sum: u64,
    /// `sum of t^3 - t` over the runs of tied values.
    tie_term: f64,
}

impl TwoSamples {
    fn rank(x: &[f64], y: &[f64]) -> TwoSamples {
        let ranks = rank_pool(pool_of_two(x, y), 2);
        TwoSamples {
            n1: ranks.counts[0],
            n2: ranks.counts[1],
            doubled_rank_sum: ranks.doubled_rank_sums[0],
            tie_term: ranks.tie_term,
        }
    }

    fn total(&self) -> u64 {
        self.n1 + self.n2
    }

    /// `n1 n2`, the number of pairs.
    fn pairs(&self) -> f64 {
        self.n1 as f64 * self.n2 as f64
    }

    fn u(&self) -> f64 {
        (self.doubled_rank_sum - self.n1 * (self.n1 + 1)) as f64 / 2.0
    }

    fn effect(&self) -> f64 {
        if self.pairs() == 0.0 { 0.5 } else { self.u() / self.pairs() }
    }

    fn outcome(&self, p_value: f64, exact: bool) -> MannWhitney {
        MannWhitney { u: self.u(), p_value: p_value.clamp(0.0, 1.0), effect: self.effect(), exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_test_worked_by_hand() {
        // {1, 2} against {3, 4}: one of the six arrangements is as low as this one.
        let test = mann_whitney(&[1.0, 2.0], &[3.0, 4.0], Alternative::Less);
        assert_eq!((test.u, test.effect, test.exact), (0.0, 0.0, true));
        assert!((test.p_value - 1.0 / 6.0).abs() < 1e-15);
        let both = mann_whitney(&[1.0, 2.0], &[3.0, 4.0], Alternative::TwoSided);
        assert!((both.p_value - 2.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn ties_and_large_samples_are_approximated() {
        assert!(!mann_whitney(&[1.0, 2.0], &[2.0, 4.0], Alternative::Less).exact);
        let many: Vec<f64> = (0..41).map(f64::from).collect();
        assert!(!mann_whitney(&many[..20], &many[20..], Alternative::Less).exact);
        assert!(mann_whitney(&many[..20], &many[20..40], Alternative::Less).exact);
    }

    #[test]
    fn empty_or_equal_samples_have_p_value_one() {
        for (x, y) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[], &[]), (&[5.0, 5.0], &[5.0])] {
            let test = mann_whitney(x, y, Alternative::Greater);
            assert_eq!((test.p_value, test.effect), (1.0, 0.5));
        }
    }

    #[test]
    fn nan_values_do_no_harm() {
        let p = mann_whitney(&[f64::NAN, 1.0], &[2.0, f64::NAN], Alternative::TwoSided).p_value;
        assert!((0.0..=1.0).contains(&p));
    }
}
