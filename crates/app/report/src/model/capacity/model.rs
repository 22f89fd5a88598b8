//! The model behind the answer, and what supports it.

use crate::CallCost;
use crate::instants::unix_ns;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Tiers, demands, think time.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapacityModel {
    /// Transaction types.
    pub transactions: Vec<String>,
    /// Shares of the transactions in all data.
    pub mix: Vec<f64>,
    /// Where transactions spend time.
    pub tiers: Vec<TierModel>,
    /// Where the number of clients comes from.
    pub clients: ClientsBasis,
    /// The think time; `None` where the answer is a rate only.
    pub think: Option<ThinkTime>,
}

/// Where the number of clients comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientsBasis {
    /// It was measured.
    Measured,
    /// From throughput, response time and the think time given, by Little's law.
    FromThinkTime,
    /// It is unknown: requests arrive at random (open model), and the answer is a rate.
    Unknown,
}

/// Time between an answer and the client's next request.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ThinkTime {
    /// Mean, in seconds.
    pub seconds: f64,
    /// Where it comes from; a sentence.
    pub source: String,
}

/// The role of a tier in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierKind {
    /// CPU cores with queues before them.
    Cpu,
    /// Calls of which only the time is known: the same at every load.
    Calls,
    /// The rest of the response time: the same at every load.
    Other,
}

/// A tier in the model.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TierModel {
    /// Its name.
    pub tier: String,
    /// Its role.
    pub kind: TierKind,
    /// Servers among which load is balanced.
    pub servers: u32,
    /// Cores of each; `None` for a delay.
    pub cores: Option<f64>,
    /// Seconds a transaction of each type takes here, in the model's order.
    pub demands_s: Vec<f64>,
    /// 95 % intervals: lower ends; empty when not known.
    pub low_s: Vec<f64>,
    /// 95 % intervals: upper ends.
    pub high_s: Vec<f64>,
    /// Whether the data distinguish each demand from the others, in the model's order: the type is not pooled, its counts do
    /// not move together with others, and its interval is narrower than the demand.
    pub distinguishable: Vec<bool>,
    /// The CPU cost of a call to this tier; `None` when transactions do not reach it by calls.
    pub call: Option<CallCost>,
    /// Shares 0..1 of the demands that pass before the client has its answer, in the model's order: the rest, like
    /// objects that a page embeds, is not in the response time.
    pub answered: Vec<f64>,
    /// Mean demand of the mix of all data, in seconds.
    pub mean_s: f64,
    /// Share of the capacity that is used beside the transactions, 0..1.
    pub background: f64,
    /// Where the demands come from; a sentence.
    pub source: String,
}

/// How far the model is off: sums of deviations over sums of what was observed.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ModelAccuracy {
    /// Intervals that were compared.
    pub intervals: u64,
    /// Relative error of the throughput at the observed number of clients; `None` when not comparable.
    pub throughput: Option<f64>,
    /// Relative error of the mean response time.
    pub response: Option<f64>,
    /// Mean of model minus observed over observed response time, signed.
    pub response_bias: Option<f64>,
    /// Relative error of the utilization by tier.
    pub utilization: Vec<TierError>,
    /// How far it can be trusted.
    pub trust: Trust,
}

/// Error of a tier's utilization.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TierError {
    /// The tier.
    pub tier: String,
    /// Relative error.
    pub error: f64,
}

/// How far an answer can be trusted, by the largest error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Errors of at most 10 %.
    Good,
    /// Errors of at most 20 %.
    Fair,
    /// Larger errors, or nothing to compare with.
    Poor,
}

/// The load of an interval of several windows.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ObservedLoad {
    /// Start of its first window.
    #[serde(rename = "since_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub since: Timestamp,
    /// End of its last window.
    #[serde(rename = "until_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub until: Timestamp,
    /// Mean clients, measured or by Little's law; `None` where unknown.
    pub clients: Option<f64>,
    /// Throughput.
    pub throughput: f64,
    /// Mean response time in seconds; `None` where unknown.
    pub response_s: Option<f64>,
    /// Utilization by tier, in the model's order; `None` for a delay or where unknown.
    pub utilization: Vec<Option<f64>>,
    /// Throughput by the model at the same number of clients; `None` where the answer is a rate only.
    pub model_throughput: Option<f64>,
    /// Mean response time by the model; `None` where it is beyond saturation.
    pub model_response_s: Option<f64>,
}

/// Where the mean latency of a transaction type goes (equation 6 of Cherkasova et al. 2009). The parts sum to
/// the response time.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransactionLatency {
    /// The transaction type.
    pub transaction: String,
    /// Transactions it was measured on.
    pub count: u64,
    /// Mean response time in seconds.
    pub response_s: f64,
    /// CPU time at the front tier.
    pub service_s: f64,
    /// Everything else at the front tier: queueing and other waits.
    pub queueing_s: f64,
    /// In outbound calls, by callee.
    pub callees_s: Vec<f64>,
}
