//! Effects and counts of suspects compared with the injected faults.

use crate::simulated::THREADS;
use crate::sites::traces_of;
use laggard_diagnose::{DiagnoseSettings, diagnose_with_hits};
use laggard_engine::{Ingest, IngestSettings, LocalEngine, Requests};
use laggard_model::{Sink, TraceId};
use laggard_numeric::median_of;
use laggard_report::{InputFacts, Report};
use laggard_simulate::{Request, Scenario, Settings, requests};
use std::collections::{BTreeMap, BTreeSet};

/// The calls of one operation and the time added to some of them.
#[derive(Default)]
struct Injected {
    extra_ns: Vec<f64>,
    traces: BTreeSet<TraceId>,
    calls_by_replica: BTreeMap<String, u64>,
    affected: BTreeSet<usize>,
}

impl Injected {
    fn add(&mut self, request: &Request, operation: &str) {
        for call in request.calls.iter().filter(|call| request.operation(call) == operation) {
            *self.calls_by_replica.entry(request.replica(call).to_owned()).or_default() += 1;
            if call.injected.ns() > 0 {
                self.extra_ns.push(call.injected.ns() as f64);
                self.traces.insert(request.trace_id);
                self.affected.insert(request.category);
            }
        }
    }
}

/// The report, the traces that its first suspect hit, and the truth about an operation.
fn diagnosed(settings: &Settings, operation: &str) -> (Report, BTreeSet<TraceId>, Injected) {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut injected = Injected::default();
    for request in requests(settings).unwrap() {
        request.calls.iter().for_each(|call| ingest.span(&request.span(call)));
        injected.add(&request, operation);
    }
    let traces = Requests::from_traces(ingest.finish(THREADS), THREADS);
    let engine = LocalEngine::new(THREADS);
    let (report, hits) =
        diagnose_with_hits(&traces, None, &InputFacts::default(), &DiagnoseSettings::default(), engine)
            .unwrap();
    (report, hits[0].iter().copied().collect(), injected)
}

#[test]
fn requests_hit_match_the_injected_ones() {
    let (report, hit, injected) = diagnosed(&Settings::demo(), "QueueWait");
    let suspect = &report.suspects[0];
    let right = hit.intersection(&injected.traces).count() as f64;
    assert!(right >= 0.95 * hit.len() as f64 && right >= 0.95 * injected.traces.len() as f64, "{right}");
    assert_eq!(suspect.requests_hit, hit.len() as u64);
    let affected: u64 = suspect.affected.iter().map(|category| category.requests_hit).sum();
    assert!(affected <= suspect.requests_hit);
    assert_eq!(suspect.affected.len(), injected.affected.len(), "{:?}", suspect.affected);
    assert!(suspect.affected.is_sorted_by(|a, b| a.lost_ns >= b.lost_ns));
}

#[test]
fn effects_and_calls_of_replicas_are_those_of_single_calls() {
    let settings = Settings {
        requests_per_service: 600,
        categories_per_service: 3,
        ..Settings::new(Scenario::CodeBug, 5)
    };
    let (report, hit, injected) = diagnosed(&settings, "CheckAccess");
    let suspect = &report.suspects[0];
    assert_eq!(suspect.operation, "CheckAccess");
    let right = hit.intersection(&injected.traces).count() as f64;
    assert!(right >= 0.95 * hit.len() as f64 && right >= 0.95 * injected.traces.len() as f64, "{right}");
    let effect = suspect.effect_ns as f64 / median_of(&injected.extra_ns);
    assert!((0.9..1.1).contains(&effect), "{effect}");
    assert!(suspect.request_effect_ns >= suspect.effect_ns, "some requests call it more than once");
    for replica in &report.replicas {
        assert_eq!(replica.calls, injected.calls_by_replica[&replica.replica], "{}", replica.replica);
    }
    let slow: u64 = report.replicas.iter().map(|replica| replica.slow_calls).sum();
    let share = slow as f64 / injected.extra_ns.len() as f64;
    assert!((0.95..1.05).contains(&share), "{share}");
}

/// Every request calls the same replica twice, which comes before or after its own in the order of names. One of four callers
/// takes three times as long.
#[test]
fn repeated_calls_between_the_same_two_replicas_are_all_hit() {
    let request = |at: u64| {
        let (caller, callee) = (at % 4, ["a", "z"][at as usize / 4 % 2]);
        let wait = (1_000_000 + at * 7_919 % 200_000) * if caller == 3 { 3 } else { 1 };
        let call = |id: u64, from: u64| {
            let (until, answered) = (from + wait + 500_000, from + 500_000);
            format!(
                "{at} {id} 1 shop/call-pay@m{caller} {from}..{until} client
                 {at} 1{id} {id} pay/pay@{callee} {from}..{answered} server\n"
            )
        };
        let (start, middle) = (at * 100_000_000, at * 100_000_000 + 10_000_000);
        let end = start + 20_000_000;
        format!("{at} 1 - shop/buy@m{caller} {start}..{end} server\n{}{}", call(2, start), call(3, middle))
    };
    let text: String = (1..=400).map(request).collect();
    let traces = traces_of(text.lines());
    let (facts, settings) = (InputFacts::default(), DiagnoseSettings::default());
    let (report, hits) =
        diagnose_with_hits(&traces, None, &facts, &settings, LocalEngine::new(THREADS)).unwrap();
    let suspect = &report.suspects[0];
    assert_eq!((&*suspect.operation, suspect.requests_hit, hits[0].len()), ("call-pay", 100, 100));
    assert_eq!(suspect.requests_seen, 400);
}
