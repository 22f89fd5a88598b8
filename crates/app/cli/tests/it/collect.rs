//! `laggard collect` into a folder: from logs on hosts to a diagnosis, with and without kills.

use crate::hosts::Hosts;
use crate::outcome::{command, laggard};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Call logs of a hundred hosts with a known fault.
pub(crate) fn simulated(folder: &Path) -> PathBuf {
    let into = folder.join("simulated");
    let traces =
        ["--scenario", "random-device", "--format", "call-log", "--requests", "200", "--window", "120"];
    let arguments = [&["simulate", "-o", into.to_str().unwrap()], &traces[..]].concat();
    laggard(&arguments).text();
    into.join("traces")
}

/// Reveals a percentage of every log.
pub(crate) fn show(hosts: &Hosts, logs: &Path, hundredths: usize) {
    for entry in std::fs::read_dir(logs).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        hosts.put(name, &text[..text.len() * hundredths / 100]);
    }
}

fn report(traces: &Path) -> Value {
    laggard(&["diagnose", "--output", "json", traces.to_str().unwrap()]).json()
}

#[test]
fn logs_collected_from_a_hundred_hosts_are_diagnosed_like_local_files() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, logs) = (Hosts::start(), simulated(folder.path()));
    let [into, list] = ["into", "hosts.txt"].map(|name| folder.path().join(name));
    for hundredths in [0, 37, 80, 100] {
        show(&hosts, &logs, hundredths);
        hosts.list(&list);
        let arguments = ["collect", "--into", into.to_str().unwrap(), "--hosts", list.to_str().unwrap()];
        let outcome = laggard(&arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(" of 100 files; 0 failed"), "{}", outcome.stderr);
    }
    let (there, here) = (report(&logs), report(&into));
    assert!(!here["suspects"].as_array().unwrap().is_empty(), "there is something to compare");
    for field in ["verdict", "headline", "suspects", "replicas", "categories"] {
        assert_eq!(here[field], there[field], "{field}");
    }
    for field in ["call_records", "spans", "requests", "losses", "bytes"] {
        assert_eq!(here["input"][field], there["input"][field], "{field}");
    }
}

/// Reproducible random durations.
pub(crate) fn instants(count: u64) -> impl Iterator<Item = Duration> {
    (1..=count).map(|number| Duration::from_millis(20 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 90))
}

#[test]
fn a_killed_collector_resumes_without_gaps_or_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = Hosts::start();
    let names = ["a", "b", "c"];
    let into = folder.path().join("into");
    let sources = names.map(|name| hosts.source(name));
    let fixed = ["collect", "--into", into.to_str().unwrap()];
    let arguments = [&fixed[..], &sources.each_ref().map(String::as_str)].concat();
    let mut number = 0;
    for instant in instants(20) {
        let endless = [&arguments[..], &["--every", "1ms"]].concat();
        let mut running = command(&endless).stderr(Stdio::null()).spawn().unwrap();
        for _ in 0..10 {
            std::thread::sleep(instant / 10);
            for name in names {
                hosts.append(name, &format!("line {number} of {name}, and what not\nhalf of li"));
                hosts.append(name, "ne\n");
            }
            number += 1;
        }
        running.kill().unwrap();
        running.wait().unwrap();
    }
    let ended = laggard(&arguments);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    for name in names {
        let collected = std::fs::read_to_string(into.join(format!("{name}.0.log"))).unwrap();
        assert_eq!(collected, hosts.text(name));
    }
}

#[test]
fn failures_set_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = Hosts::start();
    hosts.put("there", b"a line\n");
    let into = folder.path().join("into").display().to_string();
    let collect = |further: &[&str]| laggard(&[&["collect"], further].concat());
    let [there, gone] = ["there", "gone"].map(|name| hosts.source(name));
    let half = collect(&["--into", &into, &there, &gone]);
    assert_eq!((half.status, half.stdout.as_str()), (3, ""), "{}", half.stderr);
    assert!(
        half.stderr.contains("7 bytes of 2 files; 1 failed\n  gone: the file does not exist: status 404"),
        "{}",
        half.stderr
    );
    collect(&["--into", &into]).fails(2, &["--hosts"]);
    collect(&[&there]).fails(2, &["--into"]);
    collect(&["--into", &into, "--server", "http://h", &there]).fails(2, &["--server"]);
    collect(&["--into", &into, "--format", "call-log", &there]).fails(2, &["--format"]);
    collect(&["--into", &into, "there"]).fails(2, &["http://web-03/calls.log"]);
    collect(&["--into", &into, &there, &there]).fails(2, &["name them"]);
    collect(&["--server", "http://h", "--format", "none", &there]).fails(2, &["call-log"]);
    let state = folder.path().join("into/.laggard-collect.json");
    std::fs::write(&state, "{").unwrap();
    collect(&["--into", &into, &there]).fails(3, &[".laggard-collect.json"]);
}
