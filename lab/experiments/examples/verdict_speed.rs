//! How long a verdict takes that starts from assembled requests:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example verdict_speed -- [SPANS] [shop|simulator] [CATEGORIES] [THREADS]
//! ```
//!
//! Draws requests into slices of five minutes (an hour in all), diagnoses them, then again with other
//! thresholds and about half of the window. Prints the time of every stage and the peak of memory.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_diagnose::{DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, RequestSlice, Requests, SliceFacts, SliceSummary, TraceAttributes};
use laggard_model::{
    Names, Nanos, OperationId, OperationKey, ReplicaId, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId,
};
use laggard_report::{InputFacts, Report};
use laggard_simulate::{Scenario, Settings};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// Slices an hour is cut into.
const SLICES: u64 = 12;
/// Length of one.
const SLICE_NS: i64 = 300_000_000_000;
/// Start of the hour, nanoseconds since the epoch.
const START_NS: i64 = 1_768_208_400_000_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, otherwise: u64| -> u64 {
        arguments.get(index).map_or(otherwise, |text| text.replace('_', "").parse().expect("a number"))
    };
    let spans = number(0, 10_000_000);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let threads = NonZeroUsize::new(number(3, cores) as usize).expect("at least one thread");
    let slices = match arguments.get(1).map_or("shop", String::as_str) {
        "simulator" => simulated(spans),
        _ => Shop::new(number(2, 60)).slices(spans),
    };
    let calls: usize = slices.iter().map(|slice| slice.calls.replica.len()).sum();
    let structures: usize = slices.iter().map(|slice| slice.structures.len()).sum();
    println!("{calls} spans in {} slices, {structures} forms, {threads} threads", slices.len());
    println!("memory with all slices: {} MB", memory_mb("VmRSS:"));
    let started = Instant::now();
    let summary = SliceSummary::from_slice(&slices[0], Nanos::from_secs(60));
    println!("one slice summarized ({} cells): {:.3} s", summary.cells.len(), seconds(started));
    let cpu = cpu_seconds();
    let whole = Instant::now();
    let requests = Requests::from_slices(slices, threads);
    println!("slices as one: {:.3} s", seconds(whole));
    let report = timed_diagnosis(&requests, &DiagnoseSettings::default(), threads, "first verdict");
    println!("slices to verdict: {:.3} s, {:.2} s of processors", seconds(whole), cpu_seconds() - cpu);
    println!("  {}", report.headline);
    let mut other = DiagnoseSettings::default();
    other.sites.culprits.factor_min = 1.5;
    timed_diagnosis(&requests, &other, threads, "other thresholds");
    let half = Timestamp::from_unix_ns(START_NS + SLICE_NS * SLICES as i64 / 2);
    timed_diagnosis(
        &requests,
        &DiagnoseSettings { until: half, ..DiagnoseSettings::default() },
        threads,
        "half of the window",
    );
    println!("peak of memory: {} MB", memory_mb("VmHWM:"));
}

fn timed_diagnosis(
    requests: &Requests,
    settings: &DiagnoseSettings,
    threads: NonZeroUsize,
    what: &str,
) -> Report {
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let report = diagnose(requests, None, &InputFacts::default(), settings, LocalEngine::new(threads));
    println!("{what}: {:.3} s, {:.2} s of processors", seconds(started), cpu_seconds() - cpu);
    report.expect("settings in range")
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

fn memory_mb(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}

/// Processor time of this process so far, in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// Requests of about 108 calls each, as the simulator draws them.
fn simulated(spans: u64) -> Vec<Arc<RequestSlice>> {
    let settings = Settings {
        requests_per_service: (spans / 3 / 108) as u32,
        ..Settings::new(Scenario::RandomDevice, 1)
    };
    let mut slices: Vec<(Names, Vec<SpanRow>)> = (0..SLICES).map(|_| Default::default()).collect();
    let requests = laggard_simulate::requests(&settings).expect("settings in range");
    for (next, request) in requests.enumerate() {
        let (names, rows) = &mut slices[next % SLICES as usize];
        for call in &request.calls {
            let span = request.span(call);
            let key = OperationKey { service: span.service, operation: span.operation, kind: span.kind };
            rows.push(SpanRow {
                trace: span.trace_id,
                span: span.span_id,
                parent: span.parent,
                start: span.start,
                inclusive: span.inclusive,
                operation: names.operation(key),
                replica: names.replica(span.replica),
                kind: span.kind,
                status: span.status,
                incomplete: false,
                adjusted_count: span.sampling.adjusted_count,
            });
        }
    }
    let assemble = |(names, rows)| {
        Arc::new(RequestSlice::assemble(names, rows, &TraceAttributes::default(), SliceFacts::default()))
    };
    slices.into_iter().map(assemble).collect()
}

/// Requests of ten spans: an entry, four calls to other services (a client's and a server's span each), and one
/// to itself.
struct Shop {
    categories: u64,
    random: u64,
}

/// Services, and operations of each.
const SERVICES: u64 = 12;
const OPERATIONS: u64 = 6;
/// Replicas of all services together.
const REPLICAS: u64 = 100;
/// This operation on this replica takes three times as long.
const SLOW: (u64, usize) = (32, 41);

impl Shop {
    fn new(categories: u64) -> Shop {
        Shop { categories, random: 0x9E37_79B9_7F4A_7C15 }
    }

    fn slices(&mut self, spans: u64) -> Vec<Arc<RequestSlice>> {
        (0..SLICES).map(|index| Arc::new(self.slice(index, spans / SLICES / 10))).collect()
    }

    fn slice(&mut self, number: u64, requests: u64) -> RequestSlice {
        let mut names = Names::new();
        // Names in another order in every slice.
        let handles = Handles::of(&mut names, number);
        let mut rows = Vec::with_capacity(requests as usize * 10);
        for request in 0..requests {
            let into = SLICE_NS * request as i64 / requests as i64;
            let trace = u128::from(self.draw()) << 64 | u128::from(number * requests + request);
            self.request(&handles, trace, START_NS + SLICE_NS * number as i64 + into, &mut rows);
        }
        RequestSlice::assemble(names, rows, &TraceAttributes::default(), SliceFacts::default())
    }

    fn request(&mut self, handles: &Handles, trace: u128, start: i64, rows: &mut Vec<SpanRow>) {
        // Some categories are requested more often than others.
        let category = self.below(self.categories).min(self.below(self.categories));
        let entry = category % (SERVICES * OPERATIONS);
        let mut row = |span: u64, parent: u64, from: i64, ns: u64, operation, replica, kind| {
            rows.push(SpanRow {
                trace: TraceId::from_value(trace),
                span: SpanId::new(span).expect("not zero"),
                parent: SpanId::new(parent),
                start: Timestamp::from_unix_ns(from),
                inclusive: Nanos::from_ns(ns),
                operation,
                replica,
                kind,
                status: Status::Unset,
                incomplete: false,
                adjusted_count: None,
            });
        };
        let mut now = start + 100_000;
        let entry_replica = self.replica(entry / OPERATIONS);
        for call in 0..4 {
            let callee = (category * 7 + call * 13 + category / 3) % (SERVICES * OPERATIONS);
            let replica_index = self.replica(callee / OPERATIONS);
            let slow = (callee, replica_index) == SLOW;
            let served = self.time(2_000_000 + 500_000 * callee) * if slow { 3 } else { 1 };
            let waited = served + self.time(300_000);
            let client = handles.clients[callee as usize];
            row(2 + 2 * call, 1, now, waited, client, handles.replicas[entry_replica], SpanKind::Client);
            let server = handles.servers[callee as usize];
            let replica = handles.replicas[replica_index];
            row(3 + 2 * call, 2 + 2 * call, now + 100_000, served, server, replica, SpanKind::Server);
            now += waited as i64 + self.time(200_000) as i64;
        }
        let own = self.time(1_000_000);
        row(10, 1, now, own, handles.internal, handles.replicas[entry_replica], SpanKind::Internal);
        let whole = (now - start) as u64 + own + self.time(400_000);
        row(
            1,
            0,
            start,
            whole,
            handles.servers[entry as usize],
            handles.replicas[entry_replica],
            SpanKind::Server,
        );
    }

    /// A replica of a service: its number among all.
    fn replica(&mut self, service: u64) -> usize {
        let each = REPLICAS / SERVICES;
        (service * each + self.below(each)) as usize
    }

    /// A random time around a mean in nanoseconds, occasionally several times as long.
    fn time(&mut self, usual: u64) -> u64 {
        let spread = (0..4).map(|_| self.below(1000)).sum::<u64>();
        let usual = usual * (1000 + spread) / 3000;
        if self.below(200) == 0 { usual * 4 } else { usual }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit.max(1)
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
}

/// Names of one slice.
struct Handles {
    servers: Vec<OperationId>,
    clients: Vec<OperationId>,
    internal: OperationId,
    replicas: Vec<ReplicaId>,
}

impl Handles {
    fn of(names: &mut Names, turn: u64) -> Handles {
        for index in (0..REPLICAS).map(|index| (index + turn * 7) % REPLICAS) {
            names.replica(&format!("pod-{index}"));
        }
        let mut operation = |index: u64, kind: SpanKind| {
            let (service, name) =
                (format!("service-{}", index / OPERATIONS), format!("operation-{}", index % OPERATIONS));
            names.operation(OperationKey { service: &service, operation: &name, kind })
        };
        let all = SERVICES * OPERATIONS;
        let servers = (0..all).map(|index| operation(index, SpanKind::Server)).collect();
        let clients = (0..all).map(|index| operation(index, SpanKind::Client)).collect();
        let internal = operation(0, SpanKind::Internal);
        let replicas = (0..REPLICAS).map(|index| names.replica(&format!("pod-{index}"))).collect();
        Handles { servers, clients, internal, replicas }
    }
}
