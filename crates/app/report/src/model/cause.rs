//! The kind of cause that the evidence supports.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The conclusion from the evidence of all reports about the cause of a slow-down.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Cause {
    /// The class with the most evidence.
    pub class: CauseClass,
    /// Another class that the evidence supports nearly as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<CauseClass>,
    /// How much the evidence for the class exceeds that for every other.
    pub certainty: Certainty,
    /// All that was weighed, the weightiest first.
    pub evidence: Vec<CauseEvidence>,
    /// Where one kind of evidence contradicts another; whole sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<String>,
}

/// A class of causes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseClass {
    /// The program does something else, or more of it: a new version, new or repeated calls, more CPU per transaction.
    Code,
    /// A setting was changed, or limits it, such as a CPU quota.
    Configuration,
    /// More requests, or others.
    Load,
    /// One replica, or the machine it runs on.
    Machine,
    /// Other processes use the machine's CPU.
    ForeignLoad,
    /// Time between a caller and a callee: the network, or a queue in front of the callee.
    Network,
    /// Waiting without CPU: a lock, a pool, a disk.
    Waiting,
    /// Something that is called and sends no spans of its own.
    Dependency,
    /// Calls fail, and are repeated or given up.
    Errors,
    /// Requests of one tenant, account, or route.
    Data,
    /// Some replicas receive more than their share of the calls.
    UnevenLoad,
    /// The evidence supports none of these.
    Unknown,
}

/// How certain a statement is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Others are possible.
    Possible,
    /// It is clearly the best supported; no test decides it.
    Likely,
    /// Counted, or shown by a test at a level of 0.1 %. Never of a class of causes.
    Shown,
}

/// The source of a piece of evidence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceSource {
    /// Spans.
    Traces,
    /// Samples of CPU and counts.
    Samples,
    /// Deployments and other changes.
    Events,
    /// Recordings of the kernel.
    Kernel,
    /// Earlier incidents.
    History,
}

/// One piece of evidence.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct CauseEvidence {
    /// The class it speaks for or against.
    pub class: CauseClass,
    /// Its weight: below zero against the class. Weights are added up; a class needs 2.
    pub weight: f64,
    /// Where it comes from.
    pub source: EvidenceSource,
    /// The observation; a whole sentence with names in backticks.
    pub text: String,
}
