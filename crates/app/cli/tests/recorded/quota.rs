//! A command with a CPU quota against the same command without one, recorded and diagnosed.

use crate::recorder::{
    BusyLoop, LAGGARD, Quota, diagnose, folder, idle_share, machine, record, stderr_text, workload,
};
use laggard_testkit::{Missing, skip};
use serde_json::Value;
use std::process::Command;

/// Abnormal waits for a CPU: their cause and nanoseconds.
fn waits_for_cpu(report: &Value) -> Vec<(&str, f64)> {
    let waits = report["waits"].as_array().unwrap().iter();
    let waits = waits.map(|wait| (wait["cause"].as_str().unwrap(), wait["total_ns"].as_f64().unwrap()));
    waits.filter(|(cause, _)| cause.starts_with("cpu")).collect()
}

/// Maximum number of recordings until one must attribute the waits. If the virtual machine is paused during the
/// normal recording, executions that were throttled once correctly resemble normal ones.
const RECORDINGS: usize = 4;

#[test]
fn a_cpu_quota_is_named_and_measured() {
    let Some(_machine) = machine() else { return };
    within_attempts("as it is");
}

#[test]
fn a_cpu_quota_is_named_and_measured_on_a_busy_machine() {
    let Some(_machine) = machine() else { return };
    let _loops: Vec<BusyLoop> = (0..2).map(|_| BusyLoop::start()).collect();
    within_attempts("busy");
}

fn within_attempts(load: &str) {
    let mut attempts = Vec::new();
    for _ in 0..RECORDINGS {
        let Some(quota) = Quota::a_tenth() else {
            return skip(Missing::Machine, "there is no cgroup controller for CPU quotas");
        };
        match attempt(&quota, load) {
            Ok(()) => return,
            Err(reason) => attempts.push(reason),
        }
    }
    panic!("{attempts:#?}");
}

/// Records and diagnoses once; the error is the reason why the waits are not attributed.
fn attempt(quota: &Quota, load: &str) -> Result<(), String> {
    let folder = folder();
    let name = format!("quota{}-", std::process::id());
    let workload = workload();
    let run = |file: &str, group: &str| {
        let (trace, truth) = (folder.path().join(file), folder.path().join("truth.json"));
        let script = format!(
            "exec {} run --name {name} --truth {} --kinds compute,poll --v1 12 {group}",
            workload.display(),
            truth.display()
        );
        let recorded = record(&["-o", trace.to_str().unwrap(), "--marker", "--", "sh", "-c", &script]);
        assert!(recorded.status.success(), "{}", stderr_text(&recorded));
        trace.to_str().unwrap().to_owned()
    };
    let normal = run("normal.dat", "");
    let before = idle_share(None);
    let limited = run("limited.dat", &format!("--group {}", quota.folder().display()));
    let idle = idle_share(Some(before)).share;
    let label = format!("{name}*");
    let sets =
        ["--normal", &normal, "--sample", &limited, "--normal-label", &label, "--sample-label", &label];
    let report = diagnose(&sets);
    let throttled = std::fs::read_to_string(folder.path().join("truth.throttled")).unwrap();
    let throttled_ns: f64 = throttled.parse().unwrap();
    let paths = path_states(&limited, &label);
    println!(
        "{load}: throttled {:.0} ms by the group's count during executions, {:.0} ms on the paths; waits {:?}; CPUs idle {idle:.2}",
        throttled_ns / 1e6,
        paths / 1e6,
        waits_for_cpu(&report)
    );
    // The statistics of the cgroup are an independent reference.
    if (paths - throttled_ns).abs() > 0.05 * throttled_ns {
        return Err(format!("{load}: {paths} of {throttled_ns} ns"));
    }
    if report["verdict"] != "slower" {
        return Err(format!("{load}: not slower: {}", report["headline"]));
    }
    let has_quota = waits_for_cpu(&report).iter().any(|(cause, _)| *cause == "cpu_quota");
    // If throttling is the smaller part of the waits, other causes may explain the excess.
    if !has_quota && idle > 0.2 {
        return Err(format!("{load}: {}", report["waits"]));
    }
    Ok(())
}

/// Total time of all executions spent throttled by a CPU quota, in nanoseconds.
fn path_states(trace: &str, label: &str) -> f64 {
    let arguments = ["kernel", "path", trace, "--executions", "marker", "--output", "json"];
    let output = Command::new(LAGGARD).args(arguments).output().unwrap();
    assert!(output.status.success(), "{label}: {}", stderr_text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let causes = report["causes"].as_array().unwrap().iter();
    causes.filter(|row| row["cause"] == "cpu_quota").map(|row| row["total_ns"].as_f64().unwrap()).sum()
}
