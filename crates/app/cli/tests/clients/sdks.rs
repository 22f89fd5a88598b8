//! The OpenTelemetry SDKs, over every protocol they support.

use crate::delivered::{Duplicates, check};
use crate::install::{command, node, python, python_program, rust};
use crate::plan::plan;
use crate::server::Server;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Samples from the metrics of one replica: number and sum of response times, and CPU time; and that each of these
/// counters started at 0.
const SAMPLES_EACH: u64 = 6;

/// Start samples missing for the first counters that the server receives: those may be older than the server.
const UNKNOWN_STARTS: u64 = 3;

/// How a client exports.
struct ExportOptions {
    transport: &'static str,
    compression: &'static str,
}

const fn options(transport: &'static str, compression: &'static str) -> ExportOptions {
    ExportOptions { transport, compression }
}

/// Sends a plan over each transport, one after the other, to one server, and checks what the server received.
#[track_caller]
fn check_exports(variants: &[ExportOptions], client: impl Fn() -> Command) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    for (number, options) in (0..).zip(variants) {
        let context = format!("{} {}", options.transport, options.compression);
        let plan = plan(number);
        let file = folder.path().join("plan.json");
        plan.write(&file);
        let receiver = receiver(options.transport);
        let before = server.received(receiver);
        let sent = play(client(), &file, options, &server.url(receiver));
        assert_eq!(sent, json!({"accepted": plan.spans(), "failed": 0}), "{context}");
        let now = server.received(receiver);
        let increase = |field: &str| now[field].as_u64().unwrap() - before[field].as_u64().unwrap();
        assert_eq!(increase("spans"), plan.spans(), "{context}: {now}");
        assert_eq!(
            [increase("rejected"), increase("refused"), increase("deferred")],
            [0; 3],
            "{context}: {now}"
        );
        if receiver != "zipkin" {
            let unknown = if number == 0 { UNKNOWN_STARTS } else { 0 };
            let samples = plan.entry_replicas() * SAMPLES_EACH - unknown;
            assert_eq!(increase("samples"), samples, "{context}: {now}");
        }
        check(&context, &server, &plan, Duplicates::None);
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

/// Runs a client to its end and returns the last line that it printed: counts of accepted and failed spans.
#[track_caller]
fn play(mut client: Command, plan: &Path, options: &ExportOptions, endpoint: &str) -> Value {
    let output = client.arg(plan).args([options.transport, endpoint, options.compression]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {}: {stderr}", options.transport, options.compression);
    let stdout = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(stdout.lines().last().unwrap()).unwrap()
}

#[test]
fn python_exports_are_received() {
    let Some(python) = python() else { return };
    let variants = [
        options("grpc", "none"),
        options("grpc", "gzip"),
        options("http-proto", "none"),
        options("http-proto", "gzip"),
    ];
    check_exports(&variants, || {
        let mut client = command(python);
        client.arg(python_program("shop.py"));
        client
    });
}

#[test]
fn javascript_exports_are_received() {
    let Some(node) = node() else { return };
    let variants = [
        options("grpc", "none"),
        options("grpc", "gzip"),
        options("http-proto", "none"),
        options("http-proto", "gzip"),
        options("http-json", "none"),
        options("http-json", "gzip"),
        options("zipkin", "none"),
    ];
    check_exports(&variants, || {
        let mut client = command("node");
        client.arg(node.join("shop.mjs"));
        client
    });
}

#[test]
fn rust_exports_are_received() {
    let variants = [
        options("grpc", "none"),
        options("grpc", "gzip"),
        options("http-proto", "none"),
        options("http-proto", "gzip"),
        options("http-json", "none"),
        options("http-json", "gzip"),
    ];
    check_exports(&variants, || command(rust()));
}
