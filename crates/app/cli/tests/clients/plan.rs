//! A small shop with one slow operation on one replica, span by span: what clients are told to send.

use serde::Serialize;
use std::path::Path;

/// Replicas of every service.
const REPLICAS: u64 = 5;

/// Requests of a plan.
pub(crate) const REQUESTS: u64 = 600;

/// Time between two requests: 600 take a minute.
const PAUSE_NS: u64 = 100_000_000;

/// Time from the start of a plan to that of the next one.
const PLAN_NS: u64 = 600_000_000_000;

/// When the first plan starts: 2026-01-12T09:00:00Z.
const START_NS: u64 = 1_768_208_400_000_000_000;

/// What the slow operation takes longer on the slow replica.
const FAULT_US: u64 = 20_000;

/// All spans of a minute, and what is wrong in it.
#[derive(Serialize)]
pub(crate) struct Plan {
    pub(crate) requests: Vec<Vec<PlannedSpan>>,
    #[serde(skip)]
    pub(crate) fault: Fault,
    #[serde(skip)]
    number: u64,
}

/// A span; times in ns since the Unix epoch, whole microseconds.
#[derive(Serialize)]
pub(crate) struct PlannedSpan {
    /// Index in the request.
    parent: Option<usize>,
    service: &'static str,
    replica: String,
    name: &'static str,
    kind: &'static str,
    start_ns: u64,
    end_ns: u64,
    error: bool,
}

/// What is to be found.
pub(crate) struct Fault {
    pub(crate) service: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) replica: String,
}

/// Operations with work of their own, each of which may be the slow one.
const OPERATIONS: [(&str, &str); 3] = [("cart", "price"), ("db", "read basket"), ("frontend", "GET /cart")];

/// The plan of a number, from 0: each has a time, a slow operation and a slow replica of its own.
pub(crate) fn plan(number: u64) -> Plan {
    let (service, operation) = OPERATIONS[(number % 3) as usize];
    let replica = format!("{service}-{}", (number / 3 + number) % REPLICAS);
    let fault = Fault { service, operation, replica };
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let start = START_NS + number * PLAN_NS;
    let requests = (0..REQUESTS).map(|at| request(start + at * PAUSE_NS, &fault, &mut dice)).collect();
    Plan { requests, fault, number }
}

impl Plan {
    /// Writes it where a client reads it.
    pub(crate) fn write(&self, file: &Path) {
        std::fs::write(file, serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(crate) fn spans(&self) -> u64 {
        self.requests.iter().map(|request| request.len() as u64).sum()
    }

    /// Replicas at which requests enter: as many clients send metrics.
    pub(crate) fn entry_replicas(&self) -> u64 {
        let mut names: Vec<&str> = self.requests.iter().map(|request| request[0].replica.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len() as u64
    }

    /// `--since` and `--until` of its time.
    pub(crate) fn window(&self) -> [String; 2] {
        let start = START_NS + self.number * PLAN_NS;
        [start, start + PLAN_NS - 1].map(|ns| ns.to_string())
    }
}

/// The call tree: the frontend asks the cart, which prices what the database holds.
///
/// Operations take a fixed time, a random tenth of it more, and their callees' time; a call takes 50 µs each way.
fn request(start: u64, fault: &Fault, dice: &mut Dice) -> Vec<PlannedSpan> {
    let [frontend, cart, db] =
        ["frontend", "cart", "db"].map(|service| format!("{service}-{}", dice.below(REPLICAS)));
    let mut work = |service: &str, operation: &str, replica: &str, us: u64| {
        let is_slow =
            (service, operation, replica) == (fault.service, fault.operation, fault.replica.as_str());
        us + dice.below(us / 10) + if is_slow { FAULT_US } else { 0 }
    };
    let read = work("db", "read basket", &db, 2_000);
    let price = work("cart", "price", &cart, 1_500);
    let add = work("cart", "cart.Add", &cart, 800);
    let get = work("frontend", "GET /cart", &frontend, 1_000);
    let asked = start + get / 2 * 1_000;
    let taken = asked + 50_000;
    let priced = taken + add / 2 * 1_000;
    let queried = priced + price * 1_000;
    let reading = queried + 50_000;
    let was_read = reading + read * 1_000;
    let query_end = was_read + 50_000;
    let answered = query_end + add / 2 * 1_000;
    let back = answered + 50_000;
    let end = back + get / 2 * 1_000;
    let error = dice.below(50) == 0;
    let span = |parent, service, replica: &str, name, kind, start_ns, end_ns| {
        let replica = replica.to_owned();
        PlannedSpan {
            parent,
            service,
            replica,
            name,
            kind,
            start_ns,
            end_ns,
            error: error && kind == "server",
        }
    };
    vec![
        span(None, "frontend", &frontend, "GET /cart", "server", start, end),
        span(Some(0), "frontend", &frontend, "cart.Add", "client", asked, back),
        span(Some(1), "cart", &cart, "cart.Add", "server", taken, answered),
        span(Some(2), "cart", &cart, "price", "internal", priced, queried),
        span(Some(2), "cart", &cart, "read basket", "client", queried, query_end),
        span(Some(4), "db", &db, "read basket", "server", reading, was_read),
    ]
}

/// Random numbers that are the same everywhere (SplitMix64, Steele et al. 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
