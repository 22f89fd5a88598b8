//! `laggard collect` uploads what it reads to a server.

use super::Running;
use crate::collect::{instants, show, simulated};
use crate::hosts::Hosts;
use crate::outcome::{command, laggard};
use serde_json::Value;
use std::process::Stdio;

/// Hosts, a server, and the arguments of `collect`.
struct Collecting {
    folder: tempfile::TempDir,
    hosts: Hosts,
    logs: std::path::PathBuf,
    server: Running,
}

impl Collecting {
    fn start() -> Collecting {
        let folder = tempfile::tempdir().unwrap();
        let (hosts, logs) = (Hosts::start(), simulated(folder.path()));
        show(&hosts, &logs, 0);
        hosts.list(&folder.path().join("hosts.txt"));
        let server = Running::start(&folder.path().join("data"), &["--set", "store.idle=2m"]);
        Collecting { folder, hosts, logs, server }
    }

    fn arguments(&self) -> Vec<String> {
        let url = format!("http://{}", self.server.addresses["http"]);
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let [state, list] = [file("state.json"), file("hosts.txt")];
        let words =
            ["collect", "--server", &url, "--format", "call-log", "--state", &state, "--hosts", &list];
        words.map(str::to_owned).to_vec()
    }

    #[track_caller]
    fn collect_once(&self) {
        let ended = laggard(&self.arguments());
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }

    /// Diagnoses of the local log files and of the server.
    fn reports(self) -> [Value; 2] {
        assert_eq!(self.server.post("/api/v1/flush").status, 204);
        let url = format!("http://{}", self.server.addresses["http"]);
        let from_logs = laggard(&["diagnose", "--output", "json", self.logs.to_str().unwrap()]).json();
        let here = laggard(&["diagnose", "--output", "json", "--server", &url]).json();
        self.server.stop();
        [from_logs, here]
    }
}

/// Counts of losses by name.
fn losses(report: &Value) -> Vec<(String, u64)> {
    let losses = report["input"]["losses"].as_object().unwrap().iter();
    losses.map(|(name, loss)| (name.clone(), loss["count"].as_u64().unwrap())).collect()
}

#[test]
fn collected_growing_logs_are_diagnosed_like_files() {
    let collecting = Collecting::start();
    for hundredths in [0, 41, 79, 100] {
        show(&collecting.hosts, &collecting.logs, hundredths);
        collecting.collect_once();
    }
    let [there, here] = collecting.reports();
    assert_eq!(losses(&here), losses(&there));
    for field in ["spans", "requests"] {
        assert_eq!(here["input"][field], there["input"][field], "{field}");
    }
    for field in ["verdict", "headline", "suspects"] {
        assert_eq!(here[field], there[field], "{field}");
    }
}

/// Checks that nothing is missing. Records that were resent after an unknown outcome count once, except for records of one
/// fragment and microsecond that are repeated in alternation, whose requests are partial.
#[test]
fn a_collector_that_uploads_to_a_server_survives_kills() {
    let collecting = Collecting::start();
    for (number, instant) in instants(8).enumerate() {
        show(&collecting.hosts, &collecting.logs, 12 * (number + 1));
        let endless = [collecting.arguments(), ["--every", "1ms"].map(str::to_owned).to_vec()].concat();
        let mut running = command(&endless).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(instant * 4);
        running.kill().unwrap();
        running.wait().unwrap();
    }
    show(&collecting.hosts, &collecting.logs, 100);
    collecting.collect_once();
    let [there, here] = collecting.reports();
    let count = |report: &Value, path: &str| report.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let partial = count(&here, "/input/losses/partial_request/count");
    assert_eq!(count(&here, "/input/requests") + partial, count(&there, "/input/requests"));
    let spans = |report: &Value| report["input"]["spans"].as_u64().unwrap();
    assert!(spans(&here) >= spans(&there), "{} of {}", spans(&here), spans(&there));
    let explained = [
        "clock_skew",
        "duplicate_span",
        "asynchronous_callee",
        "missing_return",
        "stray_return",
        "repeated_announcement",
        "partial_request",
    ];
    let others = losses(&here).into_iter().find(|(name, _)| !explained.contains(&name.as_str()));
    assert_eq!(others, None);
    let suspect = |report: &Value| ["service", "operation"].map(|field| report["suspects"][0][field].clone());
    assert_eq!(suspect(&here), suspect(&there));
}
