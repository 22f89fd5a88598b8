//! `laggard serve` as a process whose log is read while it runs, and which is killed.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Slices, flushes, compactions and retention as often as can be.
const SETTINGS: [&str; 6] = [
    "store.slice=2s",
    "store.idle=300ms",
    "store.upkeep=150ms",
    "store.keep_for=1d",
    "logs.form=json",
    "logs.level=info,laggard_store=debug",
];

/// How long a server may take to say what is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    child: OwnedChild,
    lines: Receiver<Value>,
    reading: JoinHandle<()>,
    /// What it does now, by its log.
    doing: Doing,
    told_to_stop: bool,
}

/// A process that does not outlive a test that fails.
struct OwnedChild(Child);

impl Drop for OwnedChild {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where a server listens.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) http: SocketAddr,
    pub(crate) otlp_http: SocketAddr,
    pub(crate) otlp_grpc: SocketAddr,
    pub(crate) zipkin: SocketAddr,
}

/// Stretches of work that have begun and not ended.
#[derive(Default)]
struct Doing {
    begun: BTreeSet<String>,
    listeners: Vec<(String, SocketAddr)>,
}

impl Doing {
    fn note(&mut self, line: &Value) {
        assert!(!line.to_string().contains("panicked"), "{line}");
        let message = line["message"].as_str().unwrap_or_default();
        if message == "stopping" {
            self.begun.insert("stop".to_owned());
        }
        if message == "stopped" {
            self.begun.remove("stop");
        }
        if let Some(what) = message.strip_suffix(" begins") {
            self.begun.insert(what.to_owned());
        }
        if let Some(what) = message.strip_suffix(" ended") {
            self.begun.remove(what);
        }
        if let (Some(name), Some(address)) = (line["name"].as_str(), line["address"].as_str()) {
            self.listeners.push((name.to_owned(), address.parse().expect("it is an address")));
        }
    }

    fn addresses(&self) -> Option<Addresses> {
        let of = |name: &str| self.listeners.iter().find(|(known, _)| known == name).map(|(_, at)| *at);
        let (http, otlp_http) = (of("http")?, of("otlp_http")?);
        Some(Addresses { http, otlp_http, otlp_grpc: of("otlp_grpc")?, zipkin: of("zipkin")? })
    }
}

impl Process {
    pub(crate) fn start(binary: &Path, data: &Path) -> Process {
        let mut command = Command::new(binary);
        command.arg("serve").arg("--data").arg(data);
        for listener in ["--http", "--otlp-grpc", "--otlp-http", "--zipkin"] {
            command.args([listener, "127.0.0.1:0"]);
        }
        SETTINGS.iter().for_each(|setting| {
            command.args(["--set", setting]);
        });
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let log = BufReader::new(child.stderr.take().expect("it is piped"));
        let (said, lines) = channel();
        let reading = std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                // The last line may be cut off by the kill; a panic's lines are no JSON, either.
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                let _ = said.send(line);
            }
        });
        Process { child: OwnedChild(child), lines, reading, doing: Doing::default(), told_to_stop: false }
    }

    /// Waits until it listens.
    pub(crate) fn addresses(&mut self) -> Addresses {
        self.read_until(|_, doing| doing.addresses().is_some(), PATIENCE);
        self.doing.addresses().expect("it listens within a minute")
    }

    /// Waits until it begins with something; whether it did.
    pub(crate) fn begins(&mut self, what: &str, patience: Duration) -> bool {
        let wanted = if what == "stop" { "stopping".to_owned() } else { format!("{what} begins") };
        self.read_until(|line, _| line["message"] == wanted.as_str(), patience)
    }

    fn read_until(&mut self, found: impl Fn(&Value, &Doing) -> bool, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.doing.note(&line);
            if found(&line, &self.doing) {
                return true;
            }
        }
        false
    }

    /// Tells it to stop.
    pub(crate) fn terminate(&mut self) {
        let told = Command::new("kill").args(["-TERM", &self.child.0.id().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()), "it is our child");
        self.told_to_stop = true;
    }

    /// A figure of its memory in bytes: `VmRSS` now, `VmHWM` the most there ever was.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.0.id()));
        let status = status.expect("it runs, and Linux tells");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux tells it");
        let kibibytes = line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>();
        kibibytes.expect("it is a number of kB") << 10
    }

    /// Kills it; what it was doing then.
    pub(crate) fn kill(mut self) -> Vec<String> {
        let ended = self.child.0.try_wait().expect("it is our child");
        let may_have_ended = self.told_to_stop && ended.is_none_or(|status| status.success());
        assert!(ended.is_none() || may_have_ended, "it ended by itself: {ended:?}");
        self.child.0.kill().expect("it is our child");
        self.child.0.wait().expect("it is our child");
        self.reading.join().expect("reading does not panic");
        for line in self.lines.try_iter() {
            self.doing.note(&line);
        }
        let mut doing: Vec<String> = self.doing.begun.iter().cloned().collect();
        if self.doing.addresses().is_none() {
            doing.push("start".to_owned());
        }
        doing
    }
}
