//! Clauses of an incident from an alert about an objective.

use super::super::objective_finding::ObjectiveFinding;
use laggard_model::Timestamp;
use laggard_report::{Certainty, Clause, ClauseKind, EvidenceSource, minute};

/// The clauses of an objective: what the incident is and since when, if the objective opened it, else whom it concerns.
pub(super) fn clauses(finding: &ObjectiveFinding, opened_it: bool) -> Vec<Clause> {
    let clause =
        |kind, text, certainty| Clause { kind, text, certainty, sources: vec![EvidenceSource::Traces] };
    if !opened_it {
        return vec![clause(ClauseKind::Impact, finding.summary(), Certainty::Shown)];
    }
    let onset = finding.onset_ns.map(Timestamp::from_unix_ns);
    let since = onset.map(|at| clause(ClauseKind::Since, format!("{}.", minute(at)), Certainty::Likely));
    [clause(ClauseKind::What, finding.summary(), Certainty::Shown)].into_iter().chain(since).collect()
}
