//! A system of services, operations, and who calls whom, drawn from a profile and a seed.

use super::profile::Profile;
use crate::random::{Random, Stream};
use laggard_model::SpanKind;

/// Names of services; the first takes the requests.
const SERVICES: [&str; 40] = [
    "gateway",
    "cart",
    "checkout",
    "catalog",
    "payment",
    "shipping",
    "email",
    "currency",
    "recommendation",
    "ads",
    "inventory",
    "pricing",
    "search",
    "reviews",
    "users",
    "sessions",
    "orders",
    "invoices",
    "fraud",
    "notifications",
    "images",
    "loyalty",
    "returns",
    "warehouse",
    "suppliers",
    "taxes",
    "geo",
    "translations",
    "flags",
    "analytics",
    "reports",
    "billing",
    "subscriptions",
    "chat",
    "support",
    "media",
    "exports",
    "imports",
    "audit",
    "scheduler",
];
const VERBS: [&str; 6] = ["Get", "List", "Find", "Check", "Update", "Quote"];

const MS: f64 = 1e6;
/// Most spans of a call with all that it calls, on average.
const SPANS_MAX: f64 = 30.0;

/// Services, operations, and entries.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) services: Vec<Service>,
    pub(super) operations: Vec<Operation>,
    /// Entry services of requests, with cumulative probabilities.
    pub(super) entries: Vec<(usize, f64)>,
    /// Operations that start periodically, with the period in nanoseconds.
    pub(super) jobs: Vec<(usize, i64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) name: &'static str,
    /// Replicas at the mean of the day.
    pub(super) replicas: usize,
    /// Utilization at the mean of the day, 0..1.
    pub(super) utilization: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) service: usize,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) work: ServiceTime,
    pub(super) calls: Vec<Call>,
    /// Probability that it fails.
    pub(super) failures: f64,
    /// Whether periodic jobs slow it down.
    pub(super) by_jobs: bool,
    /// Mean number of spans of a call with all that it calls.
    spans: f64,
}

/// How long an operation takes by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum ServiceTime {
    /// Log-normal.
    Busy { median_ns: f64, sigma: f64 },
    /// Log-normal, and `slow_factor` times as long with probability `slow`.
    TwoModes { median_ns: f64, sigma: f64, slow: f64, slow_factor: f64 },
    /// Waits for something to happen: exponential, at most 30 s.
    Waits { mean_ns: f64 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) operation: usize,
    pub(super) probability: f64,
    pub(super) times: Times,
}

/// How often a call is made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Times {
    Once,
    /// For each of a few items, one after the other.
    EachItem,
    /// For each of a few items, all at once.
    AtOnce,
}

/// Mean number of items, where calls are made for each.
pub(super) const ITEMS_MEAN: f64 = 3.0;
pub(super) const ITEMS_MAX: u64 = 5;

/// The name of a service by its number.
pub(super) const fn service_name(number: usize) -> &'static str {
    SERVICES[number]
}

impl System {
    pub(super) fn new(profile: &Profile, seed: u64) -> System {
        let mut random = Random::new(seed, Stream::DaySystem, &[]);
        let [low, high] = profile.services;
        let count = usize::from(low) + random.index(usize::from(high - low) + 1);
        let services = (0..count).map(|number| Service::draw(number, profile, &mut random)).collect();
        let mut system = System { services, operations: Vec::new(), entries: Vec::new(), jobs: Vec::new() };
        // Callees before callers, so that the size of a call tree is known when it is called.
        for service in (1..count).rev() {
            for _ in 0..1 + random.index(3) {
                system.add_server(service, profile, &mut random);
            }
        }
        system.add_entries(profile, &mut random);
        system
    }

    fn add_entries(&mut self, profile: &Profile, random: &mut Random) {
        let mut weights: Vec<(usize, f64)> = Vec::new();
        for rank in 0..2 + random.index(4) {
            let entry = self.add_server(0, profile, random);
            self.operations[entry].name = format!("GET /{}/{}", SERVICES[rank + 1], rank + 1);
            weights.push((entry, 1.0 / (rank + 1) as f64));
        }
        // Every service is called by something.
        let entries: Vec<usize> = weights.iter().map(|&(entry, _)| entry).collect();
        for service in 1..self.services.len() {
            let of_service = |operation: &Operation| operation.service == service;
            let callee = self.operations.iter().position(of_service).expect("every service has operations");
            if !self.operations.iter().any(|caller| caller.calls.iter().any(|call| call.operation == callee))
            {
                let caller = entries[random.index(entries.len())];
                let call =
                    Call { operation: callee, probability: random.between(0.2, 1.0), times: Times::Once };
                self.operations[caller].calls.push(call);
            }
        }
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        if profile.waits > 0.0 {
            let waiting = total * profile.waits / (1.0 - profile.waits) / 2.0;
            weights.push((self.add_long_poll(), waiting));
            weights.push((self.add_consumer(profile, random), waiting));
        }
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        self.entries = weights
            .into_iter()
            .map(|(entry, weight)| {
                sum += weight / total;
                (entry, sum)
            })
            .collect();
        if profile.jobs > 0.0 {
            let job = self.add_job(random);
            self.jobs.push((job, random.between(300.0, 900.0) as i64 * 1_000_000_000));
        }
    }

    fn add(&mut self, operation: Operation) -> usize {
        self.operations.push(operation);
        self.operations.len() - 1
    }

    /// An operation that serves calls, with its internal steps, its queries, and its calls of other services.
    fn add_server(&mut self, service: usize, profile: &Profile, random: &mut Random) -> usize {
        let mut calls = Vec::new();
        if random.chance(0.4) || self.services.len() == 1 {
            for _ in 0..1 + random.index(2) {
                let step = self.add_leaf(service, SpanKind::Internal, profile, random);
                calls.push(self.call(step, profile, random));
            }
        }
        if random.chance(0.6) || self.services.len() == 1 {
            for _ in 0..1 + random.index(2) {
                let query = self.add_leaf(service, SpanKind::Client, profile, random);
                calls.push(self.call(query, profile, random));
            }
        }
        let later: Vec<usize> = (0..self.operations.len())
            .filter(|&index| {
                self.operations[index].service > service && self.operations[index].kind == SpanKind::Server
            })
            .collect();
        let call_count = if service == 0 { 2 + random.index(3) } else { random.index(3) };
        for pick in random.sample(later.len(), call_count) {
            let call = self.call(later[pick], profile, random);
            calls.push(call);
        }
        let spans = |calls: &[Call]| 1.0 + calls.iter().map(|call| self.spans_of(call)).sum::<f64>();
        while spans(&calls) > SPANS_MAX {
            calls.pop();
        }
        let verb = VERBS[random.index(VERBS.len())];
        let number = self.operations.len();
        let spans = spans(&calls);
        let operation = Operation {
            service,
            name: format!("{}.{verb}{number}", self.services[service].name),
            kind: SpanKind::Server,
            work: draw_work(0.5 * MS, 8.0 * MS, profile, random),
            calls,
            failures: if random.chance(0.5) { profile.failures } else { 0.0 },
            by_jobs: false,
            spans,
        };
        self.add(operation)
    }

    fn add_leaf(&mut self, service: usize, kind: SpanKind, profile: &Profile, random: &mut Random) -> usize {
        let number = self.operations.len();
        let is_query = kind == SpanKind::Client;
        let name = match is_query {
            true => format!("SELECT {}_{number}", self.services[service].name),
            false => format!("{}{number}", VERBS[random.index(VERBS.len())].to_lowercase()),
        };
        let (low, high) = if is_query { (0.8 * MS, 12.0 * MS) } else { (0.2 * MS, 5.0 * MS) };
        let work = draw_work(low, high, profile, random);
        let failures = if is_query { profile.failures } else { 0.0 };
        let by_jobs = is_query && random.chance(profile.jobs);
        self.add(Operation { service, name, kind, work, calls: Vec::new(), failures, by_jobs, spans: 1.0 })
    }

    fn call(&self, operation: usize, profile: &Profile, random: &mut Random) -> Call {
        let times = match random.unit() / profile.fan_out.max(1e-9) {
            share if share < 0.5 => Times::EachItem,
            share if share < 1.0 => Times::AtOnce,
            _ => Times::Once,
        };
        let probability = if random.chance(0.7) { 1.0 } else { random.between(0.1, 0.9) };
        Call { operation, probability, times }
    }

    fn spans_of(&self, call: &Call) -> f64 {
        let items = if call.times == Times::Once { 1.0 } else { ITEMS_MEAN };
        call.probability * items * (self.operations[call.operation].spans + 1.0)
    }

    fn add_long_poll(&mut self) -> usize {
        self.add(Operation {
            service: 0,
            name: "GET /events".to_owned(),
            kind: SpanKind::Server,
            work: ServiceTime::Waits { mean_ns: 10e9 },
            calls: Vec::new(),
            failures: 0.0,
            by_jobs: false,
            spans: 1.0,
        })
    }

    /// Waits for a message, then handles it.
    fn add_consumer(&mut self, profile: &Profile, random: &mut Random) -> usize {
        let service = self.services.len() - 1;
        let wait = self.add(Operation {
            service,
            name: "BRPOP tasks".to_owned(),
            kind: SpanKind::Client,
            work: ServiceTime::Waits { mean_ns: 2e9 },
            calls: Vec::new(),
            failures: 0.0,
            by_jobs: false,
            spans: 1.0,
        });
        let query = self.add_leaf(service, SpanKind::Client, profile, random);
        let once = |operation| Call { operation, probability: 1.0, times: Times::Once };
        self.add(Operation {
            service,
            name: "process tasks".to_owned(),
            kind: SpanKind::Consumer,
            work: draw_work(MS, 10.0 * MS, profile, random),
            calls: vec![once(wait), once(query)],
            failures: 0.0,
            by_jobs: false,
            spans: 3.0,
        })
    }

    fn add_job(&mut self, random: &mut Random) -> usize {
        let queries: Vec<usize> =
            (0..self.operations.len()).filter(|&index| self.operations[index].by_jobs).collect();
        let calls = queries.iter().take(3).map(|&operation| Call {
            operation,
            probability: 1.0,
            times: Times::EachItem,
        });
        let service = self.services.len() - 1;
        let work = ServiceTime::Busy { median_ns: random.between(2e9, 20e9), sigma: 0.2 };
        let calls = calls.collect();
        self.add(Operation {
            service,
            name: "job rebuild-index".to_owned(),
            kind: SpanKind::Internal,
            work,
            calls,
            failures: 0.0,
            by_jobs: false,
            spans: 10.0,
        })
    }
}

impl Service {
    fn draw(number: usize, profile: &Profile, random: &mut Random) -> Service {
        let [low, high] = profile.replicas;
        let replicated = random.chance(profile.replicated);
        let many = usize::from(low) + random.index(usize::from(high - low) + 1);
        Service {
            name: SERVICES[number],
            replicas: if replicated { many } else { 1 },
            utilization: random.between(0.1, 0.5),
        }
    }
}

fn draw_work(low_ns: f64, high_ns: f64, profile: &Profile, random: &mut Random) -> ServiceTime {
    let median_ns = libm::exp(random.ln_log_uniform(low_ns, high_ns));
    let sigma = random.between(0.15, 0.6);
    if !random.chance(profile.bimodal) {
        return ServiceTime::Busy { median_ns, sigma };
    }
    let slow = libm::exp(random.ln_log_uniform(0.02, 0.4));
    ServiceTime::TwoModes { median_ns, sigma, slow, slow_factor: libm::exp(random.ln_log_uniform(2.0, 15.0)) }
}

impl ServiceTime {
    /// The time of one call on an idle machine, nanoseconds.
    pub(super) fn draw(self, random: &mut Random) -> f64 {
        let log_normal =
            |median: f64, sigma: f64, random: &mut Random| median * libm::exp(sigma * random.normal());
        match self {
            ServiceTime::Busy { median_ns, sigma } => log_normal(median_ns, sigma, random),
            ServiceTime::TwoModes { median_ns, sigma, slow, slow_factor } => {
                let factor = if random.chance(slow) { slow_factor } else { 1.0 };
                factor * log_normal(median_ns, sigma, random)
            }
            ServiceTime::Waits { mean_ns } => random.exponential(mean_ns).min(30e9),
        }
    }

    /// The mean time of a call, nanoseconds.
    pub(super) fn mean_ns(self) -> f64 {
        let log_normal = |median: f64, sigma: f64| median * libm::exp(sigma * sigma / 2.0);
        match self {
            ServiceTime::Busy { median_ns, sigma } => log_normal(median_ns, sigma),
            ServiceTime::TwoModes { median_ns, sigma, slow, slow_factor } => {
                log_normal(median_ns, sigma) * (1.0 + slow * (slow_factor - 1.0))
            }
            ServiceTime::Waits { mean_ns } => mean_ns,
        }
    }

    /// Whether the time depends on the machine.
    pub(super) const fn is_busy(self) -> bool {
        !matches!(self, ServiceTime::Waits { .. })
    }
}
