//! System calls of waits in real recordings of one kind of execution each.

use crate::program::main_call;
use crate::recorder::{BusyLoop, LAGGARD, folder, machine, record, stderr_text, workload};
use serde_json::Value;
use std::process::Command;

/// The waits of executions of one kind, from a recording of only these.
fn path(kind: &str) -> Value {
    let folder = folder();
    let (trace, truth) = (folder.path().join("trace.dat"), folder.path().join("truth.json"));
    let (workload, trace) = (workload(), trace.to_str().unwrap().to_owned());
    let name = format!("calls{}-", std::process::id());
    let program = ["--", workload.to_str().unwrap(), "run", "--name", &name, "--kinds", kind, "--v1", "12"];
    let options = ["-o", &trace, "--marker", "--syscalls", "--network"];
    let recorded = record(&[&options[..], &program, &["--truth", truth.to_str().unwrap()]].concat());
    assert!(recorded.status.success(), "{}", stderr_text(&recorded));
    let executions = format!("marker:{name}v1");
    let arguments = ["kernel", "path", &trace, "--executions", &executions, "--output", "json"];
    let output = Command::new(LAGGARD).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr_text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn each_kind_waits_in_its_call(load: &str) {
    for (kind, calls, cause) in [
        ("poll", &["clock_nanosleep", "nanosleep"][..], "timer"),
        ("write", &["fdatasync"], "disk"),
        ("handoff", &["futex"], "other_thread"),
        ("query", &["recvfrom", "read"], "other_thread"),
    ] {
        let report = path(kind);
        assert_eq!(report["executions"].as_array().unwrap().len(), 12, "{}", report["question"]);
        let call = main_call(&report);
        println!("{load}, {kind}: {}", report["headline"]);
        assert!(calls.contains(&call["call"].as_str().unwrap()), "{load}, {kind}: {:#}", report["calls"]);
        // On a busy machine, waits for a CPU may be longer than the expected wait.
        let causes: Vec<&str> =
            call["waits"].as_array().unwrap().iter().map(|wait| wait["cause"].as_str().unwrap()).collect();
        let first = causes.iter().find(|named| !named.starts_with("cpu_"));
        assert_eq!(first, Some(&cause), "{load}, {kind}: {causes:?}");
        if kind == "handoff" {
            let mut waits = report["waits"].as_array().unwrap().iter();
            let lock = waits.find(|wait| wait["call"] == "futex" && wait["cause"] == cause).unwrap();
            let other = &lock["other"];
            assert_eq!((&other["is_namesake"], &other["kind"]), (&true.into(), &"same_process".into()));
            assert_ne!(other["tid"], Value::Null);
        }
    }
}

#[test]
fn waits_name_their_system_call_and_waker() {
    let Some(_machine) = machine() else { return };
    each_kind_waits_in_its_call("as it is");
    let _loop = BusyLoop::start();
    each_kind_waits_in_its_call("one CPU busy");
}
