//! Servers with known faults, minute by minute.

use super::super::finding::{AlertFinding, ServerEvidence};
use super::super::kind::AlertKind;
use super::super::lifecycle::tests::{rules, time};
use super::super::lifecycle::{AlertList, AlertState};
use super::*;
use laggard_numeric::Matrix;
use laggard_samples::{ServerWindows, StorageKey, TransactionWindows};

/// Minutes from the first window to the start of the fault.
const QUIET: usize = 400;

/// Parameters of a minute.
#[derive(Clone, Copy)]
struct Minute {
    /// Milliseconds of CPU of a `buy`; a `read` takes 4.
    buy_ms: f64,
    /// Share of the CPU used by another process.
    foreign: f64,
    /// Factor of the load.
    load: f64,
}

const USUAL: Minute = Minute { buy_ms: 8.0, foreign: 0.0, load: 1.0 };

/// A pseudo-random value between -1 and 1.
fn noise(minute: usize, which: usize) -> f64 {
    ((minute * 7_919 + which * 104_729) % 1_009) as f64 / 504.0 - 1.0
}

/// Windows of one server of two cores up to a minute.
fn table(minutes: usize, minute: impl Fn(usize) -> Minute) -> WindowTable {
    let (mut counts, mut times, mut utilization) = (vec![], vec![], vec![]);
    for number in 0..minutes {
        let Minute { buy_ms, foreign, load } = minute(number);
        let buys = (load * (2_000.0 + 800.0 * noise(number / 7, 1) + 100.0 * noise(number, 2))).round();
        let reads = (load * (5_000.0 + 2_000.0 * noise(number / 11, 3) + 200.0 * noise(number, 4))).round();
        let work = (buys * buy_ms + reads * 4.0) / 120_000.0;
        let busy = 0.03 + work * (1.0 + 0.01 * noise(number, 5)) + foreign;
        counts.extend([buys, reads]);
        let wave = 1.0 + 0.02 * noise(number, 6);
        times.extend([buy_ms, 4.0].map(|ms| wave * ms / 1e3 / (1.0 - busy * busy)));
        utilization.push(busy);
    }
    let own = TransactionWindows {
        counts: Matrix::from_row_major(minutes, 2, counts),
        response_s: Matrix::from_row_major(minutes, 2, times),
        outbound: vec![],
    };
    WindowTable {
        since: time(0),
        length: WINDOW,
        windows: minutes,
        transactions: vec!["buy".to_owned(), "read".to_owned()],
        clients: vec![100.0; minutes],
        servers: vec![ServerWindows {
            memory: vec![],
            network: vec![],
            server: "app-1".to_owned(),
            tier: "app".to_owned(),
            machine: None,
            cores: Some(2.0),
            utilization,
            own: Some(own),
        }],
        ..WindowTable::default()
    }
}

fn detection() -> ServerDetection {
    ServerDetection::from_settings(&AlertSettings::default(), Rules { resolve_after: 5, ..rules() })
}

/// Evaluates every minute; returns the alerts and the findings with which they fired.
fn watch(
    detection: &ServerDetection,
    minutes: std::ops::Range<usize>,
    minute: impl Fn(usize) -> Minute + Copy,
) -> (AlertList, Vec<(usize, AlertFinding)>) {
    let (mut alerts, mut fired) = (AlertList::default(), Vec::new());
    for time_min in minutes {
        let (table, end) = (table(time_min, minute), time(time_min as i64));
        let evaluation = detection.evaluate(&alerts, Some(&table), &[], end);
        let changes = alerts.apply_servers(&evaluation, detection.rules, end);
        let new = alerts.active.iter().filter(|alert| changes.fired.contains(&alert.id));
        fired.extend(new.map(|alert| (time_min, alert.finding.clone())));
    }
    (alerts, fired)
}

#[test]
fn a_transaction_that_costs_more_is_named_until_it_is_rolled_back() {
    let minute = |at: usize| {
        let buy_ms = if (QUIET..QUIET + 60).contains(&at) { 13.0 } else { 8.0 };
        Minute { buy_ms, ..USUAL }
    };
    let (alerts, fired) = watch(&detection(), QUIET - 20..QUIET + 90, minute);
    assert_eq!(fired.len(), 1, "{fired:?}");
    let (fired_at, finding) = &fired[0];
    assert!((QUIET + 2..=QUIET + 8).contains(fired_at), "fires after {fired_at}");
    let ServerEvidence::HigherCost { transactions, cores, .. } = &finding.server().unwrap().evidence else {
        panic!("{finding:?}")
    };
    assert_eq!((transactions.len(), transactions[0].transaction.as_str()), (1, "buy"));
    assert!((transactions[0].before_s - 0.008).abs() < 0.001, "{transactions:?}");
    assert!((transactions[0].after_s - 0.013).abs() < 0.001, "{transactions:?}");
    // 2,000 calls a minute of 5 ms more.
    assert!((cores - 0.167).abs() < 0.07, "{cores}");
    assert!(finding.summary().contains("`buy` costs 1"), "{}", finding.summary());
    let over = &alerts.resolved[0];
    assert_eq!(
        (alerts.active.len(), over.ended.as_deref()),
        (0, Some("transactions cost as much CPU as before"))
    );
    let lasted = (over.resolved_ns.unwrap() - time(QUIET as i64 + 60).unix_ns()) / 60_000_000_000;
    assert!((5..=15).contains(&lasted), "resolved {lasted} minutes after the end");
}

#[test]
fn another_process_is_no_transaction() {
    let minute = |at: usize| {
        let foreign = if (QUIET..QUIET + 60).contains(&at) { 0.2 } else { 0.0 };
        Minute { foreign, ..USUAL }
    };
    let (alerts, fired) = watch(&detection(), QUIET - 20..QUIET + 90, minute);
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert!((QUIET + 2..=QUIET + 5).contains(&fired[0].0), "fires after {}", fired[0].0);
    let ServerEvidence::UnexplainedCpu { share, cores, times_known } = fired[0].1.server().unwrap().evidence
    else {
        panic!("{fired:?}")
    };
    assert!((share - 0.2).abs() < 0.03 && (cores - 0.4).abs() < 0.06 && times_known, "{share} {cores}");
    assert_eq!((alerts.active.len(), alerts.resolved.len()), (0, 1));
}

#[test]
fn more_load_is_no_excess() {
    let minute = |at: usize| Minute { load: if at >= QUIET { 1.6 } else { 1.0 }, ..USUAL };
    let (alerts, fired) = watch(&detection(), QUIET - 20..QUIET + 60, minute);
    assert!(fired.is_empty() && alerts.is_empty(), "{fired:?}");
}

#[test]
fn a_server_with_too_little_data_is_neither_a_finding_nor_healthy() {
    let evaluation = detection().evaluate(&AlertList::default(), Some(&table(30, |_| USUAL)), &[], time(30));
    assert_eq!((evaluation.findings.len(), evaluation.healthy.len()), (0, 0));
}

#[test]
fn a_server_below_its_capacity_reserve_is_reported() {
    let detection = ServerDetection { reserve: 0.3, ..detection() };
    let minute = |at: usize| Minute { load: if at >= QUIET { 2.5 } else { 1.0 }, ..USUAL };
    let (alerts, fired) = watch(&detection, QUIET - 5..QUIET + 25, minute);
    assert_eq!(fired.len(), 1, "{fired:?}");
    let finding = &fired[0].1;
    let ServerEvidence::LowCapacity { utilization, clients_left, .. } = finding.server().unwrap().evidence
    else {
        panic!("{finding:?}")
    };
    assert!(utilization > 0.7 && clients_left.unwrap() < 43.0, "{finding:?}");
    assert_eq!((finding.kind(), alerts.active[0].state), (AlertKind::LowCapacity, AlertState::Firing));
}

#[test]
fn a_filling_file_system_is_reported_and_resolved_when_freed() {
    let detection = detection();
    let key = StorageKey { tier: String::new(), server: "db-1".to_owned(), device: Some("/data".to_owned()) };
    // From hour 30 on, 40 % grows to 100 % in ten hours; emptied at hour 36.
    let used = |hour: f64| if hour < 36.0 { 0.4 + (hour - 30.0).max(0.0) * 0.06 } else { 0.4 };
    let (mut alerts, mut fired, mut over) = (AlertList::default(), None, None);
    for step in 12 * 26..12 * 38 {
        let points =
            (0..=step).map(|at: i64| (time(5 * at), used(at as f64 / 12.0) + 0.002 * noise(at as usize, 1)));
        let resource = StorageUse { key: key.clone(), points: points.collect() };
        let end = time(5 * step);
        let evaluation = detection.evaluate(&alerts, None, &[resource], end);
        let changes = alerts.apply_servers(&evaluation, detection.rules, end);
        let hour = step as f64 / 12.0;
        if !changes.fired.is_empty() {
            assert!(fired.is_none(), "once");
            fired = Some((hour, alerts.active[0].finding.clone()));
        }
        if !changes.resolved.is_empty() {
            over = Some(hour);
        }
    }
    let (hour, finding) = fired.expect("a leak");
    assert!(hour <= 35.0, "announced at {hour}");
    let ServerEvidence::DiskFull(full) = &finding.server().unwrap().evidence else { panic!("{finding:?}") };
    let hours = (full.full_ns - time(0).unix_ns()) as f64 / 3_600e9;
    assert!((hours - 40.0).abs() < 2.0 && full.device == "/data", "full at {hours}");
    assert!(over.is_some_and(|over| (36.0..36.6).contains(&over)), "{over:?}");
}
