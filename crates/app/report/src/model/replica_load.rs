//! The calls that a suspect's replicas receive, and the requests that make them.

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

/// The requests that met a suspect: those that called it, on one of its `culprits` where there are any.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
pub struct MetRequests {
    /// Requests.
    pub requests: u64,
    /// By which share of their usual time it makes them slower on average: 1 doubles their time. Their usual time is the mean in the
    /// baseline of requests with the same call tree; without one, their time less what the suspect adds.
    pub slower: f64,
}
