//! The server that clients send to.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running `laggard serve`; dropping it kills it.
pub(crate) struct Server {
    child: Child,
    addresses: BTreeMap<String, String>,
}

/// Flags of the addresses, by the names of the listeners.
const LISTENERS: [(&str, &str); 4] =
    [("http", "--http"), ("otlp_grpc", "--otlp-grpc"), ("otlp_http", "--otlp-http"), ("zipkin", "--zipkin")];

impl Server {
    /// Starts a server on free ports and waits until it listens.
    pub(crate) fn start(data: &Path) -> Server {
        let free = LISTENERS.map(|(name, _)| (name.to_owned(), "127.0.0.1:0".to_owned()));
        Server::start_at(data, &BTreeMap::from(free))
    }

    /// Starts a server at the addresses of an earlier one.
    pub(crate) fn start_at(data: &Path, addresses: &BTreeMap<String, String>) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laggard"));
        command.arg("serve").arg("--data").arg(data);
        // The spans date from January, the metrics from today.
        command.args(["--set", "logs.form=json", "--set", "store.keep_for=off"]);
        for (name, flag) in LISTENERS {
            command.args([flag, &addresses[name]]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut addresses = BTreeMap::new();
        while addresses.len() < LISTENERS.len() {
            let line = lines.next().expect("the server logs its addresses").unwrap();
            let entry: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            if let (Some(name), Some(address)) = (entry["name"].as_str(), entry["address"].as_str()) {
                addresses.insert(name.to_owned(), address.to_owned());
            }
        }
        // The pipe must be read, since the server would block on a full one.
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, addresses }
    }

    /// The URL of a listener.
    pub(crate) fn url(&self, listener: &str) -> String {
        format!("http://{}", self.addresses[listener])
    }

    /// All addresses, by the name of the listener.
    pub(crate) fn addresses(&self) -> BTreeMap<String, String> {
        self.addresses.clone()
    }

    /// The response body of a request without a body.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, path: &str) -> String {
        self.exchange(method, path, &[])
    }

    /// Posts a file.
    #[track_caller]
    pub(crate) fn send_file(&self, path: &str, file: &Path) {
        self.exchange("POST", path, &std::fs::read(file).unwrap());
    }

    #[track_caller]
    fn exchange(&self, method: &str, path: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.addresses["http"]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 2"), "{path}: {answer}");
        body.to_owned()
    }

    /// Finalizes open traces.
    pub(crate) fn flush(&self) {
        self.request("POST", "/api/v1/flush");
    }

    /// Ingest and storage counters.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.request("GET", "/api/v1/status")).unwrap()
    }

    /// Counters of one receiver, from the status.
    pub(crate) fn received(&self, receiver: &str) -> Value {
        let status = self.status();
        let row = status["receivers"].as_array().unwrap().iter().find(|row| row["name"] == receiver);
        row.unwrap_or_else(|| panic!("no receiver {receiver}: {status}")).clone()
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops the server with SIGTERM.
    pub(crate) fn stop(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
