//! Properties for any input.

use laggard_numeric::{
    Alternative, Matrix, RobustPcaSettings, benjamini_hochberg, binomial_upper_tail, column_cosines,
    mann_whitney, mann_whitney_asymptotic, mann_whitney_exact, mann_whitney_one_vs_rest, median_of,
    normal_upper_tail, outlier_pursuit, robust_pca,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::textbook::{Shrink, Textbook, decompose, to_nalgebra};

/// Low rank plus spikes plus noise, any shape up to 40 x 12 or its transpose.
fn matrices() -> impl Strategy<Value = Matrix> {
    (1..40_usize, 1..12_usize, any::<bool>(), any::<u64>()).prop_map(|(long, short, is_wide, seed)| {
        let mut random = crate::latency_matrix::SplitMix64(seed);
        let (rows, cols) = if is_wide { (short, long) } else { (long, short) };
        let levels: Vec<f64> = (0..cols).map(|_| 1.0 + 9.0 * random.uniform()).collect();
        let mut matrix = Matrix::zeros(rows, cols);
        for i in 0..rows {
            let size = 1.0 + random.normal().abs();
            for (value, level) in matrix.row_mut(i).iter_mut().zip(&levels) {
                let spike = if random.uniform() < 0.1 { 50.0 } else { 0.0 };
                *value = size * level + 0.1 * random.normal() + spike;
            }
        }
        matrix
    })
}

/// Whether the reference stays where it is when the input changes in the twelfth digit. Of rare matrices its SVD is inaccurate.
fn is_stable(expected: &Textbook, matrix: &Matrix, lambda: f64, shrink: Shrink) -> bool {
    let mut nearby = matrix.clone();
    for row in 0..nearby.rows() {
        let values = nearby.row_mut(row).iter_mut().enumerate();
        values.for_each(|(column, value)| *value *= 1.0 + 1e-12 * ((row * 7 + column * 3) % 5) as f64);
    }
    let moved = decompose(&nearby, lambda, shrink);
    (moved.low_rank - &expected.low_rank).norm() <= 1e-6 * matrix.frobenius_norm()
}

/// Values with many ties.
fn coarse_values(most: usize) -> impl Strategy<Value = Vec<f64>> {
    vec((0..9_i32).prop_map(f64::from), 0..most)
}

proptest! {
    #[test]
    fn robust_pca_is_the_textbook_method(matrix in matrices()) {
        let lambda = 1.0 / (matrix.rows().max(matrix.cols()) as f64).sqrt();
        let parts = robust_pca(matrix.clone(), &RobustPcaSettings::default());
        let expected = decompose(&matrix, lambda, Shrink::Entries);
        // Where the residual leaps past the tolerance, rounding decides which iterate is the last.
        prop_assume!(parts.iterations == expected.iterations);
        prop_assume!(is_stable(&expected, &matrix, lambda, Shrink::Entries));
        let tolerance = 1e-4 * matrix.frobenius_norm();
        prop_assert!((to_nalgebra(&parts.low_rank) - expected.low_rank).norm() <= tolerance);
        prop_assert!((to_nalgebra(&parts.sparse) - expected.sparse).norm() <= tolerance);
    }

    #[test]
    fn outlier_pursuit_is_the_textbook_method(matrix in matrices(), lambda in 0.3..1.2) {
        let settings = RobustPcaSettings { lambda: Some(lambda), ..RobustPcaSettings::default() };
        let parts = outlier_pursuit(matrix.clone(), &settings);
        let expected = decompose(&matrix, lambda, Shrink::Columns);
        // Where the residual leaps past the tolerance, rounding decides which iterate is the last.
        prop_assume!(parts.iterations == expected.iterations);
        prop_assume!(is_stable(&expected, &matrix, lambda, Shrink::Columns));
        let tolerance = 1e-4 * matrix.frobenius_norm();
        prop_assert!((to_nalgebra(&parts.low_rank) - expected.low_rank).norm() <= tolerance);
        prop_assert!((to_nalgebra(&parts.sparse) - expected.sparse).norm() <= tolerance);
    }

    #[test]
    fn the_parts_sum_to_the_input(matrix in matrices()) {
        let parts = robust_pca(matrix.clone(), &RobustPcaSettings::default());
        let gap = to_nalgebra(&matrix) - to_nalgebra(&parts.low_rank) - to_nalgebra(&parts.sparse);
        prop_assert!(parts.converged);
        prop_assert!(gap.norm() <= 1.001e-7 * matrix.frobenius_norm());
        let cosines = column_cosines(&matrix, &parts.low_rank);
        prop_assert!(cosines.iter().all(|cosine| (0.0..=1.0).contains(cosine)));
        let found = to_nalgebra(&parts.low_rank).singular_values();
        for (k, expected) in found.iter().enumerate().take(parts.rank) {
            prop_assert!((parts.singular_values[k] - expected).abs() <= 1e-7 * matrix.frobenius_norm());
        }
    }

    #[test]
    fn adjusting_keeps_the_order(p in vec(0.0..=1.0, 0..40)) {
        let adjusted = benjamini_hochberg(&p);
        for (a, &p_a) in adjusted.iter().zip(&p) {
            prop_assert!(*a >= p_a && *a <= 1.0);
            for (b, &p_b) in adjusted.iter().zip(&p) {
                prop_assert!(p_a > p_b || a <= b);
            }
        }
    }

    #[test]
    fn swapping_the_samples_mirrors_the_test(x in coarse_values(30), y in coarse_values(30)) {
        for test in [mann_whitney, mann_whitney_asymptotic] {
            let pairs = (x.len() * y.len()) as f64;
            let (xy, yx) = (test(&x, &y, Alternative::TwoSided), test(&y, &x, Alternative::TwoSided));
            prop_assert_eq!((xy.u, xy.p_value), (pairs - yx.u, yx.p_value));
            prop_assert!((xy.effect + yx.effect - 1.0).abs() < 1e-12);
            let (greater, less) = (test(&x, &y, Alternative::Greater), test(&y, &x, Alternative::Less));
            prop_assert_eq!(greater.p_value, less.p_value);
            prop_assert!((0.0..=1.0).contains(&greater.p_value));
        }
    }

    #[test]
    fn u_counts_pairs(x in coarse_values(12), y in coarse_values(12)) {
        let score = |x: f64, y: f64| if x > y { 1.0 } else if x == y { 0.5 } else { 0.0 };
        let pairs: f64 = x.iter().flat_map(|&x| y.iter().map(move |&y| score(x, y))).sum();
        prop_assert_eq!(mann_whitney(&x, &y, Alternative::Less).u, pairs);
    }

    #[test]
    fn one_vs_rest_is_the_test_of_each_group(
        pool in vec((0..12_i32, 0..6_u32), 0..60), group_count in 0..6_usize,
    ) {
        let values: Vec<f64> = pool.iter().map(|(value, _)| f64::from(*value)).collect();
        let groups: Vec<u32> = pool.iter().map(|(_, group)| *group).collect();
        let found = mann_whitney_one_vs_rest(&values, &groups, group_count);
        for (expected, p) in (0_u32..).zip(&found) {
            let values_where = |is_inside: bool| -> Vec<f64> {
                let members = values.iter().zip(&groups).filter(|(_, group)| (**group == expected) == is_inside);
                members.map(|(value, _)| *value).collect()
            };
            prop_assert_eq!(*p, mann_whitney_asymptotic(&values_where(true), &values_where(false), Alternative::Greater).p_value);
        }
        prop_assert_eq!(found.len(), group_count);
    }

    #[test]
    fn both_approximations_agree_on_large_samples(seed in any::<u64>()) {
        let mut random = crate::latency_matrix::SplitMix64(seed);
        let mut draw = |count| (0..count).map(|_| random.normal()).collect::<Vec<f64>>();
        let (x, y) = (draw(60), draw(70));
        let exact = mann_whitney_exact(&x, &y, Alternative::Greater).unwrap();
        let normal = mann_whitney_asymptotic(&x, &y, Alternative::Greater);
        prop_assert!((exact.p_value - normal.p_value).abs() < 2e-3);
    }

    #[test]
    fn half_lies_on_each_side_of_the_median(values in vec(-1e3..1e3_f64, 1..50)) {
        let median = median_of(&values);
        prop_assert!(2 * values.iter().filter(|v| **v <= median).count() >= values.len());
        prop_assert!(2 * values.iter().filter(|v| **v >= median).count() >= values.len());
    }

    #[test]
    fn binomial_tails_are_sums(trials in 0..30_u64, probability in 0.0..=1.0, at_least in 0..32_u64) {
        let mut expected = 0.0;
        let mut ways = 1.0;
        for k in 0..=trials {
            if k >= at_least {
                expected += ways * f64::powi(probability, k as i32) * f64::powi(1.0 - probability, (trials - k) as i32);
            }
            ways *= (trials - k) as f64 / (k + 1) as f64;
        }
        let found = binomial_upper_tail(trials, probability, at_least);
        prop_assert!((found - expected).abs() <= 1e-12 + 1e-10 * expected, "{} is not {}", found, expected);
    }

    #[test]
    fn tails_of_the_normal_add_up(z in -30.0..30.0) {
        prop_assert!((normal_upper_tail(z) + normal_upper_tail(-z) - 1.0).abs() < 1e-14);
    }
}
