//! Series over time for the charts of `changes`: utilization, mix, and response times of a server.

use crate::instants::unix_ns;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Utilization of a server over time. Point `i` covers `windows_per_point` windows from
/// `since_ns + i · step_s` on; all lists have one entry a point, `None` where there are no data.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct UtilizationSeries {
    /// Start of the first point.
    #[serde(rename = "since_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub since: Timestamp,
    /// Length of a point in seconds.
    pub step_s: f64,
    /// Windows that a point covers: the fewest with which there are at most 1,440 points.
    pub windows_per_point: u64,
    /// Mean utilization observed, 0..1 of all cores.
    pub observed: Vec<Option<f64>>,
    /// The smallest of the point's windows.
    pub observed_low: Vec<Option<f64>>,
    /// The largest.
    pub observed_high: Vec<Option<f64>>,
    /// Mean utilization that the current model predicts from the transactions; in a time that transactions do
    /// not explain, by the model before it.
    pub predicted: Vec<Option<f64>>,
    /// Smallest observed minus predicted of the point's windows.
    pub residual_low: Vec<Option<f64>>,
    /// Largest.
    pub residual_high: Vec<Option<f64>>,
    /// Transactions a second.
    pub transactions_per_s: Vec<Option<f64>>,
}

/// Shares of transaction types over time, points as in [`UtilizationSeries`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct MixSeries {
    /// Start of the first point.
    #[serde(rename = "since_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub since: Timestamp,
    /// Length of a point in seconds.
    pub step_s: f64,
    /// Windows that a point covers.
    pub windows_per_point: u64,
    /// Transaction types, the most frequent first; the last is `(other)` when some are pooled.
    pub transactions: Vec<String>,
    /// For each of them its share of all transactions by point, 0..1; `None` in a gap.
    pub shares: Vec<Vec<Option<f64>>>,
}

/// Mean response times of transaction types over time, points as in [`UtilizationSeries`] (Cherkasova et al. 2009, figure 2).
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct ResponseSeries {
    /// Start of the first point.
    #[serde(rename = "since_ns", serialize_with = "unix_ns")]
    #[schema(value_type = i64)]
    pub since: Timestamp,
    /// Length of a point in seconds.
    pub step_s: f64,
    /// Windows that a point covers.
    pub windows_per_point: u64,
    /// The most frequent transaction types whose response times are known, the most frequent first.
    pub transactions: Vec<String>,
    /// For each of them its mean response time by point, in seconds; `None` where none is known.
    pub response_s: Vec<Vec<Option<f64>>>,
}

// Limit: points of a series in a report about windows | a point covers several windows, with their range
/// Most points of a series; a chart of 1,280 pixels shows no more.
pub const SERIES_POINTS_MAX: usize = 1_440;
