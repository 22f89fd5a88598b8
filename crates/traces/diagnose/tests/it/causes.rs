//! Uneven load as the cause, operations that only some replicas perform, and the names of single replicas.

use crate::simulated::{THREADS, incident, requests_in_order};
use crate::sites::traces_of;
use laggard_diagnose::{DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_report::{InputFacts, Report, Scope, Verdict};
use laggard_simulate::{Scenario, Settings};
use std::fmt::Write;

fn report(traces: &Requests, baseline: Option<&Requests>) -> Report {
    let engine = LocalEngine::new(THREADS);
    diagnose(traces, baseline, &InputFacts::default(), &DiagnoseSettings::default(), engine).unwrap()
}

fn settings(scenario: Scenario) -> Settings {
    Settings { requests_per_service: 600, categories_per_service: 3, ..Settings::new(scenario, 5) }
}

#[test]
fn replicas_that_are_slow_because_of_their_load_are_named_with_their_share() {
    let quiet = incident(&settings(Scenario::Quiet)).traces;
    let traces = incident(&settings(Scenario::LoadImbalance)).traces;
    for baseline in [None, Some(&quiet)] {
        let report = report(&traces, baseline);
        let lead = &report.suspects[0];
        let load = lead.load.unwrap_or_else(|| panic!("{:?}: {}", baseline.is_some(), report.headline));
        assert_eq!(load.is_against_baseline, baseline.is_some());
        assert!(load.share > 2.0 * load.usual_share, "{load:?}");
        let calls: u64 = report.suspects[0].load.map_or(0, |load| load.replica_calls);
        assert!(report.headline.contains("; these 5 replicas receive "), "{}", report.headline);
        assert!(calls > 20, "{load:?}");
    }
    let slow = incident(&settings(Scenario::CodeBug)).traces;
    for baseline in [None, Some(&quiet)] {
        let report = report(&slow, baseline);
        assert_eq!(report.suspects[0].scope, Scope::Replicas);
        assert!(report.suspects.iter().all(|suspect| suspect.load.is_none()), "{}", report.headline);
    }
}

#[test]
fn an_operation_that_only_some_replicas_perform_is_found_without_a_baseline() {
    let settings = settings(Scenario::CodeBugNewOperation);
    let incident = incident(&settings);
    let report = report(&incident.traces, None);
    assert_eq!(report.verdict, Verdict::Suspects);
    let lead = &report.suspects[0];
    assert_eq!(
        (lead.operation.as_str(), &lead.evidence[..]),
        ("ScanAttachments", &["peers".to_owned(), "some-replicas".to_owned()][..])
    );
    let mut named = lead.replicas.clone();
    named.sort();
    let mut truth: Vec<String> = incident.injected.iter().map(|(_, replica)| replica.clone()).collect();
    truth.sort();
    truth.dedup();
    assert_eq!(named, truth);
    assert_eq!(lead.replicas_seen, 30);
    assert!(
        report.headline.contains("`ScanAttachments` is performed on 9 of 30 replicas ("),
        "{}",
        report.headline
    );
}

#[test]
fn the_only_replica_is_named_but_not_compared() {
    let mut text = String::new();
    for request in 0..200_u64 {
        let (trace, start) = (request + 1, request * 1_000_000_000);
        let slow = if request % 10 == 3 { 40_000_000 } else { 0 };
        let own = 3_000_000 + request % 7 * 20_000 + slow;
        writeln!(
            text,
            "{trace} a - shop/buy@shop-{} {start}..{} server",
            request % 3,
            start + own + 2_000_000
        )
        .unwrap();
        writeln!(
            text,
            "{trace} b a store/get@store-only {}..{} server",
            start + 1_000_000,
            start + 1_000_000 + own
        )
        .unwrap();
    }
    let report = report(&traces_of(text.lines()), None);
    let lead = &report.suspects[0];
    assert_eq!((lead.operation.as_str(), lead.scope), ("get", Scope::All), "{}", report.headline);
    assert_eq!((&lead.replicas[..], lead.replicas_seen), (&["store-only".to_owned()][..], 1));
    assert!(lead.culprits.is_empty() && report.replicas.is_empty());
}

#[test]
fn the_order_of_spans_does_not_change_a_byte_of_the_report() {
    let settings = settings(Scenario::OneOfTwo);
    let shown = |reversed: bool| {
        let traces = requests_in_order(&settings, |spans| {
            if reversed {
                spans.reverse();
                let third = spans.len() / 3;
                spans.rotate_left(third);
            }
        });
        format!("{:?}", report(&traces, None))
    };
    assert_eq!(shown(false), shown(true));
}
