//! Clauses: the statements that make up the verdict on an incident.

use crate::{Certainty, EvidenceSource};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The topic of a clause, in reading order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClauseKind {
    /// Which operation or server, and by how much.
    What,
    /// Replicas, a link, or requests of one kind.
    Where,
    /// When it began.
    Since,
    /// The requests and users that pay.
    Impact,
    /// The kind of cause.
    Cause,
    /// The deployment or other change it followed.
    Change,
    /// The cost in CPU, and the remaining capacity.
    Capacity,
    /// The waits of the slow executions.
    Wait,
    /// Earlier incidents about the same.
    History,
    /// Evidence that contradicts other evidence.
    Contradiction,
    /// Excluded causes.
    RuledOut,
}

/// One statement about an incident.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Clause {
    /// The topic.
    pub kind: ClauseKind,
    /// One or more whole sentences; names stand in backticks, times have a date and are UTC.
    pub text: String,
    /// How certain it is.
    pub certainty: Certainty,
    /// The sources of its evidence.
    pub sources: Vec<EvidenceSource>,
}

impl ClauseKind {
    /// The title in front of the clause.
    pub const fn title(self) -> &'static str {
        match self {
            ClauseKind::What => "What",
            ClauseKind::Where => "Where",
            ClauseKind::Since => "Since",
            ClauseKind::Impact => "Impact",
            ClauseKind::Cause => "Cause",
            ClauseKind::Change => "Change",
            ClauseKind::Capacity => "Capacity",
            ClauseKind::Wait => "Waits for",
            ClauseKind::History => "Before",
            ClauseKind::Contradiction => "Contradiction",
            ClauseKind::RuledOut => "Ruled out",
        }
    }
}
