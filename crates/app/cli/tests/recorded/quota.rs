//! A command limited by a CPU quota against the same command without, recorded for real and diagnosed.

use crate::recorder::{Quota, diagnose, folder, idle_share, machine, record, said, workload};
use laggard_testkit::{Missing, skip};
use serde_json::Value;

/// Nanoseconds of abnormal waits for a CPU, and whether one was idle meanwhile.
fn waits_for_cpu(report: &Value) -> Vec<(&str, f64)> {
    let waits = report["waits"].as_array().unwrap().iter();
    let waits = waits.map(|wait| (wait["cause"].as_str().unwrap(), wait["total_ns"].as_f64().unwrap()));
    waits.filter(|(cause, _)| cause.starts_with("cpu")).collect()
}

/// Recordings of which one must attribute the waits. Where a virtual machine itself stands still for a while during the
/// normal recording, executions that were throttled once resemble normal ones, with reason.
const RECORDINGS: usize = 4;

#[test]
fn a_cpu_quota_is_named() {
    let Some(_machine) = machine() else { return };
    let mut attempts = Vec::new();
    for _ in 0..RECORDINGS {
        let Some(quota) = Quota::a_tenth() else {
            return skip(Missing::Machine, "there is no cgroup controller for CPU quotas");
        };
        match attempt(&quota) {
            Ok(()) => return,
            Err(reason) => attempts.push(reason),
        }
    }
    panic!("{attempts:#?}");
}

/// Records and diagnoses once; the reason why the waits are not attributed.
fn attempt(quota: &Quota) -> Result<(), String> {
    let folder = folder();
    let name = format!("quota{}-", std::process::id());
    let workload = workload();
    let run = |file: &str, before: &str| {
        let (trace, truth) = (folder.path().join(file), folder.path().join("truth.json"));
        let script = format!(
            "{before} exec {} run --name {name} --truth {} --kinds compute,poll --v1 12",
            workload.display(),
            truth.display()
        );
        let recorded = record(&["-o", trace.to_str().unwrap(), "--marker", "--", "sh", "-c", &script]);
        assert!(recorded.status.success(), "{}", said(&recorded));
        trace.to_str().unwrap().to_owned()
    };
    let normal = run("normal.dat", "");
    let before = idle_share(None);
    let limited = run("limited.dat", &format!("echo $$ > {};", quota.tasks().display()));
    let idle = idle_share(Some(before)).share;
    let label = format!("{name}*");
    let sets =
        ["--normal", &normal, "--sample", &limited, "--normal-label", &label, "--sample-label", &label];
    let report = diagnose(&sets);
    let waits = waits_for_cpu(&report);
    let total: f64 = waits.iter().map(|(_, ns)| ns).sum();
    println!(
        "throttled {:.0} ms, waits for a CPU {waits:?}, CPUs idle {idle:.2}",
        quota.throttled_ns() / 1e6
    );
    if report["verdict"] != "slower" {
        return Err(format!("not slower: {}", report["headline"]));
    }
    // The group's own count is an independent truth; it holds what was throttled outside of executions too.
    if total <= 0.5 * quota.throttled_ns() {
        return Err(format!("{waits:?} of {} ns", quota.throttled_ns()));
    }
    // That the CPU was idle can be seen only where others left it idle.
    let not_busy: f64 = waits.iter().filter(|(cause, _)| *cause != "cpu_busy").map(|(_, ns)| ns).sum();
    if idle > 0.5 && not_busy <= 0.5 * total {
        return Err(format!("{waits:?} while CPUs were idle for {idle} of the time"));
    }
    Ok(())
}
