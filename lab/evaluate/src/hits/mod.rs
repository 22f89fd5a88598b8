//! Which requests a suspect hit, and by how much, against the injected times.

mod laggard;
mod score;

pub use score::{FirstHits, HitScore, score_hits};

use crate::arm::Arms;
use crate::case::OperationName;
use laggard_engine::Traces;
use laggard_model::TraceId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An incident, and what a fault added to which call of which request.
#[derive(Clone)]
pub struct HitCase {
    /// Name, unique within its group.
    pub name: String,
    /// The traces to explain.
    pub target: Arc<Traces>,
    /// Traces of a time to compare with.
    pub baseline: Option<Arc<Traces>>,
    /// The right answer.
    pub truth: Arc<HitTruth>,
}

/// Injected times by operation.
pub type HitTruth = BTreeMap<OperationName, InjectedTimes>;

/// Time that a fault added to the calls of one operation.
#[derive(Clone, Debug, Default)]
pub struct InjectedTimes {
    /// By delayed call, nanoseconds.
    pub calls_ns: Vec<f64>,
    /// Sums by request, nanoseconds.
    pub requests_ns: BTreeMap<TraceId, f64>,
}

/// A suspect with the requests that it hit.
#[derive(Clone, Debug)]
pub struct HitSuspect {
    /// Service and operation.
    pub name: OperationName,
    /// The requests.
    pub requests: BTreeSet<TraceId>,
    /// Excess of a slow call, nanoseconds.
    pub call_effect_ns: f64,
    /// Excess of a request that was hit, nanoseconds.
    pub request_effect_ns: f64,
}

/// Every method: Laggard's default.
pub fn hit_finders() -> Arms<HitCase, Vec<HitSuspect>> {
    vec![Box::new(laggard::Hits)]
}
