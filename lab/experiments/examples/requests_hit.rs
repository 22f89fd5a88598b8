//! Requests hit and effects on simulated incidents, against the injected faults:
//!
//! ```sh
//! cargo run --release -p laggard-experiments --example requests_hit -- [SCENARIO|all|demo] [FIRST..LAST] [REQUESTS] [MINUTES]
//! ```
//!
//! One row a scenario, seed and way of asking (alone, or with a baseline): precision and recall of the requests hit by the
//! first suspect that the fault concerns, and of the requests hit by any suspect; effect per call and per request over the
//! injected one.
#![expect(clippy::print_stdout, reason = "a command-line program")]

use laggard_diagnose::{DiagnoseSettings, diagnose_with_hits};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{Sink, TraceId};
use laggard_report::{InputFacts, Report, Suspect};
use laggard_simulate::{Request, Scenario, Settings, requests};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// Injected times by operation.
#[derive(Default)]
struct Truth {
    operations: BTreeMap<String, Injected>,
}

#[derive(Default)]
struct Injected {
    /// By call.
    extra_ns: Vec<f64>,
    /// Sums by trace.
    by_trace: BTreeMap<TraceId, f64>,
    /// By replica: calls that were delayed.
    replicas: BTreeMap<String, u64>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |index: usize, default: &str| arguments.get(index).map_or(default, String::as_str).to_owned();
    let scenarios: Vec<Option<Scenario>> = match argument(0, "all").as_str() {
        "all" => Scenario::ALL.into_iter().map(Some).collect(),
        "demo" => vec![None],
        names => names.split(',').map(|name| Some(Scenario::parse(name).expect("a scenario"))).collect(),
    };
    let seeds = argument(1, "1..3");
    let (first, last) = seeds.split_once("..").expect("FIRST..LAST");
    let seeds: Vec<u64> = (first.parse().expect("a seed")..last.parse().expect("a seed")).collect();
    let sampled: u32 = argument(2, "8000").parse().expect("requests a service");
    let minutes: u32 = argument(3, "60").parse().expect("minutes");
    println!(
        "| scenario | seed | baseline | suspect | hit | true | P | R | P any | R any | effect | a request | replicas | paying |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for scenario in scenarios {
        for &seed in &seeds {
            let settings = match scenario {
                None => Settings { seed: if seed == 0 { 10 } else { seed }, ..Settings::demo() },
                Some(scenario) => Settings {
                    requests_per_service: sampled,
                    window_s: 60 * minutes,
                    ..Settings::new(scenario, seed)
                },
            };
            let (now, truth) = draw(&settings);
            let (usual, _) = draw(&settings.baseline());
            print_row(&settings, &now, None, &truth);
            print_row(&settings, &now, Some(&usual), &truth);
        }
    }
}

fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn draw(settings: &Settings) -> (Requests, Truth) {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut truth = Truth::default();
    for request in requests(settings).expect("settings in range") {
        add(&request, &mut ingest, &mut truth);
    }
    (Requests::from_traces(ingest.finish(threads()), threads()), truth)
}

fn add(request: &Request, ingest: &mut Ingest, truth: &mut Truth) {
    for call in &request.calls {
        ingest.span(&request.span(call));
        if call.injected.ns() == 0 {
            continue;
        }
        let name = format!("{} {}", request.service(call), request.operation(call));
        let injected = truth.operations.entry(name).or_default();
        let extra_ns = call.injected.ns() as f64;
        injected.extra_ns.push(extra_ns);
        *injected.by_trace.entry(request.trace_id).or_default() += extra_ns;
        *injected.replicas.entry(request.replica(call).to_owned()).or_default() += 1;
    }
}

fn print_row(settings: &Settings, now: &Requests, usual: Option<&Requests>, truth: &Truth) {
    let slow = DiagnoseSettings { suspects_max: 1000, ..DiagnoseSettings::default() };
    let engine = LocalEngine::new(threads());
    let (report, hits) =
        diagnose_with_hits(now, usual, &InputFacts::default(), &slow, engine).expect("settings in range");
    let hits: Vec<BTreeSet<TraceId>> = hits.into_iter().map(|traces| traces.into_iter().collect()).collect();
    let name = |suspect: &Suspect| format!("{} {}", suspect.service, suspect.operation);
    let any: BTreeSet<TraceId> = hits.iter().flatten().copied().collect();
    let injected: BTreeSet<TraceId> =
        truth.operations.values().flat_map(|operation| operation.by_trace.keys().copied()).collect();
    let named = report.suspects.iter().position(|suspect| truth.operations.contains_key(&name(suspect)));
    let start = format!(
        "| {} | {} | {} |",
        settings.scenario.name(),
        settings.seed,
        if usual.is_some() { "yes" } else { "no" }
    );
    let Some(index) = named else {
        println!(
            "{start} {:?}, {} suspects | {} | {} | | | | | | | | |",
            report.verdict,
            report.suspects.len(),
            any.len(),
            injected.len()
        );
        return;
    };
    let suspect = &report.suspects[index];
    let own = &truth.operations[&name(suspect)];
    let own_traces: BTreeSet<TraceId> = own.by_trace.keys().copied().collect();
    let [precision, recall] = scores(&hits[index], &own_traces);
    let [precision_any, recall_any] = scores(&any, &injected);
    let per_request: Vec<f64> = own.by_trace.values().copied().collect();
    println!(
        "{start} {}: {} | {} | {} | {precision:.3} | {recall:.3} | {precision_any:.3} | {recall_any:.3} | {:.3} | {:.3} | {} | {} |",
        suspect.rank,
        name(suspect),
        suspect.requests_hit,
        own_traces.len(),
        suspect.effect_ns as f64 / median(&own.extra_ns),
        suspect.request_effect_ns as f64 / median(&per_request),
        replica_calls(&report, own),
        suspect.categories.len(),
    );
}

/// Slow calls of culprit replicas over delayed calls there.
fn replica_calls(report: &Report, own: &Injected) -> String {
    let culprits = report.replicas.iter().filter(|replica| own.replicas.contains_key(&replica.replica));
    let (slow, delayed) = culprits.fold((0, 0), |(slow, delayed), replica| {
        (slow + replica.slow_calls, delayed + own.replicas[&replica.replica])
    });
    if delayed == 0 { "all".to_owned() } else { format!("{slow} of {delayed}") }
}

fn scores(named: &BTreeSet<TraceId>, truth: &BTreeSet<TraceId>) -> [f64; 2] {
    let right = named.intersection(truth).count() as f64;
    [right / named.len().max(1) as f64, right / truth.len().max(1) as f64]
}

fn median(values: &[f64]) -> f64 {
    laggard_numeric::median_of(values)
}
