//! Tail probabilities.

use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;

/// `P(Z > z)` of a standard normal variable, accurate in relative terms far into the tail:
/// `erfc(z / sqrt(2)) / 2`. NaN gives 1, the p-value of a statistic that cannot be computed.
pub fn normal_upper_tail(z: f64) -> f64 {
    if z.is_nan() {
        return 1.0;
    }
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// `P(X >= at_least)` of a binomial variable with `trials` trials of success `probability` each.
///
/// Through the regularised incomplete beta function: `I_p(at_least, trials - at_least + 1)`. A
/// probability outside 0 to 1 is clamped; NaN gives 1.
pub fn binomial_upper_tail(trials: u64, probability: f64, at_least: u64) -> f64 {
    if at_least == 0 || probability.is_nan() {
        return 1.0;
    }
    if at_least > trials || probability <= 0.0 {
        return 0.0;
    }
    if probability >= 1.0 {
        return 1.0;
    }
    let failures = (trials - at_least) as f64 + 1.0;
    beta_reg(at_least as f64, failures, probability).clamp(0.0, 1.0)
}
