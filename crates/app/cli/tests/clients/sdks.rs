//! The OpenTelemetry SDKs, over everything they speak.

use crate::arrived::{Repeats, check};
use crate::install::{command, node, python, python_program, rust};
use crate::plan::plan;
use crate::server::Server;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Samples that the metrics of one replica give: number and sum of response times, and CPU time; and that each of these
/// counters began with 0.
const SAMPLES_EACH: u64 = 6;

/// Samples that say so of the counters that the server sees first: they may have been there before it was.
const UNKNOWN_STARTS: u64 = 3;

/// A way to send.
struct Road {
    transport: &'static str,
    compression: &'static str,
}

const fn road(transport: &'static str, compression: &'static str) -> Road {
    Road { transport, compression }
}

/// Sends a plan over each road, one after the other, to one server, and looks at what arrived.
#[track_caller]
fn over_all(roads: &[Road], client: impl Fn() -> Command) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    for (number, road) in (0..).zip(roads) {
        let what = format!("{} {}", road.transport, road.compression);
        let plan = plan(number);
        let file = folder.path().join("plan.json");
        plan.write(&file);
        let receiver = receiver(road.transport);
        let before = server.received(receiver);
        let sent = play(client(), &file, road, &server.url(receiver));
        assert_eq!(sent, json!({"taken": plan.spans(), "failed": 0}), "{what}");
        let now = server.received(receiver);
        let grown = |field: &str| now[field].as_u64().unwrap() - before[field].as_u64().unwrap();
        assert_eq!(grown("spans"), plan.spans(), "{what}: {now}");
        assert_eq!([grown("rejected"), grown("refused"), grown("deferred")], [0; 3], "{what}: {now}");
        if receiver != "zipkin" {
            let unknown = if number == 0 { UNKNOWN_STARTS } else { 0 };
            let samples = plan.entry_replicas() * SAMPLES_EACH - unknown;
            assert_eq!(grown("samples"), samples, "{what}: {now}");
        }
        check(&what, &server, &plan, Repeats::None);
    }
    server.stop();
}

/// The receiver that speaks a protocol.
pub(crate) fn receiver(transport: &str) -> &'static str {
    match transport {
        "grpc" => "otlp_grpc",
        "zipkin" => "zipkin",
        _ => "otlp_http",
    }
}

/// Runs a client to its end: what it says it sent.
#[track_caller]
fn play(mut client: Command, plan: &Path, road: &Road, endpoint: &str) -> Value {
    let output = client.arg(plan).args([road.transport, endpoint, road.compression]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {}: {said}", road.transport, road.compression);
    let told = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(told.lines().last().unwrap()).unwrap()
}

#[test]
fn python_sends() {
    let Some(python) = python() else { return };
    let roads =
        [road("grpc", "none"), road("grpc", "gzip"), road("http-proto", "none"), road("http-proto", "gzip")];
    over_all(&roads, || {
        let mut client = command(python);
        client.arg(python_program("shop.py"));
        client
    });
}

#[test]
fn javascript_sends() {
    let Some(node) = node() else { return };
    let roads = [
        road("grpc", "none"),
        road("grpc", "gzip"),
        road("http-proto", "none"),
        road("http-proto", "gzip"),
        road("http-json", "none"),
        road("http-json", "gzip"),
        road("zipkin", "none"),
    ];
    over_all(&roads, || {
        let mut client = command("node");
        client.arg(node.join("shop.mjs"));
        client
    });
}

#[test]
fn rust_sends() {
    let roads = [
        road("grpc", "none"),
        road("grpc", "gzip"),
        road("http-proto", "none"),
        road("http-proto", "gzip"),
        road("http-json", "none"),
        road("http-json", "gzip"),
    ];
    over_all(&roads, || command(rust()));
}
