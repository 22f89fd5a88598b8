//! Which alerts belong to one incident: they began at the same time, and they meet in requests or share a replica, a server, or
//! a service.

use super::super::evaluate::Finding;
use super::super::finding::{AlertFinding, ServerFinding};
use super::super::lifecycle::{Alert, AlertList, AlertState};
use super::super::objective_finding::ObjectiveSeverity;
use super::{IncidentRecord, IncidentState, REOPENED_WITHIN};
use laggard_model::Timestamp;

/// Assigns every firing alert that has no incident yet.
pub(super) fn assign(list: &AlertList, incidents: &mut Vec<IncidentRecord>, at: Timestamp) {
    let is_assigned = |alert: &Alert| incidents.iter().any(|incident| incident.alerts.contains(&alert.id));
    let mut new: Vec<&Alert> = list.active.iter().filter(|alert| alert.state == AlertState::Firing).collect();
    new.retain(|alert| !is_assigned(alert));
    // The first alert of an incident decides how urgent it is.
    new.sort_by_key(|alert| !is_page(alert));
    for incident in incidents.iter_mut() {
        while let Some(position) = new.iter().position(|alert| belongs(list, incident, alert, at)) {
            incident.add(new.remove(position));
        }
    }
    while !new.is_empty() {
        let mut members = vec![new.remove(0)];
        while let Some(position) =
            new.iter().position(|alert| members.iter().any(|member| are_one(member, alert)))
        {
            members.push(new.remove(position));
        }
        incidents.push(IncidentRecord::open(&members, at));
    }
}

/// Whether an alert belongs to an incident that is open, or was until shortly before.
fn belongs(list: &AlertList, incident: &IncidentRecord, alert: &Alert, at: Timestamp) -> bool {
    let is_recent = match incident.state {
        IncidentState::Open => true,
        IncidentState::Closed => incident.closed_for(at).is_some_and(|closed| closed < REOPENED_WITHIN),
    };
    let opened_by_page = list.of_incident(incident).next().is_some_and(is_page);
    // A receiver of pages only must not miss one because an incident was open already.
    let is_urgent_enough = opened_by_page || !is_page(alert);
    is_recent
        && is_urgent_enough
        && list
            .of_incident(incident)
            .any(|member| member.finding.is_about_the_same(&alert.finding) || are_one(member, alert))
}

/// Whether the alert pages a person.
fn is_page(alert: &Alert) -> bool {
    alert.finding.objective().is_some_and(|finding| finding.severity == ObjectiveSeverity::Page)
}

/// Whether two alerts have one cause, judging by their times and subjects.
fn are_one(one: &Alert, other: &Alert) -> bool {
    began_together(one, other) && meet(&one.finding, &other.finding)
}

/// Onsets are estimates: of what is called rarely, they err by minutes.
const ONSET_ERROR_NS: i64 = 600_000_000_000;

/// Whether the times in which they may have begun overlap: from the onset, or the start of the window, to the first finding.
fn began_together(one: &Alert, other: &Alert) -> bool {
    let end = |alert: &Alert| alert.first_ns.max(alert.since_ns).saturating_add(ONSET_ERROR_NS);
    one.since_ns <= end(other) && other.since_ns <= end(one)
}

fn meet(one: &AlertFinding, other: &AlertFinding) -> bool {
    match (one, other) {
        (AlertFinding::Operation(one), AlertFinding::Operation(other)) => operations_meet(one, other),
        (AlertFinding::Operation(operation), AlertFinding::Server(server))
        | (AlertFinding::Server(server), AlertFinding::Operation(operation)) => runs_on(operation, server),
        (AlertFinding::Server(one), AlertFinding::Server(other)) => {
            !one.server.is_empty() && one.server == other.server
        }
        (AlertFinding::Objective(one), AlertFinding::Objective(other)) => one.objective == other.objective,
        (AlertFinding::Operation(operation), AlertFinding::Objective(objective))
        | (AlertFinding::Objective(objective), AlertFinding::Operation(operation)) => {
            objective.cause.as_ref().is_some_and(|cause| cause.service == operation.service)
        }
        (AlertFinding::Server(_), AlertFinding::Objective(_))
        | (AlertFinding::Objective(_), AlertFinding::Server(_)) => false,
    }
}

fn operations_meet(one: &Finding, other: &Finding) -> bool {
    let share_requests =
        one.categories.iter().any(|category| other.categories.iter().any(|own| own.id == category.id));
    let share_replicas = one.replicas.iter().any(|replica| other.replicas.contains(replica));
    one.service == other.service || share_requests || share_replicas || names(one, other) || names(other, one)
}

/// Whether a finding says that its operation is called by another, or no longer calls it.
fn names(finding: &Finding, other: &Finding) -> bool {
    let mut callees = finding.behavior.iter().flat_map(|change| &change.callees);
    finding.caller.as_ref().is_some_and(|caller| caller.service == other.service)
        || callees.any(|callee| callee.service == other.service)
}

/// Whether an operation is slow on a server, or on all replicas of the server's tier.
fn runs_on(operation: &Finding, server: &ServerFinding) -> bool {
    match operation.replicas.is_empty() {
        true => !server.tier.is_empty() && server.tier == operation.service,
        false => operation.replicas.contains(&server.server),
    }
}
