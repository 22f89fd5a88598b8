//! Selection and settings of a diagnosis method.

use crate::outcome::diagnose;
use crate::workshop::{Answer, RANDOM_DEVICE, incident};

#[test]
fn the_pca_method_can_be_selected_by_name() {
    let simulated = incident(RANDOM_DEVICE, &[]);
    let report = diagnose(&simulated.traces(), &["--method", "pca"]).json();
    assert_eq!((&report["method"], &report["mode"]), (&"pca".into(), &"robust".into()));
    assert_eq!(Answer::from_report(&report), Answer::expected(&simulated));
    let suspect = &report["suspects"][0];
    assert!(suspect["score"].as_f64().unwrap() >= 1.0 && suspect["requests_hit"].as_u64().unwrap() > 0);
    assert!(suspect["trace_ids"].as_array().unwrap().len() <= 5);
    let found = |name: &str| {
        let rows = report["settings"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!((found("pca-coverage"), found("pca-row-level")), ("0.75".into(), "0.05".into()));
}

#[test]
fn pca_settings_are_set_by_name_and_range_checked() {
    let traces = incident(RANDOM_DEVICE, &[]).traces();
    let report =
        diagnose(&traces, &["--method", "pca", "--set", "mode=paper", "--set", "pca-coverage=0.5"]).json();
    assert_eq!(report["mode"], "paper");
    diagnose(&traces, &["--method", "pca", "--set", "pca-variance=2"])
        .fails(2, &["pca-variance is 2", "0.01 to 1"]);
}
