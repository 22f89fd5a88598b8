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

fn assert_close(value: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().expect("a number");
    assert!((value - expected).abs() <= 1e-8 * expected.abs(), "{what}: {value:e} is not {expected:e}");
}

#[test]
fn the_path_agrees_with_the_reference() {
    let golden = golden("stepwise/cases");
    for case in golden["cases"].as_array().expect("cases") {
        let (x, y) = (matrix(&case["N"]), numbers(&case["y"]));
        let path = stepwise(&x, &y, case["alpha_enter"].as_f64().expect("a level"));
        let expected = case["path"].as_array().expect("a path");
        assert_eq!(path.len(), expected.len(), "{}", case["name"]);
        for (step, expected) in path.iter().zip(expected) {
            assert_eq!(step.candidate as u64, expected["candidate"]);
            assert_eq!(step.degrees as u64, expected["dof"]);
            assert_eq!(step.is_accepted, expected["accepted"]);
            assert_close(step.sse, &expected["sse"], "sum of squares");
            assert_close(step.f, &expected["F"], "F");
            assert_close(step.p, &expected["p"], "p");
        }
    }
}

/// With windows of 100 s and utilization in percent, a coefficient is a demand in seconds.
#[test]
fn the_model_on_the_selected_types_agrees_with_the_reference() {
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
