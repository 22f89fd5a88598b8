//! Access to the golden files: inputs with results of independent reference implementations.

use laggard_numeric::Matrix;
use serde_json::Value;

pub(crate) use laggard_testkit::golden as load;

/// Elements of an array.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// A number; `"inf"`, `"-inf"` and `"nan"` represent values that JSON does not support.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().expect("a number").parse().expect("a number's name"))
}

/// An array of numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    items(value).iter().map(number).collect()
}

/// An array of indices.
pub(crate) fn indices(value: &Value) -> Vec<usize> {
    items(value).iter().map(|index| index.as_u64().expect("an index") as usize).collect()
}

/// An array of rows.
pub(crate) fn matrix(value: &Value) -> Matrix {
    let rows = items(value);
    let cols = rows.first().map_or(0, |row| items(row).len());
    Matrix::from_row_major(rows.len(), cols, rows.iter().flat_map(numbers).collect())
}

/// Fails unless `found` is `wanted` within `tolerance` relative to `wanted`, or absolutely below 1.
pub(crate) fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((found - expected).abs() <= allowed, "{what}: {found} is not {expected}");
}

/// Fails unless `found` is `wanted` within `tolerance` relative to `wanted`.
pub(crate) fn assert_relative(found: f64, expected: f64, tolerance: f64, what: &str) {
    let allowed = tolerance * expected.abs();
    assert!((found - expected).abs() <= allowed, "{what}: {found} is not {expected}");
}
