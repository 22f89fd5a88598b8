//! Clients that mean no good, all at once, while a good one sends and somebody asks.

mod http1;
mod http2;
mod mutations;

use super::kill_run::{Addresses, Dice, Run, asking};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What one kind of attacker has.
pub(super) struct Attack<'a> {
    pub(super) server: Addresses,
    pub(super) dice: Dice,
    over: &'a AtomicBool,
    attempts: &'a AtomicU64,
}

impl Attack<'_> {
    /// Counts an attempt; whether it is worth while to go on.
    pub(super) fn goes_on(&self) -> bool {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        // Two processors are there for everybody.
        std::thread::sleep(Duration::from_millis(2));
        !self.over.load(Ordering::Relaxed)
    }
}

/// Attacks until it is told that it is over.
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
    ("mutations", mutations::mutated_requests),
    ("rapid reset", http2::rapid_reset),
    ("many streams", http2::many_streams),
    ("answers not taken", http2::untaken_answers),
    ("odd frames", http2::odd_frames),
];

/// What came of it.
pub(crate) struct Outcome {
    /// Attempts of each kind.
    pub(crate) attempts: BTreeMap<&'static str, u64>,
    /// Spans of the good client, all of them there once.
    pub(crate) spans: u64,
    /// Memory of the server before, bytes.
    pub(crate) memory_before: u64,
    /// The most it had, bytes.
    pub(crate) memory_most: u64,
    /// The slowest of the answers that somebody waited for.
    pub(crate) slowest: Waited,
}

/// How long an answer took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Waited {
    time: Duration,
    path: &'static str,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} spans of the good client are there once; memory {} MiB before, {} MiB at most; slowest answer {:?}; attempts {:?}",
            self.spans,
            self.memory_before >> 20,
            self.memory_most >> 20,
            self.slowest,
            self.attempts
        )
    }
}

/// Starts a server in an empty folder and attacks it for so long.
pub(crate) fn besiege(binary: &Path, data: &Path, seed: u64, length: Duration) -> Outcome {
    let mut run = Run::new(binary, data, seed);
    let (process, server) = run.start();
    let memory_before = process.memory("VmRSS:");
    let over = AtomicBool::new(false);
    let counts: Vec<AtomicU64> = ATTACKS.iter().map(|_| AtomicU64::new(0)).collect();
    let mut slowest = Waited { time: Duration::ZERO, path: "" };
    std::thread::scope(|scope| {
        for (number, (&(_, attack), attempts)) in (1..).zip(ATTACKS.iter().zip(&counts)) {
            let dice = Dice(seed << 8 | number);
            let mine = Attack { server, dice, over: &over, attempts };
            scope.spawn(move || attack(mine));
        }
        let ends = Instant::now() + length;
        while Instant::now() < ends {
            slowest = slowest.max(ask_like_others(server));
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
    });
    let found = run.check_running(server);
    let memory_most = process.memory("VmHWM:");
    run.end(process, server);
    let attempts =
        ATTACKS.iter().zip(&counts).map(|((name, _), count)| (*name, count.load(Ordering::Relaxed)));
    Outcome { attempts: attempts.collect(), spans: found.spans, memory_before, memory_most, slowest }
}

/// What somebody with a browser, and whoever watches the server, want to know.
fn ask_like_others(server: Addresses) -> Waited {
    let waited = ["/healthz", "/readyz", "/api/v1/status", "/api/v1/services"].map(|path| {
        let begun = Instant::now();
        let answered = asking::ask(server.http, "GET", path, "").expect("others are served");
        // Who finds too many questions waiting is told to come back.
        let busy = path == "/api/v1/services" && answered.status == 503;
        assert!(answered.status == 200 || busy, "{path}: {}: {}", answered.status, answered.body);
        Waited { time: begun.elapsed(), path }
    });
    waited.into_iter().max().expect("there are four")
}
