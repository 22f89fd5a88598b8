//! What an alert about a server says about an incident.

use super::super::finding::{ServerEvidence, ServerFinding};
use super::super::kind::server_summary;
use laggard_report::{CauseClass, Certainty, Clause, ClauseKind, EvidenceSource};

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
        // What fills memory or a file system is not known.
        ServerEvidence::MemoryFull(_) | ServerEvidence::DiskFull(_) => CauseClass::Unknown,
    }
}
