//! A `laggard serve` process whose log is read while it runs and which is killed.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Settings that make flushes, compactions, and retention as frequent as possible.
pub(super) const FREQUENT_UPKEEP: [&str; 6] = [
    "store.slice=2s",
    "store.idle=300ms",
    "store.upkeep=150ms",
    "store.keep_for=1d",
    "logs.form=json",
    "logs.level=info,laggard_store=debug",
];

/// Exit status of a server whose folder is in use.
const REFUSED: i32 = 3;

/// Maximum time to wait for a log line.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    child: Arc<Mutex<OwnedChild>>,
    lines: Receiver<Value>,
    reading: JoinHandle<()>,
    /// Current operations according to the log.
    activity: Activity,
    is_stopping: bool,
}

/// A process that is killed when dropped, even if the test fails.
struct OwnedChild(Child);

impl Drop for OwnedChild {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Addresses of a server's listeners.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) http: SocketAddr,
    pub(crate) otlp_http: SocketAddr,
    pub(crate) otlp_grpc: SocketAddr,
    pub(crate) zipkin: SocketAddr,
}

/// Operations that have started and not finished.
#[derive(Default)]
struct Activity {
    started: BTreeSet<String>,
    listeners: Vec<(String, SocketAddr)>,
}

impl Activity {
    fn record(&mut self, line: &Value) {
        assert!(!line.to_string().contains("panicked"), "{line}");
        let message = line["message"].as_str().unwrap_or_default();
        if message == "stopping" {
            self.started.insert("stop".to_owned());
        }
        if message == "stopped" {
            self.started.remove("stop");
        }
        if let Some(operation) = message.strip_suffix(" begins") {
            self.started.insert(operation.to_owned());
        }
        if let Some(operation) = message.strip_suffix(" ended") {
            self.started.remove(operation);
        }
        if let (Some(name), Some(address)) = (line["name"].as_str(), line["address"].as_str()) {
            self.listeners.push((name.to_owned(), address.parse().expect("the log contains an address")));
        }
    }

    fn addresses(&self) -> Option<Addresses> {
        let address =
            |name: &str| self.listeners.iter().find(|(known, _)| known == name).map(|(_, address)| *address);
        let (http, otlp_http) = (address("http")?, address("otlp_http")?);
        Some(Addresses { http, otlp_http, otlp_grpc: address("otlp_grpc")?, zipkin: address("zipkin")? })
    }
}

impl Process {
    /// Starts a server with these settings, which must include `logs.form=json`.
    pub(crate) fn start_with<S: AsRef<str>>(binary: &Path, data: &Path, settings: &[S]) -> Process {
        let mut command = Command::new(binary);
        command.arg("serve").arg("--data").arg(data);
        for listener in ["--http", "--otlp-grpc", "--otlp-http", "--zipkin"] {
            command.args([listener, "127.0.0.1:0"]);
        }
        settings.iter().for_each(|setting| {
            command.args(["--set", setting.as_ref()]);
        });
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let log = BufReader::new(child.stderr.take().expect("standard error is piped"));
        let (sender, lines) = channel();
        let reading = std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                // The last line may be truncated by the kill, and lines of a panic are not JSON.
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                let _ = sender.send(line);
            }
        });
        Process {
            child: Arc::new(Mutex::new(OwnedChild(child))),
            lines,
            reading,
            activity: Activity::default(),
            is_stopping: false,
        }
    }

    /// Starts two servers on one folder at the same time. One of them has to refuse; the other one is returned.
    pub(crate) fn start_two<S: AsRef<str>>(binary: &Path, data: &Path, settings: &[S]) -> Process {
        let [first, second] = [(); 2].map(|()| Process::start_with(binary, data, settings));
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match (first.exit_code(), second.exit_code()) {
                (None, None) => std::thread::sleep(Duration::from_millis(2)),
                (Some(code), None) => return second.after_refusal(code),
                (None, Some(code)) => return first.after_refusal(code),
                both => panic!("both servers ended: {both:?}"),
            }
        }
        panic!("two servers run on one folder");
    }

    /// This server, after another one has ended.
    fn after_refusal(self, other: i32) -> Process {
        assert_eq!(other, REFUSED, "the other server is refused");
        self
    }

    /// Waits until the server ends because another one has its folder.
    pub(crate) fn expect_refused(self) {
        let until = Instant::now() + PATIENCE;
        while self.exit_code().is_none() {
            assert!(Instant::now() < until, "two servers run on one folder");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(self.exit_code(), Some(REFUSED), "it is refused");
    }

    /// The exit status, if the process has ended by itself; that of a signal is -1.
    fn exit_code(&self) -> Option<i32> {
        let ended = self.child().0.try_wait().expect("the child exists");
        ended.map(|status| status.code().unwrap_or(-1))
    }

    fn child(&self) -> MutexGuard<'_, OwnedChild> {
        self.child.lock().expect("no thread panics while it holds the lock")
    }

    /// Kills the process from any thread, also after it has exited; it must still be dropped.
    pub(crate) fn killer(&self) -> impl Fn() + Send + use<> {
        let child = Arc::clone(&self.child);
        move || {
            // It may have exited already.
            let _ = child.lock().expect("no thread panics while it holds the lock").0.kill();
        }
    }

    /// Waits until it listens.
    pub(crate) fn addresses(&mut self) -> Addresses {
        self.read_until(|_, activity| activity.addresses().is_some(), PATIENCE);
        self.activity.addresses().expect("the server listens within a minute")
    }

    /// Waits until an operation starts; returns whether it did.
    pub(crate) fn begins(&mut self, operation: &str, patience: Duration) -> bool {
        let expected =
            if operation == "stop" { "stopping".to_owned() } else { format!("{operation} begins") };
        self.read_until(|line, _| line["message"] == expected.as_str(), patience)
    }

    fn read_until(&mut self, is_reached: impl Fn(&Value, &Activity) -> bool, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            self.activity.record(&line);
            if is_reached(&line, &self.activity) {
                return true;
            }
        }
        false
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&mut self) {
        let status = Command::new("kill").args(["-TERM", &self.child().0.id().to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "the child can be signaled");
        self.is_stopping = true;
    }

    /// Memory of the process in bytes: `VmRSS` is the current resident size, `VmHWM` its peak.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child().0.id()));
        let status = status.expect("the process is running");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the status has this line");
        let kibibytes = line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>();
        kibibytes.expect("the value is in kB") << 10
    }

    /// Kills the process; returns the operations that were interrupted.
    pub(crate) fn kill(mut self) -> Vec<String> {
        let ended = self.child().0.try_wait().expect("the child exists");
        let may_have_ended = self.is_stopping && ended.is_none_or(|status| status.success());
        assert!(ended.is_none() || may_have_ended, "the server exited unexpectedly: {ended:?}");
        self.child().0.kill().expect("the child exists");
        self.child().0.wait().expect("the child exists");
        self.reading.join().expect("reading does not panic");
        for line in self.lines.try_iter() {
            self.activity.record(&line);
        }
        let mut activity: Vec<String> = self.activity.started.iter().cloned().collect();
        if self.activity.addresses().is_none() {
            activity.push("start".to_owned());
        }
        activity
    }
}
