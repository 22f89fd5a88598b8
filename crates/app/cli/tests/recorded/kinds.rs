//! A program with several kinds of execution and a slowed version of it, recorded and diagnosed.
//!
//! All executions are in one recording, interleaved, so that other load affects all sets equally. Its effect on
//! individual executions is known, since the program measures them with its own clock. Disturbed executions are correctly
//! reported as slower and are excluded from the score.

use crate::recorder::{diagnose, folder, machine, record, stderr_text, workload};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Recordings within which each expectation must be met once. On a virtual machine whose CPUs are taken away for a while, all
/// executions of that time are slower: none of six recordings of one run met all of them, and each was met by some.
const RECORDINGS: usize = 6;

/// Executions of one set in chronological order.
pub(crate) struct Truth {
    kinds: Vec<String>,
    anomalous: BTreeSet<usize>,
    /// Those that took longer by the program's own clock without being slow by intention.
    pub(crate) disturbed: BTreeSet<usize>,
}

impl Truth {
    pub(crate) fn read(path: &Path, set: &str) -> Truth {
        let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let executions: Vec<&Value> = all["executions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|execution| execution["set"] == set)
            .collect();
        let those =
            |what: &str| (0..executions.len()).filter(|index| executions[*index][what] == true).collect();
        Truth {
            kinds: executions
                .iter()
                .map(|execution| execution["type"].as_str().unwrap().to_owned())
                .collect(),
            anomalous: those("anomalous"),
            disturbed: those("disturbed"),
        }
    }

    /// Share of the executions in clusters whose majority is of their kind.
    fn clustered_right(&self, report: &Value, set: &str) -> f64 {
        let mut clusters: BTreeMap<i64, BTreeMap<&str, usize>> = BTreeMap::new();
        let points = report["projection"]["points"].as_array().unwrap();
        for point in points.iter().filter(|point| point["set"] == set) {
            let kind = &self.kinds[point["number"].as_u64().unwrap() as usize - 1];
            // An execution without a cluster counts as wrong.
            if let Some(cluster) = point["cluster"].as_i64() {
                *clusters.entry(cluster).or_default().entry(kind).or_default() += 1;
            }
        }
        let right: usize = clusters.values().filter_map(|kinds| kinds.values().max()).sum();
        right as f64 / self.kinds.len() as f64
    }
}

/// Positions, within their set, of the executions reported as abnormal.
pub(crate) fn flagged(report: &Value) -> BTreeSet<usize> {
    let anomalous = report["anomalous"].as_array().unwrap();
    anomalous.iter().map(|execution| execution["number"].as_u64().unwrap() as usize - 1).collect()
}

/// Something that a recording must show.
struct Expectation {
    name: &'static str,
    is_met: bool,
    measured: String,
}

/// Records and diagnoses once.
fn attempt() -> Vec<Expectation> {
    let folder = folder();
    let name = format!("kinds{}-", std::process::id());
    let (trace, truth) = (folder.path().join("trace.dat"), folder.path().join("truth.json"));
    let (workload, truth_text) = (workload(), truth.to_str().unwrap().to_owned());
    let trace = trace.to_str().unwrap();
    let program = ["-o", trace, "--marker", "--", workload.to_str().unwrap(), "run", "--name", &name];
    let sets =
        ["--v1", "15", "--v2", "10", "--again", "15", "--slow", "query,handoff", "--truth", &truth_text];
    let recorded = record(&[&program[..], &sets].concat());
    assert!(recorded.status.success(), "{}", stderr_text(&recorded));
    let normal = format!("{name}v1*");
    let against = |sample: &str| {
        let sample = format!("{name}{sample}*");
        diagnose(&[trace, "--normal-label", &normal, "--sample-label", &sample])
    };

    let report = against("v2");
    let [before, after, again] = ["v1", "v2", "again"].map(|set| Truth::read(&truth, set));
    assert_eq!(after.anomalous.len(), 10);
    let found = flagged(&report);
    let hits = found.intersection(&after.anomalous).count() as f64;
    let blamed = found.difference(&after.disturbed).count() as f64;
    let (precision, recall) = (hits / blamed.max(1.0), hits / after.anomalous.len() as f64);
    let right = before.clustered_right(&report, "normal").min(after.clustered_right(&report, "sample"));
    let second = against("again");
    let alarms = flagged(&second).difference(&again.disturbed).count();
    let causes: BTreeSet<&str> =
        report["waits"].as_array().unwrap().iter().map(|wait| wait["cause"].as_str().unwrap()).collect();
    let disturbed = [before, after, again].map(|set| set.disturbed.len());
    println!(
        "precision {precision:.2}, recall {recall:.2}, clustered right {right:.2}; the usual ones: {}, false alarms \
         {alarms}; disturbed {disturbed:?}",
        second["verdict"]
    );

    let (verdict, is_quiet) = (&report["verdict"], second["verdict"] != "slower" && alarms == 0);
    let expect = |name, is_met, measured| Expectation { name, is_met, measured };
    vec![
        expect("slow executions are found", verdict == "slower", format!("{verdict}")),
        expect("precision and recall", precision >= 0.9 && recall >= 0.9, format!("{precision}, {recall}")),
        expect("kinds are clustered", right >= 0.95, format!("{right}")),
        // If the server sleeps, its client waits for the network. If the other thread sleeps, it waits for a timer.
        expect(
            "causes are found",
            causes.contains("network") && causes.contains("timer"),
            format!("{causes:?}"),
        ),
        expect("usual executions are quiet", is_quiet, format!("{alarms} alarms, {}", second["headline"])),
    ]
}

#[test]
fn only_the_slow_executions_of_a_program_are_found() {
    let Some(_machine) = machine() else { return };
    let mut unmet: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for recording in 0..RECORDINGS {
        for expectation in attempt() {
            if expectation.is_met {
                unmet.remove(expectation.name);
            } else if recording == 0 || unmet.contains_key(expectation.name) {
                unmet.entry(expectation.name).or_default().push(expectation.measured);
            }
        }
        if unmet.is_empty() {
            return;
        }
        println!("{unmet:#?}");
    }
    panic!("{unmet:#?}");
}
