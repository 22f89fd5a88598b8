//! Senders that number their spans and resend each message until it is acknowledged.
//!
//! Trace `n` has the spans `4 n` to `4 n + 3`: `buy`, which calls `stock`, `pay` and `ship`. Its spans come in two
//! messages, so that a kill, flush, or compaction can happen in between.

use super::http_client::Connection;
use super::process::Addresses;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of traces in a message.
pub(crate) const TRACES: u64 = 10;

/// Operations of a trace; the first calls the others.
pub(crate) const OPERATIONS: [&str; 4] = ["buy", "stock", "pay", "ship"];

/// Size of the range of trace numbers of one sender.
pub(crate) const LANE: u64 = 1 << 32;

/// Age of the data that retention deletes.
const OLD_NS: u64 = 48 * 3600 * 1_000_000_000;

/// State shared by the senders and the thread that kills the server.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Addresses of the running server, if any.
    pub(crate) server: Mutex<Option<Addresses>>,
    /// Locked for reading while a trace is sent; locking it for writing pauses the senders between traces.
    pub(crate) whole: RwLock<()>,
    pub(crate) stopped: AtomicBool,
    /// Messages that were sent more than once.
    pub(crate) repeated: AtomicU64,
    /// Number of completely acknowledged traces of each sender.
    pub(crate) traces: [AtomicU64; 2],
}

impl Traffic {
    pub(crate) fn server(&self) -> Option<Addresses> {
        *self.server.lock().expect("no thread panics while it holds the lock")
    }

    /// Sends traces until stopped. `lane` is 0 or 1.
    pub(crate) fn send(&self, lane: usize) {
        let mut connection = None;
        let mut next = lane as u64 * LANE + 1;
        for round in 0_u64.. {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            // Every sixth round has old data, which retention deletes and no check looks for.
            let old = round % 6 == 5;
            let now = unix_ns();
            let start = if old { now - OLD_NS } else { now };
            let first = if old { u64::MAX / 8 - (lane as u64 + 1) * LANE + round * TRACES } else { next };
            let whole = self.whole.read().expect("no thread panics while it holds the lock");
            for half in [0, 1] {
                self.send_until_acknowledged(&mut connection, &message(first, half, start, old));
            }
            if !old {
                next += TRACES;
                self.traces[lane].fetch_add(TRACES, Ordering::Relaxed);
            }
            drop(whole);
            std::thread::sleep(Duration::from_millis(8));
        }
    }

    /// Resends a message until it is acknowledged.
    fn send_until_acknowledged(&self, connection: &mut Option<Connection>, message: &str) {
        let mut tries = 0;
        while !self.try_once(connection, message) {
            tries += 1;
            assert!(tries < 20_000, "a message is never accepted");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.repeated.fetch_add(u64::from(tries > 0), Ordering::Relaxed);
    }

    fn try_once(&self, connection: &mut Option<Connection>, message: &str) -> bool {
        if connection.is_none() {
            let server = self.server();
            *connection = server.and_then(|server| Connection::open(server.otlp_http).ok());
        }
        let Some(open) = connection else { return false };
        match open.request("POST", "/v1/traces", message) {
            Ok(response) if response.status == 200 => {
                assert!(!response.body.contains("rejected"), "{}", response.body);
                true
            }
            Ok(response) if response.status == 503 => false,
            Ok(response) => panic!("{}: {}", response.status, response.body),
            Err(_) => {
                *connection = None;
                false
            }
        }
    }

    /// Flushes open traces periodically.
    pub(crate) fn flush(&self) {
        while !self.stopped.load(Ordering::Relaxed) {
            if let Some(server) = self.server() {
                // The server may have been killed meanwhile.
                let _ = super::http_client::request(server.http, "POST", "/api/v1/flush", "");
            }
            std::thread::sleep(Duration::from_millis(120));
        }
    }
}

pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right");
    u64::try_from(since.as_nanos()).expect("it is not the year 2554")
}

/// One half of the spans of [`TRACES`] traces, as OTLP/JSON.
fn message(first: u64, half: u64, start: u64, old: bool) -> String {
    let mut spans = String::new();
    for trace in first..first + TRACES {
        for index in [2 * half, 2 * half + 1] {
            let parent =
                if index > 0 { format!(r#""parentSpanId":"{:016x}","#, 4 * trace) } else { String::new() };
            let begins = start + index * 1_000_000 + trace % 1000;
            let ends = if index > 0 { begins + 900_000 } else { begins + 5_000_000 };
            let comma = if spans.is_empty() { "" } else { "," };
            write!(
                spans,
                r#"{comma}{{"traceId":"{trace:032x}","spanId":"{:016x}",{parent}"name":"{}","kind":2,
                "startTimeUnixNano":"{begins}","endTimeUnixNano":"{ends}"}}"#,
                4 * trace + index,
                OPERATIONS[index as usize],
            )
            .expect("a string can be written to");
        }
    }
    let service = if old { "archive" } else { "shop" };
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}}},
        {{"key":"service.instance.id","value":{{"stringValue":"pod-{}"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#,
        first % 7
    )
}
