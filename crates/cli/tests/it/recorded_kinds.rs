//! A program with several kinds of execution and a slowed version of it, recorded for real and diagnosed.
//!
//! All executions are in one recording, mixed: whatever else the machine does, all sets have the same of it.

use crate::outcome::laggard;
use crate::recorder::{can_record, folder, is_quiet, machine_lock, record, said, workload};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Executions of one set in the order of time.
struct Truth {
    kinds: Vec<String>,
    anomalous: BTreeSet<usize>,
}

fn truth(path: &Path, set: &str) -> Truth {
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let executions: Vec<&Value> =
        all["executions"].as_array().unwrap().iter().filter(|execution| execution["set"] == set).collect();
    Truth {
        kinds: executions.iter().map(|execution| execution["type"].as_str().unwrap().to_owned()).collect(),
        anomalous: (0..executions.len()).filter(|at| executions[*at]["anomalous"] == true).collect(),
    }
}

fn diagnosis(trace: &Path, name: &str, sample: &str) -> Value {
    let trace = trace.to_str().unwrap();
    let (normal, sample) = (format!("{name}v1*"), format!("{name}{sample}*"));
    let arguments = ["kernel", "diagnose", trace, "--executions", "marker", "--normal-label", &normal];
    laggard(&[&arguments[..], &["--sample-label", &sample, "--output", "json"]].concat()).json()
}

/// The executions that are told to be abnormal: positions in their set.
fn flagged(report: &Value) -> BTreeSet<usize> {
    let anomalous = report["anomalous"].as_array().unwrap();
    anomalous.iter().map(|one| one["number"].as_u64().unwrap() as usize - 1).collect()
}

/// Share of the executions of a set that are in a cluster most of which are of their kind.
fn clustered_right(report: &Value, set: &str, truth: &Truth) -> f64 {
    let mut clusters: BTreeMap<i64, BTreeMap<&str, usize>> = BTreeMap::new();
    for point in report["projection"]["points"].as_array().unwrap().iter().filter(|point| point["set"] == set)
    {
        let kind = &truth.kinds[point["number"].as_u64().unwrap() as usize - 1];
        // One in no cluster is clustered wrong.
        if let Some(cluster) = point["cluster"].as_i64() {
            *clusters.entry(cluster).or_default().entry(kind).or_default() += 1;
        }
    }
    let right: usize = clusters.values().filter_map(|kinds| kinds.values().max()).sum();
    right as f64 / truth.kinds.len() as f64
}

#[test]
fn the_slow_executions_of_a_program_are_found_and_no_others() {
    if !can_record() {
        return;
    }
    let _lock = machine_lock();
    let folder = folder();
    let name = format!("kinds{}-", std::process::id());
    let (trace, truth_file) = (folder.path().join("trace.dat"), folder.path().join("truth.json"));
    let (workload, truth_text) = (workload(), truth_file.to_str().unwrap().to_owned());
    let arguments = ["-o", trace.to_str().unwrap(), "--marker", "--", workload.to_str().unwrap(), "run"];
    let sets = [
        "--v1",
        "15",
        "--v2",
        "10",
        "--again",
        "15",
        "--slow",
        "query,handoff",
        "--truth",
        &truth_text,
        "--name",
        &name,
    ];
    let recorded = record(&[&arguments[..], &sets].concat());
    assert!(recorded.status.success(), "{}", said(&recorded));
    // What is beyond the program's power on a machine that others use is asked for only where it has it for itself.
    let quiet = is_quiet();

    let report = diagnosis(&trace, &name, "v2");
    let (normal, sample) = (truth(&truth_file, "v1"), truth(&truth_file, "v2"));
    assert_eq!(sample.anomalous.len(), 10);
    let flagged_slow = flagged(&report);
    let hits = flagged_slow.intersection(&sample.anomalous).count() as f64;
    let precision = hits / flagged_slow.len().max(1) as f64;
    let recall = hits / sample.anomalous.len() as f64;
    let right = clustered_right(&report, "normal", &normal).min(clustered_right(&report, "sample", &sample));
    let again = flagged(&diagnosis(&trace, &name, "again")).len();
    println!(
        "precision {precision:.2}, recall {recall:.2}, clustered right {right:.2}, false alarms {again}, quiet: {quiet}"
    );
    let least = if quiet { 0.9 } else { 0.7 };
    assert!(precision >= least && recall >= least, "{precision} {recall}: {}", report["headline"]);
    assert!(right >= if quiet { 0.95 } else { 0.9 }, "{right}");
    assert!(again <= if quiet { 0 } else { 3 }, "{again} of 90 usual executions are flagged");

    // The server sleeps: what asks it waits for the network. The other thread sleeps: a timer.
    let causes: BTreeSet<&str> =
        report["waits"].as_array().unwrap().iter().map(|wait| wait["cause"].as_str().unwrap()).collect();
    assert_eq!(report["verdict"], "slower");
    assert!(causes.contains("network") && causes.contains("timer"), "{causes:?}");
}
