//! Location and spread of a sample.
//!
//! Values are expected to be finite. A NaN never panics: the order functions sort it last.

/// Makes the median absolute deviation estimate the standard deviation of a normal sample:
/// `1 / quantile_normal(3/4)`, rounded as is customary.
pub(crate) const MAD_TO_STANDARD_DEVIATION: f64 = 1.4826;

/// Arithmetic mean; 0 of an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation with divisor `m - 1`; 0 of fewer than two values.
pub fn sample_std(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let center = mean(values);
    let squares: f64 = values.iter().map(|value| (value - center) * (value - center)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Median, the mean of the two middle values of an even count; 0 of an empty sample.
///
/// Linear time on average; the values are left in another order.
pub fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (lower, upper_middle, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !is_even {
        return *upper_middle;
    }
    let lower_middle = lower.iter().copied().max_by(f64::total_cmp).expect("an even count has a lower half");
    f64::midpoint(lower_middle, *upper_middle)
}

/// Median of values that must stay in order: copies, then [`median`].
pub fn median_of(values: &[f64]) -> f64 {
    median(&mut values.to_vec())
}

/// Median absolute deviation from `median`, times 1.4826; 0 of an empty sample.
pub fn mad(values: &[f64], median: f64) -> f64 {
    let mut distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    MAD_TO_STANDARD_DEVIATION * self::median(&mut distances)
}

/// Standard deviation (divisor `m - 1`) over mean; 0 of fewer than two values or when the mean is 0.
pub fn coefficient_of_variation(values: &[f64]) -> f64 {
    let center = mean(values);
    if values.len() < 2 || center == 0.0 {
        return 0.0;
    }
    sample_std(values) / center
}

/// The smallest value with at least a share `q` (0 to 1, clamped) of the ascending values at or below
/// it: the `ceil(q m)`-th. No interpolation, so the answer is a value that occurred. 0 of an empty sample.
pub fn quantile_nearest_rank(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    let rank = (q.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_worked_by_hand() {
        // Mean 5; squared deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32.
        let sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&sample), 5.0);
        assert_eq!(sample_std(&sample), (32.0_f64 / 7.0).sqrt());
        assert_eq!(median_of(&sample), 4.5);
        // Distances from 4.5: 2.5 .5 .5 .5 .5 .5 2.5 4.5, median 0.5.
        assert_eq!(mad(&sample, 4.5), 1.4826 * 0.5);
        assert_eq!(coefficient_of_variation(&sample), (32.0_f64 / 7.0).sqrt() / 5.0);
    }

    #[test]
    fn the_median_of_unordered_values() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [f64::MAX, f64::MAX]), f64::MAX);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        let quantile = |q| quantile_nearest_rank(&sorted, q);
        assert_eq!(
            [quantile(0.05), quantile(0.3), quantile(0.4), quantile(0.5), quantile(1.0)],
            [15.0, 20.0, 20.0, 35.0, 50.0]
        );
        assert_eq!(
            (quantile(0.0), quantile(-1.0), quantile(7.0), quantile(f64::NAN)),
            (15.0, 15.0, 50.0, 15.0)
        );
        assert_eq!(quantile_nearest_rank(&[], 0.5), 0.0);
    }

    #[test]
    fn degenerate_samples_have_no_spread() {
        for sample in [&[][..], &[7.0], &[0.0, 0.0]] {
            assert_eq!((sample_std(sample), coefficient_of_variation(sample)), (0.0, 0.0));
        }
        assert_eq!((mean(&[]), mad(&[], 0.0)), (0.0, 0.0));
    }
}
