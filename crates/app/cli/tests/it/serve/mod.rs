//! `laggard serve` end to end: started on free ports, queried, stopped, restarted.

mod alerts;
#[cfg(feature = "s3")]
mod bucket;
mod chart;
mod claimed_prefix;
#[cfg(feature = "cluster")]
mod cluster;
mod collected;
mod configuration;
mod dashboards;
mod events;
mod faults;
mod lifecycle;
mod logs;
mod manual;
mod packaging;
mod pages;
mod roles;
mod rotation;
mod security;
mod server_alerts;
#[cfg(feature = "sql")]
mod sql;
mod store_commands;
mod stored;
mod trace_sources;

use crate::outcome::command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

/// A running server; dropping it kills it.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    /// The part of the log that was read.
    log_text: String,
    addresses: HashMap<String, SocketAddr>,
}

/// Status, headers, and body of a response.
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    /// `None` if it is not a response of HTTP/1.1.
    fn parse(bytes: &[u8]) -> Option<Response> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Response { status, head: head.to_lowercase(), body: body.to_owned() })
    }
}

/// Number of listeners: three receivers and the API.
const LISTENERS: usize = 4;

impl Running {
    /// Starts a server on a data folder and waits until it listens.
    fn start(data: &Path, further: &[&str]) -> Running {
        Running::start_with(data, further, &[])
    }

    /// [`Running::start`] with additional environment variables.
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
        let mut running = Running { child, log, log_text: String::new(), addresses: HashMap::new() };
        while running.addresses.len() < LISTENERS {
            let line = running.next_line().expect("the server logs its addresses");
            let (Some(name), Some(address)) = (line["name"].as_str(), line["address"].as_str()) else {
                continue;
            };
            running.addresses.insert(name.to_owned(), address.parse().unwrap());
        }
        running
    }

    /// The next line of the log; `None` at its end.
    fn next_line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let length = self.log.read_line(&mut line).unwrap();
        self.log_text.push_str(&line);
        (length > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a log line: {line}")))
    }

    fn connect(&self, listener: &str) -> TcpStream {
        let stream = TcpStream::connect(self.addresses[listener]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends a request to a listener; `headers` are whole lines.
    fn request(&self, listener: &str, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
        let mut stream = self.connect(listener);
        stream.write_all(request_text(method, path, headers, body).as_bytes()).unwrap();
        read_response(&mut stream)
    }

    fn get(&self, path: &str) -> Response {
        self.request("http", "GET", path, &[], "")
    }

    fn post(&self, path: &str) -> Response {
        self.request("http", "POST", path, &[], "")
    }

    /// Sends a trace of one span.
    fn send_trace(&self, trace: &str, headers: &[&str]) -> Response {
        let headers = [&["Content-Type: application/json"], headers].concat();
        self.request("otlp_http", "POST", "/v1/traces", &headers, &message(trace))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the server exits; returns its status and log.
    fn wait(mut self) -> (i32, String) {
        self.log.read_to_string(&mut self.log_text).unwrap();
        let log_text = std::mem::take(&mut self.log_text);
        (self.child.wait().unwrap().code().expect("no signal ended the server"), log_text)
    }

    /// Stops the server with SIGTERM and waits until it has exited.
    fn stop(self) {
        self.signal(Signal::TERM);
        let (status, log) = self.wait();
        assert_eq!(status, 0, "{log}");
        assert!(log.contains("\"stopped\""), "{log}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request_text(method: &str, path: &str, headers: &[&str], body: &str) -> String {
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

fn read_response(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    Response::parse(&bytes).unwrap_or_else(|| panic!("not a response: {:?}", String::from_utf8_lossy(&bytes)))
}

/// A trace of one span, as OTLP/JSON.
fn message(trace: &str) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"cart"}}}}]}},
        "scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"00f067aa0ba902b7","name":"add","kind":2,
        "startTimeUnixNano":"1768208400000000000","endTimeUnixNano":"1768208400005000000"}}]}}]}}]}}"#
    )
}

/// A trace id and the path of its lookup.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const TRACE_PATH: &str = "/api/v1/traces/0af7651916cd43dd8448eb211c80319c";
