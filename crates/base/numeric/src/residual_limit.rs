//! Limits of the squared prediction error of principal components (the Q statistic).

use crate::{chi_square_quantile, normal_quantile};

/// `|h0|` below which the limit of the formula is used for `h0 → 0`.
const ROOT_ZERO: f64 = 1e-8;

/// Sums of the first three powers of the residual variances.
struct Moments {
    first: f64,
    second: f64,
    third: f64,
}

impl Moments {
    /// `None` when there is no residual variance.
    fn new(residual_variances: &[f64]) -> Option<Moments> {
        let power = |exponent| residual_variances.iter().map(|value| value.max(0.0).powi(exponent)).sum();
        let moments = Moments { first: power(1), second: power(2), third: power(3) };
        (moments.third > 0.0 && moments.third.is_finite()).then_some(moments)
    }
}

/// The value that `‖(I − PPᵀ) z‖²` exceeds with probability `level` when `z` is normal and the covariance has
/// these eigenvalues outside of the subspace `P` (Jackson and Mudholkar, *Technometrics* 21, 1979).
///
/// The eigenvalues are variances (divisor `m − 1`), in the square of the unit of `z`, as is the limit. The
/// normal quantile takes the sign of `h0`, which can be negative; where the formula's bracket is not positive,
/// Box's `g·χ²_h` answers. `None` when there is no residual variance, or `level` is not between 0 and 1.
pub fn jackson_mudholkar_limit(residual_variances: &[f64], level: f64) -> Option<f64> {
    let Moments { first, second, third } = Moments::new(residual_variances)?;
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let root = 1.0 - 2.0 * first * third / (3.0 * second * second);
    let spread = normal_quantile(level) * (2.0 * second).sqrt() / first;
    let bend = second / (first * first);
    if root.abs() < ROOT_ZERO {
        return Some(first * (spread - bend).exp());
    }
    let bracket = 1.0 + spread * root + bend * root * (root - 1.0);
    if bracket <= 0.0 {
        return Some(second / first * chi_square_quantile(level, first * first / second));
    }
    Some(first * bracket.powf(1.0 / root))
}

/// The same limit by three moments: a shifted and scaled chi-square variable (Hall 1983; Buckley and Eagleson
/// 1988). Defined everywhere, and closer than [`jackson_mudholkar_limit`] where one residual variance is much
/// larger than the others.
pub fn hall_buckley_eagleson_limit(residual_variances: &[f64], level: f64) -> Option<f64> {
    let Moments { first, second, third } = Moments::new(residual_variances)?;
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let degrees = second * (second / third) * (second / third);
    Some(first + (second / degrees).sqrt() * (chi_square_quantile(level, degrees) - degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_variances_are_exactly_chi_square() {
        // Three variances of 2: the sum of squares is 2 times a chi-square variable with 3 degrees.
        let limit = hall_buckley_eagleson_limit(&[2.0; 3], 0.05).expect("a limit");
        assert!((limit - 2.0 * chi_square_quantile(0.05, 3.0)).abs() < 1e-10);
    }

    #[test]
    fn no_residual_space_has_no_limit() {
        for variances in [&[][..], &[0.0, 0.0], &[-1.0]] {
            assert_eq!(jackson_mudholkar_limit(variances, 0.05), None);
            assert_eq!(hall_buckley_eagleson_limit(variances, 0.05), None);
        }
        assert_eq!(jackson_mudholkar_limit(&[1.0], 0.0), None);
    }

    /// `h0 = 0` needs `2 φ₁ φ₃ = 3 φ₂²`: for one variance of `a` beside `n` of 1 that is
    /// `2 (a + n)(a³ + n) = 3 (a² + n)²`.
    #[test]
    fn the_formula_is_continuous_where_the_root_vanishes() {
        let excess = |a: f64| 2.0 * (a + 50.0) * (a.powi(3) + 50.0) - 3.0 * (a * a + 50.0).powi(2);
        let (mut low, mut high) = (1.0, 10.0);
        assert!(excess(low) < 0.0 && excess(high) > 0.0);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if excess(middle) < 0.0 { low = middle } else { high = middle }
        }
        let limit = |a: f64| {
            let mut variances = vec![1.0; 50];
            variances.push(a);
            jackson_mudholkar_limit(&variances, 0.01).expect("a limit")
        };
        assert!(
            (limit(low) - limit(low * (1.0 + 1e-6))).abs() < 1e-3,
            "{} {}",
            limit(low),
            limit(low + 1e-6)
        );
    }

    /// One variance: `h0 = 1/3`, and the bracket is `1 + c√2/3 − 2/9`, negative for `c` below −1.65.
    #[test]
    fn a_bracket_below_zero_falls_back_to_box() {
        let limit = jackson_mudholkar_limit(&[2.0], 0.999).expect("a limit");
        assert!((limit - 2.0 * chi_square_quantile(0.999, 1.0)).abs() < 1e-12);
    }
}
