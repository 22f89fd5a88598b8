//! Changes in the cost of transactions, as data. Field names and meanings are schema version 2.
//!
//! Instants end in `_ns` (nanoseconds since the Unix epoch) and come with their text; lengths end in `_s` and
//! are seconds; utilization is a share of 0..1 of all cores.

mod series;

pub use series::{MixSeries, ResponseSeries, SERIES_POINTS_MAX, UtilizationSeries};

use crate::instants::{instants, unix_ns};
use crate::{Onset, SampleSummary, Setting, Window};
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Version of the JSON schema of changes. Fields may be added within a version; none is removed or changes
/// meaning.
pub const CHANGES_SCHEMA_VERSION: u32 = 2;

/// Code, workload, or something else on the host? The answer over all servers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChangeReport {
    /// [`CHANGES_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `changes`: which report this is.
    pub report: &'static str,
    /// The answer in one word.
    pub verdict: ChangeVerdict,
    /// The answer in one to three sentences; names stand in backticks.
    pub headline: String,
    /// Name of the method that gave it (`laggard methods`).
    pub method: String,
    /// The input and its losses.
    pub input: SampleSummary,
    /// Deployments that were declared, in order of time.
    pub deployments: Vec<Deployment>,
    /// All changes, over all servers, in order of time: changes of one kind at one time on several servers
    /// are one.
    pub events: Vec<JointChange>,
    /// The answer for every server, by tier and name.
    pub servers: Vec<ServerChanges>,
    /// Transactions of the whole system over time; `None` when there are none.
    pub mix: Option<MixSeries>,
    /// Response times of the whole system over time; `None` where none are known.
    pub response: Option<ResponseSeries>,
    /// Findings without a problem; whole sentences.
    pub ruled_out: Vec<String>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// With the verdict `insufficient-data`: what would have been needed; whole sentences.
    pub missing: Vec<String>,
    /// Every setting used.
    pub settings: Vec<Setting>,
}

/// The answer in one word; the strongest that occurred at any time in the data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerdict {
    /// There was too little data to say.
    InsufficientData,
    /// There was enough data, and nothing changed.
    Steady,
    /// Only the transaction mix moved; the cost of transactions did not.
    WorkloadChange,
    /// No change was found, but transactions do not explain the CPU, so that only large changes would be seen.
    CpuNotExplained,
    /// CPU moved against the transactions, and neither their times nor their counts account for it: a background
    /// load, another machine.
    UnexplainedChange,
    /// Transactions take longer or less long at the server, but the same CPU: they wait.
    WaitChange,
    /// For some time transactions did not explain the CPU: another process used CPU.
    Anomaly,
    /// All transactions take another amount of CPU, by one factor: the host, its frequency, a neighbor, the runtime.
    HostChange,
    /// The cost of transactions changed.
    ApplicationChange,
}

/// Kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeEventKind {
    /// The cost of transactions changed.
    ApplicationChange,
    /// The cost of a transaction changed in several steps in one direction, none of them after a deployment: only in the
    /// list over all servers, instead of these steps.
    Drift,
    /// All transactions take another amount of CPU, by one factor: the host, its frequency, a neighbor, the runtime.
    HostChange,
    /// Transactions take longer or less long at the server, but the same CPU: they wait.
    WaitChange,
    /// The cost is again as it was earlier.
    Rollback,
    /// The transaction mix moved, and the model still holds.
    WorkloadChange,
    /// CPU moved against the transactions, and neither their times nor their counts account for it.
    Unexplained,
    /// Transactions stop explaining the CPU.
    AnomalyStart,
    /// They explain it again.
    AnomalyEnd,
}

impl ChangeEventKind {
    /// Whether transactions take other amounts of CPU or time than before.
    pub const fn is_alarm(self) -> bool {
        matches!(
            self,
            ChangeEventKind::ApplicationChange
                | ChangeEventKind::Drift
                | ChangeEventKind::HostChange
                | ChangeEventKind::WaitChange
                | ChangeEventKind::Rollback
        )
    }
}

/// A change at one time, on one or several servers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JointChange {
    /// What.
    pub kind: ChangeEventKind,
    /// When: the earliest of the servers' most likely times, and an interval that covers theirs.
    pub onset: Onset,
    /// The servers that show it.
    pub servers: Vec<String>,
    /// Servers that were analyzed.
    pub servers_seen: u64,
    /// Their tier, if they have one in common.
    pub tier: String,
    /// Transactions that explain an application change, the largest difference first; means over the servers.
    pub transactions: Vec<TransactionShift>,
    /// For the start of an anomaly: the region, over all servers.
    pub region: Option<AnomalousRegion>,
    /// Of a change of the workload: what of the mix moved most, on the first of the servers.
    pub mix: Vec<MixShift>,
    /// Why the CPU utilization differs, on the first of the servers; `null` where the sides were not compared.
    pub cpu: Option<CpuSplit>,
    /// What it costs in capacity, on all of the servers; `null` where CPU per transaction did not change, or by how much is
    /// not known.
    pub capacity: Option<CapacityCost>,
    /// Of a drift: its steps.
    pub drift: Option<Drift>,
    /// The deployment it followed.
    pub deployment: Option<DeploymentBefore>,
}

/// The answer for one server.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ServerChanges {
    /// Its name; empty when the samples name none.
    pub server: String,
    /// Its tier; empty when the samples name none.
    pub tier: String,
    /// The machine that it runs on, by the name of the server that is its CPU as a whole, where samples tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// CPU capacity in cores.
    pub cores: f64,
    /// Whether `cores` is known; otherwise it was assumed to be 1, and how many cores are in use is not known.
    pub cores_known: bool,
    /// Windows with both counts and utilization: what was analyzed.
    pub windows: u64,
    /// The answer in one word.
    pub verdict: ChangeVerdict,
    /// Which estimator fitted the models and why; a sentence, empty when nothing was fitted.
    pub estimator: String,
    /// Models, each of one state of the application, in order of first appearance.
    pub models: Vec<CostModel>,
    /// Intervals that one fit describes, in order.
    pub segments: Vec<ReportedSegment>,
    /// Its changes, in order of time.
    pub changes: Vec<ChangeEvent>,
    /// Times in which transactions do not explain the CPU, in order.
    pub regions: Vec<AnomalousRegion>,
    /// Utilization observed and predicted, for charts.
    pub series: UtilizationSeries,
    /// Limitations of this server's answer; whole sentences.
    pub cautions: Vec<String>,
}

/// What transactions cost while one state of the application lasts:
/// `utilization = constant + Σ transactions per second · demand / cores`.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct CostModel {
    /// Its segments, by position in the server's list.
    pub segments: Vec<u32>,
    /// Windows it was fitted to.
    pub windows: u64,
    /// CPU that is used without transactions, in percent of the capacity.
    pub constant_percent: f64,
    /// Relative absolute error of the fit: all deviations over all utilization.
    pub error: f64,
    /// Which estimator gave the demands, by its name in the manual; empty when unknown.
    pub estimator: String,
    /// Condition number of the fit; `None` when single demands cannot be distinguished at all.
    pub condition: Option<f64>,
    /// Whether it holds at the end of the data.
    pub current: bool,
    /// The cost of each transaction type, in the order of the input's list.
    pub transactions: Vec<TransactionCost>,
    /// The CPU cost of a call to this server; `None` when transactions do not reach it by calls.
    pub call: Option<CallCost>,
    /// Transaction types whose counts move together, so that only their sum is known.
    pub indistinguishable: Vec<TiedTransactions>,
}

/// The CPU cost of a call at the server that answers it, from a regression of its CPU use on calls.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct CallCost {
    /// CPU seconds of a call; the mean over all calls if they differ.
    pub demand_s: f64,
    /// Lower end of the 95 % interval.
    pub low_s: f64,
    /// Upper end.
    pub high_s: f64,
    /// Whether calls of all transaction types cost the same, as far as the data show: then the demand of a transaction is
    /// its calls times `demand_s`.
    pub common: bool,
    /// Mean number of calls of a transaction of each type, in the order of the model's transactions.
    pub calls: Vec<f64>,
}

/// Transaction types that always come together.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TiedTransactions {
    /// The types.
    pub transactions: Vec<String>,
    /// CPU seconds that one of them takes on average.
    pub mean_demand_s: f64,
    /// Standard error of it; `null` when it cannot be determined.
    pub standard_error_s: f64,
}

/// The cost of one transaction of a type.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransactionCost {
    /// The transaction type.
    pub transaction: String,
    /// CPU seconds a transaction takes, by the model.
    pub demand_s: f64,
    /// Lower end of the 95 % interval; `null` when it cannot be determined.
    pub demand_low_s: f64,
    /// Upper end.
    pub demand_high_s: f64,
    /// Whether the data distinguish this demand from the others: it is in no group that moves together, and
    /// its interval is narrower than the demand itself.
    pub distinguishable: bool,
    /// Time at the server without queueing, in seconds: the signature; `None` when response times are not known.
    pub service_time_s: Option<f64>,
    /// Its standard error in seconds.
    pub service_time_error_s: Option<f64>,
}

/// The state of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentState {
    /// A model holds.
    Normal,
    /// Transactions do not explain the CPU.
    Anomalous,
    /// At the end, and too short to classify yet.
    Pending,
}

/// An interval that one fit describes: from the start of its first window to the end of its last.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ReportedSegment {
    /// From the start of its first window to the end of its last.
    #[serde(flatten)]
    pub time: Window,
    /// Its windows with data.
    pub windows: u64,
    /// The state.
    pub state: SegmentState,
    /// The model that holds, by position in the server's list.
    pub model: Option<u32>,
    /// Why it counts as anomalous; a phrase.
    pub reason: Option<String>,
    /// Constant of its own fit, in percent of the capacity.
    pub constant_percent: f64,
    /// Relative absolute error of its own fit.
    pub error: f64,
}

/// A change on one server.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ChangeEvent {
    /// What.
    pub kind: ChangeEventKind,
    /// When, with its 95 % interval.
    pub onset: Onset,
    /// Error of one model for both sides over that of two; near 1 the model still holds. `null` where none was
    /// fitted.
    pub error_ratio: f64,
    /// The model before, by position in the server's list.
    pub model_before: Option<u32>,
    /// The model after.
    pub model_after: Option<u32>,
    /// Transactions that explain an application change, the largest difference first.
    pub transactions: Vec<TransactionShift>,
    /// Service time of every transaction type before and after; empty when response times are not known.
    pub signature: Vec<SignatureShift>,
    /// The transactions whose shares moved most, of the segments on both sides.
    pub mix: Vec<MixShift>,
    /// Why the CPU utilization differs; `null` where the sides were not compared.
    pub cpu: Option<CpuSplit>,
    /// What it costs in capacity; `null` where CPU per transaction did not change, or by how much is not known.
    pub capacity: Option<CapacityCost>,
    /// Transactions a second before.
    pub rate_before: f64,
    /// Transactions a second after.
    pub rate_after: f64,
    /// The deployment it followed.
    pub deployment: Option<DeploymentBefore>,
}

/// The change of the mean CPU utilization at a change, divided by cause: `load + mix + cost = after - before`. Shares of
/// the capacity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct CpuSplit {
    /// Mean utilization before, 0..1.
    pub before: f64,
    /// Mean utilization after, 0..1.
    pub after: f64,
    /// Because there are more or fewer transactions.
    pub load: f64,
    /// Because their mix is another one.
    pub mix: f64,
    /// Because they, or something else, take another amount of CPU.
    pub cost: f64,
    /// CPU of a transaction after over before, at the mix after.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub ratio_low: f64,
    /// Upper end.
    pub ratio_high: f64,
}

/// What a change costs in capacity, by the utilization law: the CPU of the transactions since then by the models of both sides.
/// Negative where it saves some.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct CapacityCost {
    /// Additional cores in use, at the load since then.
    pub cores: f64,
    /// Share of the transactions by which the CPU can serve more or, negative, fewer at saturation, with the mix since then.
    pub requests: f64,
    /// The additional CPU is what so many more clients used to take; `null` where clients are not known.
    pub clients: Option<f64>,
}

/// The steps of a drift.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct Drift {
    /// Number of steps.
    pub steps: u32,
    /// The last step.
    #[serde(rename = "until_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub until: Timestamp,
}

/// The quantity of a transaction that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShiftQuantity {
    /// CPU; its time at the server did not change, or is not known.
    Cpu,
    /// Its time at the server; the CPU did not change, or the data do not show whether it did.
    Time,
    /// Both.
    CpuAndTime,
}

/// A transaction type whose cost changed.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransactionShift {
    /// The transaction type.
    pub transaction: String,
    /// What changed: the seconds are CPU unless only the time did.
    pub quantity: ShiftQuantity,
    /// Its CPU, or its time at the server without queueing, in seconds, before.
    pub before_s: f64,
    /// … and after.
    pub after_s: f64,
    /// After minus before.
    pub difference_s: f64,
    /// Standard error of the difference in seconds.
    pub standard_error_s: f64,
    /// Servers that show it.
    pub servers: u64,
}

/// Service time of a transaction type on both sides of a change.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct SignatureShift {
    /// The transaction type.
    pub transaction: String,
    /// Its time at the server without queueing, in seconds, before; `null` when it cannot be determined.
    pub before_s: f64,
    /// Standard error of it.
    pub before_error_s: f64,
    /// … and after.
    pub after_s: f64,
    /// Standard error of that.
    pub after_error_s: f64,
    /// Whether it explains the change.
    pub changed: bool,
}

/// Share of a transaction type on both sides of a change.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct MixShift {
    /// The transaction type.
    pub transaction: String,
    /// Its share of all transactions before, 0..1.
    pub share_before: f64,
    /// … and after.
    pub share_after: f64,
}

/// A time in which transactions do not explain the CPU: from the start of its first window to the end of its last.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct AnomalousRegion {
    /// From the start of its first window to the end of its last.
    #[serde(flatten)]
    pub time: Window,
    /// Its windows with data.
    pub windows: u64,
    /// Why it counts as anomalous; phrases, the most frequent first.
    pub reasons: Vec<String>,
    /// Utilization beyond what transactions explain, mean of its windows; `null` without a model to compare with.
    pub unexplained_mean: f64,
    /// … and its largest.
    pub unexplained_peak: f64,
    /// CPU seconds beyond what transactions explain.
    pub unexplained_cpu_s: f64,
}

instants! {
    /// When a deployment was.
    pub struct DeploymentTime {
        /// When.
        pub at,
    }
}

/// A deployment that was declared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Deployment {
    /// Its name: a version, a commit.
    pub name: String,
    /// When.
    #[serde(flatten)]
    pub time: DeploymentTime,
}

/// The deployment that a change followed.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct DeploymentBefore {
    /// Its name.
    pub name: String,
    /// When.
    #[serde(flatten)]
    pub time: DeploymentTime,
    /// From the deployment to the onset, in seconds; negative when the deployment lies inside the onset's interval,
    /// after the most likely time.
    pub before_s: f64,
}
