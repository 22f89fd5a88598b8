//! Kills the running server at random instants while it ingests, flushes, compacts, deletes, and replays.

pub(crate) mod http_client;
mod process;
mod senders;

pub(crate) use process::{Addresses, Process};
pub(super) use senders::unix_ns;
use senders::{LANE, OPERATIONS, Traffic};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Reproducible random numbers (SplitMix64, Steele et al. 2014).
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

/// An operation to kill the server in: at a random time up to `within_us` microseconds after it starts, which is about as long
/// as the operation takes.
struct Aim {
    operation: &'static str,
    within_us: u64,
}

/// Operations that every second kill aims at; the others come at random times.
const AIMS: [Aim; 7] = [
    Aim { operation: "flush", within_us: 20_000 },
    Aim { operation: "compaction", within_us: 20_000 },
    Aim { operation: "log sync", within_us: 1_000 },
    Aim { operation: "manifest swap", within_us: 2_000 },
    Aim { operation: "retention", within_us: 2_000 },
    Aim { operation: "replay", within_us: 2_000 },
    Aim { operation: "stop", within_us: 60_000 },
];

/// In so many kills a second server is started twice: at the same time as the first, and while that runs.
const SECOND_EVERY: u64 = 8;

/// Traces that every check looks up individually.
const LOOKED_UP: u64 = 20;

/// A run of kills.
pub(crate) struct Run {
    binary: PathBuf,
    data: PathBuf,
    settings: Vec<String>,
    random: SplitMix,
    begun_ns: u64,
    traffic: Arc<Traffic>,
    senders: Vec<JoinHandle<()>>,
    kills: u64,
    /// Number of kills during each operation.
    pub(crate) killed_in: BTreeMap<String, u64>,
    /// Servers that were started on the folder of another one, and refused.
    pub(crate) second_servers: u64,
}

/// Result of a check that found every acknowledged span exactly once.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) spans: u64,
    /// Messages that were resent for lack of a response.
    pub(crate) repeated: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} acknowledged spans are there once; {} messages were sent again",
            self.spans, self.repeated
        )
    }
}

impl Run {
    /// Starts senders for a server on an empty folder, whose open traces are flushed every 120 ms.
    pub(crate) fn new(binary: &Path, data: &Path, seed: u64) -> Run {
        let mut run = Run::with_settings(binary, data, seed, &process::FREQUENT_UPKEEP);
        let traffic = Arc::clone(&run.traffic);
        run.senders.push(std::thread::spawn(move || traffic.flush()));
        run
    }

    /// Starts senders for a server with these settings, which must include `logs.form=json`.
    pub(crate) fn with_settings(binary: &Path, data: &Path, seed: u64, settings: &[&str]) -> Run {
        let begun_ns = unix_ns();
        let traffic = Arc::new(Traffic::default());
        let sender = |lane: usize| {
            let traffic = Arc::clone(&traffic);
            std::thread::spawn(move || traffic.send(lane))
        };
        let senders = vec![sender(0), sender(1)];
        Run {
            binary: binary.to_owned(),
            data: data.to_owned(),
            settings: texts(settings),
            random: SplitMix(seed),
            begun_ns,
            traffic,
            senders,
            kills: 0,
            killed_in: BTreeMap::new(),
            second_servers: 0,
        }
    }

    /// Starts a server, or by mistake two, lets it run for a while, and kills it.
    pub(crate) fn kill_once(&mut self) {
        let mut process = match self.kills % SECOND_EVERY {
            4 => Process::start_two(&self.binary, &self.data, &self.settings),
            _ => Process::start_with(&self.binary, &self.data, &self.settings),
        };
        self.second_servers += u64::from(self.kills % SECOND_EVERY == 4);
        let aim = (self.kills % 2 == 1).then(|| &AIMS[self.kills as usize / 2 % AIMS.len()]);
        match aim {
            Some(aim) if aim.operation == "replay" => {}
            // Possibly during startup.
            None if self.kills.is_multiple_of(8) => self.wait_us(250_000),
            _ => {
                self.send_to(process.addresses());
                self.wait_us(600_000);
            }
        }
        if self.kills % SECOND_EVERY == 2 {
            // The lock is on the folder: removing its file does not help.
            if self.kills % (2 * SECOND_EVERY) == 2 {
                std::fs::remove_file(self.data.join("lock")).expect("the server has made it");
            }
            Process::start_with(&self.binary, &self.data, &self.settings).expect_refused();
            self.second_servers += 1;
        }
        if let Some(aim) = aim {
            if aim.operation == "stop" {
                process.terminate();
            }
            // If the operation does not start in time, the kill comes at a random time.
            process.begins(aim.operation, Duration::from_secs(4));
            self.wait_us(aim.within_us);
        }
        for doing in process.kill() {
            *self.killed_in.entry(doing).or_default() += 1;
        }
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = None;
        self.kills += 1;
    }

    /// Starts a server that runs until [`Run::end`].
    pub(crate) fn start(&self) -> (Process, Addresses) {
        let mut process = Process::start_with(&self.binary, &self.data, &self.settings);
        let server = process.addresses();
        self.send_to(server);
        (process, server)
    }

    fn send_to(&self, server: Addresses) {
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = Some(server);
    }

    fn wait_us(&mut self, most: u64) {
        std::thread::sleep(Duration::from_micros(self.random.below(most)));
    }

    /// Starts a server, flushes open traces, checks every span, and kills the server.
    pub(crate) fn check(&mut self) -> Outcome {
        let (process, server) = self.start();
        let traffic = Arc::clone(&self.traffic);
        let whole = traffic.whole.write().expect("no sender panics");
        post(server, "/api/v1/flush", "");
        let outcome = self.verify(server);
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = None;
        drop(whole);
        process.kill();
        outcome
    }

    /// Kills a running server, and checks every span with one that has other settings.
    pub(crate) fn check_after(&mut self, process: Process, settings: &[&str]) -> Outcome {
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = None;
        process.kill();
        self.settings = texts(settings);
        self.check()
    }

    fn verify(&mut self, server: Addresses) -> Outcome {
        let ready = get(server, "/readyz");
        let problems = ready["problems"].as_array().expect("a list");
        assert!(problems.iter().all(|problem| problem["name"] == "torn_log"), "{ready}");
        let traces: [u64; 2] = [0, 1].map(|lane: usize| self.traffic.traces[lane].load(Ordering::Relaxed));
        let sent = traces[0] + traces[1];
        let window = format!("since={}&until={}", self.begun_ns, unix_ns());
        let listed = get(server, &format!("/api/v1/categories?{window}&service=shop"));
        let categories = listed["categories"].as_array().expect("a list");
        let whole = categories.len() == 1 && categories[0]["positions"] == 4;
        let all = whole && categories[0]["requests"] == sent;
        assert!(all, "{sent} traces of four spans: {listed}; {:?}", incomplete_traces(server, traces));
        for _ in 0..LOOKED_UP {
            let lane = self.random.below(2);
            let trace = lane * LANE + 1 + self.random.below(traces[lane as usize].max(1));
            check_trace(server, trace);
        }
        Outcome { spans: 4 * sent, repeated: self.traffic.repeated.load(Ordering::Relaxed) }
    }

    /// Stops the senders after complete traces; returns how many traces each sender has sent.
    pub(crate) fn stop(self) -> [u64; 2] {
        let (process, server) = self.start();
        self.end(process, server)
    }

    /// Stops the senders and kills the running server.
    pub(crate) fn end(self, process: Process, server: Addresses) -> [u64; 2] {
        self.traffic.stopped.store(true, Ordering::Relaxed);
        for sender in self.senders {
            sender.join().expect("senders do not panic");
        }
        post(server, "/api/v1/flush", "");
        process.kill();
        [0, 1].map(|lane: usize| self.traffic.traces[lane].load(Ordering::Relaxed))
    }
}

fn texts(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|setting| (*setting).to_owned()).collect()
}

/// Traces that do not have exactly their four spans in individual lookups, with the spans they have.
fn incomplete_traces(server: Addresses, traces: [u64; 2]) -> Vec<String> {
    let mut connection = http_client::Connection::open(server.http).expect("the server responds");
    let mut found = Vec::new();
    for trace in (0..2).flat_map(|lane| (1..=traces[lane as usize]).map(move |trace| lane * LANE + trace)) {
        let path = format!("/api/v1/traces/{trace:032x}");
        let response = connection.request("GET", &path, "").expect("the server responds");
        let trace_json: Value = serde_json::from_str(&response.body).expect("the response is JSON");
        if trace_json["spans"].as_array().is_none_or(|spans| spans.len() != OPERATIONS.len()) {
            found.push(format!("{trace:x}: {}", response.body));
        }
    }
    found
}

fn check_trace(server: Addresses, trace: u64) {
    let trace_json = get(server, &format!("/api/v1/traces/{trace:032x}"));
    let spans = trace_json["spans"].as_array().unwrap_or_else(|| panic!("trace {trace}: {trace_json}"));
    let mut actual: Vec<(String, String)> = (spans.iter())
        .map(|span| {
            let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
            (text("span"), text("operation"))
        })
        .collect();
    actual.sort();
    let expected: Vec<(String, String)> = (4 * trace..)
        .zip(OPERATIONS)
        .map(|(span, operation)| (format!("{span:016x}"), operation.to_owned()))
        .collect();
    assert_eq!(actual, expected, "{trace_json}");
}

/// Asks again while the server is too busy, for half a minute.
fn get(server: Addresses, path: &str) -> Value {
    let started = Instant::now();
    let response = loop {
        let response = http_client::request(server.http, "GET", path, "").expect("the server responds");
        if !response.body.contains("urn:laggard:busy") || started.elapsed() > Duration::from_secs(30) {
            break response;
        }
        std::thread::sleep(Duration::from_millis(500));
    };
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    serde_json::from_str(&response.body).expect("the response is JSON")
}

fn post(server: Addresses, path: &str, body: &str) {
    let response = http_client::request(server.http, "POST", path, body).expect("the server responds");
    assert!(response.status < 300, "{path}: {}: {}", response.status, response.body);
}
