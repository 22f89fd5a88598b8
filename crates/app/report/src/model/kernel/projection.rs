//! Executions as points of a scatter chart: their vectors of states on two principal components.

use super::ExecutionSet;
use serde::Serialize;
use utoipa::ToSchema;

/// The executions' vectors on their two principal components.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Projection {
    /// What the vectors hold: `square roots of how often each state was entered`.
    pub features: String,
    /// The points.
    pub points: Vec<ProjectedExecution>,
    /// Executions beyond the limit of points.
    pub left_out: u64,
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ProjectedExecution {
    /// Which set.
    pub set: ExecutionSet,
    /// Its number in that set, from 1.
    pub number: u64,
    /// Coordinate on the first component.
    pub x: f64,
    /// Coordinate on the second.
    pub y: f64,
    /// Its kind, by the number of its cluster; `None` for noise.
    pub cluster: Option<u32>,
    /// Whether it is slower than its kind.
    pub anomalous: bool,
}
