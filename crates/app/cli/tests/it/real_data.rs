//! Published measurements, end to end.
//!
//! The expected counts were computed by Python scripts that read the files by themselves: rows, distinct
//! traces, duplicate ids, missing parents, and children on another (or the same) replica that lie
//! outside their parent. The files are not part of the repository; without them the tests are skipped.

use crate::outcome::{diagnose, input_count, loss, losses};
use crate::shop;
use crate::workshop::Answer;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of measured data, if present.
fn data() -> Option<PathBuf> {
    laggard_testkit::data_folder("")
}

/// The report on a file, after checking its counts.
#[track_caller]
fn counted(path: &Path, spans: u64, traces: u64) -> Value {
    let run = diagnose(path, &[]);
    assert!([0, 4].contains(&run.status), "{}: {}", path.display(), run.stderr);
    assert_eq!(run.stderr, "", "{}", path.display());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let found = (input_count(&report, "spans"), input_count(&report, "traces"));
    assert_eq!(found, (spans, traces), "{}", path.display());
    let status = if report["verdict"] == "insufficient-data" { 4 } else { 0 };
    assert_eq!(run.status, status, "{}", path.display());
    report
}

/// Replicas of a suspect, sorted.
fn blamed(report: &Value, operation: &str) -> Vec<String> {
    let suspects = report["suspects"].as_array().unwrap();
    let suspect = suspects.iter().find(|suspect| suspect["operation"] == operation).unwrap();
    assert_eq!(suspect["scope"], "replicas");
    let replicas = suspect["replicas"].as_array().unwrap().iter();
    let mut replicas: Vec<String> = replicas.map(|name| name.as_str().unwrap().to_owned()).collect();
    replicas.sort();
    replicas
}

#[test]
fn five_slow_datanodes_of_fifty_are_named_regardless_of_clocks() {
    let Some(data) = data() else { return };
    let slow: Vec<String> = (1..=5).map(|number| format!("datanode{number:03}")).collect();
    let file = |name: &str| data.join("tracebench").join(name);
    let one_clock = counted(&file("slowdn-w-20ms-05fdn.csv.zst"), 12_418, 78);
    let own_clocks = counted(&file("slowdn-w-20ms-05fdn-raw-clocks.csv.zst"), 12_418, 78);
    for report in [&one_clock, &own_clocks] {
        assert_eq!(blamed(report, "receiveBlock"), slow);
        let named = report["replicas"].as_array().unwrap().iter().map(|row| row["replica"].as_str().unwrap());
        let mut named: Vec<&str> = named.collect();
        named.sort_unstable();
        assert_eq!(named, slow);
        assert_eq!(loss(report, "asynchronous_callee"), 2973);
    }
    assert_eq!(losses(&one_clock), ["asynchronous_callee"]);
    assert_eq!(losses(&own_clocks), ["asynchronous_callee", "clock_skew"]);
    // Positions follow the order of siblings as recorded, which clocks decide; results compare no two clocks.
    for rank in 0..2 {
        let [one, other] = [&one_clock, &own_clocks].map(|report| &report["suspects"][rank]);
        for field in ["operation", "replicas", "requests_hit", "trace_ids"] {
            assert_eq!(one[field], other[field], "{field}");
        }
        // Positions also decide the order in which times are added.
        for field in ["effect_ns", "factor", "share"] {
            let (one, other) = (one[field].as_f64().unwrap(), other[field].as_f64().unwrap());
            assert!((one - other).abs() <= 1e-12 * one.abs(), "{field}: {one} and {other}");
        }
    }
}

#[test]
fn no_healthy_datanode_is_named_among_twenty_slow_ones() {
    let Some(data) = data() else { return };
    let report = counted(&data.join("tracebench/slowdn-w-20ms-20fdn.csv.zst"), 11_774, 66);
    let blamed = blamed(&report, "receiveBlock");
    assert!(blamed.len() >= 5, "{blamed:?}");
    assert!(blamed.iter().all(|name| ("datanode001"..="datanode020").contains(&name.as_str())), "{blamed:?}");
}

#[test]
fn a_fault_on_all_datanodes_blames_none_of_them() {
    let Some(data) = data() else { return };
    for (name, spans, traces) in [
        ("slowhdfs-rpc-0600ms", 12_700, 2120),
        ("slowhdfs-w-00ms", 11_272, 72),
        ("slowhdfs-w-10ms", 8858, 54),
    ] {
        let path = data.join("tracebench").join(name).with_extension("csv.zst");
        let report = counted(&path, spans, traces);
        assert!(Answer::from_report(&report).replicas.is_empty(), "{name}");
        assert_eq!(report["replicas"].as_array().unwrap().len(), 0, "{name}");
    }
}

#[test]
fn fifteen_minutes_of_a_real_shop_are_read() {
    let Some(spans) = shop::spans(shop::CART) else { return };
    let report = counted(&spans, 180_686, 3943);
    assert_eq!(input_count(&report, "requests"), 3943);
    assert_eq!(loss(&report, "duplicate_span"), 768);
    assert_eq!(loss(&report, "child_outlives_parent"), 13_943);
    assert_eq!(loss(&report, "clock_skew"), 161);
    assert_eq!(losses(&report).len(), 3, "no orphan, no trace without a root or with two");
}

#[test]
fn an_archive_of_eight_hundred_files_is_read() {
    let Some(data) = data() else { return };
    let report = counted(&data.join("jaeger-deathstar/hotel.tar.zst"), 8800, 800);
    assert_eq!(input_count(&report, "files"), 800);
    assert_eq!(input_count(&report, "services"), 6);
    assert_eq!(loss(&report, "clock_skew"), 750);
    assert_eq!(losses(&report), ["clock_skew"]);
}

/// Files with the given number of spans (one if none is given); every file has one trace.
const SPANS: &[(&str, u64)] = &[
    ("jaeger-crisp/10.json", 4),
    ("jaeger-crisp/11.json", 2),
    ("jaeger-crisp/12.json", 4),
    ("jaeger-crisp/13.json", 4),
    ("jaeger-crisp/14.json", 4),
    ("jaeger-crisp/15.json", 7),
    ("jaeger-crisp/16.json", 7),
    ("jaeger-crisp/17.json", 4),
    ("jaeger-crisp/18.json", 9),
    ("jaeger-crisp/19.json", 4),
    ("jaeger-crisp/2.json", 2),
    ("jaeger-crisp/20.json", 4),
    ("jaeger-crisp/21.json", 4),
    ("jaeger-crisp/22.json", 4),
    ("jaeger-crisp/23.json", 9),
    ("jaeger-crisp/24.json", 9),
    ("jaeger-crisp/25.json", 9),
    ("jaeger-crisp/3.json", 2),
    ("jaeger-crisp/4.json", 3),
    ("jaeger-crisp/5.json", 4),
    ("jaeger-crisp/6.json", 4),
    ("jaeger-crisp/7.json", 3),
    ("jaeger-crisp/8.json", 3),
    ("jaeger-crisp/9.json", 4),
    ("jaeger-crisp/err_pattern1/err1.json", 2),
    ("jaeger-crisp/err_pattern1/err2.json", 2),
    ("jaeger-crisp/err_pattern2/err1.json", 2),
    ("jaeger-crisp/err_pattern2/err2.json", 2),
    ("jaeger-crisp/err_pattern3/err1.json", 3),
    ("jaeger-crisp/err_pattern3/err2.json", 3),
    ("jaeger-crisp/err_pattern4/err1.json", 3),
    ("jaeger-crisp/err_pattern4/err2.json", 3),
    ("jaeger-otlp/example_trace.json", 5),
    ("jaeger-otlp/multi_index_trace.json", 2),
    ("jaeger-otlp/opname_maxdur_trace.json", 2),
    ("zipkin/ascend.json", 8),
    ("zipkin/messaging-kafka.json", 28),
    ("zipkin/messaging.json", 4),
    ("zipkin/messaging2.json", 11),
    ("zipkin/simple-db-p6.json", 5),
    ("zipkin/skew.json", 4),
    ("zipkin/smartthings-mobile-web-install.json", 957),
    ("zipkin/smartthings-oauth-authorization.json", 175),
    ("zipkin/yelp.json", 16),
];

/// Losses other than those of children outside their parents.
const LOSSES: &[(&str, &str, u64)] = &[
    ("jaeger-otlp/example_trace.json", "extra_root", 4),
    ("jaeger-otlp/multi_index_trace.json", "extra_root", 1),
    ("zipkin/messaging2.json", "orphan_span", 6),
    ("zipkin/smartthings-mobile-web-install.json", "malformed_record", 84),
    ("zipkin/smartthings-mobile-web-install.json", "negative_time", 91),
    ("zipkin/smartthings-oauth-authorization.json", "negative_time", 19),
];

fn list_json(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            list_json(&path, &format!("{name}/"), out);
        } else if name.ends_with(".json") {
            out.push(name);
        }
    }
}

#[test]
fn samples_of_other_projects_are_read() {
    let Some(data) = data() else { return };
    let mut files = Vec::new();
    list_json(&data.join("formats"), "", &mut files);
    assert_eq!(files.len(), 75);
    let (mut several, mut with_losses) = (0, 0);
    for file in &files {
        let spans = SPANS.iter().find(|(name, _)| name == file).map_or(1, |&(_, spans)| spans);
        several += usize::from(spans > 1);
        let report = counted(&data.join("formats").join(file), spans, 1);
        for loss_name in ["extra_root", "orphan_span", "malformed_record", "negative_time", "missing_root"] {
            let expected = LOSSES.iter().find(|row| row.0 == file && row.1 == loss_name);
            with_losses += usize::from(expected.is_some());
            assert_eq!(loss(&report, loss_name), expected.map_or(0, |row| row.2), "{file}: {loss_name}");
        }
    }
    assert_eq!((several, with_losses), (SPANS.len(), LOSSES.len()), "every row was used");
}

#[test]
fn a_folder_of_all_samples_is_one_input() {
    let Some(data) = data() else { return };
    for (folder, files) in [("jaeger-crisp", 33), ("jaeger-otlp", 32), ("zipkin", 10)] {
        let run = diagnose(&data.join("formats").join(folder), &[]);
        assert!([0, 4].contains(&run.status), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(input_count(&report, "files"), files, "{folder}: {}", report["cautions"]);
    }
}
