//! Whether the kind of cause is named that was injected, from traces alone and with samples of CPU:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example cause_accuracy -- [FIRST..LAST] [PROFILE|all] [KIND|all]
//! ```
//!
//! Ordinary days of three hours with a fault in their last half hour. The CPU of a replica is a share of the own time of its
//! spans; databases send no spans, so that waiting for one is of a dependency. What a fault adds is CPU, waiting, or the effect of another process, as its kind says. `foreign-elsewhere` falsifies the
//! samples: the other process runs on another replica than the slow one.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_metrics_questions::{ChangesQuestion, ChangesSettings, SampleFacts, add_span_samples, changes};
use laggard_model::{Measure, Nanos, SampleRecord, Sink, SpanId, Timestamp};
use laggard_report::{Cause, CauseClass, ChangeReport, InputFacts, conclude};
use laggard_samples::{SampleLimits, SampleTable, WindowSettings};
use laggard_simulate::{Day, DayFault, DayFaultKind, DaySettings, PROFILES, Profile};
use std::collections::{BTreeMap, HashMap};

/// A fault, its effect on the CPU, and the expected kind of cause.
struct Kind {
    name: &'static str,
    fault: DayFaultKind,
    /// Whether the time that the fault adds is CPU.
    uses_cpu: bool,
    /// Share of all cores that another process uses during the fault, on the slow replica or on another.
    foreign: f64,
    is_elsewhere: bool,
    truth: CauseClass,
}

const fn kind(name: &'static str, fault: DayFaultKind, truth: CauseClass) -> Kind {
    Kind { name, fault, uses_cpu: false, foreign: 0.0, is_elsewhere: false, truth }
}

const KINDS: [Kind; 10] = [
    Kind { uses_cpu: true, ..kind("code", DayFaultKind::Operation, CauseClass::Code) },
    kind("waiting", DayFaultKind::Operation, CauseClass::Waiting),
    Kind { foreign: 0.25, ..kind("foreign", DayFaultKind::Replica, CauseClass::ForeignLoad) },
    Kind { uses_cpu: true, ..kind("replica-cpu", DayFaultKind::Replica, CauseClass::Machine) },
    kind("replica", DayFaultKind::Replica, CauseClass::Machine),
    kind("network", DayFaultKind::Edge, CauseClass::Network),
    kind("tenant", DayFaultKind::Tenant, CauseClass::Data),
    kind("errors", DayFaultKind::Errors, CauseClass::Errors),
    kind("early-return", DayFaultKind::EarlyReturn, CauseClass::Code),
    Kind {
        foreign: 0.25,
        is_elsewhere: true,
        ..kind("foreign-elsewhere", DayFaultKind::Replica, CauseClass::Machine)
    },
];

const MINUTE_S: u32 = 60;
const HOUR_S: u32 = 3_600;
const LENGTH_S: u32 = 3 * HOUR_S;
const FAULT_S: u32 = LENGTH_S - HOUR_S / 2;
/// Time at the target of a fault over its usual time; share of calls that fail.
const FACTOR: f64 = 2.0;
const FAILING_SHARE: f64 = 0.5;
/// The share of a span's own time that is CPU, and the cores of every replica.
const CPU_SHARE: f64 = 0.4;
const CORES: f64 = 2.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |index: usize, default: &str| arguments.get(index).map_or(default, String::as_str).to_owned();
    let seeds = argument(0, "1..4");
    let (first, last) = seeds.split_once("..").expect("FIRST..LAST");
    let seeds = first.parse::<u64>().expect("a seed")..last.parse().expect("a seed");
    let (profile, requested) = (argument(1, "all"), argument(2, "all"));
    let profiles: Vec<Profile> = match profile.as_str() {
        "all" => PROFILES.to_vec(),
        name => vec![Profile::parse(name).expect("a profile")],
    };
    let mut totals: BTreeMap<&str, [u32; 4]> = BTreeMap::new();
    println!("| kind | system | seed | truth | traces | with samples | contradictions |");
    println!("|---|---|---|---|---|---|---|");
    for (kind, profile) in KINDS.iter().flat_map(|kind| profiles.iter().map(move |profile| (kind, profile))) {
        if requested != "all" && requested != kind.name {
            continue;
        }
        for seed in seeds.clone() {
            let Some(case) = Case::draw(kind, *profile, seed) else { continue };
            let total = totals.entry(kind.name).or_default();
            total[0] += 1;
            let (alone, joint) = case.causes();
            let name = |cause: &Option<Cause>| {
                cause.as_ref().map_or("no suspects".to_owned(), |cause| {
                    let also = cause.also.map_or_else(String::new, |also| format!(" or {also:?}"));
                    format!("{:?}{also} ({:?})", cause.class, cause.certainty)
                })
            };
            let is_right =
                |cause: &Option<Cause>| cause.as_ref().is_some_and(|cause| cause.class == case.truth);
            total[1] += u32::from(is_right(&alone));
            total[2] += u32::from(joint.is_some());
            total[3] += u32::from(is_right(&joint));
            let contradictions = joint.as_ref().map_or(0, |cause| cause.contradictions.len());
            println!(
                "| {} | {} | {seed} | {:?} | {} | {} | {contradictions} |",
                kind.name,
                profile.name,
                case.truth,
                name(&alone),
                name(&joint)
            );
            if std::env::var_os("LAGGARD_VERBOSE").is_some() {
                for piece in joint.iter().flat_map(|cause| &cause.evidence) {
                    println!("    {:+} {:?}: {}", piece.weight, piece.class, piece.text);
                }
            }
        }
    }
    println!(
        "\n| kind | cases | right by traces | with a suspect | right with samples |\n|---|---|---|---|---|"
    );
    for (name, [cases, alone, with_suspect, joint]) in totals {
        println!("| {name} | {cases} | {alone} | {with_suspect} | {joint} |");
    }
}

struct Case {
    truth: CauseClass,
    requests: Requests,
    changes: ChangeReport,
    window: (Timestamp, Timestamp),
    start: Timestamp,
}

impl Case {
    /// `None` for a system that has no place for the fault.
    fn draw(kind: &Kind, profile: Profile, seed: u64) -> Option<Case> {
        let fault = DayFault {
            kind: kind.fault,
            seed,
            factor: FACTOR,
            share: FAILING_SHARE,
            since_s: FAULT_S,
            until_s: LENGTH_S,
        };
        let settings =
            DaySettings { window_s: LENGTH_S, fault: Some(fault), ..DaySettings::new(profile, seed) };
        let day = Day::new(&settings).ok()?;
        let start = Timestamp::from_unix_ns(settings.start_unix_ns);
        let mut ingest = Ingest::new(IngestSettings::default());
        let mut cpu = Cpu::new(start);
        for request in day.requests() {
            for span in &request.spans {
                ingest.span(&request.record(span, &day));
            }
            cpu.add(&request, &day, kind.uses_cpu);
        }
        let truth = day.truth()?;
        let is_slow = kind.fault == DayFaultKind::Operation;
        let calls_database = is_slow && !kind.uses_cpu && truth.operation.1.starts_with("SELECT");
        let culprit = truth.replicas.into_iter().next();
        let target = match (&culprit, kind.is_elsewhere) {
            (Some(culprit), true) => cpu.replicas().find(|name| *name != culprit).cloned(),
            _ => culprit,
        };
        let threads = laggard_system::available_threads();
        let engine = LocalEngine::new(threads);
        let requests = Requests::from_traces(ingest.finish(threads), threads);
        let mut table = SampleTable::new(SampleLimits::default());
        cpu.samples(&mut table, target.as_deref().map(|target| (target, kind.foreign)));
        let length = Nanos::from_secs(u64::from(MINUTE_S));
        add_span_samples(requests.all(), None, length, &mut table, engine);
        let table = table.finish(&WindowSettings::default()).expect("there are samples");
        let (facts, settings) = (SampleFacts::default(), ChangesSettings::default());
        let question =
            ChangesQuestion { table: &table, facts: &facts, deployments: &[], settings: &settings, threads };
        let changes = changes(&question).expect("the default settings are in their ranges");
        let time = |seconds: u32| start.plus(Nanos::from_secs(u64::from(seconds)));
        let truth = if calls_database { CauseClass::Dependency } else { kind.truth };
        Some(Case { truth, requests, changes, window: (time(FAULT_S - 3 * MINUTE_S), time(LENGTH_S)), start })
    }

    /// By traces alone, and with samples.
    fn causes(&self) -> (Option<Cause>, Option<Cause>) {
        let (since, until) = self.window;
        let baseline = BaselineChoice::Within { since: self.start, until: since.minus(Nanos::from_ns(1)) };
        let settings = DiagnoseSettings { since, until, baseline, ..DiagnoseSettings::default() };
        let engine = LocalEngine::new(laggard_system::available_threads());
        let report = diagnose(&self.requests, None, &InputFacts::default(), &settings, engine);
        let report = report.expect("the default settings are in their ranges");
        let joint = conclude(&report, Some(&self.changes), None);
        (report.cause, joint)
    }
}

/// CPU seconds by replica and minute.
struct Cpu {
    start: Timestamp,
    by_replica: BTreeMap<String, (String, Vec<f64>)>,
}

impl Cpu {
    fn new(start: Timestamp) -> Cpu {
        Cpu { start, by_replica: BTreeMap::new() }
    }

    fn replicas(&self) -> impl Iterator<Item = &String> {
        self.by_replica.keys()
    }

    fn add(&mut self, request: &laggard_simulate::DayRequest, day: &Day, uses_cpu: bool) {
        let records: Vec<_> =
            request.spans.iter().map(|span| (request.record(span, day), span.injected)).collect();
        let mut below: HashMap<SpanId, f64> = HashMap::new();
        for (record, _) in &records {
            if let Some(parent) = record.parent {
                *below.entry(parent).or_default() += record.inclusive.ns() as f64;
            }
        }
        for (record, injected) in records {
            let children = below.get(&record.span_id).copied().unwrap_or(0.0);
            let injected = injected.ns() as f64;
            let own = (record.inclusive.ns() as f64 - children - injected).max(0.0);
            let used = CPU_SHARE * own + if uses_cpu { injected } else { 0.0 };
            let minute =
                request.start.since(self.start).non_negative().map_or(0, |since| since.ns() / 60_000_000_000);
            let (_, minutes) = self.by_replica.entry(record.replica.to_owned()).or_insert_with(|| {
                (record.service.to_owned(), vec![0.0; (LENGTH_S / MINUTE_S) as usize + 1])
            });
            if let Some(cpu) = minutes.get_mut(minute as usize) {
                *cpu += used / 1e9;
            }
        }
    }

    fn samples(&self, table: &mut SampleTable, foreign: Option<(&str, f64)>) {
        for (replica, (service, minutes)) in &self.by_replica {
            for (minute, cpu) in minutes.iter().enumerate().take((LENGTH_S / MINUTE_S) as usize) {
                let is_foreign = minute as u32 * MINUTE_S >= FAULT_S;
                let other =
                    foreign.filter(|(name, _)| is_foreign && name == replica).map_or(0.0, |(_, share)| share);
                // A percent of base load, and a few percent of noise that has no pattern.
                let noise = 1.0 + 0.02 * (((minute * 7_919) % 101) as f64 / 50.0 - 1.0);
                let value = 0.01 + noise * cpu / (f64::from(MINUTE_S) * CORES) + other;
                table.sample(&SampleRecord {
                    time: self.start.plus(Nanos::from_secs(minute as u64 * u64::from(MINUTE_S))),
                    measure: Measure::Utilization,
                    server: replica,
                    tier: service,
                    transaction: "",
                    callee: "",
                    value: value.min(1.0),
                });
            }
        }
    }
}
