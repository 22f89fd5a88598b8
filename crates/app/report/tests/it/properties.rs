//! Every output of any report is valid.

use crate::{PLAIN, fixtures, html, markdown, rendered, text};
use laggard_model::Timestamp;
use laggard_report::{Between, NamedCount, Onset, Output, Report, Window, headline};
use proptest::prelude::*;

/// Names of all kinds: any characters, markup, escape sequences, Markdown syntax.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
        proptest::collection::vec(
            prop::sample::select(vec!["`", "``", "|", "\\", "<", "\"", "\u{1b}[", "&", "\n", "a"]),
            0..30
        )
        .prop_map(|pieces| pieces.concat()),
        Just("x".repeat(5_000)),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), 0.0..1.0_f64, Just(f64::NAN), Just(f64::INFINITY)]
}

/// Fills every field of a report with random names and numbers.
fn dealt(mut report: Report, names: &[String], numbers: &[f64], counts: &[u64]) -> Report {
    let mut names = names.iter().cycle().cloned();
    let mut numbers = numbers.iter().cycle().copied();
    let mut counts = counts.iter().cycle().copied();
    let mut name = || names.next().unwrap_or_default();
    let mut number = || numbers.next().unwrap_or_default();
    let mut count = || counts.next().unwrap_or_default();
    (report.method, report.mode) = (name(), name());
    report.cautions = vec![name(), name()];
    report.ruled_out = vec![name()];
    report.input.formats = vec![NamedCount { name: name(), count: count() }];
    (report.input.requests, report.input.bytes) = (count(), count());
    for category in &mut report.categories {
        (category.service, category.operation) = (name(), name());
        (category.requests, category.cv, category.latency_p99_ns) = (count(), number(), count());
        for node in &mut category.tree {
            (node.service, node.operation) = (name(), name());
            (node.share, node.calls_mean, node.self_p99_ns) = (Some(number()), number(), count());
            node.parent = node.parent.map(|_| count() as u32 % 12);
        }
    }
    for suspect in &mut report.suspects {
        (suspect.service, suspect.operation, suspect.kind) = (name(), name(), name());
        (suspect.effect_ns, suspect.factor, suspect.share) = (count(), number(), number());
        (suspect.requests_hit, suspect.replicas_seen) = (count(), count());
        suspect.replicas.iter_mut().for_each(|replica| *replica = name());
        suspect.trace_ids.iter_mut().for_each(|id| *id = name());
        suspect.evidence.iter_mut().for_each(|word| *word = name());
        suspect.between.iter_mut().for_each(|between| deal_link(between, &mut name));
        if let Some(shift) = &mut suspect.shift {
            (shift.factor, shift.factor_low, shift.p_value) = (number(), number(), number());
        }
        if let Some(onset) = &mut suspect.onset {
            let mut time = || Timestamp::from_unix_ns(count() as i64);
            *onset = Onset { at: time(), earliest: time(), latest: time() };
        }
    }
    for incident in &mut report.incidents {
        let mut time = || Timestamp::from_unix_ns(count() as i64);
        incident.time = Window { since: time(), until: time() };
        incident.excess_share = number();
        for suspect in &mut incident.suspects {
            (suspect.service, suspect.operation) = (name(), name());
            (suspect.factor, suspect.share, suspect.effect_ns) = (number(), number(), count());
            suspect.between.iter_mut().for_each(|between| deal_link(between, &mut name));
        }
    }
    if let Some(baseline) = &mut report.baseline {
        (baseline.requests, baseline.mean_ns, baseline.window_mean_ns) = (count(), number(), number());
        (baseline.slower_ns, baseline.mix_ns) = (number(), number());
    }
    for replica in &mut report.replicas {
        (replica.replica, replica.service) = (name(), name());
        (replica.p_value, replica.calls) = (Some(number()), count());
    }
    if let Some(map) = &mut report.heat_map {
        map.operations.iter_mut().chain(&mut map.replicas).for_each(|title| *title = name());
        map.cells.iter_mut().flatten().for_each(|cell| cell.factor = Some(number()));
    }
    if let Some(latency) = &mut report.latency {
        latency.hit.iter_mut().for_each(|requests| *requests = count());
    }
    report.headline = headline(&report);
    report
}

fn deal_link(between: &mut Between, name: &mut impl FnMut() -> String) {
    (between.caller_service, between.caller_operation) = (name(), name());
    (between.callee_service, between.callee_operation) = (name(), name());
}

fn report() -> impl Strategy<Value = Report> {
    let names = proptest::collection::vec(name(), 1..12);
    let numbers = proptest::collection::vec(number(), 1..6);
    let counts = proptest::collection::vec(prop_oneof![any::<u64>(), 0..20_000_u64], 1..6);
    let base = prop_oneof![
        Just(0_usize).prop_map(|_| fixtures::all_replicas()),
        Just(0_usize).prop_map(|_| fixtures::three_replicas()),
        Just(0_usize).prop_map(|_| fixtures::insufficient()),
        Just(0_usize).prop_map(|_| fixtures::healthy()),
        Just(0_usize).prop_map(|_| fixtures::against_baseline()),
        Just(0_usize).prop_map(|_| fixtures::slow_periods()),
    ];
    (base, names, numbers, counts)
        .prop_map(|(base, names, numbers, counts)| dealt(base, &names, &numbers, &counts))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_output_of_any_report_is_valid(report in report(), width in any::<u16>()) {
        text::check(&report, width % 130).map_err(TestCaseError::fail)?;
        markdown::check(&report).map_err(TestCaseError::fail)?;
        html::check(&report).map_err(TestCaseError::fail)?;
        let json = rendered(Output::Json, &report, &PLAIN);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        prop_assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
        prop_assert_eq!(headline(&report).matches('`').count() % 2, 0);
    }
}
