//! Order and clusters against reference results.

use laggard_align::{OpticsSettings, optics};
use laggard_numeric::Matrix;
use laggard_testkit::golden;
use serde_json::Value;
use std::num::NonZeroUsize;

/// A number, or a string for one that JSON cannot represent.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub(crate) fn matrix(rows: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = rows.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_row_major(rows.len(), rows[0].len(), rows.concat())
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect()
}

/// An index, or -1 for `None`, as in the reference.
fn signed(value: Option<usize>) -> i64 {
    value.map_or(-1, |value| i64::try_from(value).unwrap())
}

fn assert_close(result: &[f64], expected: &[f64], what: &str) {
    assert_eq!(result.len(), expected.len(), "{what}");
    for (a, b) in result.iter().zip(expected) {
        assert!(a == b || (a - b).abs() <= 1e-9, "{what}: {a} {b}");
    }
}

#[test]
fn golden_orders_and_clusters() {
    let golden = golden("optics/cases");
    let cases = golden["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let same = |other: &&Value| other["name"] == case["X_same_as"];
        let points = match &case["X"] {
            Value::Null => &cases.iter().find(same).unwrap()["X"],
            points => points,
        };
        for threads in [1, 3] {
            let settings = OpticsSettings {
                points_min: usize::try_from(case["min_samples"].as_u64().unwrap()).unwrap(),
                steepness: number(&case["xi"]),
                is_predecessor_corrected: case["predecessor_correction"].as_bool().unwrap(),
                threads: NonZeroUsize::new(threads).unwrap(),
            };
            let result = optics(&matrix(points), &settings).unwrap();
            let ordering: Vec<i64> = result.ordering.iter().map(|&point| signed(Some(point))).collect();
            assert_eq!(ordering, integers(&case["ordering"]), "{name}");
            assert_close(&result.core_distances, &numbers(&case["core_distances"]), name);
            assert_close(&result.reachability, &numbers(&case["reachability"]), name);
            let predecessor: Vec<i64> = result.predecessor.into_iter().map(signed).collect();
            assert_eq!(predecessor, integers(&case["predecessor"]), "{name}");
            let labels: Vec<i64> = result.labels.into_iter().map(signed).collect();
            assert_eq!(labels, integers(&case["labels"]), "{name}");
            let clusters =
                result.clusters.iter().map(|dent| vec![signed(Some(dent.first)), signed(Some(dent.last))]);
            let expected = case["clusters"].as_array().unwrap().iter().map(integers);
            assert_eq!(clusters.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{name}");
        }
    }
}
