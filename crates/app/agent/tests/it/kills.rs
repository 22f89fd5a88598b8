//! An agent killed at any time ends each request once, with its recording or with a reason.

use crate::stand_in::{Server, agent_at, log};
use laggard_model::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const KILLS: u64 = 30;

/// Environment variable with address and spool of the agent that runs in a child process of the test.
const AGENT: &str = "LAGGARD_TEST_AGENT";

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

fn start(server: &Server, spool: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::agent_in_a_child_process"]);
    command.env(AGENT, format!("{} {}", server.address, spool.display()));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(mut agent: Child) {
    agent.kill().unwrap();
    agent.wait().unwrap();
}

/// Waits until none of these requests is pending.
fn until_answered(server: &Server, is_one: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    while server.change(|state| state.requests.as_array().unwrap().iter().any(&is_one)) {
        assert!(begun.elapsed() < Duration::from_secs(60), "a request is not answered");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn agent_in_a_child_process() {
    // Does nothing unless started as a child process.
    let Ok(settings) = std::env::var(AGENT) else { return };
    let (address, spool) = settings.split_once(' ').unwrap();
    let mut agent = agent_at(address, Path::new(spool), &log());
    loop {
        let pause = agent.round(Instant::now(), Timestamp::from_unix_ns(now_ns())).pause;
        std::thread::sleep(pause);
    }
}

#[test]
fn a_killed_agent_uploads_each_requested_recording_once() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    server.change(|state| state.next_poll_ms = 100);
    let ids: Vec<String> = (0..KILLS).map(|number| format!("{number:032x}")).collect();
    for (number, id) in (0..).zip(&ids) {
        let agent = start(&server, folder.path());
        let until_ns = now_ns() + 60_000_000;
        let request = json!({"id": id, "since_ns": until_ns - 1_000_000_000, "until_ns": until_ns});
        server.change(|state| state.requests.as_array_mut().unwrap().push(request));
        // Every third agent runs until it has uploaded; the others are killed earlier.
        if number % 3 == 0 {
            until_answered(&server, |request| request["id"] == **id);
        } else {
            std::thread::sleep(Duration::from_millis(number * 7_919 % 250));
        }
        kill(agent);
    }
    let agent = start(&server, folder.path());
    until_answered(&server, |_| true);
    kill(agent);
    let (polls, uploads) = server.change(|state| (state.polls.clone(), state.uploads.clone()));
    let missed = polls.iter().flat_map(|poll| poll["missed"].as_array().unwrap());
    let missed: BTreeSet<String> = missed.map(|missed| missed["id"].as_str().unwrap().to_owned()).collect();
    let mut stored: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, content) in uploads {
        stored.entry(path.rsplit('/').next().unwrap().to_owned()).or_default().insert(content);
    }
    assert!(!stored.is_empty() && !missed.is_empty(), "kills before and after a snapshot");
    for id in &ids {
        let contents = stored.get(id).map_or(0, BTreeSet::len);
        assert_eq!(contents + usize::from(missed.contains(id)), 1, "{id}: {contents} recordings");
    }
}
