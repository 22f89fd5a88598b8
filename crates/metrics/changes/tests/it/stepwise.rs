//! Stepwise selection against the reference.

use laggard_changes::{ENTRY_LEVEL, Observations, stepwise, stepwise_model};
use laggard_numeric::Matrix;
use laggard_testkit::golden;
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().expect("rows").iter().map(numbers).collect();
    Matrix::from_row_major(rows.len(), rows[0].len(), rows.concat())
}

fn assert_close(found: f64, wanted: &Value, what: &str) {
    let wanted = wanted.as_f64().expect("a number");
    assert!((found - wanted).abs() <= 1e-8 * wanted.abs(), "{what}: {found:e} is not {wanted:e}");
}

#[test]
fn the_path_agrees_with_the_reference() {
    let golden = golden("stepwise/cases");
    for case in golden["cases"].as_array().expect("cases") {
        let (x, y) = (matrix(&case["N"]), numbers(&case["y"]));
        let path = stepwise(&x, &y, case["alpha_enter"].as_f64().expect("a level"));
        let wanted = case["path"].as_array().expect("a path");
        assert_eq!(path.len(), wanted.len(), "{}", case["name"]);
        for (step, wanted) in path.iter().zip(wanted) {
            assert_eq!(step.candidate as u64, wanted["candidate"]);
            assert_eq!(step.degrees as u64, wanted["dof"]);
            assert_eq!(step.is_accepted, wanted["accepted"]);
            assert_close(step.sse, &wanted["sse"], "sum of squares");
            assert_close(step.f, &wanted["F"], "F");
            assert_close(step.p, &wanted["p"], "p");
        }
    }
}

/// Utilization percent and counts as they are: with windows of 100 s a coefficient is a demand in seconds.
#[test]
fn the_model_on_what_was_selected_agrees_with_the_reference() {
    let golden = golden("stepwise/cases");
    for case in golden["cases"].as_array().expect("cases") {
        let (counts, y) = (matrix(&case["N"]), numbers(&case["y"]));
        if y.len() < counts.cols() + 2 {
            continue;
        }
        let observations = Observations {
            window_s: 100.0,
            windows: (0..y.len()).collect(),
            utilization: y.iter().map(|percent| percent / 100.0).collect(),
            counts,
            response_s: Matrix::default(),
            cores: 1.0,
        };
        let model = stepwise_model(&observations, &[0..3, 3..y.len()], ENTRY_LEVEL).expect("enough windows");
        assert_close(model.constant_percent, &case["nnls_coefficients"][0], "constant");
        let selected = case["selected"].as_array().expect("columns");
        for (at, column) in selected.iter().enumerate() {
            let column = column.as_u64().expect("a column") as usize;
            assert_close(model.demand_s[column], &case["nnls_coefficients"][at + 1], "demand");
        }
        assert_eq!(model.demand_s.iter().filter(|demand| **demand > 0.0).count(), selected.len());
    }
}
