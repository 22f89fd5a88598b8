//! The load of the replicas of a suspect.

use serde::Serialize;
use utoipa::ToSchema;

/// The share of an operation's calls that the replicas of a suspect receive.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct ReplicaLoad {
    /// Calls of the operation in the window; with a baseline, only those on replicas that are in both.
    pub calls: u64,
    /// Calls on the suspect's replicas.
    pub replica_calls: u64,
    /// The latter over the former, 0..1.
    pub share: f64,
    /// Their share in the baseline, or if all replicas received equally many calls, 0..1.
    pub usual_share: f64,
    /// Whether `usual_share` is that of the baseline.
    pub is_against_baseline: bool,
    /// p-value of the hypothesis that the share is as usual.
    pub p_value: f64,
}
