//! Subjects of alerts: an operation (from requests), a server (from samples), or an objective.

use super::evaluate::Finding;
use super::kind::AlertKind;
use super::objective_finding::{ObjectiveFinding, ObjectiveSubject};
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The latest evidence of an alert. Alerts that were stored before servers were watched have no tag: they are about an
/// operation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AlertFinding {
    /// Of a server.
    Server(ServerFinding),
    /// Of an operation.
    Operation(Finding),
    /// Of a service level objective.
    Objective(ObjectiveFinding),
}

/// A finding about one server from its samples.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ServerFinding {
    /// Its name; empty when samples name none.
    pub server: String,
    /// Its tier; empty when samples name none.
    pub tier: String,
    /// Kind and size of the problem.
    pub evidence: ServerEvidence,
    /// Since when, if the samples say so.
    #[serde(default)]
    pub onset_ns: Option<i64>,
}

/// A resource of a server: what an alert is about, one at a time. More CPU than before is one subject, whatever its
/// cause.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ServerSubject {
    /// `cpu`, `capacity`, `memory`, or `disk`.
    pub resource: &'static str,
    /// Tier of the server.
    pub tier: String,
    /// Its name.
    pub server: String,
    /// The file system; empty for everything else.
    pub device: String,
}

impl ServerSubject {
    /// A resource that is no file system.
    pub fn new(resource: &'static str, tier: &str, server: &str) -> ServerSubject {
        ServerSubject { resource, tier: tier.to_owned(), server: server.to_owned(), device: String::new() }
    }
}

/// A problem of a server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ServerEvidence {
    /// Transactions cost more CPU than before.
    HigherCost {
        /// The transactions that cost more, the most expensive difference first; empty if all do.
        transactions: Vec<TransactionCost>,
        /// By which factor all transactions cost more, if all do alike.
        factor: Option<f64>,
        /// CPU that the change uses at the present load, in cores.
        cores: f64,
        /// The same as a share of the server's CPU, 0..1.
        share: f64,
        /// The same as a share of what the transactions used to take.
        relative: f64,
    },
    /// The server uses CPU that its transactions do not explain.
    UnexplainedCpu {
        /// Share of the server's CPU, 0..1.
        share: f64,
        /// The same in cores.
        cores: f64,
        /// Whether it is known that the own times of transactions did not grow.
        times_known: bool,
    },
    /// The CPU is busier than the stated reserve allows.
    LowCapacity {
        /// Utilization of the last minutes, 0..1.
        utilization: f64,
        /// The part of the CPU to be kept free, 0..1.
        reserve: f64,
        /// By which factor the load may still grow until the CPU is full; at least 1.
        growth: f64,
        /// Clients that the CPU could serve besides the present ones, if their number is known.
        clients_left: Option<f64>,
    },
    /// Memory will be full.
    MemoryFull(FullTime),
    /// A file system will be full.
    DiskFull(FullTime),
}

/// The CPU time of a transaction before and after a change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TransactionCost {
    /// Its name.
    pub transaction: String,
    /// Seconds of CPU a call before.
    pub before_s: f64,
    /// Seconds of CPU a call now.
    pub after_s: f64,
}

/// When a resource will be full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct FullTime {
    /// The file system; empty for memory.
    pub device: String,
    /// Share in use, 0..1.
    pub used: f64,
    /// Growth of that share in an hour.
    pub growth_an_hour: f64,
    /// When it will be full, if it keeps growing as it does.
    pub full_ns: i64,
    /// The earliest such time at a confidence of 95 %.
    pub earliest_ns: i64,
    /// The latest; absent if it may not become full at all.
    pub latest_ns: Option<i64>,
}

impl AlertFinding {
    /// The kind of alert.
    pub fn kind(&self) -> AlertKind {
        match self {
            AlertFinding::Operation(_) => AlertKind::SlowOperation,
            AlertFinding::Server(finding) => finding.kind(),
            AlertFinding::Objective(_) => AlertKind::BudgetBurn,
        }
    }

    /// Evidence about an operation.
    pub fn operation(&self) -> Option<&Finding> {
        match self {
            AlertFinding::Operation(finding) => Some(finding),
            AlertFinding::Server(_) | AlertFinding::Objective(_) => None,
        }
    }

    /// Evidence about a server.
    pub fn server(&self) -> Option<&ServerFinding> {
        match self {
            AlertFinding::Server(finding) => Some(finding),
            AlertFinding::Operation(_) | AlertFinding::Objective(_) => None,
        }
    }

    /// Evidence about an objective.
    pub fn objective(&self) -> Option<&ObjectiveFinding> {
        match self {
            AlertFinding::Objective(finding) => Some(finding),
            AlertFinding::Operation(_) | AlertFinding::Server(_) => None,
        }
    }

    /// Whether both are about the same service, the same resource of the same server, or the same alert of an objective.
    pub fn is_about_the_same(&self, other: &AlertFinding) -> bool {
        match (self, other) {
            (AlertFinding::Operation(own), AlertFinding::Operation(other)) => own.service == other.service,
            (AlertFinding::Server(own), AlertFinding::Server(other)) => own.subject() == other.subject(),
            (AlertFinding::Objective(own), AlertFinding::Objective(other)) => {
                own.subject() == other.subject()
            }
            _ => false,
        }
    }

    /// Key of the subject within a tenant.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            AlertFinding::Operation(finding) => vec![finding.service.clone()],
            AlertFinding::Server(finding) => {
                let ServerSubject { resource, tier, server, device } = finding.subject();
                vec![resource.to_owned(), tier, server, device]
            }
            AlertFinding::Objective(finding) => {
                let ObjectiveSubject { objective, severity } = finding.subject();
                vec!["objective".to_owned(), objective, severity.label().to_owned()]
            }
        }
    }

    /// The name of the service, the server, or the objective.
    pub(crate) fn subject(&self) -> &str {
        match self {
            AlertFinding::Operation(finding) => &finding.service,
            AlertFinding::Server(finding) => finding.server_name(),
            AlertFinding::Objective(finding) => &finding.objective,
        }
    }

    pub(super) fn onset_ns(&self) -> Option<i64> {
        match self {
            AlertFinding::Operation(finding) => finding.onset_ns,
            AlertFinding::Server(finding) => finding.onset_ns,
            AlertFinding::Objective(finding) => finding.onset_ns,
        }
    }
}

impl ServerFinding {
    /// The kind of alert.
    pub fn kind(&self) -> AlertKind {
        match self.evidence {
            ServerEvidence::HigherCost { .. } => AlertKind::HigherCost,
            ServerEvidence::UnexplainedCpu { .. } => AlertKind::UnexplainedCpu,
            ServerEvidence::LowCapacity { .. } => AlertKind::LowCapacity,
            ServerEvidence::MemoryFull(_) => AlertKind::MemoryFull,
            ServerEvidence::DiskFull(_) => AlertKind::DiskFull,
        }
    }

    /// The server or tier.
    pub fn subject(&self) -> ServerSubject {
        let resource = match self.evidence {
            ServerEvidence::HigherCost { .. } | ServerEvidence::UnexplainedCpu { .. } => "cpu",
            ServerEvidence::LowCapacity { .. } => "capacity",
            ServerEvidence::MemoryFull(_) => "memory",
            ServerEvidence::DiskFull(_) => "disk",
        };
        let device = self.device().to_owned();
        ServerSubject { device, ..ServerSubject::new(resource, &self.tier, &self.server) }
    }

    /// Whether it is about more CPU than before.
    pub fn is_of_cpu(&self) -> bool {
        matches!(self.evidence, ServerEvidence::HigherCost { .. } | ServerEvidence::UnexplainedCpu { .. })
    }

    /// The file system; empty where it is not about one.
    pub fn device(&self) -> &str {
        match &self.evidence {
            ServerEvidence::MemoryFull(full) | ServerEvidence::DiskFull(full) => &full.device,
            _ => "",
        }
    }

    /// Transactions that cost more.
    pub fn transactions(&self) -> &[TransactionCost] {
        match &self.evidence {
            ServerEvidence::HigherCost { transactions, .. } => transactions,
            _ => &[],
        }
    }

    /// The server as people call it.
    pub fn server_name(&self) -> &str {
        match (self.server.is_empty(), self.tier.is_empty()) {
            (false, _) => &self.server,
            (true, false) => &self.tier,
            (true, true) => "the server",
        }
    }
}

/// Result of an evaluation of servers.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerEvaluation {
    /// The evaluated windows.
    pub window: Window,
    /// The windows before, which they were compared with.
    pub baseline: Window,
    /// Its problems.
    pub findings: Vec<ServerFinding>,
    /// Subjects that were evaluated and are healthy. The state of all others is unknown.
    pub healthy: Vec<ServerSubject>,
}

impl ServerEvaluation {
    /// Adds the result for one subject.
    pub(super) fn add(&mut self, subject: ServerSubject, finding: Option<ServerFinding>) {
        match finding {
            Some(finding) => self.findings.push(finding),
            None => self.healthy.push(subject),
        }
    }
}
