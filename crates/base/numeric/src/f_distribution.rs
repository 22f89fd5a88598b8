//! The F distribution: the tail that the test for one more regressor needs.

/// Most terms of the continued fraction; it needs about the root of the larger parameter.
const TERMS_MAX: u32 = 100_000;

/// Replaces 0 in a denominator of the continued fraction.
const TINY: f64 = 1e-300;

/// Upper tail `P(F > f)` of the F distribution with `numerator` and `denominator` degrees of freedom, relative
/// accuracy about 1e-12, also far out in the tail.
///
/// 1 for an `f` at or below 0, for NaN, and for degrees of freedom that are not positive: no evidence. 0 for an
/// infinite `f`.
pub fn f_upper_tail(f: f64, numerator: f64, denominator: f64) -> f64 {
    let degrees_valid = numerator > 0.0 && denominator > 0.0 && (numerator + denominator).is_finite();
    if f.is_nan() || f <= 0.0 || !degrees_valid {
        return 1.0;
    }
    if f == f64::INFINITY {
        return 0.0;
    }
    // P(F > f) = I_x(d2/2, d1/2) with x = d2/(d2 + d1 f).
    let ratio = numerator * f / denominator;
    regularized_beta(1.0 / (1.0 + ratio), ratio / (1.0 + ratio), 0.5 * denominator, 0.5 * numerator)
}

/// The regularized incomplete beta function `I_x(a, b)`; `complement` is `1 − x`, passed because it may be
/// known better than by subtraction.
fn regularized_beta(x: f64, complement: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if complement <= 0.0 {
        return 1.0;
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * complement.ln();
    // The fraction converges fast below the mean; above it the other tail is computed.
    if x < (a + 1.0) / (a + b + 2.0) {
        return log_front.exp() * beta_fraction(x, a, b) / a;
    }
    1.0 - log_front.exp() * beta_fraction(complement, b, a) / b
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_relative(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected, "{found:e} is not {expected:e}");
    }

    /// With 2 and 2 degrees of freedom the tail is 1/(1 + f); with 2 and d it is (1 + 2f/d)^(−d/2).
    #[test]
    fn tails_with_a_closed_form() {
        assert_relative(f_upper_tail(3.0, 2.0, 2.0), 0.25, 1e-14);
        assert_relative(f_upper_tail(1e6, 2.0, 2.0), 1.0 / 1_000_001.0, 1e-13);
        assert_relative(f_upper_tail(5.0, 2.0, 10.0), 2.0_f64.powi(-5), 1e-13);
        assert_relative(f_upper_tail(199.0, 2.0, 2.0), 0.005, 1e-13);
    }

    /// Reference values: `scipy.stats.f.sf`.
    #[test]
    fn tails_agree_with_the_reference() {
        for (f, numerator, denominator, reference) in REFERENCES {
            assert_relative(f_upper_tail(f, numerator, denominator), reference, 1e-10);
        }
    }

    #[test]
    fn invalid_arguments_have_p_value_one() {
        assert_eq!(f_upper_tail(f64::NAN, 1.0, 5.0), 1.0);
        assert_eq!(f_upper_tail(2.0, 1.0, 0.0), 1.0);
        assert_eq!(f_upper_tail(-2.0, 1.0, 5.0), 1.0);
        assert_eq!(f_upper_tail(f64::INFINITY, 1.0, 5.0), 0.0);
    }

    const REFERENCES: [(f64, f64, f64, f64); 7] = [
        (114.663_900_775_945_78, 1.0, 38.0, 4.928_485_090_032_811e-13),
        (7.153_270_941_250_957, 1.0, 37.0, 0.011_074_971_459_467_625),
        (1.109_418_891_961_758, 1.0, 36.0, 0.299_226_812_414_912),
        (0.3, 4.0, 7.0, 0.869_165_520_118_359_8),
        (2.5, 10.0, 1000.0, 0.005_755_889_047_227_769),
        (30.0, 1.0, 100_000.0, 4.330_834_050_502_535e-08),
        (1500.0, 1.0, 20.0, 2.757_249_259_367_178_5e-20),
    ];
}
