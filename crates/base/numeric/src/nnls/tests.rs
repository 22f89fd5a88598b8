use super::*;
use crate::Matrix;
use proptest::prelude::*;

fn equations(columns: usize, rows: &[&[f64]], y: &[f64]) -> NormalEquations {
    let mut out = NormalEquations::zeros(columns);
    rows.iter().zip(y).for_each(|(row, &y)| out.add_row(row, y));
    out
}

/// `y = (1, 2)` on the axes: nothing binds.
#[test]
fn an_exact_fit_has_no_residual() {
    let fit = nnls(&equations(2, &[&[1.0, 0.0], &[0.0, 2.0]], &[1.0, 2.0]));
    assert_eq!(fit.coefficients, [1.0, 1.0]);
    assert!(fit.sse < 1e-14);
}

/// `(1, −1)` would need −1 on the second axis; clamped, the residual is 1.
#[test]
fn a_negative_coefficient_is_clamped() {
    let fit = nnls(&equations(2, &[&[1.0, 0.0], &[0.0, 1.0]], &[1.0, -1.0]));
    assert_eq!(fit.coefficients, [1.0, 0.0]);
    assert_eq!(fit.sse, 1.0);
}

/// Columns (1, 1) and (1, 2) with y = (3, 1): free, c = (5, −2). Clamped, c₁ = 4/2 = 2 and the residual is (1, −1);
/// the gradient of the second is 5 − 6 < 0.
#[test]
fn dropping_a_column_changes_the_others() {
    let fit = nnls(&equations(2, &[&[1.0, 1.0], &[1.0, 2.0]], &[3.0, 1.0]));
    assert!((fit.coefficients[0] - 2.0).abs() < 1e-12 && fit.coefficients[1] == 0.0);
    assert!((fit.sse - 2.0).abs() < 1e-12);
}

#[test]
fn degenerate_problems_have_an_answer() {
    assert_eq!(nnls(&NormalEquations::zeros(0)), NonNegativeFit { coefficients: vec![], sse: 0.0 });
    assert_eq!(nnls(&NormalEquations::zeros(3)).coefficients, [0.0; 3]);
    assert_eq!(nnls(&equations(1, &[&[0.0], &[0.0]], &[3.0, 4.0])).sse, 25.0);
    let nan = nnls(&equations(2, &[&[f64::NAN, 1.0], &[1.0, 1.0]], &[1.0, 1.0]));
    assert!(nan.coefficients.iter().all(|value| value.is_finite()));
}

#[test]
fn one_of_two_equal_columns_is_used() {
    let fit = nnls(&equations(2, &[&[1.0, 1.0], &[2.0, 2.0]], &[2.0, 4.0]));
    assert_eq!(fit.coefficients.iter().filter(|&&value| value > 0.0).count(), 1);
    assert!(fit.sse < 1e-12);
}

/// Non-negative columns as counts are, with a tie, a zero column and a response that may be anything.
fn problem() -> impl Strategy<Value = (Matrix, Vec<f64>)> {
    (1_usize..12, 1_usize..6).prop_flat_map(|(rows, cols)| {
        let x = prop::collection::vec(0_u8..20, rows * cols);
        let y = prop::collection::vec(-5.0..50.0, rows);
        (x, y).prop_map(move |(x, y)| {
            (Matrix::from_row_major(rows, cols, x.into_iter().map(f64::from).collect()), y)
        })
    })
}

/// Gradient `Xᵀ(y − Xc)` of every column, by columns of unit length.
fn gradients(equations: &NormalEquations, coefficients: &[f64]) -> Vec<f64> {
    let p = equations.columns();
    let gradient = |i: usize| {
        let explained: f64 = (0..p).map(|j| equations.gram(i, j) * coefficients[j]).sum();
        (equations.moment(i) - explained) / equations.gram(i, i).sqrt().max(1e-300)
    };
    (0..p).map(gradient).collect()
}

proptest! {
    /// The conditions of Karush, Kuhn and Tucker, which for a convex problem are those of a minimum.
    #[test]
    fn the_answer_is_a_minimum((x, y) in problem()) {
        let equations = NormalEquations::with_intercept(&x, &y);
        let fit = nnls(&equations);
        let scale = equations.response_square().sqrt().max(1.0);
        for (gradient, &coefficient) in gradients(&equations, &fit.coefficients).into_iter().zip(&fit.coefficients) {
            prop_assert!(coefficient >= 0.0);
            prop_assert!(gradient <= 1e-4 * scale, "{gradient}");
            prop_assert!(coefficient == 0.0 || gradient >= -1e-4 * scale, "{gradient}");
        }
    }

    #[test]
    fn the_start_does_not_change_the_minimum((x, y) in problem(), guess in prop::collection::vec(any::<bool>(), 6)) {
        let equations = NormalEquations::with_intercept(&x, &y);
        let cold = nnls(&equations);
        let mut solver = NnlsSolver::new(equations.columns());
        solver.guess((0..equations.columns()).filter(|&j| guess[j]));
        let warm = solver.resume(&equations);
        prop_assert!((cold.sse - warm).abs() <= 1e-8 * equations.response_square().max(1.0), "{} {warm}", cold.sse);
    }
}
