//! Server outages while clients send: SDKs retry, and no span is lost or stored twice.

use crate::delivered::{Duplicates, check, diagnosis};
use crate::install::{command, node, python, python_program, rust};
use crate::plan::{Plan, plan};
use crate::sdks::receiver;
use crate::server::Server;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Number of requests after which a client flushes its spans.
const STEP: &str = "20";

/// Messages after which the server is killed, and after which it is stopped.
const KILLED_AFTER: usize = 5;
const STOPPED_AFTER: usize = 12;

/// Maximum time until a client reconnects.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a client has printed that it exports this many further messages.
fn wait(stdout: &mut Lines<BufReader<ChildStdout>>, messages: usize) {
    for _ in 0..messages {
        let line = stdout.next().expect("the client has more to send").unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        assert!(event["exporting"].as_u64().is_some_and(|spans| spans > 0), "{line}");
    }
}

/// Listens in place of the server until a client has connected, and drops that connection.
fn wait_for_broken_connection(address: &str) {
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let started = Instant::now();
    while listener.accept().is_err() {
        assert!(started.elapsed() < PATIENCE, "no client connects");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server and a client that sends to it step by step.
struct Sending {
    folder: tempfile::TempDir,
    server: Server,
    plan: Plan,
    /// The address of the receiver.
    address: String,
    client: Child,
    /// Standard output of the client: one JSON object per line.
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Sending {
    fn start(transport: &str, mut client: Command) -> Sending {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(4);
        let file = folder.path().join("plan.json");
        plan.write(&file);
        let server = Server::start(&folder.path().join("data"));
        let address = server.addresses()[receiver(transport)].clone();
        client.arg(&file).args([transport, &server.url(receiver(transport)), "none", STEP]);
        let mut client = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(client.stdout.take().unwrap()).lines();
        Sending { folder, server, plan, address, client, stdout }
    }

    /// Waits for further messages, ends the server, and restarts it once the client has failed to send.
    fn outage(mut self, messages: usize, end: impl FnOnce(Server)) -> Sending {
        wait(&mut self.stdout, messages);
        let addresses = self.server.addresses();
        end(self.server);
        wait_for_broken_connection(&self.address);
        self.server = Server::start_at(&self.folder.path().join("data"), &addresses);
        self
    }
}

/// Kills and restarts, then stops and restarts the server while a client sends; all spans must arrive.
#[track_caller]
fn check_all_spans_arrive(transport: &str, client: Command) {
    let sending = Sending::start(transport, client);
    let sending = sending.outage(KILLED_AFTER, Server::kill);
    let sending = sending.outage(STOPPED_AFTER - KILLED_AFTER, Server::stop);
    let last = sending.stdout.map(Result::unwrap).last().unwrap();
    let output = sending.client.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{transport}: {last} {stderr}");
    let plan = sending.plan;
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), json!({"accepted": plan.spans(), "failed": 0}));
    check(transport, &sending.server, &plan, Duplicates::Some);
    sending.server.stop();
}

/// Kills the server while a client sends that does not retry: all acknowledged spans must be stored.
#[track_caller]
fn check_acknowledged_spans_arrive(transport: &str, client: Command) {
    let sending = Sending::start(transport, client).outage(KILLED_AFTER, Server::kill);
    let last = sending.stdout.map(Result::unwrap).last().unwrap();
    sending.client.wait_with_output().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    let [accepted, failed] = ["accepted", "failed"].map(|field| last[field].as_u64().unwrap());
    assert_eq!(accepted + failed, sending.plan.spans(), "{transport}");
    let report = diagnosis(&sending.server, &sending.plan);
    let stored = report["input"]["spans"].as_u64().unwrap();
    assert!(accepted <= stored && stored <= sending.plan.spans(), "{transport}: {stored} of {last}");
    sending.server.stop();
}

#[test]
fn python_retries_rejected_exports() {
    let Some(python) = python() else { return };
    for transport in ["grpc", "http-proto"] {
        let mut client = command(python);
        client.arg(python_program("shop.py"));
        check_all_spans_arrive(transport, client);
    }
}

#[test]
fn javascript_retries_rejected_exports() {
    let Some(node) = node() else { return };
    let client = || {
        let mut client = command("node");
        client.arg(node.join("shop.mjs"));
        client
    };
    check_all_spans_arrive("http-proto", client());
    check_all_spans_arrive("http-json", client());
    // Over gRPC this SDK does not retry.
    check_acknowledged_spans_arrive("grpc", client());
}

#[test]
fn rust_retries_rejected_exports() {
    check_all_spans_arrive("http-proto", command(rust()));
    check_all_spans_arrive("http-json", command(rust()));
    // Over gRPC this SDK treats a broken connection as an unknown error and does not retry.
    check_acknowledged_spans_arrive("grpc", command(rust()));
}
