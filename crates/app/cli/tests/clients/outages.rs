//! A server that goes away while clients send: what their SDKs do about it, and that nothing is lost or there twice.

use crate::arrived::{Repeats, check, diagnosis};
use crate::install::{command, node, python, python_program, rust};
use crate::plan::{Plan, plan};
use crate::sdks::receiver;
use crate::server::Server;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Requests after which a client sends everything.
const STEP: &str = "20";

/// Messages after which the server goes away.
const KILLED_AFTER: usize = 5;
const STOPPED_AFTER: usize = 12;

/// Longest time until a client comes back.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for so many further messages of a client.
fn wait(told: &mut Lines<BufReader<ChildStdout>>, messages: usize) {
    for _ in 0..messages {
        let line = told.next().expect("it has more to send").unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        assert!(said["exporting"].as_u64().is_some_and(|spans| spans > 0), "{line}");
    }
}

/// Stands in for the server while it is away, until somebody has tried to send and was cut off.
fn absence(address: &str) {
    let gone = TcpListener::bind(address).unwrap();
    gone.set_nonblocking(true).unwrap();
    let started = Instant::now();
    while gone.accept().is_err() {
        assert!(started.elapsed() < PATIENCE, "nobody tries to send");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A server, a client that sends to it step by step, and what it says.
struct Sending {
    folder: tempfile::TempDir,
    server: Server,
    plan: Plan,
    /// Where the client sends to.
    address: String,
    client: Child,
    told: Lines<BufReader<ChildStdout>>,
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
        let told = BufReader::new(client.stdout.take().unwrap()).lines();
        Sending { folder, server, plan, address, client, told }
    }

    /// Waits for further messages, ends the server, and starts it again when the client has met its absence.
    fn outage(mut self, messages: usize, end: impl FnOnce(Server)) -> Sending {
        wait(&mut self.told, messages);
        let addresses = self.server.addresses();
        end(self.server);
        absence(&self.address);
        self.server = Server::start_at(&self.folder.path().join("data"), &addresses);
        self
    }
}

/// A client sends while the server is killed and started, stopped and started again.
#[track_caller]
fn nothing_is_missing(transport: &str, client: Command) {
    let sending = Sending::start(transport, client);
    let sending = sending.outage(KILLED_AFTER, Server::kill);
    let sending = sending.outage(STOPPED_AFTER - KILLED_AFTER, Server::stop);
    let last = sending.told.map(Result::unwrap).last().unwrap();
    let ended = sending.client.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{transport}: {last} {said}");
    let plan = sending.plan;
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), json!({"taken": plan.spans(), "failed": 0}));
    check(transport, &sending.server, &plan, Repeats::Some);
    sending.server.stop();
}

/// A client that gives up on broken connections sends while the server is killed: what it was told is taken is there.
#[track_caller]
fn nothing_taken_is_missing(transport: &str, client: Command) {
    let sending = Sending::start(transport, client).outage(KILLED_AFTER, Server::kill);
    let last = sending.told.map(Result::unwrap).last().unwrap();
    sending.client.wait_with_output().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    let [taken, failed] = ["taken", "failed"].map(|field| last[field].as_u64().unwrap());
    assert_eq!(taken + failed, sending.plan.spans(), "{transport}");
    let report = diagnosis(&sending.server, &sending.plan);
    let stored = report["input"]["spans"].as_u64().unwrap();
    assert!(taken <= stored && stored <= sending.plan.spans(), "{transport}: {stored} of {last}");
    sending.server.stop();
}

#[test]
fn python_repeats_what_was_not_taken() {
    let Some(python) = python() else { return };
    for transport in ["grpc", "http-proto"] {
        let mut client = command(python);
        client.arg(python_program("shop.py"));
        nothing_is_missing(transport, client);
    }
}

#[test]
fn javascript_repeats_what_was_not_taken() {
    let Some(node) = node() else { return };
    let client = || {
        let mut client = command("node");
        client.arg(node.join("shop.mjs"));
        client
    };
    nothing_is_missing("http-proto", client());
    nothing_is_missing("http-json", client());
    // Over gRPC this SDK tries once.
    nothing_taken_is_missing("grpc", client());
}

#[test]
fn rust_repeats_what_was_not_taken() {
    nothing_is_missing("http-proto", command(rust()));
    nothing_is_missing("http-json", command(rust()));
    // Over gRPC this SDK takes a broken connection for an error of no known kind, and tries once.
    nothing_taken_is_missing("grpc", command(rust()));
}
