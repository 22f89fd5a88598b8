//! Clauses of an incident from an alert about a server.

use super::super::finding::{ServerEvidence, ServerFinding};
use super::super::kind::server_summary;
use super::super::lifecycle::Alert;
use crate::events::TenantEvents;
use laggard_model::{Nanos, Timestamp};
use laggard_report::{
    CauseClass, Certainty, ChangeEventKind, Clause, ClauseKind, EvidenceSource, JointChange,
};

/// Maximum distance between the onsets of related alerts.
const NEAR: Nanos = Nanos::from_secs(1_800);

/// The clause of a server: what the incident is, if it opened the incident, else what its CPU or storage says besides.
pub(super) fn clause(finding: &ServerFinding, opened_it: bool) -> Clause {
    let kind = if opened_it { ClauseKind::What } else { ClauseKind::Capacity };
    let sources = vec![EvidenceSource::Samples];
    Clause { kind, text: server_summary(finding), certainty: Certainty::Shown, sources }
}

/// The class of the cause that a server's samples show by themselves.
pub(super) fn class(finding: &ServerFinding) -> CauseClass {
    match finding.evidence {
        ServerEvidence::HigherCost { .. } => CauseClass::Code,
        ServerEvidence::UnexplainedCpu { times_known: true, .. } => CauseClass::ForeignLoad,
        ServerEvidence::UnexplainedCpu { times_known: false, .. } => CauseClass::Unknown,
        ServerEvidence::LowCapacity { .. } => CauseClass::Load,
        // The cause of a filling memory or file system is unknown.
        ServerEvidence::MemoryFull(_) | ServerEvidence::DiskFull(_) => CauseClass::Unknown,
    }
}

/// When a server got into trouble, and after which change of its tier.
pub(super) fn context(alert: &Alert, events: &TenantEvents) -> Vec<Clause> {
    let Some(onset) = alert.finding.onset_ns().map(Timestamp::from_unix_ns) else { return Vec::new() };
    let since = format!("{}.", laggard_report::minute(onset));
    let mut out = vec![Clause {
        kind: ClauseKind::Since,
        text: since,
        certainty: Certainty::Likely,
        sources: vec![EvidenceSource::Samples],
    }];
    let tier = alert.finding.server().map(|server| server.tier.clone()).unwrap_or_default();
    let near = events.within(onset.minus(NEAR), onset);
    let near = near.iter().rev().find(|event| event.service.is_empty() || event.service == tier);
    out.extend(near.map(|event| Clause {
        kind: ClauseKind::Change,
        text: format!(
            "Before it began, {} at {}. Timing alone does not prove a cause.",
            laggard_report::event_phrase(event),
            laggard_report::minute(event.at())
        ),
        certainty: Certainty::Possible,
        sources: vec![EvidenceSource::Events],
    }));
    out
}

/// On which servers of several the same change is, by the times of all of them: of changes that began when this server's did, the nearest.
pub(super) fn changed(changes: &[JointChange], server: &str, onset: Timestamp) -> Option<Clause> {
    let is_of_cpu = |change: &&JointChange| {
        matches!(
            change.kind,
            ChangeEventKind::ApplicationChange
                | ChangeEventKind::HostChange
                | ChangeEventKind::Unexplained
                | ChangeEventKind::AnomalyStart
        )
    };
    let distance = |change: &JointChange| change.onset.at.unix_ns().abs_diff(onset.unix_ns());
    let of_server = changes.iter().filter(is_of_cpu).filter(|change| {
        change.servers_seen > 1
            && change.servers.iter().any(|name| name == server)
            && distance(change) <= NEAR.ns()
    });
    let nearest = of_server.min_by_key(|change| distance(change))?;
    Some(Clause {
        kind: ClauseKind::Where,
        text: format!("CPU changed then{}.", laggard_report::change_location(nearest)),
        certainty: Certainty::Likely,
        sources: vec![EvidenceSource::Samples],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_report::Onset;

    fn change(kind: ChangeEventKind, second: i64, servers: &[&str], seen: u64) -> JointChange {
        let at = Timestamp::from_unix_ns(second * 1_000_000_000);
        JointChange {
            kind,
            onset: Onset { at, earliest: at, latest: at },
            servers: servers.iter().map(|name| (*name).to_owned()).collect(),
            servers_seen: seen,
            tier: "app".to_owned(),
            transactions: vec![],
            region: None,
            mix: vec![],
            cpu: None,
            deployment: None,
        }
    }

    fn text(changes: &[JointChange]) -> Option<String> {
        changed(changes, "app-1", Timestamp::from_unix_ns(10_000 * 1_000_000_000)).map(|clause| clause.text)
    }

    #[test]
    fn the_servers_of_the_nearest_change_are_named() {
        use ChangeEventKind::{AnomalyEnd, ApplicationChange, WorkloadChange};
        let all = change(ApplicationChange, 9_900, &["app-1", "app-2"], 2);
        let one = change(ApplicationChange, 10_200, &["app-1"], 2);
        assert_eq!(text(&[one.clone(), all]).unwrap(), "CPU changed then on all 2 servers of tier `app`.");
        assert_eq!(text(&[one]).unwrap(), "CPU changed then on 1 of 2 servers of tier `app` (`app-1`).");
        for other in [
            change(ApplicationChange, 9_900, &["app-2"], 2),
            change(ApplicationChange, 8_000, &["app-1"], 2),
            change(WorkloadChange, 9_900, &["app-1"], 2),
            change(AnomalyEnd, 9_900, &["app-1"], 2),
            change(ApplicationChange, 9_900, &["app-1"], 1),
        ] {
            assert_eq!(text(std::slice::from_ref(&other)), None, "{other:?}");
        }
    }
}
