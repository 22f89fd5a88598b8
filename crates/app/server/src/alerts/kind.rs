//! The kinds of alerts, and what each is called and says.

use super::detection::TrafficChange;
use super::evaluate::Finding;
use super::finding::{AlertFinding, FullTime, ServerEvidence, ServerFinding, TransactionCost};
use laggard_model::Timestamp;
use laggard_report::{BehaviorChange, behavior_phrase, rfc3339};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A kind of alert.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// An operation makes requests slower, or fails.
    SlowOperation,
    /// Transactions cost more CPU.
    HigherCost,
    /// A server uses CPU that its transactions do not explain.
    UnexplainedCpu,
    /// A server has less CPU left than the stated reserve.
    LowCapacity,
    /// The memory of a server will be full.
    MemoryFull,
    /// A file system of a server will be full.
    DiskFull,
    /// The error budget of an objective is used up too fast.
    BudgetBurn,
}

/// A source of alerts. Each is evaluated by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlertSource {
    /// The latency of requests, compared with before.
    Requests,
    /// Samples of servers.
    Servers,
    /// Requests counted for objectives.
    Objectives,
}

impl AlertKind {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AlertKind::SlowOperation => "slow_operation",
            AlertKind::HigherCost => "higher_cost",
            AlertKind::UnexplainedCpu => "unexplained_cpu",
            AlertKind::LowCapacity => "low_capacity",
            AlertKind::MemoryFull => "memory_full",
            AlertKind::DiskFull => "disk_full",
            AlertKind::BudgetBurn => "budget_burn",
        }
    }

    /// The label `alertname` of notifications.
    pub const fn alert_name(self) -> &'static str {
        match self {
            AlertKind::SlowOperation => "LaggardSlowOperation",
            AlertKind::HigherCost => "LaggardHigherCpuCost",
            AlertKind::UnexplainedCpu => "LaggardUnexplainedCpu",
            AlertKind::LowCapacity => "LaggardLowCapacity",
            AlertKind::MemoryFull => "LaggardMemoryFull",
            AlertKind::DiskFull => "LaggardDiskFull",
            AlertKind::BudgetBurn => "LaggardBudgetBurn",
        }
    }

    /// The source of such alerts.
    pub const fn source(self) -> AlertSource {
        match self {
            AlertKind::SlowOperation => AlertSource::Requests,
            AlertKind::BudgetBurn => AlertSource::Objectives,
            AlertKind::HigherCost
            | AlertKind::UnexplainedCpu
            | AlertKind::LowCapacity
            | AlertKind::MemoryFull
            | AlertKind::DiskFull => AlertSource::Servers,
        }
    }

    /// Whether it counts as usual after a long time: a state that gets worse by itself never does.
    pub(super) const fn adapts(self) -> bool {
        matches!(self, AlertKind::SlowOperation | AlertKind::HigherCost | AlertKind::UnexplainedCpu)
    }

    /// Why an alert of this kind is over.
    const fn end_reason(self) -> &'static str {
        match self {
            AlertKind::SlowOperation => "requests are no longer slower",
            AlertKind::HigherCost => "transactions cost as much CPU as before",
            AlertKind::UnexplainedCpu => "transactions explain the CPU again",
            AlertKind::LowCapacity => "the reserve of CPU is free again",
            AlertKind::MemoryFull => "memory is no longer filling up",
            AlertKind::DiskFull => "the file system is no longer filling up",
            AlertKind::BudgetBurn => "the error budget is no longer used up too fast",
        }
    }

    /// Why an alert is over that could not be evaluated for a long time.
    pub(super) const fn silence_reason(self) -> &'static str {
        match self.source() {
            AlertSource::Servers => "too few samples to evaluate it",
            AlertSource::Requests => "too few requests to evaluate it",
            AlertSource::Objectives => "no requests to evaluate it",
        }
    }

    /// The text in the log.
    pub(super) const fn log_text(self) -> &'static str {
        match self {
            AlertKind::SlowOperation => "an operation makes requests slow",
            AlertKind::HigherCost => "transactions cost more CPU",
            AlertKind::UnexplainedCpu => "a server uses CPU that transactions do not explain",
            AlertKind::LowCapacity => "a server has less CPU left than the reserve",
            AlertKind::MemoryFull => "memory will be full",
            AlertKind::DiskFull => "a file system will be full",
            AlertKind::BudgetBurn => "an error budget is used up too fast",
        }
    }
}

impl AlertFinding {
    /// The finding in a sentence.
    pub fn summary(&self) -> String {
        match self {
            AlertFinding::Operation(finding) => of_operation(finding),
            AlertFinding::Server(finding) => server_summary(finding),
            AlertFinding::Objective(finding) => finding.summary(),
        }
    }

    /// Why its alert is over, once it is no longer detected.
    pub(super) fn end_reason(&self) -> &'static str {
        match self.operation() {
            Some(finding) if finding.is_failing() => "it behaves as before",
            finding => {
                let traffic = finding.and_then(|finding| Some(finding.traffic()?.0.end_reason()));
                traffic.unwrap_or_else(|| self.kind().end_reason())
            }
        }
    }
}

fn of_traffic(finding: &Finding, (change, shown): (TrafficChange, &BehaviorChange)) -> String {
    let service = &finding.service;
    let replica = finding.replicas.first().map_or("", String::as_str);
    match change {
        TrafficChange::MissingRequests => format!(
            "`{service}` gets {:.0} % of the requests that it usually gets: its callers do not reach it, or its spans do not arrive.",
            100.0 * shown.rate
        ),
        TrafficChange::UnevenRequests => format!(
            "Replica `{replica}` gets {:.0} % of the requests to service `{service}`, {:.0} % in the baseline.",
            100.0 * shown.rate,
            100.0 * shown.usual_rate
        ),
        TrafficChange::InterruptedReplica => format!(
            "Replica `{replica}` of service `{service}` was without requests {:.0} times within minutes while other replicas got them: it is restarted, or taken for failed, again and again.",
            shown.rate
        ),
    }
}

fn of_operation(finding: &Finding) -> String {
    if let Some(traffic) = finding.traffic() {
        return of_traffic(finding, traffic);
    }
    let where_ = match finding.replicas.len() {
        0 => String::new(),
        1 => format!(" on `{}`", finding.replicas[0]),
        several => format!(" on {several} of its replicas"),
    };
    let others = match finding.other_operations.len() {
        0 => String::new(),
        1 => " The same holds for 1 other operation of the service.".to_owned(),
        several => format!(" The same holds for {several} other operations of the service."),
    };
    let behavior = || {
        let phrases = finding.behavior.iter().map(|change| behavior_phrase(change, "the baseline"));
        phrases.collect::<Vec<String>>().join("; ")
    };
    if finding.is_failing() {
        let operation = format!("Operation `{}` of `{}`", finding.operation, finding.service);
        return format!(
            "{operation} {}{where_}; this hit {} requests.{others}",
            behavior(),
            finding.requests_hit
        );
    }
    let longer = format!(
        "Operation `{}` of `{}` makes requests that meet it take {:.0} % longer",
        finding.operation,
        finding.service,
        100.0 * finding.slower
    );
    match finding.factor {
        _ if !finding.behavior.is_empty() => format!("{longer}: it {}{where_}.{others}", behavior()),
        Some(factor) => {
            let than = if finding.is_against_peers { "on the other replicas" } else { "before" };
            format!("{longer}: its calls{where_} take {factor:.1} times as long as {than}.{others}")
        }
        None => format!("{longer}: it was not called before{where_}.{others}"),
    }
}

/// The finding about a server in a sentence.
pub(super) fn server_summary(finding: &ServerFinding) -> String {
    let name = finding.server_name();
    match &finding.evidence {
        ServerEvidence::HigherCost { transactions, factor, cores, share, .. } => {
            let cost = format!("this takes {} ({:.0} % of the CPU)", cores_text(*cores), 100.0 * share);
            match (transactions.split_first(), factor) {
                (Some((first, others)), _) => {
                    format!("{} on `{name}`: {cost}.{}", cost_text(first), others_text(others.len()))
                }
                (None, Some(factor)) => format!(
                    "All transactions on `{name}` take {:.0} % more CPU than before: {cost}.",
                    100.0 * (factor - 1.0)
                ),
                (None, None) => format!("Transactions on `{name}` take more CPU than before: {cost}."),
            }
        }
        ServerEvidence::UnexplainedCpu { share, cores, times_known } => {
            let why = if *times_known {
                "no transaction's own time grew enough to explain it"
            } else {
                "there are too few response times to tell whether a transaction costs more"
            };
            format!(
                "`{name}` uses {:.0} % of its CPU ({}) beyond what its transactions usually take; {why}.",
                100.0 * share,
                cores_text(*cores)
            )
        }
        ServerEvidence::LowCapacity { utilization, reserve, growth, clients_left } => {
            let clients = clients_left
                .map_or_else(String::new, |clients| format!(", which is {clients:.0} more clients"));
            format!(
                "`{name}` has {:.0} % of its CPU left, and {:.0} % are to be kept free; {growth:.2} times the load would fill it{clients}.",
                100.0 * (1.0 - utilization),
                100.0 * reserve
            )
        }
        ServerEvidence::MemoryFull(full) => full_text(&format!("Memory of `{name}`"), full),
        ServerEvidence::DiskFull(full) => {
            full_text(&format!("File system `{}` of `{name}`", full.device), full)
        }
    }
}

fn cost_text(cost: &TransactionCost) -> String {
    format!(
        "`{}` costs {} of CPU a call instead of {}",
        cost.transaction,
        milliseconds(cost.after_s),
        milliseconds(cost.before_s)
    )
}

fn others_text(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " Another transaction costs more, too.".to_owned(),
        several => format!(" {several} other transactions cost more, too."),
    }
}

fn full_text(what: &str, full: &FullTime) -> String {
    let latest =
        full.latest_ns.map_or_else(|| "no sooner".to_owned(), |ns| format!("{} at the latest", time(ns)));
    format!(
        "{what} is {:.0} % full, grows by {:.1} % an hour, and will be full at {} ({} at the earliest, {latest}).",
        100.0 * full.used,
        100.0 * full.growth_an_hour,
        time(full.full_ns),
        time(full.earliest_ns)
    )
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", 1e3 * seconds)
}

fn cores_text(cores: f64) -> String {
    format!("{cores:.2} cores")
}

fn time(ns: i64) -> String {
    rfc3339(Timestamp::from_unix_ns(ns))
}
