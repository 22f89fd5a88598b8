//! Starting, stopping, and kills of the server, and the data after a restart.

use super::{Running, TRACE, TRACE_PATH, message, read_response};
use crate::outcome::laggard;
use rustix::process::Signal;
use std::io::Write;
use std::time::Duration;

#[test]
fn accepted_data_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    assert_eq!(server.get("/healthz").status, 200);
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(server.get(TRACE_PATH).status, 404);
    let sent = server.send_trace(TRACE, &[]);
    assert_eq!(sent.status, 200, "{}", sent.body);
    assert_eq!(server.post("/api/v1/flush").status, 204);
    let found = server.get(TRACE_PATH);
    assert!(found.status == 200 && found.body.contains("\"add\""), "{}", found.body);
    server.stop();

    let again = Running::start(folder.path(), &[]);
    let found = again.get(TRACE_PATH);
    assert!(found.status == 200 && found.body.contains("\"add\""), "{}", found.body);
    again.stop();
}

#[test]
fn acknowledged_data_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    assert_eq!(server.send_trace(TRACE, &[]).status, 200);
    drop(server);
    let again = Running::start(folder.path(), &[]);
    assert_eq!(again.post("/api/v1/flush").status, 204);
    let found = again.get(TRACE_PATH);
    assert_eq!(found.status, 200, "{}", found.body);
    again.stop();
}

#[test]
fn shutdown_finishes_requests_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let mut stream = server.connect("otlp_http");
    let whole =
        super::request_text("POST", "/v1/traces", &["Content-Type: application/json"], &message(TRACE));
    let (first, rest) = whole.split_at(whole.len() - 100);
    stream.write_all(first.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(200));
    stream.write_all(rest.as_bytes()).unwrap();
    let response = read_response(&mut stream);
    assert_eq!(response.status, 200, "{}", response.body);
    let (status, log) = server.wait();
    assert_eq!(status, 0, "{log}");
    let again = Running::start(folder.path(), &[]);
    assert_eq!(again.get(TRACE_PATH).status, 200);
}

#[test]
fn shutdown_aborts_endless_requests() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--set", "limits.drain=300ms"]);
    let mut stream = server.connect("otlp_http");
    stream
        .write_all(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert_eq!(status, 0, "{log}");
    assert!(log.contains("limits.drain is over"), "{log}");
}

#[test]
fn a_data_folder_is_locked_by_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let data = folder.path().to_str().unwrap();
    let second = laggard(&["serve", "--data", data, "--http", "127.0.0.1:0"]);
    second.fails(3, &["another server uses", data]);
    server.stop();
    Running::start(folder.path(), &[]).stop();
}

#[test]
fn an_address_in_use_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let data = folder.path().to_str().unwrap();
    let refused = laggard(&["serve", "--data", data, "--http", &address]);
    refused.fails(3, &["http: cannot listen on", &address]);
}

#[test]
fn the_health_check_reports_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let address = server.addresses["http"].to_string();
    let well = laggard(&["serve", "--check-health", "--http", &address]);
    assert_eq!((well.status, well.stdout.as_str()), (0, ""), "{}", well.stderr);
    server.stop();
    laggard(&["serve", "--check-health", "--http", &address]).fails(3, &[&address]);
}
