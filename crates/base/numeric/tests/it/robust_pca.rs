//! The decompositions against the golden files and on degenerate input.

use std::num::NonZeroUsize;

use laggard_numeric::{Matrix, RobustPca, RobustPcaSettings, column_cosines, outlier_pursuit, robust_pca};
use serde_json::Value;

use crate::golden::{assert_close, assert_relative, indices, items, load, matrix, number, numbers};
use crate::latency_matrix::LatencyMatrix;
use crate::textbook::{Shrink, decompose, to_nalgebra};

fn with_lambda(lambda: &Value) -> RobustPcaSettings {
    RobustPcaSettings { lambda: lambda.as_f64(), ..RobustPcaSettings::default() }
}

fn distance(a: &Matrix, b: &Matrix) -> f64 {
    let squares = a.data().iter().zip(b.data()).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}

/// `|M - L - E|_F / |M|_F`, measured from outside.
fn residual(original: &Matrix, parts: &RobustPca) -> f64 {
    let sum = parts.low_rank.data().iter().zip(parts.sparse.data()).map(|(l, e)| l + e).collect();
    let sum = Matrix::from_row_major(original.rows(), original.cols(), sum);
    distance(original, &sum) / original.frobenius_norm()
}

#[test]
fn small_matrices_as_the_reference() {
    let golden = load("rpca/small");
    for case in items(&golden["cases"]) {
        let name = case["name"].to_string();
        let input = matrix(&case["D"]);
        let parts = robust_pca(input.clone(), &with_lambda(&case["lam"]));
        assert_eq!(parts.iterations, case["iters"], "{name}");
        assert_eq!(parts.rank, case["rank"], "{name}");
        assert!(parts.converged);
        if input.frobenius_norm() > 0.0 {
            assert_relative(residual(&input, &parts), parts.residual, 1e-6, &name);
        }
        assert_relative(parts.residual, number(&case["residual"]), 1e-3, &name);
        for (key, found) in [("L", &parts.low_rank), ("E", &parts.sparse)] {
            if let Some(expected) = case.get(key) {
                assert!(distance(found, &matrix(expected)) <= 1e-5 * input.frobenius_norm(), "{name} {key}");
            }
        }
        for (found, expected) in column_cosines(&input, &parts.low_rank).iter().zip(cosines(case)) {
            assert_close(*found, expected, 1e-6, &name);
        }
        check_objective(case, &parts);
        check_recovery(case, &input, &parts);
    }
}

fn cosines(case: &Value) -> Vec<f64> {
    case.get("cosine").map(numbers).unwrap_or_default()
}

fn check_objective(case: &Value, parts: &RobustPca) {
    let Some(expected) = case.get("objective") else { return };
    let entries: f64 = parts.sparse.data().iter().map(|v| v.abs()).sum();
    let found = parts.singular_values.iter().sum::<f64>() + number(&case["lam"]) * entries;
    assert_relative(found, number(expected), 1e-6, "objective");
}

/// Where the planted sparse part is known, the low-rank part is what is left.
fn check_recovery(case: &Value, input: &Matrix, parts: &RobustPca) {
    let Some(planted) = case.get("planted_E") else { return };
    let mut low_rank = input.clone();
    for (position, value) in indices(&case["planted_support"]).into_iter().zip(numbers(planted)) {
        low_rank.data_mut()[position] -= value;
    }
    assert_eq!(parts.rank, case["planted_rank"]);
    assert!(distance(&low_rank, &parts.low_rank) <= 1e-4 * low_rank.frobenius_norm());
}

fn generated(golden: &Value) -> Matrix {
    let input = &golden["input"];
    let whole = |key: &str| number(&input[key]) as usize;
    let mut hits = Vec::new();
    let generated = LatencyMatrix {
        seed: whole("seed") as u64,
        rows: whole("m"),
        cols: whole("n"),
        culprit: whole("culprit"),
        hit_probability: number(&input["p_hit"]),
        hit_multiple: number(&input["mult"]),
    }
    .generate(|row| hits.push(row));
    for (found, expected) in generated.row(0).iter().zip(numbers(&input["first_row"])) {
        assert_relative(*found, expected, 1e-12, "first row");
    }
    assert_relative(generated.data().iter().sum(), number(&input["sum"]), 1e-12, "sum");
    assert_relative(generated.frobenius_norm(), number(&input["fro"]), 1e-12, "norm");
    assert_eq!(hits.len(), whole("hits"));
    assert_eq!(hits[..10], indices(&input["first_hits"]));
    generated
}

#[test]
fn generated_latencies_as_the_reference() {
    let golden = load("rpca/generated_2000x50");
    let input = generated(&golden);
    let parts = robust_pca(input.clone(), &RobustPcaSettings::default());
    let expected = &golden["raw"];
    check_generated(&input, &parts, expected);
    for (found, expected) in parts.singular_values.iter().zip(numbers(&expected["L_singular_top10"])) {
        assert_relative(*found, expected, 1e-4, "singular value");
    }
    assert_relative(parts.singular_values.iter().sum(), number(&expected["L_nuclear"]), 1e-4, "nuclear norm");
    let entries = parts.sparse.data().iter().map(|v| v.abs()).sum();
    assert_relative(entries, number(&expected["E_l1"]), 1e-4, "entries");
    let nonzero = parts.sparse.data().iter().filter(|v| **v != 0.0).count() as f64 / 100_000.0;
    assert_relative(nonzero, number(&expected["E_nonzero_fraction"]), 1e-3, "nonzero entries");
    for (key, part) in [("L_row0", &parts.low_rank), ("E_row0", &parts.sparse)] {
        for (found, expected) in part.row(0).iter().zip(numbers(&expected[key])) {
            assert_close(*found, expected, 1e-4, key);
        }
    }
}

#[test]
fn scaled_latencies_as_the_reference() {
    let golden = load("rpca/generated_2000x50");
    let mut input = generated(&golden);
    let medians: Vec<f64> = (0..input.cols())
        .map(|j| laggard_numeric::median(&mut input.column(j).collect::<Vec<_>>()))
        .collect();
    for i in 0..input.rows() {
        input.row_mut(i).iter_mut().zip(&medians).for_each(|(value, median)| *value /= median);
    }
    let parts = robust_pca(input.clone(), &RobustPcaSettings::default());
    check_generated(&input, &parts, &golden["median_scaled"]);
}

fn check_generated(input: &Matrix, parts: &RobustPca, expected: &Value) {
    assert_eq!(parts.iterations, expected["iters"]);
    assert!((parts.rank as f64 - number(&expected["rank"])).abs() <= 1.0);
    let cosines = column_cosines(input, &parts.low_rank);
    for (found, expected) in cosines.iter().zip(numbers(&expected["cosine"])) {
        assert_relative(*found, expected, 1e-4, "cosine");
    }
    let flagged: Vec<usize> = (0..cosines.len()).filter(|&j| cosines[j] < 0.5).collect();
    assert_eq!(flagged, indices(&expected["flagged_at_0_5"]));
}

#[test]
fn outlying_columns_as_the_reference() {
    let golden = load("rpca/outlier_pursuit");
    let input = matrix(&golden["D"]);
    let parts = outlier_pursuit(input.clone(), &with_lambda(&golden["lam"]));
    let norms: Vec<f64> =
        (0..input.cols()).map(|j| parts.sparse.column(j).map(|v| v * v).sum::<f64>().sqrt()).collect();
    let largest = norms.iter().copied().fold(0.0, f64::max);
    let outlying: Vec<usize> = (0..norms.len()).filter(|&j| norms[j] > 0.05 * largest).collect();
    assert_eq!(outlying, indices(&golden["outlier_columns"]));
    for (found, expected) in norms.iter().zip(numbers(&golden["E_column_norms"])) {
        assert!((found - expected).abs() <= 1e-4 * largest, "{found} is not {expected}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let input = LatencyMatrix {
        seed: 5,
        rows: 1500,
        cols: 23,
        culprit: 3,
        hit_probability: 0.05,
        hit_multiple: 100.0,
    }
    .generate(|_| ());
    let with_threads = |threads: usize| {
        let threads = NonZeroUsize::new(threads).expect("above zero");
        let settings = RobustPcaSettings { threads, ..RobustPcaSettings::default() };
        [robust_pca(input.clone(), &settings), outlier_pursuit(input.clone(), &settings)]
    };
    let alone = with_threads(1);
    for threads in [2, 3, 64] {
        assert!(with_threads(threads) == alone, "{threads} threads");
    }
}

#[test]
fn empty_and_zero_matrices_are_unchanged() {
    for (rows, cols) in [(0, 0), (0, 3), (3, 0), (4, 3), (2, 5)] {
        for decompose in [robust_pca, outlier_pursuit] {
            let parts = decompose(Matrix::zeros(rows, cols), &RobustPcaSettings::default());
            assert_eq!(
                (&parts.low_rank, &parts.sparse),
                (&Matrix::zeros(rows, cols), &Matrix::zeros(rows, cols))
            );
            assert_eq!((parts.iterations, parts.rank, parts.residual, parts.converged), (0, 0, 0.0, true));
        }
    }
}

#[test]
fn single_rows_and_columns_converge() {
    let values: Vec<f64> = (1..=40).map(|i| f64::from(i % 7)).collect();
    for (rows, cols) in [(1, 40), (40, 1), (1, 1)] {
        let input = Matrix::from_row_major(rows, cols, values[..rows * cols].to_vec());
        for decompose in [robust_pca, outlier_pursuit] {
            let parts = decompose(input.clone(), &RobustPcaSettings::default());
            assert!(parts.converged && residual(&input, &parts) <= 1e-7, "{rows} x {cols}");
            assert!(parts.rank <= 1);
        }
    }
}

#[test]
fn non_finite_entries_are_counted_and_replaced_by_zero() {
    let mut clean = Matrix::from_row_major(6, 2, (0..12).map(|i| f64::from(i % 5)).collect());
    clean.set(1, 1, 0.0);
    clean.set(4, 0, 0.0);
    let mut spoilt = clean.clone();
    spoilt.set(1, 1, f64::NAN);
    spoilt.set(4, 0, f64::NEG_INFINITY);
    let expected = robust_pca(clean, &RobustPcaSettings::default());
    let found = robust_pca(spoilt, &RobustPcaSettings::default());
    assert_eq!((expected.non_finite, found.non_finite), (0, 2));
    assert_eq!(RobustPca { non_finite: 0, ..found }, expected);
}

#[test]
fn extreme_magnitudes_are_the_same_problem() {
    let data: Vec<f64> =
        (0..60).map(|i| f64::from((i * 17) % 23) + if i == 8 { 300.0 } else { 0.0 }).collect();
    let plain = robust_pca(Matrix::from_row_major(12, 5, data.clone()), &RobustPcaSettings::default());
    for exponent in [1000.0_f64, -1000.0] {
        let scaled = data.iter().map(|v| v * exponent.exp2()).collect();
        let parts = robust_pca(Matrix::from_row_major(12, 5, scaled), &RobustPcaSettings::default());
        assert_eq!((parts.iterations, parts.rank), (plain.iterations, plain.rank));
        for (found, expected) in parts.low_rank.data().iter().zip(plain.low_rank.data()) {
            assert_close(found * (-exponent).exp2(), *expected, 1e-9, "scaled");
        }
    }
    let largest =
        robust_pca(Matrix::from_row_major(2, 1, vec![f64::MAX, 5e-324]), &RobustPcaSettings::default());
    assert!(largest.low_rank.data().iter().all(|v| v.is_finite()));
}

#[test]
fn invalid_settings_are_replaced_by_defaults() {
    let input = Matrix::from_row_major(8, 3, (0..24).map(|i| f64::from((i * 5) % 9)).collect());
    let expected = robust_pca(input.clone(), &RobustPcaSettings::default());
    for bad in [f64::NAN, -1.0, 0.0] {
        let settings = RobustPcaSettings {
            lambda: Some(bad),
            growth: bad,
            tolerance: bad,
            ..RobustPcaSettings::default()
        };
        assert_eq!(robust_pca(input.clone(), &settings), expected);
    }
}

#[test]
fn reaching_the_iteration_limit_is_reported() {
    let input = Matrix::from_row_major(8, 3, (0..24).map(|i| f64::from((i * 5) % 9)).collect());
    for (iterations_max, done) in [(0, 1), (1, 1), (9, 9)] {
        let settings = RobustPcaSettings { iterations_max, ..RobustPcaSettings::default() };
        let parts = robust_pca(input.clone(), &settings);
        assert_eq!((parts.iterations, parts.converged), (done, false));
        assert_relative(residual(&input, &parts), parts.residual, 1e-9, "residual");
    }
}

#[test]
fn extreme_settings_terminate() {
    let input = Matrix::from_row_major(8, 3, (0..24).map(|i| f64::from((i * 5) % 9)).collect());
    for lambda in [f64::MIN_POSITIVE, 1e-300, 1e300, f64::MAX] {
        for (growth, tolerance) in [(1.000_001, 1e-7), (f64::MAX, 1e-300), (1.5, f64::INFINITY)] {
            let settings =
                RobustPcaSettings { lambda: Some(lambda), growth, tolerance, ..RobustPcaSettings::default() };
            for decompose in [robust_pca, outlier_pursuit] {
                let parts = decompose(input.clone(), &settings);
                assert!((1..=1000).contains(&parts.iterations));
                assert!(parts.converged == (parts.residual <= tolerance));
            }
        }
    }
}

/// Above the size up to which the residual is always measured before moving on.
#[test]
fn larger_matrices_are_the_textbook_method() {
    let generator =
        LatencyMatrix { seed: 9, rows: 500, cols: 20, culprit: 4, hit_probability: 0.05, hit_multiple: 50.0 };
    let input = generator.generate(|_| ());
    for (method, shrink, lambda) in [
        (robust_pca as fn(Matrix, &RobustPcaSettings) -> RobustPca, Shrink::Entries, 1.0 / 500.0_f64.sqrt()),
        (outlier_pursuit, Shrink::Columns, 0.9),
    ] {
        let parts = method(input.clone(), &RobustPcaSettings::default());
        let expected = decompose(&input, lambda, shrink);
        assert_eq!(parts.iterations, expected.iterations, "{shrink:?}");
        let gap = (to_nalgebra(&parts.low_rank) - expected.low_rank).norm() / input.frobenius_norm();
        assert!(gap <= 1e-6, "{shrink:?} {gap}");
    }
}
