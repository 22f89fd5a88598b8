//! Grouping of alerts into incidents, and the end of incidents.

use super::super::finding::{AlertFinding, ServerEvidence, ServerFinding};
use super::super::lifecycle::tests::{evaluated, finding, rules, time};
use super::*;

/// The alerts of a number of minutes with these findings. `change` may alter each finding.
fn list(
    minutes: i64,
    operations: &[&str],
    change: impl Fn(&mut super::super::evaluate::Finding),
) -> AlertList {
    let mut list = AlertList::default();
    for minute in 0..minutes {
        apply(&mut list, minute, operations, &change);
    }
    list
}

fn apply(
    list: &mut AlertList,
    minute: i64,
    operations: &[&str],
    change: &impl Fn(&mut super::super::evaluate::Finding),
) {
    let mut evaluation = evaluated(operations, minute);
    evaluation.findings.iter_mut().for_each(change);
    list.apply(&evaluation, rules(), time(minute));
}

/// Findings that have nothing in common.
fn unrelated(finding: &mut super::super::evaluate::Finding) {
    finding.replicas = vec![format!("{}-1", finding.service)];
    finding.categories[0].id.clone_from(&finding.service);
}

#[test]
fn alerts_that_share_requests_are_one_incident() {
    let same_requests = |finding: &mut super::super::evaluate::Finding| finding.replicas.clear();
    assert_eq!(list(3, &["read", "cart write"], same_requests).incidents.len(), 1);
    let same_replica = |finding: &mut super::super::evaluate::Finding| {
        finding.categories[0].id.clone_from(&finding.service);
    };
    assert_eq!(list(3, &["read", "cart write"], same_replica).incidents.len(), 1);
    let two = list(3, &["read", "cart write"], unrelated);
    assert_eq!(two.incidents.len(), 2, "in the same minute, but they do not meet");
    assert!(two.incidents.iter().all(|incident| incident.alerts.len() == 1));
}

#[test]
fn an_alert_that_connects_two_others_joins_them() {
    let connect = |finding: &mut super::super::evaluate::Finding| match finding.service.as_str() {
        "web" => finding.replicas = vec!["db-1".to_owned(), "cart-1".to_owned()],
        _ => unrelated(finding),
    };
    let list = list(3, &["read", "cart write", "web buy"], connect);
    assert_eq!(list.incidents.len(), 1);
    assert_eq!(list.incidents[0].alerts.len(), 3);
    assert_eq!(list.of_incident(&list.incidents[0]).next().unwrap().finding.subject(), "db");
}

#[test]
fn a_later_onset_is_a_separate_incident() {
    let onset = |ns: i64| move |finding: &mut super::super::evaluate::Finding| finding.onset_ns = Some(ns);
    let mut list = list(3, &["read"], onset(time(0).unix_ns()));
    for minute in 40..43 {
        apply(&mut list, minute, &["read", "cart write"], &onset(time(39).unix_ns()));
    }
    assert_eq!(list.incidents.len(), 2);
    assert_eq!(list.incidents[1].since_ns, time(39).unix_ns());
}

#[test]
fn an_incident_closes_with_its_last_alert_and_is_the_same_if_it_comes_back_soon() {
    let mut list = list(3, &["read"], |_| {});
    let id = list.incidents[0].id.clone();
    for minute in 3..5 {
        apply(&mut list, minute, &[], &|_| {});
    }
    assert_eq!(
        (list.incidents[0].state, list.incidents[0].closed_ns),
        (IncidentState::Closed, Some(time(4).unix_ns()))
    );
    for minute in 20..22 {
        apply(&mut list, minute, &["read"], &|_| {});
    }
    assert_eq!(
        (list.incidents.len(), list.incidents[0].state, list.incidents[0].closed_ns),
        (1, IncidentState::Open, None)
    );
    assert_eq!((&list.incidents[0].id, list.incidents[0].alerts.len()), (&id, 2));
    for minute in 22..26 {
        apply(&mut list, minute, &[], &|_| {});
    }
    for minute in 100..103 {
        apply(&mut list, minute, &["read"], &|_| {});
    }
    assert_eq!(list.incidents.len(), 2, "an hour later it is another one");
}

#[test]
fn a_server_alert_joins_the_incident_of_its_slow_operations() {
    let mut list = list(3, &["read"], |_| {});
    let alert = |server: &str, since: i64| {
        let finding = AlertFinding::Server(ServerFinding {
            server: server.to_owned(),
            tier: "db".to_owned(),
            evidence: ServerEvidence::UnexplainedCpu { share: 0.3, cores: 1.2, times_known: true },
            onset_ns: Some(time(since).unix_ns()),
        });
        Alert { id: format!("{server}{since}"), finding, ..list.active[0].clone() }
    };
    let (same, other) = (alert("db-1", 0), alert("db-2", 0));
    list.active.extend([same, other]);
    list.follow_incidents(time(3));
    assert_eq!(list.incidents.len(), 2);
    assert_eq!(list.incidents[0].alerts[1], "db-10");
    assert_eq!(list.incidents[1].alerts, ["db-20"]);
}

#[test]
fn a_budget_alert_joins_the_incident_that_burns_it_unless_it_pages() {
    use super::super::objective_finding::{ObjectiveCause, ObjectiveFinding, ObjectiveSeverity};
    let mut list = list(3, &["read"], |_| {});
    let cause = |service: &str| ObjectiveCause {
        alert: String::new(),
        service: service.to_owned(),
        operation: "read".to_owned(),
        explained: 60,
        bad: 73,
        page: "/verdict".to_owned(),
    };
    let alert = |objective: &str, severity: ObjectiveSeverity, service: Option<&str>| {
        let finding = AlertFinding::Objective(ObjectiveFinding {
            objective: objective.to_owned(),
            severity,
            service: "web".to_owned(),
            operation: None,
            target: 0.9995,
            burn_rate: 20.0,
            short_burn_rate: 20.0,
            threshold: 14.4,
            long_ns: 3_600_000_000_000,
            short_ns: 300_000_000_000,
            requests: 7_200,
            bad: 73,
            budget_left: 0.4,
            cause: service.map(cause),
            onset_ns: Some(time(0).unix_ns()),
        });
        Alert { id: format!("{objective}{severity:?}"), finding, ..list.active[0].clone() }
    };
    let ticket = alert("buy", ObjectiveSeverity::Ticket, Some("db"));
    let page = alert("buy", ObjectiveSeverity::Page, Some("db"));
    let elsewhere = alert("sell", ObjectiveSeverity::Ticket, Some("cart"));
    let unexplained = alert("rent", ObjectiveSeverity::Ticket, None);
    list.active.extend([ticket, page, elsewhere, unexplained]);
    list.follow_incidents(time(3));
    let members: Vec<&[String]> = list.incidents.iter().map(|incident| incident.alerts.as_slice()).collect();
    assert_eq!(members.len(), 4);
    assert_eq!(members[0][1..], ["buyTicket"], "with the slow operation");
    assert_eq!(members[1..], [["buyPage"], ["sellTicket"], ["rentTicket"]]);
    // In the other direction, a less urgent alert joins the page.
    list.incidents.clear();
    list.active.remove(0);
    list.follow_incidents(time(3));
    assert_eq!(list.incidents[0].alerts, ["buyPage", "buyTicket"]);
    assert!(
        list.incidents[0]
            .headline(&list)
            .ends_with("`read` of `db` explains 60 of the 73 bad requests of the last hour.")
    );
}

#[test]
fn a_silence_covers_matching_alerts_until_it_ends() {
    let list = list(3, &["read"], |_| {});
    let (incident, alert) = (&list.incidents[0], &list.active[0]);
    let silence = |service: Option<&str>, incident: Option<&str>| Silence {
        id: "0".to_owned(),
        service: service.map(str::to_owned),
        server: None,
        incident: incident.map(str::to_owned),
        since_ns: time(0).unix_ns(),
        until_ns: time(60).unix_ns(),
        comment: String::new(),
    };
    for (made, covers) in [
        (silence(Some("db"), None), true),
        (silence(Some("cart"), None), false),
        (silence(None, Some(&incident.id)), true),
        (silence(Some("db"), Some("other")), false),
    ] {
        assert_eq!(made.covers(&incident.id, &alert.finding, time(59)), covers);
        assert!(!made.covers(&incident.id, &alert.finding, time(60)), "it has ended");
    }
}

#[test]
fn a_stored_incident_names_its_subjects() {
    let list = list(3, &["read"], |_| {});
    assert_eq!(list.incidents[0].headline(&list), AlertFinding::Operation(finding("read")).summary());
    assert_eq!(list.incidents[0].text(&list, 10), list.incidents[0].headline(&list));
}

#[test]
fn an_onset_estimated_minutes_too_late_is_the_same_incident() {
    let mut list = list(3, &["read"], |finding| finding.onset_ns = Some(time(0).unix_ns()));
    let late = |finding: &mut super::super::evaluate::Finding| finding.onset_ns = Some(time(6).unix_ns());
    for minute in 8..10 {
        apply(&mut list, minute, &["read", "web buy"], &late);
    }
    assert_eq!((list.incidents.len(), list.incidents[0].alerts.len()), (1, 2));
}

#[test]
fn an_alert_joins_the_incident_of_its_callee() {
    let two = |callee: Option<&str>| {
        let change = |finding: &mut super::super::evaluate::Finding| {
            unrelated(finding);
            if let (Some(callee), "web") = (callee, finding.service.as_str()) {
                let (service, operation) = (callee.to_owned(), "read".to_owned());
                finding.caller = Some(crate::alerts::FindingCaller { service, operation });
            }
        };
        list(3, &["read", "web buy"], change).incidents.len()
    };
    assert_eq!((two(Some("db")), two(Some("cart")), two(None)), (1, 2, 2));
}
