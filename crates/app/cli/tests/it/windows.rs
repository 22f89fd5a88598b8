//! Selection of requests by window and service.

use crate::outcome::{diagnose, input_count, laggard};
use serde_json::Value;
use std::path::PathBuf;

const START_S: u64 = 1_768_208_400; // 2026-01-12T09:00:00Z

/// A hundred requests, one a second; even ones enter at `shop`, odd ones at `desk`, and all call `store`.
fn hundred() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hundred.csv");
    let mut table =
        "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns\n".to_owned();
    for index in 0..100_u64 {
        let service = if index % 2 == 0 { "shop" } else { "desk" };
        let start = (START_S + index) * 1_000_000_000;
        table.push_str(&format!("t{index},a,,{service},pod-1,buy,{start},5000000\n"));
        table.push_str(&format!("t{index},b,a,store,pod-2,read,{},1000000\n", start + 1_000_000));
    }
    std::fs::write(&path, table).unwrap();
    (folder, path)
}

fn requests(report: &Value) -> (u64, &str, &str) {
    let window = &report["window"];
    (input_count(report, "requests"), window["since"].as_str().unwrap(), window["until"].as_str().unwrap())
}

#[test]
fn requests_are_selected_by_start_in_every_time_format() {
    let (_folder, path) = hundred();
    let whole = diagnose(&path, &[]).json();
    assert_eq!(requests(&whole), (100, "2026-01-12T09:00:00.000Z", "2026-01-12T09:01:39.000Z"));
    for [since, until] in [
        ["2026-01-12T09:00:20Z", "2026-01-12T09:00:59Z"],
        ["2026-01-12T10:00:20+01:00", "2026-01-12T10:00:59+01:00"],
        ["2026-01-12 09:00:20", "2026-01-12 09:00:59"],
        ["1768208420", "1768208459"],
        ["1768208419.5", "1768208459.5"],
        ["1768208420000", "1768208459000"],
        ["1768208420000000", "1768208459000000"],
        ["1768208420000000000", "1768208459000000000"],
    ] {
        let report = diagnose(&path, &["--since", since, "--until", until]).json();
        let expected = (40, "2026-01-12T09:00:20.000Z", "2026-01-12T09:00:59.000Z");
        assert_eq!(requests(&report), expected, "{since} to {until}");
    }
    let late = diagnose(&path, &["--since", "2026-01-12T09:01:00Z"]).json();
    assert_eq!(requests(&late), (40, "2026-01-12T09:01:00.000Z", "2026-01-12T09:01:39.000Z"));
    let early = diagnose(&path, &["--until", "2026-01-12T09:00:29Z"]).json();
    assert_eq!(requests(&early), (30, "2026-01-12T09:00:00.000Z", "2026-01-12T09:00:29.000Z"));
}

#[test]
fn windows_are_exact_to_the_nanosecond() {
    let (_folder, path) = hundred();
    let report = diagnose(&path, &["--since", "1768208420000000001"]).json();
    assert_eq!(requests(&report).0, 79);
}

#[test]
fn requests_are_selected_by_entry_service() {
    let (_folder, path) = hundred();
    let report = diagnose(&path, &["--service", "desk"]).json();
    assert_eq!(requests(&report), (50, "2026-01-12T09:00:01.000Z", "2026-01-12T09:01:39.000Z"));
    let services: Vec<_> = report["categories"].as_array().unwrap().iter().map(|c| &c["service"]).collect();
    assert_eq!(services, ["desk"]);
}

#[test]
fn an_empty_selection_is_too_little_data() {
    let (_folder, path) = hundred();
    let selections: [&[&str]; 4] = [
        &["--since", "2027-01-01T00:00:00Z"],
        &["--until", "2025-01-01T00:00:00Z"],
        &["--service", "store"],
        &["--service", "nobody"],
    ];
    for selection in selections {
        let run = diagnose(&path, selection);
        assert_eq!((run.status, run.stderr.as_str()), (4, ""), "{selection:?}");
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["verdict"], "insufficient-data");
        assert_eq!(input_count(&report, "requests"), 0, "{selection:?}");
        let text = laggard(&[&["diagnose", path.to_str().unwrap()], selection].concat());
        assert_eq!(text.status, 4);
        assert!(text.stdout.contains("Not enough data"), "{}", text.stdout);
    }
}
