//! Weighted summaries against the unweighted ones of repeated values.

use laggard_numeric::{
    Weights, coefficient_of_variation, effective_sample_size, mad, mean, median_of, quantile_nearest_rank,
    sample_std, weighted_coefficient_of_variation, weighted_mad, weighted_mean, weighted_median,
    weighted_quantiles, weighted_sample_std,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Small integers with integer weights from 1 to 5.
fn weighted_sample() -> impl Strategy<Value = Vec<(i32, u8)>> {
    vec((-20..20, 1_u8..6), 1..60)
}

proptest! {
    #[test]
    fn whole_weights_are_repeated_values(sample in weighted_sample(), q in 0.0..=1.0) {
        let values: Vec<f64> = sample.iter().map(|&(value, _)| f64::from(value)).collect();
        let weights: Vec<f64> = sample.iter().map(|&(_, weight)| f64::from(weight)).collect();
        let mut repeated: Vec<f64> =
            sample.iter().flat_map(|&(value, weight)| std::iter::repeat_n(f64::from(value), weight.into())).collect();
        repeated.sort_unstable_by(f64::total_cmp);
        let weights = Weights::Each(&weights);
        prop_assert_eq!(weighted_mean(&values, weights), mean(&repeated));
        let median = median_of(&repeated);
        prop_assert_eq!(weighted_median(&values, weights), median);
        prop_assert_eq!(weighted_mad(&values, weights, median), mad(&repeated, median));
        prop_assert_eq!(weighted_quantiles(&values, weights, [q])[0], quantile_nearest_rank(&repeated, q));
    }

    #[test]
    fn equal_weights_change_no_bit(values in vec(-1e9..1e9, 0..60), weight in 1.0..1e6) {
        let each = vec![weight; values.len()];
        let weights = Weights::from_slice(&each);
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        prop_assert!(same(weighted_mean(&values, weights), mean(&values)));
        prop_assert!(same(weighted_sample_std(&values, weights), sample_std(&values)));
        let cv = weighted_coefficient_of_variation(&values, weights);
        prop_assert!(same(cv, coefficient_of_variation(&values)));
        let median = median_of(&values);
        prop_assert!(same(weighted_median(&values, weights), median));
        prop_assert!(same(weighted_mad(&values, weights, median), mad(&values, median)));
        prop_assert!(same(effective_sample_size(&each), values.len() as f64));
    }

    #[test]
    fn the_effective_sample_size_is_at_most_the_size(weights in vec(1.0..1e6, 1..60)) {
        let effective = effective_sample_size(&weights);
        prop_assert!(effective >= 1.0 - 1e-9 && effective <= weights.len() as f64 * (1.0 + 1e-12));
    }
}
