//! Hand-written evaluations: which make an alert fire and which resolve it.

use super::super::evaluate::SlowCategory;
use super::super::finding::{FullTime, ServerEvidence, ServerSubject};
use super::*;

const START: i64 = 1_768_208_400_000_000_000;
const MINUTE_NS: i64 = 60_000_000_000;

/// A number of minutes after 2026-01-12T09:00:00Z.
pub(in crate::alerts) fn time(minute: i64) -> Timestamp {
    Timestamp::from_unix_ns(START + minute * MINUTE_NS)
}

pub(in crate::alerts) fn rules() -> Rules {
    Rules {
        fire_after: 2,
        fire_of: 3,
        resolve_after: 2,
        adapt_after: Nanos::from_secs(86_400),
        silent_after: Nanos::from_secs(3_600),
    }
}

/// A finding about `operation` of the service `db`, or of another service: `service operation`.
pub(in crate::alerts) fn finding(operation: &str) -> Finding {
    let (service, operation) = operation.split_once(' ').unwrap_or(("db", operation));
    Finding {
        service: service.to_owned(),
        operation: operation.to_owned(),
        caller: None,
        other_operations: Vec::new(),
        replicas: vec!["db-1".to_owned()],
        categories: vec![SlowCategory {
            id: "9e30bd5512fa".to_owned(),
            service: "web".to_owned(),
            operation: "buy".to_owned(),
        }],
        factor: Some(3.0),
        is_against_peers: false,
        effect_ns: 40_000_000,
        slower: 1.5,
        p_value: Some(1e-6),
        requests_hit: 90,
        requests_seen: 100,
        traces: vec!["5b8efff798038103d269b633813fc60c".to_owned()],
        behavior: Vec::new(),
        onset_ns: None,
    }
}

/// The evaluation at a minute: the fifteen minutes before it against the two hours before those.
pub(in crate::alerts) fn evaluated(operations: &[&str], minute: i64) -> Evaluation {
    Evaluation {
        window: Window { since: time(minute - 15), until: time(minute) },
        baseline: Window { since: time(minute - 135), until: time(minute - 15) },
        findings: operations.iter().map(|operation| finding(operation)).collect(),
        recoveries: BTreeMap::new(),
        others: Vec::new(),
    }
}

/// Evaluations in a row, `x` where the operation is found; the state after each.
fn run(evaluations: &str) -> String {
    let mut alerts = AlertList::default();
    let mut out = String::new();
    for (evaluation, minute) in evaluations.chars().zip(0..) {
        let operations: &[&str] = if evaluation == 'x' { &["read"] } else { &[] };
        let changes = alerts.apply(&evaluated(operations, minute), rules(), time(minute));
        assert_eq!(
            changes.fired.len(),
            usize::from(alerts.firing().any(|alert| alert.fired_ns == Some(time(minute).unix_ns())))
        );
        out.push(match alerts.active.first().map(|alert| alert.state) {
            None if !changes.resolved.is_empty() => 'r',
            None => '.',
            Some(AlertState::Pending) => 'p',
            Some(_) => 'F',
        });
    }
    out
}

#[test]
fn two_findings_of_three_fire_and_two_without_resolve() {
    assert_eq!(run("..xx...."), "..pFFr..");
    assert_eq!(run("x.x"), "ppF", "two of the last three");
    assert_eq!(run("x..x..x..."), "ppppppppp.", "one in three never does, and is forgotten");
    assert_eq!(run("xx.x.x..x"), "pFFFFFFrp", "one evaluation without it ends nothing");
}

#[test]
fn pending_alerts_are_discarded() {
    let mut alerts = AlertList::default();
    alerts.apply(&evaluated(&["read"], 0), rules(), time(0));
    for minute in 1..4 {
        alerts.apply(&evaluated(&[], minute), rules(), time(minute));
    }
    assert_eq!(alerts, AlertList::default());
}

#[test]
fn a_service_has_one_alert() {
    let mut alerts = AlertList::default();
    for minute in 0..50 {
        let lead = if minute % 2 == 0 { "read" } else { "write" };
        alerts.apply(&evaluated(&[lead, "cart write"], minute), rules(), time(minute));
    }
    assert_eq!((alerts.active.len(), alerts.firing().count(), alerts.resolved.len()), (2, 2, 0));
    let ids: Vec<&str> = alerts.active.iter().map(|alert| alert.id.as_str()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.len() == 16));
    assert_eq!(alerts.active[0].healthy_ns, time(-15).unix_ns(), "its first baseline stays");
}

#[test]
fn the_latest_calls_decide_whether_a_firing_alert_is_over() {
    let resolved_after = |recovery: Recovery, operations: &[&str]| {
        let mut alerts = AlertList::default();
        for minute in 0..2 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        let id = alerts.active[0].id.clone();
        for minute in 2..4 {
            let recoveries = BTreeMap::from([(id.clone(), recovery)]);
            let evaluation = Evaluation { recoveries, ..evaluated(operations, minute) };
            alerts.apply(&evaluation, rules(), time(minute));
        }
        alerts.resolved.len()
    };
    assert_eq!(resolved_after(Recovery::Recovered, &[]), 1);
    assert_eq!(resolved_after(Recovery::Recovered, &["read"]), 1, "the window still has the slow minutes");
    assert_eq!(
        resolved_after(Recovery::Recovered, &["write"]),
        0,
        "another operation of the service is slow"
    );
    assert_eq!(resolved_after(Recovery::StillSlow, &[]), 0);
    assert_eq!(resolved_after(Recovery::Unknown, &[]), 0, "not significant is not over");
}

#[test]
fn alerts_without_evaluations_and_lasting_ones_resolve() {
    let mut alerts = AlertList::default();
    for minute in 0..2 {
        alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
    }
    assert_eq!(
        alerts.expire(rules(), time(30)),
        Changes::default(),
        "half an hour of silence proves nothing"
    );
    assert_eq!(alerts.expire(rules(), time(61)).resolved.len(), 1);
    assert!(alerts.resolved[0].ended.as_ref().unwrap().contains("too few"));

    let mut alerts = AlertList::default();
    let day = 24 * 60;
    for minute in 0..=day + 1 {
        alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
    }
    assert_eq!(alerts.resolved.len(), 1);
    assert!(alerts.resolved[0].ended.as_ref().unwrap().contains("usual"));
}

#[test]
fn a_longer_window_does_not_keep_a_recovered_alert_open() {
    let last = |recovery: Recovery| {
        let mut alerts = AlertList::default();
        for minute in 0..2 {
            alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        let id = alerts.active[0].id.clone();
        for minute in 2..6 {
            let longer = WindowEvaluation {
                length_ns: 6 * 3_600_000_000_000,
                window: Interval { since_ns: time(minute - 360).unix_ns(), until_ns: time(minute).unix_ns() },
                baseline: Interval { since_ns: time(-1_000).unix_ns(), until_ns: time(-361).unix_ns() },
                findings: vec![finding("read"), finding("write")],
            };
            let recoveries = BTreeMap::from([(id.clone(), recovery)]);
            let evaluation = Evaluation { recoveries, others: vec![longer], ..evaluated(&[], minute) };
            alerts.apply(&evaluation, rules(), time(minute));
        }
        alerts.resolved.len()
    };
    assert_eq!(last(Recovery::Recovered), 1);
    assert_eq!(last(Recovery::StillSlow), 0);
}

#[test]
fn the_number_of_alerts_is_limited() {
    let mut alerts = AlertList::default();
    let names: Vec<String> = (0..ALERTS_MAX + 5).map(|index| format!("service-{index} read")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    for minute in 0..2 {
        alerts.apply(&evaluated(&all, minute), rules(), time(minute));
    }
    assert_eq!((alerts.firing().count(), alerts.omitted), (ALERTS_MAX, 10));
    for minute in 2..5 {
        alerts.apply(&evaluated(&all[..1], minute), rules(), time(minute));
    }
    for minute in 5..20 {
        alerts.apply(&evaluated(&[], minute), rules(), time(minute));
    }
    for minute in 20..24 {
        alerts.apply(&evaluated(&["cart one"], minute), rules(), time(minute));
    }
    for minute in 24..30 {
        alerts.apply(&evaluated(&[], minute), rules(), time(minute));
    }
    assert_eq!((alerts.active.len(), alerts.resolved.len()), (0, ALERTS_MAX), "the earliest was dropped");
    assert_eq!(alerts.resolved.last().unwrap().finding.operation().unwrap().service, "cart");
}

#[test]
fn yesterdays_alert_is_remembered() {
    let mut alerts = AlertList::default();
    for minute in 0..2 {
        alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
    }
    for minute in 2..6 {
        alerts.apply(&evaluated(&[], minute), rules(), time(minute));
    }
    let window = |since, until| Window { since: time(since), until: time(until) };
    assert!(
        alerts.was_about(&finding("read"), window(1, 100))
            && !alerts.was_about(&finding("cart read"), window(1, 100))
    );
    assert!(
        !alerts.was_about(&finding("read"), window(10, 100))
            && !alerts.was_about(&finding("read"), window(-100, -20))
    );
}

/// A finding about a server.
pub(in crate::alerts) fn server_finding(server: &str, evidence: ServerEvidence) -> ServerFinding {
    ServerFinding { server: server.to_owned(), tier: "app".to_owned(), evidence, onset_ns: None }
}

pub(in crate::alerts) const FOREIGN: ServerEvidence =
    ServerEvidence::UnexplainedCpu { share: 0.2, cores: 0.4, times_known: true };

fn servers(findings: Vec<ServerFinding>, healthy: &[&str], minute: i64) -> ServerEvaluation {
    let Evaluation { window, baseline, .. } = evaluated(&[], minute);
    let healthy = healthy.iter().map(|server| ServerSubject::new("cpu", "app", server)).collect();
    ServerEvaluation { window, baseline, findings, healthy }
}

#[test]
fn servers_and_operations_have_separate_alerts() {
    let mut alerts = AlertList::default();
    for minute in 0..3 {
        alerts.apply(&evaluated(&["read"], minute), rules(), time(minute));
        let findings = vec![server_finding("app-1", FOREIGN), server_finding("app-2", FOREIGN)];
        alerts.apply_servers(&servers(findings, &[], minute), rules(), time(minute));
    }
    assert_eq!(alerts.firing().count(), 3);
    for minute in 3..5 {
        let findings = vec![server_finding("app-2", FOREIGN)];
        alerts.apply_servers(&servers(findings, &["app-1"], minute), rules(), time(minute));
    }
    assert_eq!((alerts.firing().count(), alerts.resolved.len()), (2, 1), "the operation was not evaluated");
    assert_eq!(alerts.resolved[0].ended.as_deref(), Some("transactions explain the CPU again"));
    for minute in 5..7 {
        alerts.apply_servers(&servers(vec![], &["app-1"], minute), rules(), time(minute));
        alerts.apply(&evaluated(&[], minute), rules(), time(minute));
    }
    assert_eq!(alerts.firing().count(), 1, "a server that could not be evaluated is not over");
}

#[test]
fn a_filling_disk_is_never_usual() {
    let full = FullTime {
        device: "/data".to_owned(),
        used: 0.5,
        growth_an_hour: 0.01,
        full_ns: time(3_000).unix_ns(),
        earliest_ns: time(2_500).unix_ns(),
        latest_ns: None,
    };
    let mut alerts = AlertList::default();
    for minute in 0..=(24 * 60 + 5) {
        let findings = vec![
            server_finding("db-1", ServerEvidence::DiskFull(full.clone())),
            server_finding("db-1", FOREIGN),
        ];
        alerts.apply_servers(&servers(findings, &[], minute), rules(), time(minute));
    }
    let firing: Vec<AlertKind> = alerts.firing().map(Alert::kind).collect();
    assert_eq!(firing[0], AlertKind::DiskFull);
    assert_eq!(alerts.resolved.len(), 1, "one subject each, and the CPU is usual after a day");
}
