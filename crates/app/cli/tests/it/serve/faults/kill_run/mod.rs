//! The running server is killed at random instants while it takes, flushes, compacts, deletes and replays.

pub(crate) mod asking;
mod process;
mod sending;

pub(crate) use process::{Addresses, Process};
use sending::{LANE, OPERATIONS, Traffic, unix_ns};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// Small random numbers from a seed (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

/// What a kill is to come into: at most so many microseconds after the server began with it, which is about as long
/// as it takes.
struct Aim {
    what: &'static str,
    within_us: u64,
}

/// Every other kill comes at any time.
const AIMS: [Aim; 5] = [
    Aim { what: "flush", within_us: 20_000 },
    Aim { what: "compaction", within_us: 20_000 },
    Aim { what: "retention", within_us: 2_000 },
    Aim { what: "replay", within_us: 2_000 },
    Aim { what: "stop", within_us: 60_000 },
];

/// Traces that every look asks for one by one.
const ASKED_FOR: u64 = 20;

/// A run of kills.
pub(crate) struct Run {
    binary: PathBuf,
    data: PathBuf,
    dice: Dice,
    begun_ns: u64,
    traffic: Arc<Traffic>,
    senders: Vec<JoinHandle<()>>,
    kills: u64,
    /// How many kills came while the server did this.
    pub(crate) killed_in: BTreeMap<String, u64>,
}

/// What a look at everything found: all of it there once.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) spans: u64,
    /// Messages that were sent again, because nobody answered.
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
    /// A run in an empty folder.
    pub(crate) fn new(binary: &Path, data: &Path, seed: u64) -> Run {
        let begun_ns = unix_ns();
        let traffic = Arc::new(Traffic::default());
        let thread = |work: fn(&Traffic)| {
            let traffic = Arc::clone(&traffic);
            std::thread::spawn(move || work(&traffic))
        };
        let senders = vec![
            thread(|traffic| traffic.send(0)),
            thread(|traffic| traffic.send(1)),
            thread(|traffic| traffic.flush()),
        ];
        Run {
            binary: binary.to_owned(),
            data: data.to_owned(),
            dice: Dice(seed),
            begun_ns,
            traffic,
            senders,
            kills: 0,
            killed_in: BTreeMap::new(),
        }
    }

    /// Starts a server, lets it work for a while, and kills it.
    pub(crate) fn kill_once(&mut self) {
        let mut process = Process::start(&self.binary, &self.data);
        let aim = (self.kills % 2 == 1).then(|| &AIMS[self.kills as usize / 2 % AIMS.len()]);
        match aim {
            Some(aim) if aim.what == "replay" => {}
            // While it starts, perhaps.
            None if self.kills.is_multiple_of(8) => self.wait_us(250_000),
            _ => {
                self.turn_to(process.addresses());
                self.wait_us(600_000);
            }
        }
        if let Some(aim) = aim {
            if aim.what == "stop" {
                process.terminate();
            }
            // What does not come for so long does not matter: then it is a kill at any time.
            process.begins(aim.what, Duration::from_secs(4));
            self.wait_us(aim.within_us);
        }
        for doing in process.kill() {
            *self.killed_in.entry(doing).or_default() += 1;
        }
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = None;
        self.kills += 1;
    }

    /// Starts a server that is not killed until [`Run::end`].
    pub(crate) fn start(&self) -> (Process, Addresses) {
        let mut process = Process::start(&self.binary, &self.data);
        let server = process.addresses();
        self.turn_to(server);
        (process, server)
    }

    fn turn_to(&self, server: Addresses) {
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = Some(server);
    }

    fn wait_us(&mut self, most: u64) {
        std::thread::sleep(Duration::from_micros(self.dice.below(most)));
    }

    /// Starts a server, has everything written that is open, looks for every span, and kills it.
    pub(crate) fn check(&mut self) -> Outcome {
        let (process, server) = self.start();
        let traffic = Arc::clone(&self.traffic);
        let whole = traffic.whole.write().expect("no sender panics");
        post(server, "/api/v1/flush", "");
        let found = self.verify(server);
        *self.traffic.server.lock().expect("no thread panics while it holds the lock") = None;
        drop(whole);
        process.kill();
        found
    }

    /// Looks for every span while the server goes on.
    pub(crate) fn check_running(&mut self, server: Addresses) -> Outcome {
        let traffic = Arc::clone(&self.traffic);
        let _whole = traffic.whole.write().expect("no sender panics");
        post(server, "/api/v1/flush", "");
        self.verify(server)
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
        assert!(all, "{sent} traces of four spans: {listed}; {:?}", not_whole(server, traces));
        for _ in 0..ASKED_FOR {
            let lane = self.dice.below(2);
            let trace = lane * LANE + 1 + self.dice.below(traces[lane as usize].max(1));
            check_trace(server, trace);
        }
        Outcome { spans: 4 * sent, repeated: self.traffic.repeated.load(Ordering::Relaxed) }
    }

    /// Stops the senders: every trace was sent as a whole. Tells which traces: the first ones of every sender.
    pub(crate) fn stop(self) -> [u64; 2] {
        let (process, server) = self.start();
        self.end(process, server)
    }

    /// The same with a server that runs, which is killed.
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

/// Traces that do not have their four spans when they are asked for one by one, with what they have.
fn not_whole(server: Addresses, traces: [u64; 2]) -> Vec<String> {
    let mut connection = asking::Connection::open(server.http).expect("the server answers");
    let mut found = Vec::new();
    for trace in (0..2).flat_map(|lane| (1..=traces[lane as usize]).map(move |trace| lane * LANE + trace)) {
        let path = format!("/api/v1/traces/{trace:032x}");
        let answered = connection.ask("GET", &path, "").expect("the server answers");
        let told: Value = serde_json::from_str(&answered.body).expect("answers are JSON");
        if told["spans"].as_array().is_none_or(|spans| spans.len() != OPERATIONS.len()) {
            found.push(format!("{trace:x}: {}", answered.body));
        }
    }
    found
}

fn check_trace(server: Addresses, trace: u64) {
    let found = get(server, &format!("/api/v1/traces/{trace:032x}"));
    let spans = found["spans"].as_array().unwrap_or_else(|| panic!("trace {trace}: {found}"));
    let mut told: Vec<(String, String)> = (spans.iter())
        .map(|span| {
            let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
            (text("span"), text("operation"))
        })
        .collect();
    told.sort();
    let wanted: Vec<(String, String)> = (4 * trace..)
        .zip(OPERATIONS)
        .map(|(span, operation)| (format!("{span:016x}"), operation.to_owned()))
        .collect();
    assert_eq!(told, wanted, "{found}");
}

fn get(server: Addresses, path: &str) -> Value {
    let answered = asking::ask(server.http, "GET", path, "").expect("the server answers");
    assert_eq!(answered.status, 200, "{path}: {}", answered.body);
    serde_json::from_str(&answered.body).expect("answers are JSON")
}

fn post(server: Addresses, path: &str, body: &str) {
    let answered = asking::ask(server.http, "POST", path, body).expect("the server answers");
    assert!(answered.status < 300, "{path}: {}: {}", answered.status, answered.body);
}
