//! The truth file matches the data.

use crate::support::{draw, write};
use laggard_simulate::{ExpectedVerdict, FaultScope, OutputFormat, Scenario, Settings, Truth};
use std::collections::{BTreeMap, BTreeSet, HashSet};

fn settings(scenario: Scenario) -> Settings {
    let base = Settings::new(scenario, 12);
    Settings { requests_per_service: 250, categories_per_service: 6, window_s: 300, ..base }
}

#[test]
fn the_truth_counts_the_records_of_the_requests() {
    for scenario in Scenario::ALL {
        let settings = settings(scenario);
        let (folder, summary) = write(&settings, OutputFormat::OtlpProto);
        let truth = Truth::read(&folder.path().join("truth.json")).unwrap();
        assert_eq!(truth, summary.truth);
        let requests = draw(&settings);
        assert_eq!(truth.requests, requests.len() as u64);
        let calls: usize = requests.iter().map(|request| request.calls.len()).sum();
        assert_eq!(truth.spans, calls as u64);
        let per_category: u64 = truth.categories.iter().map(|category| category.requests).sum();
        assert_eq!(per_category, truth.requests);
        check_categories(&truth, &requests);
        check_expected(scenario, &truth, &requests);
        check_injections(&folder.files(""), &requests);
    }
}

fn check_categories(truth: &Truth, requests: &[laggard_simulate::Request]) {
    for category in &truth.categories {
        let own: Vec<_> = requests.iter().filter(|request| request.category == category.category).collect();
        assert_eq!(category.requests, own.len() as u64);
        let delayed =
            |request: &&&laggard_simulate::Request| request.calls.iter().any(|call| call.injected.ns() > 0);
        assert_eq!(category.affected_requests, own.iter().filter(delayed).count() as u64);
        assert_eq!(category.positions_total, own[0].calls.len());
        assert_eq!(category.example_trace_id, format!("{:032x}", own[0].trace_id.value()));
        let mut positions: BTreeMap<usize, u64> = BTreeMap::new();
        for (index, _) in own
            .iter()
            .flat_map(|request| request.calls.iter().enumerate())
            .filter(|(_, call)| call.injected.ns() > 0)
        {
            *positions.entry(index).or_default() += 1;
        }
        let stated =
            category.affected_positions.iter().map(|position| (position.index, position.injected_calls));
        assert_eq!(stated.collect::<BTreeMap<_, _>>(), positions);
        for position in &category.affected_positions {
            assert_eq!(position.path, path(own[0], position.index));
        }
    }
}

fn path(request: &laggard_simulate::Request, index: usize) -> Vec<String> {
    let call = &request.calls[index];
    let mut path = call.parent.map_or_else(Vec::new, |parent| path(request, parent as usize));
    path.push(format!("{} {}", request.service(call), request.operation(call)));
    path
}

fn check_expected(scenario: Scenario, truth: &Truth, requests: &[laggard_simulate::Request]) {
    let expected = &truth.expected;
    assert_eq!(expected.scope, scenario.scope(), "{}", scenario.name());
    let faulty = scenario.scope() != FaultScope::None;
    assert_eq!(expected.verdict == ExpectedVerdict::Suspects, faulty);
    let mut replicas = BTreeSet::new();
    let mut operations = BTreeSet::new();
    for request in requests {
        for call in request.calls.iter().filter(|call| call.injected.ns() > 0) {
            replicas.insert(request.replica(call).to_owned());
            operations.insert((request.service(call).to_owned(), request.operation(call).to_owned()));
        }
    }
    let named = expected.operations.iter().map(|name| (name.service.clone(), name.operation.clone()));
    assert_eq!(named.collect::<BTreeSet<_>>(), operations);
    match expected.scope {
        FaultScope::Replicas => assert_eq!(expected.replicas, replicas.into_iter().collect::<Vec<_>>()),
        FaultScope::All => assert!(expected.replicas.is_empty() && replicas.len() > 20),
        FaultScope::None => assert!(expected.replicas.is_empty() && replicas.is_empty()),
    }
}

fn check_injections(files: &[(String, Vec<u8>)], requests: &[laggard_simulate::Request]) {
    let (_, bytes) = files.iter().find(|(name, _)| name == "injections.csv").unwrap();
    let mut lines = std::str::from_utf8(bytes).unwrap().lines();
    assert_eq!(lines.next(), Some("trace_id,index,service,operation,replica,extra_us"));
    let mut expected = HashSet::new();
    for request in requests {
        for (index, call) in request.calls.iter().enumerate().filter(|(_, call)| call.injected.ns() > 0) {
            let extra_us = call.injected.ns() as f64 / 1e3;
            let (service, operation) = (request.service(call), request.operation(call));
            let (id, replica) = (request.trace_id.value(), request.replica(call));
            expected.insert(format!("{id:032x},{index},{service},{operation},{replica},{extra_us:.3}"));
        }
    }
    let mut count = 0;
    for line in lines {
        assert!(expected.contains(line), "{line}");
        count += 1;
    }
    assert_eq!(count, expected.len());
}

#[test]
fn the_demonstration_has_its_incident() {
    let (_folder, summary) = write(&Settings::demo(), OutputFormat::OtlpJson);
    let truth = summary.truth;
    assert!((90_000..110_000).contains(&truth.spans), "{}", truth.spans);
    assert_eq!(truth.expected.operations.len(), 1);
    assert_eq!(truth.expected.operations[0].operation, "QueueWait");
    assert_eq!(truth.expected.replicas.len(), 4);
    let largest = truth.categories.iter().map(|category| category.affected_requests).max();
    assert!(largest >= Some(30), "{largest:?}");
}

#[test]
fn a_sample_unaffected_by_the_fault_is_healthy() {
    let settings = Settings { requests_per_service: 1, ..Settings::new(Scenario::Bursts, 1) };
    let (_folder, summary) = write(&settings, OutputFormat::SpanCsv);
    assert_eq!(summary.truth.injected_calls, 0);
    assert_eq!(summary.truth.expected.verdict, ExpectedVerdict::Healthy);
    assert_eq!(summary.truth.expected.scope, FaultScope::None);
}
