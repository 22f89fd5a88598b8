//! The JSON of reports is valid and reproducible.

use crate::{PLAIN, fixtures, rendered};
use laggard_report::Output;
use serde_json::Value;

#[test]
fn numbers_that_are_not_finite_become_null() {
    let mut report = fixtures::three_replicas();
    (report.suspects[0].factor, report.suspects[0].share) = (f64::NAN, f64::NEG_INFINITY);
    let json: Value = serde_json::from_str(&rendered(Output::Json, &report, &PLAIN)).unwrap();
    assert!(json["suspects"][0]["factor"].is_null() && json["suspects"][0]["share"].is_null());
    assert_eq!(json["suspects"][0]["replicas_seen"], 100);
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let [first, second] = [(); 2].map(|()| rendered(Output::Json, &fixtures::hostile(), &PLAIN));
    assert_eq!(first, second);
    assert!(first.ends_with("}\n"));
}
