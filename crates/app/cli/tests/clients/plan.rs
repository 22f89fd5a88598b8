//! A plan that clients play: every span of a small shop with one slow operation on one replica.

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

/// Start of the first plan: 2026-01-12T09:00:00Z.
const START_NS: u64 = 1_768_208_400_000_000_000;

/// Additional time of the slow operation on the slow replica.
const FAULT_US: u64 = 20_000;

/// All spans of one minute and the injected fault.
#[derive(Serialize)]
pub(crate) struct Plan {
    pub(crate) requests: Vec<Vec<PlannedSpan>>,
    #[serde(skip)]
    pub(crate) fault: Fault,
    #[serde(skip)]
    number: u64,
}

/// A span; times are in nanoseconds since the Unix epoch, in whole microseconds.
#[derive(Serialize)]
pub(crate) struct PlannedSpan {
    /// Index of the parent span in the request.
    parent: Option<usize>,
    service: &'static str,
    replica: String,
    name: &'static str,
    kind: &'static str,
    start_ns: u64,
    end_ns: u64,
    error: bool,
}

/// The injected fault, which the diagnosis must name.
pub(crate) struct Fault {
    pub(crate) service: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) replica: String,
}

/// Operations with their own work, each of which may be the slow one.
const OPERATIONS: [(&str, &str); 3] = [("cart", "price"), ("db", "read basket"), ("frontend", "GET /cart")];

/// The plan with a number, from 0: each has a different window, slow operation, and slow replica.
pub(crate) fn plan(number: u64) -> Plan {
    let (service, operation) = OPERATIONS[(number % 3) as usize];
    let replica = format!("{service}-{}", (number / 3 + number) % REPLICAS);
    let fault = Fault { service, operation, replica };
    let mut random = SplitMix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let start = START_NS + number * PLAN_NS;
    let requests =
        (0..REQUESTS).map(|index| request(start + index * PAUSE_NS, &fault, &mut random)).collect();
    Plan { requests, fault, number }
}

impl Plan {
    /// Writes the plan as JSON for a client.
    pub(crate) fn write(&self, file: &Path) {
        std::fs::write(file, serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(crate) fn spans(&self) -> u64 {
        self.requests.iter().map(|request| request.len() as u64).sum()
    }

    /// Number of replicas that requests enter at, which is the number of clients that send metrics.
    pub(crate) fn entry_replicas(&self) -> u64 {
        let mut names: Vec<&str> = self.requests.iter().map(|request| request[0].replica.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len() as u64
    }

    /// `--since` and `--until` of the plan, in nanoseconds.
    pub(crate) fn window(&self) -> [String; 2] {
        let start = START_NS + self.number * PLAN_NS;
        [start, start + PLAN_NS - 1].map(|ns| ns.to_string())
    }
}

/// One request: the frontend calls the cart, which reads the basket from the database and prices it.
///
/// Operations take a fixed time plus up to a random 10 % and the time of their callees; the network takes 50 µs each way.
fn request(start: u64, fault: &Fault, random: &mut SplitMix) -> Vec<PlannedSpan> {
    let [frontend, cart, db] =
        ["frontend", "cart", "db"].map(|service| format!("{service}-{}", random.below(REPLICAS)));
    let mut work = |service: &str, operation: &str, replica: &str, us: u64| {
        let is_slow =
            (service, operation, replica) == (fault.service, fault.operation, fault.replica.as_str());
        us + random.below(us / 10) + if is_slow { FAULT_US } else { 0 }
    };
    let read = work("db", "read basket", &db, 2_000);
    let price = work("cart", "price", &cart, 1_500);
    let add = work("cart", "cart.Add", &cart, 800);
    let get = work("frontend", "GET /cart", &frontend, 1_000);
    let call_start = start + get / 2 * 1_000;
    let cart_start = call_start + 50_000;
    let price_start = cart_start + add / 2 * 1_000;
    let query_start = price_start + price * 1_000;
    let read_start = query_start + 50_000;
    let read_end = read_start + read * 1_000;
    let query_end = read_end + 50_000;
    let cart_end = query_end + add / 2 * 1_000;
    let call_end = cart_end + 50_000;
    let end = call_end + get / 2 * 1_000;
    let error = random.below(50) == 0;
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
        span(Some(0), "frontend", &frontend, "cart.Add", "client", call_start, call_end),
        span(Some(1), "cart", &cart, "cart.Add", "server", cart_start, cart_end),
        span(Some(2), "cart", &cart, "price", "internal", price_start, query_start),
        span(Some(2), "cart", &cart, "read basket", "client", query_start, query_end),
        span(Some(4), "db", &db, "read basket", "server", read_start, read_end),
    ]
}

/// Reproducible random numbers (SplitMix64, Steele et al. 2014).
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
