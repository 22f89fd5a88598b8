//! Sampling weights set by flags, as shown in reports.

use crate::outcome::{diagnose, laggard};
use serde_json::Value;

/// Forty requests; those at odd positions represent ten each.
fn table() -> tempfile::NamedTempFile {
    let mut text =
        "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,SampleRate,kept\n"
            .to_owned();
    for index in 0..40_u64 {
        let rate = if index % 2 == 0 { "1,1" } else { "10,0.1" };
        text.push_str(&format!(
            "t{index},a,,shop,pod-{},buy,{index},{},{rate}\n",
            index % 3,
            5_000_000 + index
        ));
    }
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn estimated(report: &Value) -> f64 {
    report["input"]["sampling"]["requests_estimated"].as_f64().unwrap()
}

#[test]
fn a_named_attribute_is_used_as_sampling_weight() {
    let file = table();
    let plain = diagnose(file.path(), &[]).json();
    assert_eq!(estimated(&plain), 40.0);
    assert_eq!(plain["input"]["sampling"]["known_share"], 0.0);
    for named in [["--weight-attribute", "SampleRate"], ["--probability-attribute", "kept"]] {
        let report = diagnose(file.path(), &named).json();
        assert!((estimated(&report) - 220.0).abs() < 1e-4, "{}", estimated(&report));
        assert_eq!(report["input"]["sampling"]["known_share"], 1.0);
        let text = laggard(&["diagnose", file.path().to_str().unwrap(), named[0], named[1]]).text();
        assert!(text.contains("40 complete requests represent 220"), "{text}");
    }
    let wrong = diagnose(file.path(), &["--weight-attribute", "kept"]).json();
    assert_eq!(wrong["input"]["losses"]["invalid_sampling"]["count"], 20);
}

#[test]
fn a_default_probability_applies_to_spans_without_one() {
    let file = table();
    let report = diagnose(file.path(), &["--sampling-probability", "0.01"]).json();
    assert_eq!(estimated(&report), 4000.0);
    let path = file.path().to_str().unwrap();
    for bad in ["0", "1.5", "-1", "often", "NaN"] {
        laggard(&["diagnose", path, &format!("--sampling-probability={bad}")])
            .fails(2, &["above 0 and at most 1"]);
    }
}
