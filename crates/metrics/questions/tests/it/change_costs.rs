//! What changes cost in capacity, drift, mix changes of several tiers, and CPU that is not explained.

use crate::tpcw_table::table;
use laggard_metrics_questions::{ChangesQuestion, ChangesSettings, SampleFacts, changes};
use laggard_report::{ChangeEventKind, ChangeReport, ChangeVerdict};
use laggard_samples::WindowTable;
use laggard_simulate::{Phase, TpcwScenario, TpcwSettings, Workload, tpcw};
use std::num::NonZeroUsize;

fn report(table: &WindowTable) -> ChangeReport {
    let question = ChangesQuestion {
        table,
        facts: &SampleFacts::default(),
        deployments: &[],
        settings: &ChangesSettings::default(),
        threads: NonZeroUsize::MIN,
    };
    changes(&question).unwrap()
}

fn steps(windows: u32, mix: usize) -> Phase {
    Phase::new(windows, Workload::Steps { mix, clients: vec![200, 400, 300] })
}

fn shop(seed: u64, phases: Vec<Phase>) -> WindowTable {
    table(&tpcw(&TpcwSettings::new(seed, phases)).unwrap())
}

/// Home takes 10 ms more: 10 ms for each of its calls since then, and the capacity of the server falls with the CPU of a mean
/// transaction.
#[test]
fn a_change_is_stated_in_cores_and_requests() {
    let table = shop(11, vec![steps(90, 1), steps(90, 1).with_change("Home", 0.01)]);
    let report = report(&table);
    let event = report.events.iter().find(|event| event.kind == ChangeEventKind::ApplicationChange).unwrap();
    let cost = event.capacity.unwrap();
    let home = table.transactions.iter().position(|name| name == "Home").unwrap();
    let calls: f64 = (90..180).map(|row| table.system.counts.get(row, home)).sum();
    let truth = 0.01 * calls / (90.0 * 60.0);
    assert!((cost.cores / truth - 1.0).abs() < 0.1, "{cost:?} {truth}");
    let front = table.servers.iter().find(|server| server.tier == "front").unwrap();
    let used: f64 = front.utilization[90..].iter().sum::<f64>() / 90.0;
    // What the additional CPU is of all, but for the constant of 1.2 %.
    let fewer = -truth / (used - 0.012);
    assert!((cost.requests / fewer - 1.0).abs() < 0.12, "{cost:?} {fewer}");
    let clients: f64 = table.clients[90..].iter().sum::<f64>() / 90.0;
    let more = clients * (1.0 / (1.0 + fewer) - 1.0);
    assert!((cost.clients.unwrap() / more - 1.0).abs() < 0.15, "{cost:?} {more}");
    assert!(
        report.headline.contains("cores at the load since then; the CPU can serve"),
        "{}",
        report.headline
    );
}

/// Home gets more expensive by 0.4 ms in each of 20 half hours: one drift, not a row of changes.
#[test]
fn a_gradual_rise_is_one_drift() {
    let step = |index: u32| steps(30, 1).with_change("Home", 0.000_4 * f64::from(index));
    let table = shop(12, (0..20).map(step).collect());
    let report = report(&table);
    let alarms: Vec<_> = report.events.iter().filter(|event| event.kind.is_alarm()).collect();
    let on_server = report.servers.iter().flat_map(|server| &server.changes);
    let steps = on_server.filter(|change| change.kind == ChangeEventKind::ApplicationChange).count();
    assert!(steps >= 3, "{}", report.headline);
    assert_eq!(alarms.len(), 1, "{}", report.headline);
    assert_eq!(alarms[0].kind, ChangeEventKind::Drift);
    assert_eq!(alarms[0].drift.unwrap().steps as usize, steps);
    assert_eq!(alarms[0].transactions[0].transaction, "Home");
    assert!(
        (alarms[0].transactions[0].difference_s / 0.0076 - 1.0).abs() < 0.35,
        "{:?}",
        alarms[0].transactions
    );
    assert_eq!(report.verdict, ChangeVerdict::ApplicationChange);
    assert!(report.headline.contains("a gradual change, or several in one direction"), "{}", report.headline);
}

/// The mix is that of the clients: the same step on two tiers is one event.
#[test]
fn a_change_of_the_mix_is_one_event_of_all_tiers() {
    let report = report(&shop(13, vec![steps(120, 0), steps(120, 2)]));
    let moved: Vec<_> =
        report.events.iter().filter(|event| event.kind == ChangeEventKind::WorkloadChange).collect();
    assert_eq!(moved.len(), 1, "{}", report.headline);
    assert_eq!(report.verdict, ChangeVerdict::WorkloadChange, "{}", report.headline);
}

/// CPU that follows nothing: no verdict of *steady*. An idle server's noise is none of it.
#[test]
fn cpu_that_transactions_do_not_explain_is_not_steady() {
    let mut table = shop(14, vec![steps(120, 1)]);
    let front = table.servers.iter().position(|server| server.tier == "front").unwrap();
    let hash = |index: usize| {
        let value = (78.233 * (index + 1) as f64).sin() * 43_758.547;
        value - value.floor()
    };
    table.servers.truncate(front + 1);
    let shares: Vec<f64> = (0..table.windows).map(hash).collect();
    table.servers[front].utilization = shares.iter().map(|share| 0.1 + 0.6 * share).collect();
    let unexplained = report(&table);
    assert_eq!(unexplained.verdict, ChangeVerdict::CpuNotExplained, "{}", unexplained.headline);
    assert!(unexplained.headline.contains("do not explain the CPU"), "{}", unexplained.headline);
    table.servers[front].utilization = shares.iter().map(|share| 0.001 + 0.006 * share).collect();
    assert_eq!(report(&table).verdict, ChangeVerdict::Steady);
}

/// Another process uses a fifth of the CPU for two hours while the load goes up and down: one time of foreign load, and no change.
#[test]
fn foreign_load_while_the_load_changes_is_one_region() {
    for seed in 1..=3 {
        let run = tpcw(&TpcwSettings::scenario(TpcwScenario::Foreign, seed)).unwrap();
        let report = report(&table(&run));
        assert_eq!(report.verdict, ChangeVerdict::Anomaly, "{}", report.headline);
        let front = report.servers.iter().find(|server| server.tier == "front").unwrap();
        let windows: u64 = front.regions.iter().map(|region| region.windows).sum();
        assert!((110..=130).contains(&windows), "seed {seed}: {:?}", front.regions);
        let other = |event: &&laggard_report::JointChange| {
            event.kind.is_alarm() || event.kind == ChangeEventKind::Unexplained
        };
        assert_eq!(report.events.iter().filter(other).count(), 0, "seed {seed}: {}", report.headline);
    }
}

/// Home +5 ms, and another +5 ms at another load. A good part of the work of this shop comes after the response and does not change,
/// so the CPU is not proportional to the times.
#[test]
fn the_size_of_a_change_does_not_depend_on_work_after_the_response() {
    for seed in 4..=5 {
        let run = tpcw(&TpcwSettings::scenario(TpcwScenario::Paper, seed)).unwrap();
        let report = report(&table(&run));
        let changes = report.events.iter().filter(|event| event.kind == ChangeEventKind::ApplicationChange);
        let sizes: Vec<f64> = changes.map(|event| 1e3 * event.transactions[0].difference_s).collect();
        assert_eq!(sizes.len(), 2, "{}", report.headline);
        assert!(sizes.iter().all(|size| (size - 5.0).abs() < 1.0), "seed {seed}: {sizes:?}");
    }
}
