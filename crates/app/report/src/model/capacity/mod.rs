//! How much is left, as data. Field names and meanings are schema version 2.
//!
//! Instants end in `_ns` (nanoseconds since the Unix epoch) and come with their text; lengths end in `_s` and
//! are seconds; utilization is a share of 0..1 of all cores of a tier; throughput is transactions a second.

mod answer;
mod limits;
mod model;

pub use answer::{
    CapacityAnswer, CurvePoint, TierLoad, TransactionResponse, WhatIf, WhatIfLoad, WindowCapacity,
};
pub use limits::{
    ChangeCost, ClientGroupsAnswer, GroupLoad, GroupsLoad, LoadUnit, ResourceGrowth, ResourceKind,
    ResourceLimit,
};
pub use model::{
    CapacityModel, ClientsBasis, ModelAccuracy, ObservedLoad, ThinkTime, TierError, TierKind, TierModel,
    TransactionLatency, Trust,
};

use crate::{SampleSummary, Setting};
use serde::Serialize;
use utoipa::ToSchema;

/// Version of the JSON schema of capacity. Fields may be added within a version; none is removed or changes
/// meaning.
pub const CAPACITY_SCHEMA_VERSION: u32 = 2;

/// How many clients a system can take within a latency target, and how sure that is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CapacityReport {
    /// [`CAPACITY_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `capacity`: which report this is.
    pub report: &'static str,
    /// The answer in one word.
    pub verdict: CapacityVerdict,
    /// The answer in one to six sentences; names stand in backticks.
    pub headline: String,
    /// The input and its losses.
    pub input: SampleSummary,
    /// The latency target: mean response time in seconds.
    pub latency_max_s: f64,
    /// The load at the end of the data, and the highest.
    pub load: Option<CurrentLoad>,
    /// The load that the system can take now; `None` when there was too little data.
    pub answer: Option<CapacityAnswer>,
    /// The load that it could take after the requested changes.
    pub what_if: Option<WhatIf>,
    /// Throughput and response times of the requested groups of clients, after the requested changes.
    pub client_groups: Option<ClientGroupsAnswer>,
    /// The capacity cost of the last change of the application; `None` when there was none, or when all windows were used.
    pub last_change: Option<ChangeCost>,
    /// Memory and network where they are measured, for the system as it is.
    pub limits: Vec<ResourceLimit>,
    /// The model that answers.
    pub model: Option<CapacityModel>,
    /// How far the model is off where it can be compared.
    pub accuracy: Option<ModelAccuracy>,
    /// The load in order of time, one entry per interval.
    pub observed: Vec<ObservedLoad>,
    /// Types of outbound calls, the order of [`TransactionLatency::callees_s`].
    pub callees: Vec<String>,
    /// Where the latency of each transaction type goes; in the model's order.
    pub latency: Vec<TransactionLatency>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// With the verdict `insufficient-data`: what would have been needed; whole sentences.
    pub missing: Vec<String>,
    /// Every setting used.
    pub settings: Vec<Setting>,
}

/// The answer in one word, for the system as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityVerdict {
    /// There was too little data to say.
    InsufficientData,
    /// The load, at its highest too, is below four fifths of what the system can take.
    Enough,
    /// The load now is above four fifths of it, or was at its highest.
    NearLimit,
    /// The load now is above it.
    Exceeded,
}

/// The load at the end of the data, and the highest.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct CurrentLoad {
    /// Windows at the end of the data that count as now.
    pub windows: u64,
    /// Mean clients in them; `None` where unknown.
    pub clients: Option<f64>,
    /// Throughput in them.
    pub throughput: f64,
    /// Mean response time in them, in seconds; `None` where unknown.
    pub response_s: Option<f64>,
    /// Most clients observed.
    pub clients_peak: Option<f64>,
    /// Highest throughput observed.
    pub throughput_peak: f64,
}

impl CapacityReport {
    /// The answer and the model to describe: those after the requested changes, if there are any.
    pub(crate) fn described(&self) -> Option<(&CapacityAnswer, &CapacityModel)> {
        match &self.what_if {
            Some(what_if) => Some((&what_if.answer, &what_if.model)),
            None => Some((self.answer.as_ref()?, self.model.as_ref()?)),
        }
    }

    /// Share of the capacity that the load now takes, by clients if known, else by throughput; memory and network count where
    /// they are full before the CPU. `None` without an answer; infinite where not even one client is within the target.
    pub fn used(&self) -> Option<f64> {
        let load = self.load?;
        self.share_of_capacity(load.clients, load.throughput)
    }

    /// The same of the highest load observed.
    pub fn used_at_peak(&self) -> Option<f64> {
        let load = self.load?;
        self.share_of_capacity(load.clients_peak, load.throughput_peak)
    }

    fn share_of_capacity(&self, clients: Option<f64>, throughput: f64) -> Option<f64> {
        let answer = self.answer.as_ref()?;
        let of_cpu = match (answer.clients, clients) {
            (Some(most), Some(clients)) => clients / most as f64,
            _ => throughput / answer.throughput,
        };
        let of_others = self.limits.iter().filter_map(|limit| {
            let most = limit.load_before_cpu()?;
            match limit.unit {
                LoadUnit::Clients => Some(clients? / most),
                LoadUnit::Throughput => Some(throughput / most),
            }
        });
        Some(of_others.fold(of_cpu, f64::max))
    }
}
