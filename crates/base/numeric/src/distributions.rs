//! Tail probabilities of the normal and the binomial distribution and of sums of uniform variables, as p-values of tests.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Integers up to this are exact as `f64`.
const TRIALS_MAX: u64 = 1 << 53;

/// Variance of a binomial above which its tail is computed from the normal distribution, whose relative
/// error (with continuity correction, near the mean) then is below 1e-6.
const SUMMED_VARIANCE_MAX: f64 = 1e12;

/// `P(Z > z)` of a standard normal variable, accurate in relative terms far into the tail:
/// `erfc(z / sqrt(2)) / 2`. NaN gives 1, the p-value of a statistic that cannot be computed.
pub fn normal_upper_tail(z: f64) -> f64 {
    if z.is_nan() {
        return 1.0;
    }
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// `P(X >= at_least)` of a binomial variable with `trials` trials of success `probability` each.
///
/// Sums the probabilities from the nearer end of the distribution; relative accuracy about 1e-12 of the
/// smaller tail. Time grows with the standard deviation; beyond a variance of 1e12 or 2^53 trials the
/// normal approximation answers. A probability outside 0 to 1 is clamped; NaN gives 1.
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
    let successes = Binomial { trials: trials as f64, success: probability, failure: 1.0 - probability };
    if trials > TRIALS_MAX || successes.variance() > SUMMED_VARIANCE_MAX {
        let distance = at_least as f64 - 0.5 - successes.mean();
        return normal_upper_tail(distance / successes.variance().sqrt());
    }
    if at_least as f64 > successes.mean() {
        return successes.upward_sum(at_least as f64).min(1.0);
    }
    // At most `at_least - 1` successes are at least the others failures.
    let failures = Binomial { success: successes.failure, failure: successes.success, ..successes };
    (1.0 - failures.upward_sum((trials - at_least) as f64 + 1.0)).clamp(0.0, 1.0)
}

/// Sums of more uniform variables are computed from the normal distribution, whose tail is the larger one.
const UNIFORM_COUNT_MAX: u32 = 20;

/// `P(U_1 + … + U_count <= sum)` of independent variables that are uniform on 0 to 1 (the Irwin–Hall distribution): how likely ranks
/// of so few values are as extreme by chance, where the normal distribution cannot be.
///
/// `Σ (-1)^k C(count, k) (sum - k)^count / count!` over `k <= sum`; relative accuracy about 1e-9 below the mean. From 21 variables on,
/// the normal distribution answers. NaN gives 1.
pub fn uniform_sum_lower_tail(count: u32, sum: f64) -> f64 {
    if sum.is_nan() || sum >= f64::from(count) {
        return 1.0;
    }
    if sum <= 0.0 {
        return 0.0;
    }
    let mean = f64::from(count) / 2.0;
    if count > UNIFORM_COUNT_MAX {
        return normal_upper_tail((mean - sum) / (f64::from(count) / 12.0).sqrt());
    }
    if sum > mean {
        return 1.0 - uniform_sum_lower_tail(count, f64::from(count) - sum);
    }
    let mut binomial = 1.0;
    let mut total = 0.0;
    for k in 0..=sum.floor() as u32 {
        let power = (1..=count).map(|factor| (sum - f64::from(k)) / f64::from(factor)).product::<f64>();
        total += binomial * power;
        binomial *= -f64::from(count - k) / f64::from(k + 1);
    }
    total.clamp(0.0, 1.0)
}

/// A binomial distribution with both probabilities above 0.
#[derive(Clone, Copy)]
struct Binomial {
    trials: f64,
    success: f64,
    failure: f64,
}

impl Binomial {
    fn mean(&self) -> f64 {
        self.trials * self.success
    }

    fn variance(&self) -> f64 {
        self.mean() * self.failure
    }

    /// `P(X >= from)` for a `from` above the mean, whence the terms get smaller.
    fn upward_sum(&self, from: f64) -> f64 {
        let odds = self.success / self.failure;
        let (mut term, mut sum, mut k) = (1.0, 1.0, from);
        while term > f64::EPSILON * 1e-3 * sum && k < self.trials {
            term *= (self.trials - k) / (k + 1.0) * odds;
            sum += term;
            k += 1.0;
        }
        self.probability_of(from) * sum
    }

    /// `P(X = k)` by the saddle-point expansion of Loader ("Fast and accurate computation of binomial
    /// probabilities", 2000), in which nothing large cancels.
    fn probability_of(&self, k: f64) -> f64 {
        let others = self.trials - k;
        if others == 0.0 {
            return (self.trials * self.success.ln()).exp();
        }
        let factorials = stirling_error(self.trials) - stirling_error(k) - stirling_error(others);
        let deviances = deviance(k, self.mean()) + deviance(others, self.trials * self.failure);
        (self.trials / (TAU * k * others)).sqrt() * (factorials - deviances).exp()
    }
}

/// `ln n! - ln(sqrt(2 pi n) (n / e)^n)` of a positive integer.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    // Stirling's series; the next term is below 1e-15.
    let inverse_square = 1.0 / (n * n);
    let mut sum = 0.0;
    for denominator in [1188.0, -1680.0, 1260.0, -360.0, 12.0] {
        sum = sum * inverse_square + 1.0 / denominator;
    }
    sum / n
}

/// `x ln(x / mean) + mean - x`, without cancellation where the two are close: with
/// `v = (x - mean) / (x + mean)` it is `v (x - mean) + 2 x (v^3 / 3 + v^5 / 5 + ...)`.
fn deviance(x: f64, mean: f64) -> f64 {
    let v = (x - mean) / (x + mean);
    if v.abs() > 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    let square = v * v;
    let mut series = 0.0;
    // Terms up to v^17, below 1e-17 of the first one.
    for odd in (3..=17).rev().step_by(2) {
        series = series * square + 1.0 / f64::from(odd);
    }
    v * (x - mean) + 2.0 * x * v * square * series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected, "{found:e} is not {expected:e}");
    }

    /// Reference values: Abramowitz and Stegun, table 26.2, and the continued fraction of the tail.
    #[test]
    fn the_normal_tail_far_out() {
        assert_relative(normal_upper_tail(0.0), 0.5, 1e-15);
        assert_relative(normal_upper_tail(1.0), 0.158_655_253_931_457_05, 1e-14);
        assert_relative(normal_upper_tail(10.0), 7.619_853_024_160_527e-24, 1e-12);
        assert_relative(normal_upper_tail(37.0), 5.725_571_222_524_577e-300, 1e-11);
        assert_eq!((normal_upper_tail(f64::INFINITY), normal_upper_tail(f64::NEG_INFINITY)), (0.0, 1.0));
        assert_eq!(normal_upper_tail(f64::NAN), 1.0);
    }

    #[test]
    fn sums_of_uniform_variables_by_hand() {
        assert_relative(uniform_sum_lower_tail(1, 0.3), 0.3, 1e-14);
        assert_relative(uniform_sum_lower_tail(2, 1.0), 0.5, 1e-14);
        // Below 1: sum^n / n!. Of three, up to 1.5 is half.
        assert_relative(uniform_sum_lower_tail(5, 0.1), 1e-5 / 120.0, 1e-12);
        assert_relative(uniform_sum_lower_tail(3, 1.5), 0.5, 1e-14);
        assert_relative(uniform_sum_lower_tail(3, 2.9), 1.0 - 0.001 / 6.0, 1e-12);
        // (2.5^4 - 4 * 1.5^4 + 6 * 0.5^4) / 24 is above the mean of 2.
        assert_relative(uniform_sum_lower_tail(4, 2.5), (39.0625 - 20.25 + 0.375) / 24.0, 1e-13);
    }

    #[test]
    fn sums_of_uniform_variables_become_normal_from_below() {
        for count in [12, 20] {
            for z in [0.5, 2.0, 4.0] {
                let sum = f64::from(count) / 2.0 - z * (f64::from(count) / 12.0).sqrt();
                let (exact, normal) = (uniform_sum_lower_tail(count, sum), normal_upper_tail(z));
                assert!(
                    exact < 1.01 * normal && exact > 0.05 * normal,
                    "{count}, {z}: {exact:e}, {normal:e}"
                );
            }
        }
        assert_relative(uniform_sum_lower_tail(48, 24.0 - 4.0), normal_upper_tail(2.0), 1e-12);
        assert_eq!((uniform_sum_lower_tail(0, 0.0), uniform_sum_lower_tail(7, f64::NAN)), (1.0, 1.0));
        assert_eq!((uniform_sum_lower_tail(7, -0.1), uniform_sum_lower_tail(7, 7.1)), (0.0, 1.0));
    }

    #[test]
    fn binomial_tails_by_hand() {
        // Of 3 fair coins, 2 or 3 heads: 4 of 8. Of 10 dice, all sixes: 6^-10.
        assert_relative(binomial_upper_tail(3, 0.5, 2), 0.5, 1e-14);
        assert_relative(binomial_upper_tail(10, 1.0 / 6.0, 10), 6.0_f64.powi(-10), 1e-12);
        // At least one: 1 - (1 - p)^n.
        assert_relative(binomial_upper_tail(1000, 1e-6, 1), -(1000.0 * (-1e-6_f64).ln_1p()).exp_m1(), 1e-12);
    }

    /// Exact sums of integers: p = 1/128 and 1/4.
    #[test]
    fn binomial_tails_of_many_trials() {
        assert_relative(binomial_upper_tail(2000, 1.0 / 128.0, 40), 1.570_120_636_180_102_3e-7, 1e-12);
        assert_relative(binomial_upper_tail(2000, 1.0 / 128.0, 10), 0.948_672_820_736_390_8, 1e-13);
        assert_relative(binomial_upper_tail(5000, 0.25, 1400), 7.027_168_428_949_374e-7, 1e-12);
    }

    #[test]
    fn binomial_edges() {
        assert_eq!(binomial_upper_tail(5, 0.3, 0), 1.0);
        assert_eq!(binomial_upper_tail(5, 0.3, 6), 0.0);
        assert_eq!((binomial_upper_tail(5, 0.0, 1), binomial_upper_tail(5, 1.0, 5)), (0.0, 1.0));
        assert_eq!((binomial_upper_tail(5, -1.0, 1), binomial_upper_tail(5, 7.0, 5)), (0.0, 1.0));
        assert_eq!(binomial_upper_tail(5, f64::NAN, 5), 1.0);
    }

    #[test]
    fn huge_counts_stay_probabilities() {
        for trials in [1_000_000, 1 << 40, u64::MAX] {
            for at_least in [1, trials / 2, trials - 1, trials] {
                for probability in [f64::MIN_POSITIVE, 1e-9, 0.5, 1.0 - 1e-16] {
                    let p = binomial_upper_tail(trials, probability, at_least);
                    assert!((0.0..=1.0).contains(&p), "{trials} {probability} {at_least}: {p}");
                }
            }
        }
        // The median of a symmetric distribution, with half of its own probability.
        assert_relative(
            binomial_upper_tail(1_000_000, 0.5, 500_000),
            0.5 + 0.5 * 7.978_843_613_317_501e-4,
            1e-13,
        );
    }
}
