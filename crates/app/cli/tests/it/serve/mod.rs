//! `laggard serve` as people run it: started on ports that are free, asked, stopped, started again.

mod alerts;
mod collected;
mod configuration;
mod events;
mod faults;
mod life;
mod packaging;
mod pages;
mod security;
mod server_alerts;

use crate::outcome::command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

/// A server that runs; dropping it kills it.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    /// What was read of its log.
    said: String,
    addresses: HashMap<String, SocketAddr>,
}

/// What a server answered.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// A receiver of each kind, and the pages.
const LISTENERS: usize = 4;

impl Running {
    /// Starts one on a folder and waits until it listens.
    fn start(data: &Path, further: &[&str]) -> Running {
        Running::start_with(data, further, &[])
    }

    /// The same with further variables of the environment.
    fn start_with(data: &Path, further: &[&str], variables: &[(&str, &str)]) -> Running {
        let data = data.to_str().unwrap();
        let mut arguments = vec!["serve", "--data", data, "--set", "logs.form=json"];
        for flag in ["--http", "--otlp-grpc", "--otlp-http", "--zipkin"] {
            arguments.extend([flag, "127.0.0.1:0"]);
        }
        arguments.extend(further);
        let mut run = command(&arguments);
        run.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = run.spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut running = Running { child, log, said: String::new(), addresses: HashMap::new() };
        while running.addresses.len() < LISTENERS {
            let line = running.next_line().expect("it says where it listens");
            let (Some(name), Some(address)) = (line["name"].as_str(), line["address"].as_str()) else {
                continue;
            };
            running.addresses.insert(name.to_owned(), address.parse().unwrap());
        }
        running
    }

    /// The next line of its log.
    fn next_line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let length = self.log.read_line(&mut line).unwrap();
        self.said.push_str(&line);
        (length > 0)
            .then(|| serde_json::from_str(&line).unwrap_or_else(|_| panic!("no line of a log: {line}")))
    }

    fn connect(&self, listener: &str) -> TcpStream {
        let stream = TcpStream::connect(self.addresses[listener]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Asks the listener of this name; `headers` are whole lines.
    fn ask(&self, listener: &str, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = self.connect(listener);
        stream.write_all(request(method, path, headers, body).as_bytes()).unwrap();
        answer(&mut stream)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("http", "GET", path, &[], "")
    }

    fn post(&self, path: &str) -> Answer {
        self.ask("http", "POST", path, &[], "")
    }

    /// Sends a trace of one span.
    fn send_trace(&self, trace: &str, headers: &[&str]) -> Answer {
        let headers = [&["Content-Type: application/json"], headers].concat();
        self.ask("otlp_http", "POST", "/v1/traces", &headers, &message(trace))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it ends by itself; its status and its log.
    fn ended(mut self) -> (i32, String) {
        self.log.read_to_string(&mut self.said).unwrap();
        let said = std::mem::take(&mut self.said);
        (self.child.wait().unwrap().code().expect("no signal ends it"), said)
    }

    /// Tells it to stop, and waits until it has.
    fn stop(self) {
        self.signal(Signal::TERM);
        let (status, log) = self.ended();
        assert_eq!(status, 0, "{log}");
        assert!(log.contains("\"stopped\""), "{log}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text =
        format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|line| line.starts_with("Host:")) {
        text.push_str("Host: localhost\r\n");
    }
    for line in headers {
        text.push_str(line);
        text.push_str("\r\n");
    }
    text + "\r\n" + body
}

fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// One span of a trace, as OTLP in JSON.
fn message(trace: &str) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"cart"}}}}]}},
        "scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"00f067aa0ba902b7","name":"add","kind":2,
        "startTimeUnixNano":"1768208400000000000","endTimeUnixNano":"1768208400005000000"}}]}}]}}]}}"#
    )
}

/// A trace, and the path that asks for it.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const TRACE_PATH: &str = "/api/v1/traces/0af7651916cd43dd8448eb211c80319c";
