//! Clauses of an incident about the number of requests of a service.

use super::super::detection::TrafficChange;
use super::super::evaluate::Finding;
use laggard_model::Timestamp;
use laggard_report::{CauseClass, Certainty, Clause, ClauseKind, EvidenceSource, minute};

/// Clauses after the first, which is the finding itself.
pub(super) struct TrafficClauses {
    pub(super) clauses: Vec<Clause>,
    pub(super) class: Option<CauseClass>,
    pub(super) onset: Option<Timestamp>,
}

/// `None` for a finding about something else.
pub(super) fn of(finding: &Finding) -> Option<TrafficClauses> {
    let (change, _) = finding.traffic()?;
    let onset = finding.onset_ns.map(Timestamp::from_unix_ns);
    let cause = match change {
        // Whether callers fail, or only the spans are lost, is not known.
        TrafficChange::MissingRequests => None,
        TrafficChange::UnevenRequests => {
            Some((CauseClass::UnevenLoad, "uneven load: how requests are distributed changed"))
        }
        TrafficChange::InterruptedReplica => Some((CauseClass::Machine, "one replica or its machine")),
    };
    let clause =
        |kind, text, certainty| Clause { kind, text, certainty, sources: vec![EvidenceSource::Traces] };
    let location = finding.replicas.first().map(|replica| format!("On replica `{replica}`."));
    let location = location.map(|text| clause(ClauseKind::Where, text, Certainty::Shown));
    let since = onset.map(|at| clause(ClauseKind::Since, format!("{}.", minute(at)), Certainty::Likely));
    let why = cause.map(|(_, text)| clause(ClauseKind::Cause, format!("Likely {text}."), Certainty::Likely));
    Some(TrafficClauses {
        clauses: [location, since, why].into_iter().flatten().collect(),
        class: cause.map(|(class, _)| class),
        onset,
    })
}
