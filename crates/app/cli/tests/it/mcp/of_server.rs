//! Tools about the data of a server: the command forwards to it.

use super::assistant::{Assistant, PATIENCE};
use crate::outcome::laggard;
use crate::server::{Server, traces};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const TOOLS: [&str; 12] = [
    "diagnose",
    "compare",
    "changes",
    "signature",
    "capacity",
    "recordings_path",
    "recordings_diagnose",
    "recordings",
    "incidents",
    "search",
    "trace",
    "settings",
];

#[test]
fn the_tools_of_a_server_answer_from_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let imported = server.post("/api/v1/import", traces().as_bytes());
    assert!(imported.contains("\"spans\":600"), "{imported}");
    assert!(server.post("/api/v1/flush", b"").starts_with("HTTP/1.1 204"));
    let url = server.url();
    let mut assistant = Assistant::start(folder.path(), &["--server", &url]);
    assert_eq!(assistant.tools(), TOOLS);
    let since = "2026-01-12T09:05:00Z";
    for (tool, arguments, command) in [
        ("diagnose", json!({"top": 3}), vec!["diagnose", "--top", "3"]),
        ("compare", json!({"since": since}), vec!["compare", "--since", since]),
    ] {
        let (text, data) = assistant.answer(tool, arguments);
        let run = |form: &str| laggard(&[&command[..], &["--server", &url, "--output", form]].concat());
        assert!(text.starts_with(run("markdown").text().trim_end()), "{tool}: {text}");
        assert_eq!(data["report"]["headline"], run("json").json()["headline"], "{tool}");
    }
    for tool in ["changes", "signature"] {
        let (text, data) = assistant.answer(tool, json!({}));
        assert_eq!(data["verdict"], "insufficient-data", "no CPU utilization is stored: {text}");
    }
    let (text, found) =
        assistant.answer("search", json!({"since": "2026-01-12T09:00:00Z", "until": since, "min_ms": 100}));
    let trace = found["report"]["traces"][0]["trace"].as_str().unwrap();
    assert!(text.contains(trace), "{text}");
    let (text, shown) = assistant.answer("trace", json!({"trace": trace}));
    let spans = shown["report"]["spans"].as_array().unwrap();
    assert_eq!((spans.len(), &shown["report"]["omitted"]), (3, &json!(0)));
    assert!(text.contains("    - `db` `read` on `db-1`: 104 ms, itself 104 ms, waited for 104 ms"), "{text}");
    let (text, shown) = assistant.answer("trace", json!({"trace": trace, "spans": 2}));
    let operations: Vec<&str> = shown["report"]["spans"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|span| span["operation"].as_str())
        .collect();
    assert_eq!((operations, &shown["report"]["omitted"]), (vec!["buy", "read"], &json!(1)));
    assert!(text.contains("Spans, of 3 those that requests waited for longest"), "{text}");
    assert_eq!(assistant.answer("incidents", json!({})).0, "0 incidents, 0 of all open.");
    assert!(assistant.answer("recordings", json!({})).0.starts_with("0 recordings"));
    assert!(assistant.answer("settings", json!({"question": "diagnose"})).0.contains("cv-min"));
    assistant.end();
}

#[test]
fn errors_of_a_server_state_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let mut assistant = Assistant::start(folder.path(), &["--server", &server.url()]);
    for (tool, arguments, words) in [
        ("diagnose", json!({"paths": ["traces"]}), "there is no setting \"paths\""),
        ("diagnose", json!({"top": 0}), "top: write a whole number from 1"),
        ("compare", json!({}), "two windows"),
        ("capacity", json!({}), "latency-max is needed"),
        ("changes", json!({}), "no samples"),
        ("recordings_path", json!({}), "recording is missing"),
        ("recordings_path", json!({"recording": "1"}), "GET /api/v1/recordings lists them"),
        ("incidents", json!({"id": "1"}), "no such incident"),
        ("incidents", json!({"open": true}), "unknown field `open`, expected one of"),
        ("search", json!({"min_ms": 2, "max_ms": 1}), "min_ms is larger than max_ms"),
        ("trace", json!({"trace": "7"}), "there is no trace \"7\""),
        ("trace", json!({}), "missing field `trace`"),
        ("trace", json!({"trace": "7", "spans": 1_000}), "spans must be a whole number from 1 to 200"),
    ] {
        let reason = assistant.failure(tool, arguments.clone());
        assert!(reason.contains(words), "{tool} {arguments}: {reason}");
    }
    let unknown = assistant.request("tools/call", json!({"name": "kernel_path"}));
    assert_eq!(unknown["error"]["code"], -32602, "kernel traces are files");
    drop(server);
    let reason = assistant.failure("diagnose", json!({}));
    assert!(reason.starts_with("http://127.0.0.1:"), "{reason}");
    assistant.end();
}

/// Two open incidents of a database, the first with a verdict.
fn stored_incidents() -> String {
    let stored = include_str!("../../../../server/src/alerts/stored_version_4.json");
    let mut stored: Value = serde_json::from_str(stored).unwrap();
    let clause = |kind: &str, text: &str, certainty: &str| json!({"kind": kind, "text": text, "certainty": certainty, "sources": ["traces"]});
    stored["alerts"]["incidents"][0]["verdict"] = json!({
        "at_ns": 1_768_208_460_000_000_000_i64, "alerts": 1, "class": null,
        "clauses": [
            clause("what", "`db` operation `read` is slow on `db-1`.", "shown"),
            clause("cause", "What it waits for is not known.", "possible")
        ]
    });
    stored.to_string()
}

#[test]
fn incidents_have_their_clauses_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let tenant = data.join("tenants/default");
    std::fs::create_dir_all(&tenant).unwrap();
    std::fs::write(tenant.join("alerts.json"), stored_incidents()).unwrap();
    let server = Server::start(&data);
    let mut assistant = Assistant::start(folder.path(), &["--server", &server.url()]);
    let (text, listed) = assistant.answer("incidents", json!({"state": "open"}));
    assert!(text.starts_with("2 incidents, 2 of all open.\n"), "{text}");
    let incidents = listed["report"]["incidents"].as_array().unwrap();
    let first = incidents.iter().find(|incident| incident["id"] == "7d9b2c1fe03a4658").unwrap();
    let (one, shown) = assistant.answer("incidents", json!({"id": "7d9b2c1fe03a4658"}));
    assert_eq!(shown["report"], *first);
    assert!(text.contains(&one), "{text}\n{one}");
    let page = first["alerts"][0]["page"].as_str().unwrap();
    for words in [
        "### Incident 7d9b2c1fe03a4658 (open): ",
        "- What: `db` operation `read` is slow on `db-1`. (shown; by traces; page /verdict?",
        "- Cause: What it waits for is not known. (possible; by traces; page /verdict?",
        "- Alert 0f43b7dd4b0e1a2c: ",
        page,
    ] {
        assert!(one.contains(words), "{words} is not in {one}");
    }
    assert!(!one.contains("no verdict yet") && text.contains("- There is no verdict yet."), "{text}");
    assistant.end();
}

/// A server that takes one call and only ever sends that it still works, until the client is gone.
fn endless_server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, events) = channel();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        sender.send(String::from_utf8_lossy(&request).to_lowercase()).unwrap();
        client
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            .unwrap();
        while client.write_all(b":\n\n").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        sender.send("gone".to_owned()).unwrap();
    });
    (url, events)
}

#[test]
fn a_canceled_call_closes_its_connection_to_the_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "reader-0123456789\n").unwrap();
    let (url, events) = endless_server();
    let arguments = ["--server", &url, "--token-file", "token", "--tenant", "shop"];
    let mut assistant = Assistant::start(folder.path(), &arguments);
    let id = assistant.send("tools/call", json!({"name": "diagnose", "arguments": {"top": 3}}));
    let head = events.recv_timeout(PATIENCE).unwrap();
    for line in [
        "post /api/v1/mcp http/1.1",
        "authorization: bearer reader-0123456789",
        "x-scope-orgid: shop",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        "mcp-name: diagnose",
        "accept: application/json, text/event-stream",
    ] {
        assert!(head.contains(line), "{line} is not in {head}");
    }
    assert_eq!(assistant.request("ping", json!({}))["result"], json!({}));
    assistant.notify("notifications/cancelled", json!({"requestId": id}));
    assert_eq!(events.recv_timeout(PATIENCE).as_deref(), Ok("gone"));
    assistant.end();
}
