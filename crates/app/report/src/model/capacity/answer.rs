//! The answer of `capacity`: the highest load within the target, and what limits it.

use crate::{CapacityModel, Window};
use serde::Serialize;
use utoipa::ToSchema;

/// The load that a system can take within the latency target: the least over the mixes that were observed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapacityAnswer {
    /// Most clients; `None` where clients and think time are unknown and the answer is a rate only.
    pub clients: Option<u64>,
    /// Whether the search ended at its limit: more are possible.
    pub at_limit: bool,
    /// Throughput there.
    pub throughput: f64,
    /// Mean response time there, in seconds.
    pub response_s: f64,
    /// The tier that saturates first; empty when none queues.
    pub bottleneck: String,
    /// How it was computed.
    pub algorithm: String,
    /// Whether that is exact for the model.
    pub exact: bool,
    /// The interval with the least favorable mix, by position in `windows`; `None` when one mix was given for all.
    pub limiting_window: Option<u32>,
    /// The least favorable mix: shares of the transactions in the model's order.
    pub mix: Vec<f64>,
    /// Median over the intervals of the most clients; `None` as `clients`.
    pub clients_median: Option<f64>,
    /// Median over the intervals of the throughput at capacity.
    pub throughput_median: f64,
    /// Capacity by interval, each with its own mix.
    pub windows: Vec<WindowCapacity>,
    /// No number of clients gives more throughput with the least favorable mix, `1/max(D/c)`; `None` when nothing queues.
    pub throughput_limit: Option<f64>,
    /// With more clients than this somebody always waits, `(Z + ΣD)/max(D/c)`; `None` as `clients`.
    pub knee_clients: Option<f64>,
    /// Tiers at capacity, in the model's order.
    pub tiers: Vec<TierLoad>,
    /// Transactions at capacity, in the model's order.
    pub transactions: Vec<TransactionResponse>,
    /// The model with the least favorable mix, by clients (or throughput).
    pub curve: Vec<CurvePoint>,
    /// The model with the mix of all data; empty when one mix was given.
    pub curve_all: Vec<CurvePoint>,
}

/// Capacity with the mix of an interval.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct WindowCapacity {
    /// The interval.
    #[serde(flatten)]
    pub time: Window,
    /// Transactions in it.
    pub transactions: u64,
    /// Most clients; `None` where the answer is a rate only.
    pub clients: Option<u64>,
    /// Throughput there.
    pub throughput: f64,
}

/// A tier at some load.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TierLoad {
    /// Its name.
    pub tier: String,
    /// Utilization, what runs beside the transactions included; `None` for a delay.
    pub utilization: Option<f64>,
    /// Time a transaction spends there, waiting included, in seconds.
    pub residence_s: f64,
}

/// A transaction type at some load.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransactionResponse {
    /// The transaction type.
    pub transaction: String,
    /// Share of the transactions.
    pub share: f64,
    /// Mean response time in seconds.
    pub response_s: f64,
}

/// One point of a curve.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct CurvePoint {
    /// Clients; inside the system where the answer is a rate only.
    pub clients: f64,
    /// Throughput.
    pub throughput: f64,
    /// Mean response time in seconds.
    pub response_s: f64,
    /// Utilization by tier, in the model's order; `None` for a delay.
    pub utilization: Vec<Option<f64>>,
}

/// The answer after changes.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WhatIf {
    /// The changes; whole sentences.
    pub changes: Vec<String>,
    /// The load that the changed system can take.
    pub answer: CapacityAnswer,
    /// The changed system.
    pub model: CapacityModel,
    /// The requested load, or the present one, on the changed system; `None` where that is beyond what it
    /// can do at all, or not known.
    pub load: Option<WhatIfLoad>,
}

/// A load on a changed system.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct WhatIfLoad {
    /// How many times the present load.
    pub factor: f64,
    /// Clients; `None` where the answer is a rate only.
    pub clients: Option<f64>,
    /// Throughput.
    pub throughput: f64,
    /// Mean response time in seconds.
    pub response_s: f64,
    /// Whether that is within the target.
    pub within_target: bool,
    /// Tiers.
    pub tiers: Vec<TierLoad>,
}
