//! Comparisons of two periods of one simulated system.

use crate::simulated::{Incident, THREADS, incident, incident_of};
use crate::sites::traces_of;
use laggard_diagnose::{
    CompareSettings, ComparedPopulation, Population, PopulationFold, UnionNames, compare,
};
use laggard_engine::{LocalEngine, Requests, contract};
use laggard_model::Timestamp;
use laggard_report::{Change, Comparison, ComparisonVerdict, InputFacts, OperationChange, ShapeFate};
use laggard_simulate::{Scenario, Settings};
use std::num::NonZeroUsize;

fn small(scenario: Scenario, seed: u64) -> Settings {
    Settings { requests_per_service: 150, categories_per_service: 3, ..Settings::new(scenario, seed) }
}

fn populations<'a>(sets: [Population<'a>; 2]) -> [ComparedPopulation<'a>; 2] {
    sets.map(|population| ComparedPopulation {
        population,
        facts: InputFacts::default(),
        label: "set".to_owned(),
    })
}

fn compared(before: &Requests, after: &Requests) -> Comparison {
    compared_with([Population::all(before), Population::all(after)], THREADS)
}

fn compared_with(sets: [Population<'_>; 2], threads: NonZeroUsize) -> Comparison {
    let [before, after] = populations(sets);
    compare([&before, &after], &CompareSettings::default(), LocalEngine::new(threads)).expect("in range")
}

fn against_baseline(settings: &Settings) -> (Incident, Comparison) {
    let (before, after) = (incident(&settings.baseline()), incident(settings));
    let comparison = compared(&before.traces, &after.traces);
    (after, comparison)
}

fn changed(comparison: &Comparison) -> Vec<&OperationChange> {
    comparison.operations.iter().filter(|operation| operation.change != Change::None).collect()
}

fn name(operation: &OperationChange) -> String {
    format!("{} {}", operation.service, operation.operation)
}

#[test]
fn the_fold_obeys_the_laws_even_when_paths_are_pooled_and_samples_cut() {
    let settings =
        Settings { requests_per_service: 12, categories_per_service: 2, ..Settings::new(Scenario::Quiet, 3) };
    let traces = incident(&settings).traces;
    let population = Population::all(&traces);
    let union = UnionNames::from_populations(&[population]);
    for (paths_max, observations_max) in [(20_000, 2_000), (30, 7)] {
        let settings = CompareSettings { paths_max, observations_max, ..CompareSettings::default() };
        let engine = LocalEngine::new(THREADS);
        let fold = PopulationFold::new(union.select(&population, 0), &settings, engine);
        contract::check(&fold, traces.all());
        let summary = engine.fold(traces.all(), &fold);
        assert_eq!(summary.requests, 36);
        assert_eq!(summary.paths.pooled_below().is_some(), paths_max == 30);
    }
}

#[test]
fn two_quiet_hours_do_not_differ() {
    for seed in [41, 42] {
        let (_, comparison) = against_baseline(&small(Scenario::Quiet, seed));
        assert_eq!(comparison.verdict, ComparisonVerdict::Unchanged, "{}", comparison.headline);
        assert!(changed(&comparison).is_empty());
        assert!(comparison.shapes.iter().all(|shape| !shape.significant));
    }
}

/// One request in twelve takes 20 ms longer: no median moves, but the mean of the requests does, from 10 ms.
#[test]
fn a_fault_of_few_calls_is_a_difference_of_their_entry() {
    let requests = |fault_ns: u64| {
        let text = |at: u64| {
            let from = at * 1_000_000_000;
            let own = 2_000_000 + at * 7919 % 400_000;
            let read = 8_000_000 + at * 104_729 % 900_000 + if at.is_multiple_of(12) { fault_ns } else { 0 };
            format!(
                "{0} a - shop/buy@s1 {from}..{1} server\n{0} b a shop/read@s1 {from}..{2} internal\n",
                at + 1,
                from + own + read,
                from + read
            )
        };
        traces_of((0..600).map(text).collect::<String>().lines())
    };
    let comparison = compared(&requests(0), &requests(20_000_000));
    assert_eq!(comparison.verdict, ComparisonVerdict::Slower, "{}", comparison.headline);
    assert_eq!(comparison.entries[0].change, Change::Slower);
    assert!(comparison.headline.contains("+16 %"), "{}", comparison.headline);
    let unchanged = compared(&requests(0), &requests(0));
    assert_eq!(
        (unchanged.verdict, unchanged.entries[0].change),
        (ComparisonVerdict::Unchanged, Change::None)
    );
}

#[test]
fn one_operation_a_tenth_slower_everywhere_is_the_only_one_named() {
    let settings =
        Settings { requests_per_service: 500, categories_per_service: 2, ..small(Scenario::Uniform, 43) };
    let (incident, comparison) = against_baseline(&settings);
    assert_eq!(comparison.verdict, ComparisonVerdict::Slower, "{}", comparison.headline);
    let changed = changed(&comparison);
    assert_eq!(changed.iter().map(|found| name(found)).collect::<Vec<_>>(), [incident.injected[0].0.clone()]);
    let time = changed[0].time.expect("it is in both hours");
    assert!((time.ratio.expect("it takes time") - 1.1).abs() < 0.04, "{time:?}");
    assert!(time.low < Some(time.shift) && Some(time.shift) < time.high);
    let latency = comparison.latency.expect("there are requests");
    assert_eq!((latency.new_shapes.change_ns, latency.vanished_shapes.change_ns), (0.0, 0.0));
}

#[test]
fn a_call_that_an_upgrade_adds_is_found_and_placed() {
    let (incident, comparison) = against_baseline(&small(Scenario::CodeBugNewOperation, 44));
    let new: Vec<String> = (changed(&comparison).into_iter())
        .filter(|operation| operation.change == Change::New)
        .map(name)
        .collect();
    assert_eq!(new, [incident.injected[0].0.clone()]);
    let shape = comparison.shapes.iter().find(|shape| shape.fate == ShapeFate::New && shape.significant);
    let difference = &shape.expect("new call trees").differences[0];
    assert_eq!((difference.path.last(), difference.calls_before), (Some(&new[0]), 0.0));
    let frames = comparison.paths.iter().filter(|path| path.change == Change::New);
    assert!(frames.clone().count() > 0 && frames.into_iter().all(|path| path.before.calls == 0));
}

/// The second hour has only an eighth of the requests with few calls, but no operation is slower.
#[test]
fn a_changed_mix_is_distinguished_from_slower_requests() {
    let settings = Settings { requests_per_service: 300, ..small(Scenario::Quiet, 45) };
    let before = incident(&settings.baseline());
    let after =
        incident_of(&settings, |request| request.calls.len() > 100 || request.trace_id.value() % 8 == 0);
    let comparison = compared(&before.traces, &after.traces);
    assert!(changed(&comparison).is_empty(), "{}", comparison.headline);
    let latency = comparison.latency.expect("there are requests");
    let parts = [latency.same_requests, latency.mix, latency.new_shapes, latency.vanished_shapes];
    let sum: f64 = parts.iter().map(|part| part.change_ns).sum();
    assert!((sum - latency.total.change_ns).abs() < 1e-3, "the parts sum to the change");
    assert!(latency.mix.p_value < 1e-4 && latency.same_requests.p_value > 0.01, "{latency:?}");
    let moved =
        |fate| comparison.shapes.iter().filter(|shape| shape.significant && shape.fate == fate).count();
    assert!(moved(ShapeFate::Shrunk) > 0 && moved(ShapeFate::Grown) > 0);
    assert_eq!(moved(ShapeFate::New) + moved(ShapeFate::Vanished), 0);
}

#[test]
fn two_windows_of_one_data_set_and_any_number_of_threads() {
    let settings = small(Scenario::Uniform, 46);
    let traces = incident(&settings).traces;
    let middle = Timestamp::from_unix_ns(settings.start_unix_ns + 1_800_000_000_000);
    let all = Population::all(&traces);
    let halves = [Population { until: middle, ..all }, Population { since: middle, ..all }];
    let one = compared_with(halves, NonZeroUsize::MIN);
    let requests = one.before.input.requests + one.after.input.requests;
    assert_eq!(requests, 450);
    assert_eq!(one.verdict, ComparisonVerdict::Unchanged, "{}", one.headline);
    let three = compared_with(halves, NonZeroUsize::new(3).expect("not zero"));
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
}

#[test]
fn too_few_requests_are_reported() {
    let traces = Requests::default();
    let comparison = compared(&traces, &incident(&small(Scenario::Quiet, 47)).traces);
    assert_eq!(comparison.verdict, ComparisonVerdict::InsufficientData);
    assert!(comparison.latency.is_none() && comparison.cautions[0].contains("no complete request"));
}

#[test]
fn a_fault_of_one_replica_is_named_with_the_share_of_calls() {
    let settings =
        Settings { requests_per_service: 600, categories_per_service: 2, ..small(Scenario::OneOfTwo, 51) };
    let (incident, comparison) = against_baseline(&settings);
    let (operation, replica) = &incident.injected[0];
    let changed = changed(&comparison);
    let found = changed.iter().find(|found| name(found) == *operation).expect("the slow operation");
    assert_eq!((found.replicas.len(), found.replicas_compared), (1, 2), "{found:?}");
    let slow = &found.replicas[0];
    assert_eq!((&slow.replica, slow.change), (replica, Change::Slower));
    assert!((slow.calls_share * slow.moved_share - 0.5).abs() < 0.1, "{slow:?}");
    let sentence = format!("different on 1 of 2 replicas: {replica}, +");
    assert!(comparison.headline.contains(&sentence), "{}", comparison.headline);
}

#[test]
fn one_slow_host_of_many_is_a_difference() {
    let settings =
        Settings { requests_per_service: 600, categories_per_service: 2, ..small(Scenario::SlowHost, 52) };
    let (incident, comparison) = against_baseline(&settings);
    assert_ne!(comparison.verdict, ComparisonVerdict::Unchanged, "{}", comparison.headline);
    let named: Vec<&str> = (changed(&comparison).into_iter())
        .flat_map(|found| found.replicas.iter().map(|replica| replica.replica.as_str()))
        .collect();
    assert!(!named.is_empty() && named.iter().all(|name| *name == incident.injected[0].1), "{named:?}");
}

#[test]
fn replicas_of_quiet_hours_do_not_differ() {
    for seed in 60..80 {
        let (_, comparison) = against_baseline(&small(Scenario::Quiet, seed));
        assert!(changed(&comparison).is_empty(), "seed {seed}: {}", comparison.headline);
    }
}
