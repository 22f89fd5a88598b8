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

/// What more CPU costs in capacity, by the utilization law: where transactions take `relative` more, the CPU is full at
/// `1 / (1 + relative)` of those it could serve before; where something else takes a share, that share is missing.
pub(super) fn capacity(finding: &ServerFinding) -> Option<Clause> {
    let (fewer, cores, certainty) = match finding.evidence {
        ServerEvidence::HigherCost { relative, cores, .. } => {
            (relative / (1.0 + relative), cores, Certainty::Shown)
        }
        ServerEvidence::UnexplainedCpu { share, cores, .. } => (share, cores, Certainty::Likely),
        _ => return None,
    };
    let text = format!(
        "This takes {cores:.2} cores of `{}` at the present load; its CPU can serve {:.0} % fewer requests than before.",
        finding.server_name(),
        100.0 * fewer
    );
    Some(Clause { kind: ClauseKind::Capacity, text, certainty, sources: vec![EvidenceSource::Samples] })
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
            capacity: None,
            drift: None,
            deployment: None,
        }
    }

    /// A quarter more CPU for each: four fifths of the requests. A process with 30 % of the CPU leaves 70 %.
    #[test]
    fn more_cpu_is_stated_as_requests_that_are_missing() {
        let text = |evidence| {
            let (server, tier) = ("app-1".to_owned(), "app".to_owned());
            capacity(&ServerFinding { server, tier, evidence, onset_ns: None }).map(|clause| clause.text)
        };
        let cost = ServerEvidence::HigherCost {
            transactions: vec![],
            factor: None,
            cores: 0.2,
            share: 0.1,
            relative: 0.25,
        };
        assert_eq!(
            text(cost).unwrap(),
            "This takes 0.20 cores of `app-1` at the present load; its CPU can serve 20 % fewer requests than before."
        );
        let foreign = ServerEvidence::UnexplainedCpu { share: 0.3, cores: 1.2, times_known: true };
        assert!(text(foreign).unwrap().contains("serve 30 % fewer requests"));
        let reserve =
            ServerEvidence::LowCapacity { utilization: 0.9, reserve: 0.2, growth: 1.1, clients_left: None };
        assert_eq!(text(reserve), None);
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
