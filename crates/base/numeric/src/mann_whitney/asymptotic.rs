//! The p-value of the Mann–Whitney U statistic by its normal approximation, for samples too large for the exact one.

use super::{Alternative, MannWhitney, TwoSamples};
use crate::normal_upper_tail;

/// Tests with the normal approximation, corrected for ties and continuity, whatever the sample sizes.
///
/// `sigma^2 = n1 n2 / 12 (N + 1 - sum(t^3 - t) / (N (N - 1)))`. Time `O(N log N)`.
pub fn mann_whitney_asymptotic(x: &[f64], y: &[f64], alternative: Alternative) -> MannWhitney {
    test(&TwoSamples::rank(x, y), alternative)
}

pub(super) fn test(samples: &TwoSamples, alternative: Alternative) -> MannWhitney {
    samples.outcome(p_value(samples, alternative), false)
}

fn p_value(samples: &TwoSamples, alternative: Alternative) -> f64 {
    let variance = variance(samples);
    // Rounding may leave a trace of variance when all values are tied.
    if variance.is_nan() || variance <= 1e-12 * samples.pairs() {
        return 1.0;
    }
    let (u, mirrored) = (samples.u(), samples.pairs() - samples.u());
    let tail = |u: f64| normal_upper_tail((u - samples.pairs() / 2.0 - 0.5) / variance.sqrt());
    match alternative {
        Alternative::Greater => tail(u),
        Alternative::Less => tail(mirrored),
        Alternative::TwoSided => 2.0 * tail(u.max(mirrored)),
    }
}

fn variance(samples: &TwoSamples) -> f64 {
    let total = samples.total() as f64;
    if samples.pairs() == 0.0 {
        return 0.0;
    }
    samples.pairs() / 12.0 * (total + 1.0 - samples.tie_term / (total * (total - 1.0)))
}
