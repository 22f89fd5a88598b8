//! A server with prepared responses, and a recorder that keeps a list of the calls it gets.

use laggard_agent::{Agent, AgentSettings, RecordRule, Recorder, ServerAccess, StartRecorder};
use laggard_model::Timestamp;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Prepared responses and received requests of the server.
pub(crate) struct ServerState {
    pub(crate) rule: Value,
    pub(crate) requests: Value,
    /// Statuses of the next uploads; 200 when there are no more.
    pub(crate) upload_statuses: Vec<u16>,
    pub(crate) is_down: bool,
    pub(crate) next_poll_ms: u64,
    pub(crate) polls: Vec<Value>,
    /// Paths and bodies.
    pub(crate) uploads: Vec<(String, String)>,
}

impl ServerState {
    fn end_request(&mut self, id: &str) {
        self.requests.as_array_mut().unwrap().retain(|request| request["id"] != id);
    }
}

/// Its threads end with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<ServerState>>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = ServerState {
            rule: json!({"buffer_bytes": 32 << 20, "cpu_share": 0.03}),
            requests: json!([]),
            upload_statuses: Vec::new(),
            is_down: false,
            next_poll_ms: 3_000,
            polls: Vec::new(),
            uploads: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let of_thread = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client may have closed the connection.
                let _ = answer(stream, &of_thread);
            }
        });
        Server { address, state }
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ServerState) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    pub(crate) fn last_poll(&self) -> Value {
        self.change(|state| state.polls.last().unwrap().clone())
    }
}

fn answer(stream: TcpStream, state: &Mutex<ServerState>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length =
        head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    // The header of a killed client may be incomplete.
    let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)) else { return Ok(()) };
    let path = path.to_owned();
    let mut state = state.lock().unwrap();
    let (status, answer) = if state.is_down {
        (500, json!({"detail": "down"}))
    } else if path.ends_with("/agent/poll") {
        let poll: Value = serde_json::from_slice(&body)?;
        let missed = poll["missed"].as_array().cloned().unwrap_or_default();
        missed.iter().for_each(|missed| state.end_request(missed["id"].as_str().unwrap()));
        state.polls.push(poll);
        let (rule, requests) = (&state.rule, &state.requests);
        (200, json!({"record": rule, "requests": requests, "next_poll_ms": state.next_poll_ms}))
    } else {
        state.uploads.push((path, String::from_utf8_lossy(&body).into_owned()));
        let status = if state.upload_statuses.is_empty() { 200 } else { state.upload_statuses.remove(0) };
        if status == 200 {
            let id = state.uploads.last().and_then(|(path, _)| path.rsplit('/').next()).unwrap().to_owned();
            state.end_request(&id);
        }
        (status, json!({"detail": "prepared"}))
    };
    let answer = answer.to_string();
    let length = answer.len();
    let text =
        format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{answer}");
    reader.get_mut().write_all(text.as_bytes())
}

/// Log of the calls of recorders.
#[derive(Default)]
pub(crate) struct RecorderLog {
    pub(crate) actions: Vec<String>,
    pub(crate) events: u64,
    pub(crate) in_interval: u64,
    pub(crate) refuses: bool,
}

pub(crate) type SharedLog = Arc<Mutex<RecorderLog>>;

struct FakeRecorder(SharedLog);

impl FakeRecorder {
    fn note(&self, action: &str) {
        self.0.lock().unwrap().actions.push(action.to_owned());
    }
}

impl Drop for FakeRecorder {
    fn drop(&mut self) {
        self.note("end");
    }
}

impl Recorder for FakeRecorder {
    fn recorded_events(&self) -> u64 {
        self.0.lock().unwrap().events
    }

    fn pause(&mut self) -> Result<(), String> {
        self.note("pause");
        Ok(())
    }

    fn resume(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn snapshot(&mut self, since: Timestamp, until: Timestamp, out: &mut File) -> Result<u64, String> {
        self.note("snapshot");
        write!(out, "{} {}", since.unix_ns(), until.unix_ns()).unwrap();
        Ok(self.0.lock().unwrap().in_interval)
    }
}

pub(crate) fn log() -> SharedLog {
    Arc::new(Mutex::new(RecorderLog { in_interval: 7, ..RecorderLog::default() }))
}

/// An agent of the server, with a spool.
pub(crate) fn agent(server: &Server, spool: &Path, log: &SharedLog) -> Agent {
    agent_at(&server.address.to_string(), spool, log)
}

/// An agent of the server at this address.
pub(crate) fn agent_at(address: &str, spool: &Path, log: &SharedLog) -> Agent {
    let of_start = log.clone();
    let start: StartRecorder = Box::new(move |rule: &RecordRule| {
        if of_start.lock().unwrap().refuses {
            return Err("no tracefs".to_owned());
        }
        let recorder = FakeRecorder(of_start.clone());
        recorder.note(&format!("start {}", rule.buffer_bytes));
        Ok(Box::new(recorder) as Box<dyn Recorder>)
    });
    let url = format!("http://{address}");
    let access = ServerAccess { url, token: None, tenant: None, authorities_pem: None };
    let settings = AgentSettings { server: access, host: "web-1".to_owned(), spool: spool.to_owned() };
    Agent::new(settings, start).unwrap()
}

pub(crate) fn actions(log: &SharedLog) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap().actions)
}
