//! Simultaneous hostile clients, while a well-behaved one sends spans and another one queries.

mod http1;
mod http2;
mod mutations;

use super::kill_run::http_client::Connection;
use super::kill_run::{Addresses, Run, SplitMix};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// State of one attacker.
pub(super) struct Attack<'a> {
    pub(super) server: Addresses,
    pub(super) random: SplitMix,
    over: &'a AtomicBool,
    attempts: &'a AtomicU64,
}

impl Attack<'_> {
    /// Counts an attempt and returns whether to continue.
    pub(super) fn should_continue(&self) -> bool {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        // All attackers share two processors.
        std::thread::sleep(Duration::from_millis(2));
        !self.over.load(Ordering::Relaxed)
    }
}

/// How much nicer attackers are than the server, since real ones do not run on its processors: each of their threads gets a ninth of
/// what one of the server gets.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Attacks until `Attack::over` is set.
type Attacker = fn(Attack<'_>);

/// Every kind of attacker; each runs on a thread of its own.
const ATTACKS: &[(&str, Attacker)] = &[
    ("slow loris", http1::slow_loris),
    ("gzip bomb", http1::gzip_bombs),
    ("zstd bomb", http1::zstd_bombs),
    ("a gigabyte", http1::gigabytes),
    ("nesting", http1::nesting),
    ("content types", http1::wrong_types),
    ("random bytes", http1::random_bytes),
    ("many jobs", http1::many_jobs),
    ("half-open", http1::half_open),
    ("new names", http1::new_names),
    ("mutations", mutations::mutated_requests),
    ("rapid reset", http2::rapid_reset),
    ("many streams", http2::many_streams),
    ("unread responses", http2::unread_responses),
    ("odd frames", http2::odd_frames),
];

/// Result of an attack run.
pub(crate) struct Outcome {
    /// Attempts of each kind.
    pub(crate) attempts: BTreeMap<&'static str, u64>,
    /// Spans of the well-behaved client, each stored exactly once.
    pub(crate) spans: u64,
    /// Resident memory of the server before the attack, bytes.
    pub(crate) memory_before: u64,
    /// Peak resident memory, bytes.
    pub(crate) memory_most: u64,
    /// Responses to the well-behaved client.
    pub(crate) responses: usize,
    /// Queries among them, and those of them that were refused because the server was busy.
    pub(crate) queries: usize,
    pub(crate) refused: usize,
    /// Those that took longer than [`RESPONSE_TIME_MAX`].
    pub(crate) late: usize,
    /// The one that took longest.
    pub(crate) slowest: ResponseTime,
}

/// Address of the well-behaved client. Clients are served in turn, by their addresses; all attackers have another one.
const WELL_BEHAVED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// What the well-behaved client asks, as a monitoring system does …
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/api/v1/status"];
/// … and of the stored data, as a browser does.
const QUERIES: [&str; 4] = ["/api/v1/services", "/api/v1/overview", "/api/v1/categories", "/api/v1/search"];

/// How long a response may take at most.
const RESPONSE_TIME_MAX: Duration = Duration::from_secs(2);

/// Response time of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ResponseTime {
    time: Duration,
    path: &'static str,
    is_refused: bool,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} spans of the well-behaved client are stored once; memory {} MiB before, {} MiB at most, of {} MiB; {} of {} responses took longer \
             than {RESPONSE_TIME_MAX:?}, the slowest {:?} ({}); {} of {} queries were refused; attempts {:?}",
            self.spans,
            self.memory_before >> 20,
            self.memory_most >> 20,
            MEMORY_MAX >> 20,
            self.late,
            self.responses,
            self.slowest.time,
            self.slowest.path,
            self.refused,
            self.queries,
            self.attempts
        )
    }
}

/// The limit on the memory of the server under attack, bytes …
pub(crate) const MEMORY_MAX: u64 = 1 << 30;

/// … as it is configured.
const SETTINGS: [&str; 2] = ["logs.form=json", "memory=1GiB"];

/// With the default limit, a server reads all requests of the siege to count them.
const SETTINGS_OF_CHECK: [&str; 1] = ["logs.form=json"];

/// Starts a server in an empty folder and attacks it for a time.
pub(crate) fn besiege(binary: &Path, data: &Path, seed: u64, length: Duration) -> Outcome {
    let mut run = Run::with_settings(binary, data, seed, &SETTINGS);
    let (process, server) = run.start();
    let memory_before = process.memory("VmRSS:");
    let over = AtomicBool::new(false);
    let counts: Vec<AtomicU64> = ATTACKS.iter().map(|_| AtomicU64::new(0)).collect();
    let mut times: Vec<ResponseTime> = Vec::new();
    std::thread::scope(|scope| {
        let _attackers_end = SetOnDrop(&over);
        for (number, (&(_, attack), attempts)) in (1..).zip(ATTACKS.iter().zip(&counts)) {
            let random = SplitMix(seed << 8 | number);
            let state = Attack { server, random, over: &over, attempts };
            scope.spawn(move || {
                #[cfg(target_os = "linux")]
                rustix::process::nice(NICENESS).expect("niceness can be increased");
                attack(state);
            });
        }
        let ends = Instant::now() + length;
        while Instant::now() < ends {
            times.extend(response_times(server));
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let memory_most = process.memory("VmHWM:");
    let outcome = run.check_after(process, &SETTINGS_OF_CHECK);
    run.stop();
    let attempts =
        ATTACKS.iter().zip(&counts).map(|((name, _), count)| (*name, count.load(Ordering::Relaxed)));
    Outcome {
        attempts: attempts.collect(),
        spans: outcome.spans,
        memory_before,
        memory_most,
        responses: times.len(),
        queries: times.iter().filter(|response| QUERIES.contains(&response.path)).count(),
        refused: (times.iter())
            .filter(|response| QUERIES.contains(&response.path) && response.is_refused)
            .count(),
        late: times.iter().filter(|response| response.time > RESPONSE_TIME_MAX).count(),
        slowest: times.into_iter().max().expect("there was a response"),
    }
}

/// Ends the attackers, also when an assertion fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Queries the server like a browser and a monitoring system.
fn response_times(server: Addresses) -> impl Iterator<Item = ResponseTime> {
    PROBES.into_iter().chain(QUERIES).map(move |path| {
        let started = Instant::now();
        let connection = Connection::open_from(WELL_BEHAVED, server.http);
        let response = connection.and_then(|mut connection| connection.request("GET", path, ""));
        let response = response.expect("other clients are served");
        // A query is rejected with 503 while too many others are waiting.
        // So is telemetry while the process has nearly reached its limit of memory, and then it is not ready.
        let is_refused = (path == "/readyz" || QUERIES.contains(&path)) && response.status == 503;
        assert!(response.status == 200 || is_refused, "{path}: {}: {}", response.status, response.body);
        ResponseTime { time: started.elapsed(), path, is_refused }
    })
}
