//! `laggard collect` hands what it reads to a server.

use super::Running;
use crate::collect::{instants, show, simulated};
use crate::hosts::Hosts;
use crate::outcome::{command, laggard};
use serde_json::Value;
use std::process::Stdio;

#[test]
fn whoever_collects_for_a_server_may_be_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, logs) = (Hosts::start(), simulated(folder.path()));
    let server = Running::start(&folder.path().join("data"), &[]);
    let url = format!("http://{}", server.addresses["http"]);
    let [state, list] =
        ["state.json", "hosts.txt"].map(|name| folder.path().join(name).display().to_string());
    let arguments =
        ["collect", "--server", &url, "--format", "call-log", "--state", &state, "--hosts", &list];
    show(&hosts, &logs, 0);
    hosts.list(list.as_ref());
    for (number, instant) in instants(8).enumerate() {
        show(&hosts, &logs, 12 * (number + 1));
        let endless = [&arguments[..], &["--every", "1ms"]].concat();
        let mut running = command(&endless).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(instant * 4);
        running.kill().unwrap();
        running.wait().unwrap();
    }
    show(&hosts, &logs, 100);
    let ended = laggard(&arguments);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(server.post("/api/v1/flush").status, 204);

    let there = laggard(&["diagnose", "--output", "json", logs.to_str().unwrap()]).json();
    let here = laggard(&["diagnose", "--output", "json", "--server", &url]).json();
    for field in ["verdict", "headline", "suspects"] {
        assert_eq!(here[field], there[field], "{field}");
    }
    let of = |report: &Value| {
        // What was sent again, because nobody knew whether it had come, counts once.
        let losses = report["input"]["losses"].as_object().unwrap().iter();
        let losses = losses.filter(|(name, _)| *name != "duplicate_span");
        let losses: Vec<(String, Value)> =
            losses.map(|(name, loss)| (name.clone(), loss["count"].clone())).collect();
        (report["input"]["spans"].clone(), report["input"]["requests"].clone(), losses)
    };
    assert_eq!(of(&here), of(&there));
    server.stop();
}
