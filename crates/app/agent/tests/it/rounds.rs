//! Rounds of an agent: polling, recording, uploading.

use crate::stand_in::{Server, actions, agent, log};
use laggard_agent::Agent;
use laggard_model::Timestamp;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ID: &str = "0123456789abcdef0123456789abcdef";

fn time(second: i64) -> Timestamp {
    Timestamp::from_unix_ns(second * 1_000_000_000)
}

/// The request for seconds 100 to 110.
fn request(id: &str) -> Value {
    json!([{"id": id, "host": "web-1", "since_ns": 100_000_000_000_i64, "until_ns": 110_000_000_000_i64, "state": "pending"}])
}

/// Rounds at a second of both clocks.
struct Rounds {
    start: Instant,
    agent: Agent,
}

impl Rounds {
    fn new(agent: Agent) -> Rounds {
        Rounds { start: Instant::now(), agent }
    }

    fn at(&mut self, second: u64) -> Duration {
        self.agent.round(self.start + Duration::from_secs(second), time(second as i64)).pause
    }
}

#[test]
fn without_a_rule_the_agent_neither_records_nor_uploads() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    server.change(|state| {
        state.rule = Value::Null;
        state.requests = request(ID);
    });
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(200);
    rounds.at(203);
    assert!(actions(&log).is_empty());
    let poll = server.last_poll();
    assert_eq!((&poll["host"], &poll["recording"]), (&json!("web-1"), &json!(false)));
    assert!(poll["missed"][0]["reason"].as_str().unwrap().contains("no rule allows it"), "{poll}");
    assert!(server.change(|state| state.uploads.is_empty()));
}

#[test]
fn a_recorder_starts_and_stops_with_its_rule() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    assert_eq!(rounds.at(0), Duration::from_secs(3));
    rounds.at(3);
    assert_eq!(actions(&log), ["start 33554432"]);
    assert_eq!(server.last_poll()["recording"], json!(true));
    server.change(|state| state.rule["buffer_bytes"] = json!(1 << 20));
    rounds.at(6);
    assert_eq!(actions(&log), ["end", "start 1048576"], "never two at a time");
    server.change(|state| state.rule = Value::Null);
    rounds.at(9);
    assert_eq!(actions(&log), ["end"]);
}

#[test]
fn a_recorder_stops_after_a_long_server_outage() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(0);
    server.change(|state| state.is_down = true);
    let pauses: Vec<u64> = [3, 10, 20, 40, 80, 160, 299].map(|second| rounds.at(second).as_secs()).to_vec();
    assert_eq!(pauses, [4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(actions(&log), ["start 33554432"]);
    rounds.at(300);
    assert_eq!(actions(&log), ["end"]);
    server.change(|state| state.is_down = false);
    assert_eq!(rounds.at(301), Duration::from_secs(3));
    assert_eq!(actions(&log), ["start 33554432"]);
}

#[test]
fn a_finished_interval_is_uploaded_and_retried_until_accepted() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(50);
    server.change(|state| {
        state.requests = request(ID);
        state.upload_statuses = vec![503, 500];
    });
    rounds.at(109);
    assert_eq!(actions(&log), ["start 33554432"], "its end is in the future");
    rounds.at(111);
    rounds.at(113);
    // As after a kill: a new agent finds the recording and does not record again.
    drop(rounds);
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(200);
    server.change(|state| state.requests = json!([]));
    rounds.at(203);
    assert_eq!(actions(&log), ["snapshot", "end", "start 33554432"]);
    let upload = (format!("/api/v1/agent/recordings/{ID}"), "100000000000 110000000000".to_owned());
    assert_eq!(server.change(|state| state.uploads.clone()), vec![upload; 3]);
    assert_eq!(server.last_poll()["missed"], json!([]));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the lock is left");
}

#[test]
fn missing_recordings_are_reported_until_the_server_acknowledges() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    let mut reason = |seconds: [u64; 3], expected: &str| {
        rounds.at(seconds[0]);
        server.change(|state| state.is_down = true);
        rounds.at(seconds[1]);
        server.change(|state| {
            state.is_down = false;
            state.requests = json!([]);
        });
        rounds.at(seconds[2]);
        let missed = server.last_poll()["missed"].clone();
        assert_eq!(missed[0]["id"], json!(ID));
        assert!(missed[0]["reason"].as_str().unwrap().contains(expected), "{missed}");
        rounds.at(seconds[2] + 1);
        assert_eq!(server.last_poll()["missed"], json!([]));
    };
    server.change(|state| state.requests = request(ID));
    reason([120, 121, 122], "recording began after the requested interval");
    let later = json!([{"id": ID, "since_ns": 125_000_000_000_i64, "until_ns": 130_000_000_000_i64}]);
    server.change(|state| state.requests = later.clone());
    log.lock().unwrap().in_interval = 0;
    reason([131, 132, 133], "holds no event");
    log.lock().unwrap().in_interval = 1;
    server.change(|state| {
        state.requests = later;
        state.upload_statuses = vec![413];
    });
    reason([141, 142, 143], "rejected the recording: prepared");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the lock is left");
}

#[test]
fn recordings_of_withdrawn_requests_are_deleted() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(50);
    for status in [404, 409] {
        server.change(|state| {
            state.requests = request(ID);
            state.upload_statuses = vec![status];
        });
        rounds.at(120);
        server.change(|state| state.requests = json!([]));
        rounds.at(123);
        assert_eq!(server.last_poll()["missed"], json!([]));
    }
    // Not a valid id, since it would be a path.
    server.change(|state| state.requests = request("../../0123456789abcdef0123456789"));
    rounds.at(126);
    assert_eq!(actions(&log), ["start 33554432", "snapshot", "snapshot"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the lock is left");
}

#[test]
fn recording_pauses_above_its_cpu_budget() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(0);
    rounds.at(3);
    log.lock().unwrap().events = 1 << 40;
    rounds.at(6);
    assert_eq!(actions(&log), ["start 33554432", "pause"]);
    let note = server.last_poll()["note"].as_str().unwrap().to_owned();
    assert!(note.contains("recording pauses") && note.contains("3.0 % are allowed"), "{note}");
}

#[test]
fn a_recorder_start_failure_is_reported_and_retried() {
    let (server, folder, log) = (Server::start(), tempfile::tempdir().unwrap(), log());
    log.lock().unwrap().refuses = true;
    let mut rounds = Rounds::new(agent(&server, folder.path(), &log));
    rounds.at(0);
    rounds.at(3);
    assert_eq!(server.last_poll()["note"], json!("no tracefs"));
    log.lock().unwrap().refuses = false;
    rounds.at(30);
    assert!(actions(&log).is_empty(), "not at once");
    rounds.at(61);
    rounds.at(64);
    assert_eq!(actions(&log), ["start 33554432"]);
    let poll = server.last_poll();
    assert_eq!((&poll["recording"], &poll["note"]), (&json!(true), &json!("")));
}
