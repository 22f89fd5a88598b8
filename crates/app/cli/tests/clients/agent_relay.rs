//! An OpenTelemetry agent between the SDK and the server: like a Collector, it decodes, rebatches, and forwards spans.

use crate::delivered::{Duplicates, check};
use crate::install::{agent, command, python, python_program};
use crate::plan::plan;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Longest time until the agent listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running agent; dropping it kills it.
struct Agent {
    child: Child,
    grpc: String,
}

impl Agent {
    /// Starts an agent that forwards over a protocol, and waits until it listens.
    fn start(program: &Path, folder: &Path, protocol: &str, endpoint: &str) -> Agent {
        let [grpc, http] = [free_address(), free_address()];
        let file = |name: &str| folder.join(name).display().to_string();
        let mut command = command(program);
        command.args(["start", "--otlp-grpc-endpoint", &grpc, "--otlp-http-endpoint", &http]);
        command.args(["--pid-file", &file("agent.pid"), "--log-file", &file("agent.log")]);
        command.args(["--exporter", "otlp", "--otlp-exporter-endpoint", endpoint]);
        command.args(["--otlp-exporter-protocol", protocol, "--otlp-exporter-compression", "gzip"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut agent = Agent { child, grpc };
        let started = Instant::now();
        while TcpStream::connect(&agent.grpc).is_err() {
            assert_eq!(agent.child.try_wait().unwrap(), None, "the agent ended");
            assert!(started.elapsed() < PATIENCE, "the agent does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        agent
    }

    /// Stops it with SIGTERM, upon which it sends all buffered spans.
    fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free address. The agent does not print the port it listens on, so the test has to choose one.
fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Checks that spans sent by the Python SDK to an agent reach the server.
fn check_relay(protocol: &str, python: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"));
    let endpoint = match protocol {
        "grpc" => server.url("otlp_grpc"),
        _ => server.url("otlp_http"),
    };
    let agent = Agent::start(&agent(python), folder.path(), protocol, &endpoint);
    let plan = plan(7);
    let file = folder.path().join("plan.json");
    plan.write(&file);
    let mut client = command(python);
    client.arg(python_program("shop.py"));
    let sent = client.arg(&file).args(["grpc", &format!("http://{}", agent.grpc), "none"]).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    agent.stop();
    check(protocol, &server, &plan, Duplicates::None);
    server.stop();
}

#[test]
fn spans_forwarded_by_an_agent_are_received() {
    let Some(python) = python() else { return };
    for protocol in ["grpc", "http"] {
        check_relay(protocol, python);
    }
}
