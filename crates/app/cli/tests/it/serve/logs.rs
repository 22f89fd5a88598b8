//! Log records and events of spans: they survive kills and damage, and are found with their trace and by their text, each once.

use super::store_commands::{damage, files, store, text};
use super::{Response, Running, TRACE, TRACE_PATH, message};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const JSON: &str = "Content-Type: application/json";

/// Log records of the span of [`message`], a millisecond apart, the first at its begin; and one of no span.
fn logs(texts: &[&str]) -> String {
    let record = |(index, text): (usize, &&str)| {
        json!({"traceId": TRACE, "spanId": "00f067aa0ba902b7", "severityNumber": 13,
            "timeUnixNano": (1_768_208_400_000_000_000_u64 + 1_000_000 * index as u64).to_string(),
            "body": {"stringValue": text}, "attributes": [{"key": "item", "value": {"stringValue": "red shoe"}}]})
    };
    let mut records: Vec<Value> = texts.iter().enumerate().map(record).collect();
    records
        .push(json!({"timeUnixNano": "1768208400000000000", "body": {"stringValue": "the process started"}}));
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).to_string()
}

fn send_logs(server: &Running, texts: &[&str]) -> Response {
    server.request("otlp_http", "POST", "/v1/logs", &[JSON], &logs(texts))
}

/// The trace of one span, which brings an exception.
fn send_span(server: &Running) {
    let event = r#""events":[{"timeUnixNano":"1768208400002500000","name":"exception","attributes":[
        {"key":"exception.type","value":{"stringValue":"OutOfStock"}}]}],"name":"add""#;
    let message = message(TRACE).replace(r#""name":"add""#, event);
    assert_eq!(server.request("otlp_http", "POST", "/v1/traces", &[JSON], &message).status, 200);
}

/// Severity and text of what the trace shows, by time.
fn shown(server: &Running) -> Vec<String> {
    let trace: Value = serde_json::from_str(&server.get(TRACE_PATH).body).unwrap();
    let events = trace["spans"][0]["events"].as_array().cloned().unwrap_or_default();
    let text = |event: &Value| {
        format!("{} {}", event["severity"].as_str().unwrap(), event["body"].as_str().unwrap())
    };
    events.iter().map(text).collect()
}

/// How many traces a search for a logged text finds.
fn traces_with(server: &Running, text: &str) -> usize {
    let window = "since=2026-01-12T08:00:00Z&until=2026-01-12T10:00:00Z";
    let answer = server.get(&format!("/api/v1/search?{window}&logged={text}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    answer["traces"].as_array().unwrap().len()
}

const TEXTS: [&str; 2] = ["out of stock", "tried again"];
const SHOWN: [&str; 3] = ["WARN out of stock", "WARN tried again", " OutOfStock"];

fn check(server: &Running, context: &str) {
    assert_eq!(server.post("/api/v1/flush").status, 204);
    assert_eq!(shown(server), SHOWN, "{context}");
    for (text, traces) in [("OUT%20of", 1), ("red%20shoe", 1), ("outofstock", 1), ("process%20started", 0)] {
        assert_eq!(traces_with(server, text), traces, "{context}: {text}");
    }
}

#[test]
fn what_was_logged_survives_kills_and_is_found_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let answer = send_logs(&server, &TEXTS);
    assert!(answer.status == 200 && answer.body.contains(r#""rejectedLogRecords":"1""#), "{}", answer.body);
    send_span(&server);
    let status: Value = serde_json::from_str(&server.get("/api/v1/status").body).unwrap();
    let lost = &status["losses"]["untraced_log"];
    assert_eq!((&lost["count"], &lost["example"]), (&json!(1), &json!("the process started")));
    // Dropping a server kills it: everything is in the log.
    drop(server);
    let server = Running::start(folder.path(), &[]);
    // The sender did not receive the answer, and repeats both.
    assert_eq!(send_logs(&server, &TEXTS).status, 200);
    send_span(&server);
    check(&server, "killed before it was flushed");
    assert_eq!(send_logs(&server, &TEXTS).status, 200);
    drop(server);
    let server = Running::start(folder.path(), &[]);
    check(&server, "killed after it was flushed");
    let status: Value = serde_json::from_str(&server.get("/api/v1/status").body).unwrap();
    assert!(status["events_stored"].as_u64().unwrap() >= 3, "{status}");
    server.stop();
}

fn with_logs(folder: &Path) {
    let server = Running::start(folder, &[]);
    assert_eq!(send_logs(&server, &TEXTS).status, 200);
    send_span(&server);
    check(&server, "before the damage");
    server.stop();
}

fn file(folder: &Path, kind: &str) -> std::path::PathBuf {
    let all = files(folder, ".parquet");
    all.into_iter().find(|file| text(file).contains(&format!("/{kind}/"))).expect("there is a segment")
}

#[test]
fn repair_and_backup_retain_what_was_logged() {
    let (folder, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    with_logs(folder.path());
    let checked = store(&["check", text(folder.path())]);
    assert!(checked.stdout.contains("1 span, 0 samples, and 3 events in "), "{}", checked.stdout);
    let copy = backups.path().join("first");
    assert_eq!(store(&["backup", text(folder.path()), text(&copy)]).status, 0);
    check(&Running::start(&copy, &[]), "the backup");

    damage(&file(folder.path(), "calls"));
    assert_eq!(store(&["repair", text(folder.path())]).status, 0);
    check(&Running::start(folder.path(), &[]), "a file of the span was damaged");

    fs::remove_dir_all(folder.path().join("tenants/default/segments/manifest")).unwrap();
    assert_eq!(store(&["repair", text(folder.path())]).status, 0);
    check(&Running::start(folder.path(), &[]), "there was no manifest");
}

#[test]
fn a_damaged_file_of_events_is_set_aside_without_the_span() {
    let folder = tempfile::tempdir().unwrap();
    with_logs(folder.path());
    damage(&file(folder.path(), "events"));
    let checked = store(&["check", text(folder.path())]);
    assert!(checked.status == 1 && checked.stdout.contains("Lost: 3 events\n"), "{}", checked.stdout);
    let repair = store(&["repair", text(folder.path())]);
    assert!(repair.status == 0 && repair.stdout.contains("under quarantine/"), "{}", repair.stdout);
    assert_eq!(store(&["check", text(folder.path())]).status, 0);
    let server = Running::start(folder.path(), &[]);
    assert_eq!(shown(&server), [""; 0], "the span is there, its events are not");
    server.stop();
}
