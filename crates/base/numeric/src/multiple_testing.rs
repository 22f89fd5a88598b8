//! Correction of p-values for many tests at once (Benjamini and Hochberg).

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // Sorted .01 .02 .04 of 3: .03, .03, .04; .02 is pulled from .03 to .03.
        assert_eq!(benjamini_hochberg(&[0.04, 0.01, 0.02]), [0.04, 0.03, 0.03]);
    }

    #[test]
    fn empty_and_nan_p_values() {
        assert_eq!(benjamini_hochberg(&[]), []);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.2]), [1.0, 0.4]);
    }
}
