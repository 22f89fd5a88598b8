//! p-values of many tests at once: corrected for their number (Benjamini and Hochberg), or combined into one (Wilson).

/// Benjamini–Hochberg adjusted p-values, in the order of the input.
///
/// For the i-th smallest of k p-values, `min over j >= i of min(1, k p_(j) / j)`; rejecting where the
/// adjusted value is at most `q` bounds the expected share of false rejections by `q` (Benjamini and
/// Hochberg, *J. R. Stat. Soc. B* 57, 1995). A NaN counts as 1. Time `O(k log k)`.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let total = p.len() as f64;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut smallest = 1.0_f64;
    for (position, &index) in order.iter().enumerate().rev() {
        // Rounding must not bring a value below itself; `min` passes over a NaN.
        let scaled = (p[index] * total / (position + 1) as f64).max(p[index]);
        smallest = smallest.min(scaled);
        adjusted[index] = smallest;
    }
    adjusted
}

/// One p-value for a hypothesis that was tested several times on the same data: the harmonic mean of the p-values (Wilson,
/// *PNAS* 116, 2019), a good approximation for small values, however the tests depend on each other. It is at most as many
/// times the smallest as there are tests, like Bonferroni's, and equal to it where all tests agree. A NaN counts as 1; 1 without
/// tests.
pub fn harmonic_mean_p_value(p: &[f64]) -> f64 {
    let inverse = |&p: &f64| if p.is_nan() { 1.0 } else { 1.0 / p };
    let sum: f64 = p.iter().map(inverse).sum();
    if p.is_empty() { 1.0 } else { (p.len() as f64 / sum).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Sorted .01 .02 .04 of 3: .03, .03, .04; .02 is pulled from .03 to .03.
        assert_eq!(benjamini_hochberg(&[0.04, 0.01, 0.02]), [0.04, 0.03, 0.03]);
    }

    #[test]
    fn harmonic_means_by_hand() {
        assert_eq!(harmonic_mean_p_value(&[0.25, 0.5]), 2.0 / 6.0);
        assert_eq!(harmonic_mean_p_value(&[0.125; 4]), 0.125);
        assert_eq!(harmonic_mean_p_value(&[0.0, 1.0]), 0.0);
        assert_eq!(harmonic_mean_p_value(&[f64::NAN, 0.25]), 2.0 / 5.0);
        assert_eq!(harmonic_mean_p_value(&[]), 1.0);
    }

    /// Between no correction at all, where tests agree, and Bonferroni's.
    #[test]
    fn harmonic_means_reject_true_hypotheses_as_rarely_as_stated() {
        let quantile = |rank: usize| (rank as f64 + 0.5) / 1000.0;
        let rejected = |step: usize| {
            let p = |at: usize| [quantile(at), quantile((at * step) % 1000)];
            (0..1000).filter(|&at| harmonic_mean_p_value(&p(at)) <= 0.02).count()
        };
        // The same test twice; and two tests that do not depend on each other.
        assert_eq!(rejected(1), 20);
        assert!((15..=25).contains(&rejected(389)), "{}", rejected(389));
    }

    #[test]
    fn empty_and_nan_p_values() {
        assert_eq!(benjamini_hochberg(&[]), []);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.2]), [1.0, 0.4]);
    }
}
