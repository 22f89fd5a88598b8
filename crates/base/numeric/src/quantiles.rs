//! Quantiles of the normal and of the chi-square distribution.

use crate::normal_upper_tail;
use std::f64::consts::TAU;

/// Most steps of a root search; bisection alone needs about sixty for full precision.
const STEPS_MAX: u32 = 200;

/// The `z` with `P(Z > z) = upper_tail` for a standard normal `Z`.
///
/// Relative accuracy about 1e-14. Infinite at or beyond 0 and 1; NaN for NaN.
pub fn normal_quantile(upper_tail: f64) -> f64 {
    if upper_tail.is_nan() {
        return f64::NAN;
    }
    if upper_tail <= 0.0 {
        return f64::INFINITY;
    }
    if upper_tail >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if upper_tail > 0.5 {
        return -normal_quantile(1.0 - upper_tail);
    }
    // Abramowitz and Stegun 26.2.23 (error below 4.5e-4), then Halley's method on the tail.
    let t = (-2.0 * upper_tail.ln()).sqrt();
    let top = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let bottom = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = t - top / bottom;
    for _ in 0..8 {
        let error = (normal_upper_tail(z) - upper_tail) / ((-0.5 * z * z).exp() / TAU.sqrt());
        z += error / (1.0 - 0.5 * z * error);
    }
    z
}

/// `P(X > x)` of a chi-square variable with any positive number of degrees of freedom, integer or not.
///
/// NaN for degrees of freedom that are not positive and finite; 1 for an `x` at or below 0.
pub fn chi_square_upper_tail(x: f64, degrees_of_freedom: f64) -> f64 {
    if !(degrees_of_freedom > 0.0 && degrees_of_freedom.is_finite()) || x.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 1.0;
    }
    let (a, x) = (0.5 * degrees_of_freedom, 0.5 * x);
    if x < a + 1.0 { (1.0 - lower_gamma_series(a, x)).clamp(0.0, 1.0) } else { upper_gamma_fraction(a, x) }
}

/// The `x` with `P(X > x) = upper_tail` of a chi-square variable with `degrees_of_freedom`.
///
/// Relative accuracy about 1e-12. Infinite at a tail of 0, 0 at a tail of 1; NaN for a tail or degrees of
/// freedom out of range.
pub fn chi_square_quantile(upper_tail: f64, degrees_of_freedom: f64) -> f64 {
    let in_range = (0.0..=1.0).contains(&upper_tail) && degrees_of_freedom > 0.0;
    if !in_range || degrees_of_freedom.is_infinite() {
        return f64::NAN;
    }
    if upper_tail == 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, degrees_of_freedom.max(1.0));
    while chi_square_upper_tail(high, degrees_of_freedom) > upper_tail {
        (low, high) = (high, 2.0 * high);
    }
    let mut x = wilson_hilferty(upper_tail, degrees_of_freedom).clamp(low, high);
    for _ in 0..STEPS_MAX {
        let tail = chi_square_upper_tail(x, degrees_of_freedom);
        if tail > upper_tail {
            low = x
        } else {
            high = x
        }
        let newton = x + (tail - upper_tail) / chi_square_density(x, degrees_of_freedom);
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        if (next - x).abs() <= 1e-15 * x {
            return next;
        }
        x = next;
    }
    x
}

/// A first guess (Wilson, Hilferty 1931).
fn wilson_hilferty(upper_tail: f64, degrees_of_freedom: f64) -> f64 {
    let step = 2.0 / (9.0 * degrees_of_freedom);
    let root = 1.0 - step + normal_quantile(upper_tail) * step.sqrt();
    degrees_of_freedom * root * root * root
}

fn chi_square_density(x: f64, degrees_of_freedom: f64) -> f64 {
    let (a, half) = (0.5 * degrees_of_freedom, 0.5 * x);
    0.5 * ((a - 1.0) * half.ln() - half - libm::lgamma(a)).exp()
}

/// `x^a e^-x / Gamma(a)`, the factor before series and fraction.
fn gamma_front(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - libm::lgamma(a)).exp()
}

/// The regularized lower incomplete gamma function by its series; for `x < a + 1`.
fn lower_gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    while term > sum * f64::EPSILON * 0.1 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    gamma_front(a, x) * sum
}

/// The regularized upper incomplete gamma function by Lentz's continued fraction; for `x ≥ a + 1`.
fn upper_gamma_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    let mut i = 1.0;
    // It converges in about sqrt(a) steps; the bound only makes the end certain.
    while i < 1e6 {
        let numerator = -i * (i - a);
        b += 2.0;
        d = numerator * d + b;
        d = if d.abs() < TINY { 1.0 / TINY } else { 1.0 / d };
        c = b + numerator / c;
        c = if c.abs() < TINY { TINY } else { c };
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
        i += 1.0;
    }
    (gamma_front(a, x) * fraction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "{found:e} is not {expected:e}");
    }

    /// Reference values: tables of the normal distribution to 15 digits.
    #[test]
    fn normal_quantiles() {
        assert_relative(normal_quantile(0.05), 1.644_853_626_951_472_7, 1e-13);
        assert_relative(normal_quantile(0.001), 3.090_232_306_167_813_5, 1e-13);
        assert_relative(normal_quantile(0.975), -1.959_963_984_540_054, 1e-13);
        assert!(normal_quantile(0.5).abs() < 1e-15);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn quantiles_and_tails_are_inverse() {
        for tail in [1e-30, 1e-6, 0.01, 0.3, 0.5, 0.8, 0.999] {
            assert_relative(normal_upper_tail(normal_quantile(tail)), tail, 1e-10);
            for degrees in [0.3, 1.0, 2.0, 17.5, 400.0, 12_345.6] {
                let x = chi_square_quantile(tail, degrees);
                assert_relative(chi_square_upper_tail(x, degrees), tail, 1e-9);
            }
        }
    }

    /// With two degrees of freedom the tail is `exp(-x/2)`; with one it is that of a squared normal.
    #[test]
    fn chi_square_in_closed_form() {
        assert_relative(chi_square_quantile(0.05, 2.0), -2.0 * 0.05_f64.ln(), 1e-13);
        assert_relative(chi_square_quantile(0.01, 1.0), normal_quantile(0.005).powi(2), 1e-12);
        assert_relative(chi_square_upper_tail(7.0, 2.0), (-3.5_f64).exp(), 1e-13);
    }

    #[test]
    fn invalid_probabilities_give_nan() {
        assert!(chi_square_quantile(0.5, 0.0).is_nan() && chi_square_quantile(2.0, 3.0).is_nan());
        assert!(
            chi_square_upper_tail(1.0, -1.0).is_nan() && chi_square_quantile(0.5, f64::INFINITY).is_nan()
        );
        assert_eq!(chi_square_quantile(0.0, 3.0), f64::INFINITY);
        assert!(chi_square_quantile(1.0, 3.0) < 1e-3);
    }
}
