//! `laggard agent` and a server on machines with tracefs: a rule, a request, a recording, and kills of both.

use crate::recorder::{LAGGARD, Tracefs, folder, machine, until};
use laggard_kernel_formats::open;
use laggard_model::EventKind;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that is killed when dropped.
struct Process(Child);

impl Process {
    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server on an address (port 0 for a free one); returns the server and its address.
fn serve(data: &Path, address: &str, hosts: &str) -> (Process, String) {
    let mut command = Command::new(LAGGARD);
    command.args(["serve", "--http", address, "--set", "logs.form=json", "--set", hosts, "--data"]).arg(data);
    for flag in ["--otlp-grpc", "--otlp-http", "--zipkin"] {
        command.args([flag, "off"]);
    }
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines.by_ref().map(Result::unwrap).find_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        let fields = [&line, &line["fields"]];
        Some(fields.iter().find_map(|fields| fields["address"].as_str())?.to_owned())
    });
    // The pipe must be read, since the server would block on a full one.
    std::thread::spawn(move || lines.for_each(drop));
    (Process(child), address.unwrap())
}

fn agent(address: &str, spool: &Path) -> Process {
    let mut command = Command::new(LAGGARD);
    command
        .args(["agent", "--server", &format!("http://{address}"), "--host", "web-1", "--spool"])
        .arg(spool);
    Process(command.stderr(Stdio::null()).spawn().unwrap())
}

/// Sends a request; returns status and body of the response.
fn http(address: &str, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, answer[head + 4..].to_vec())
}

fn list(address: &str) -> Value {
    serde_json::from_slice(&http(address, "GET", "/api/v1/recordings", "").1).unwrap()
}

fn records(address: &str) -> bool {
    list(address)["agents"].as_array().unwrap().iter().any(|agent| agent["recording"] == json!(true))
}

/// Requests a recording of the last two seconds; returns its id.
fn request(address: &str) -> String {
    let body = json!({"hosts": ["web-1"], "since": "-2s", "reason": "test"}).to_string();
    let (status, answer) = http(address, "POST", "/api/v1/recordings", &body);
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["recordings"][0]["id"].as_str().unwrap().to_owned()
}

fn recording(address: &str, id: &str) -> Value {
    let list = list(address);
    let recordings = list["recordings"].as_array().unwrap();
    recordings.iter().find(|recording| recording["id"] == id).unwrap().clone()
}

const WEB: &str = "recordings.hosts=web-*";

#[test]
fn only_the_requested_interval_is_uploaded() {
    let Some(_machine) = machine() else { return };
    let (folder, tracefs) = (folder(), Tracefs::mount());
    let (_server, address) = serve(&folder.path().join("data"), "127.0.0.1:0", WEB);
    let agent = agent(&address, &folder.path().join("spool"));
    until("the agent records", || records(&address));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let id = request(&address);
    until("the recording is stored", || recording(&address, &id)["state"] == "stored");

    let file = folder.path().join("trace.dat");
    let (status, content) = http(&address, "GET", &format!("/api/v1/recordings/{id}"), "");
    assert_eq!(status, 200);
    std::fs::write(&file, &content).unwrap();
    let listed = recording(&address, &id);
    let interval = listed["since_ns"].as_i64().unwrap()..=listed["until_ns"].as_i64().unwrap();
    let (mut switches, mut times) = (0, Vec::new());
    let read = open(&file).unwrap().read(|event, texts| {
        match event.kind {
            EventKind::Switch { .. } => switches += 1,
            EventKind::Exec { .. } => panic!("paths of programs are not recorded"),
            EventKind::Marker { text } => panic!("a marker: {}", texts.text(text)),
            _ => {}
        }
        times.push(event.time);
    });
    let calendar = read.facts.calendar.unwrap();
    // The offset is stored to the microsecond.
    let outside = times.iter().map(|&time| calendar.to_unix(time).unix_ns());
    let outside: Vec<i64> =
        outside.filter(|ns| !interval.contains(&(ns + 2_000)) && !interval.contains(&(ns - 2_000))).collect();
    assert!(switches > 10 && outside.is_empty(), "{switches} {outside:?}");
    let question = json!({"recording": id}).to_string();
    let (status, answer) = http(&address, "POST", "/api/v1/recordings/path?wait=true", &question);
    let report: Value = serde_json::from_slice(&answer).unwrap();
    assert!(status == 200 && report["executions"].as_array().unwrap().len() > 1, "{report}");
    let spooled = std::fs::read_dir(folder.path().join("spool")).unwrap().count();
    assert_eq!(spooled, 1, "only the lock is left");

    let pid = agent.pid();
    assert!(tracefs.has_buffer_of(pid));
    Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap();
    until("the buffer is gone", || !tracefs.has_buffer_of(pid));
}

#[test]
fn without_a_rule_nothing_is_recorded() {
    let Some(_machine) = machine() else { return };
    let (folder, tracefs) = (folder(), Tracefs::mount());
    let (_server, address) = serve(&folder.path().join("data"), "127.0.0.1:0", "recordings.hosts=db-*");
    let agent = agent(&address, &folder.path().join("spool"));
    until("the agent polls", || list(&address)["agents"] != json!([]));
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(!records(&address) && !tracefs.has_buffer_of(agent.pid()));
    let body = json!({"hosts": ["web-1"]}).to_string();
    let (status, answer) = http(&address, "POST", "/api/v1/recordings", &body);
    assert!(status == 409 && String::from_utf8_lossy(&answer).contains("may not record"));
}

/// The guardian is killed first, so that only the next agent can remove the buffer.
#[test]
fn a_stale_trace_buffer_is_removed_by_the_next_agent() {
    let Some(_machine) = machine() else { return };
    let (folder, tracefs) = (folder(), Tracefs::mount());
    let spool = folder.path().join("spool");
    let (_server, address) = serve(&folder.path().join("data"), "127.0.0.1:0", WEB);
    let first = agent(&address, &spool);
    until("the agent records", || records(&address));
    let pid = first.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let guardian = children.split_whitespace().next().unwrap();
    assert!(Command::new("kill").args(["-KILL", guardian]).status().unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(200));
    first.kill();
    assert!(tracefs.has_buffer_of(pid));
    let second = agent(&address, &spool);
    until("the second agent records", || tracefs.has_buffer_of(second.pid()));
    assert!(!tracefs.has_buffer_of(pid));
}

/// Server and agent are killed while requests are pending: every request ends with one recording or with a reason.
#[test]
fn kills_of_server_and_agent_lose_no_recording_request_and_leave_no_buffers() {
    let Some(_machine) = machine() else { return };
    let (folder, tracefs) = (folder(), Tracefs::mount());
    let (data, spool) = (folder.path().join("data"), folder.path().join("spool"));
    let (mut server, address) = serve(&data, "127.0.0.1:0", WEB);
    let mut running = agent(&address, &spool);
    let mut ids = Vec::new();
    for delay_ms in [0, 40, 300, 1_500] {
        until("the agent records", || records(&address));
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        ids.push(request(&address));
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        let pid = running.pid();
        running.kill();
        until("the guardian removed the buffer", || !tracefs.has_buffer_of(pid));
        server.kill();
        server = serve(&data, &address, WEB).0;
        running = agent(&address, &spool);
    }
    until("every request has ended", || ids.iter().all(|id| recording(&address, id)["state"] != "pending"));
    let files = std::fs::read_dir(data.join("tenants/default/recordings")).unwrap();
    let files =
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "dat"));
    let stored = ids.iter().filter(|id| recording(&address, id)["state"] == "stored").count();
    assert_eq!((list(&address)["recordings"].as_array().unwrap().len(), files.count()), (ids.len(), stored));
    running.kill();
    drop(server);
}
