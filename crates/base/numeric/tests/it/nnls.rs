//! Non-negative least squares against the reference.

use crate::golden::{assert_close, items, load, matrix, number, numbers};
use laggard_numeric::{NormalEquations, nnls};

#[test]
fn solutions_agree_with_the_reference() {
    let golden = load("nnls/cases");
    for case in items(&golden["cases"]) {
        let name = case["name"].as_str().expect("a name");
        let (a, b) = (matrix(&case["A"]), numbers(&case["b"]));
        let mut equations = NormalEquations::zeros(a.cols());
        b.iter().enumerate().for_each(|(i, &y)| equations.add_row(a.row(i), y));
        let fit = nnls(&equations);
        if case["unique"].as_bool() == Some(true) {
            for (&found, expected) in fit.coefficients.iter().zip(numbers(&case["x"])) {
                assert_close(found, expected, 1e-8, name);
            }
        }
        let residual =
            |i: usize| b[i] - a.row(i).iter().zip(&fit.coefficients).map(|(a, c)| a * c).sum::<f64>();
        let norm = (0..b.len()).map(|i| residual(i).powi(2)).sum::<f64>().sqrt();
        assert_close(norm, number(&case["residual_norm"]), 1e-8, name);
        assert_close(fit.sse, norm * norm, 1e-8, name);
    }
}
