//! `/api/v1/latency-map`: how many requests took how long when.

use super::data::query;
use super::overview::Bins;
use super::parameters::{Query, count, now, window};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::{RequestView, Requests};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of columns, and of rows.
const COLUMNS: usize = 120;
const COLUMNS_MAX: usize = 400;
const ROWS: usize = 40;
const ROWS_MAX: usize = 100;

/// Parameters of a map of latencies.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LatencyMapParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Only requests that enter at this service.
    service: Option<String>,
    /// Only requests that enter by an operation of this name.
    operation: Option<String>,
    /// Number of intervals of time (1 to 400; default 120).
    #[param(minimum = 1, maximum = 400)]
    columns: Option<u64>,
    /// Number of intervals of latency (1 to 100; default 40).
    #[param(minimum = 1, maximum = 100)]
    rows: Option<u64>,
}

/// Requests by start and latency.
#[derive(Serialize, ToSchema)]
pub(crate) struct LatencyMap {
    /// Start of the first column.
    since_ns: i64,
    /// Length of a column.
    column_ns: u64,
    columns: u64,
    /// Ends of the rows, growing, one more than there are rows: a request belongs to the last row that does not begin above its
    /// latency. Empty without requests.
    edges_ns: Vec<u64>,
    /// By row, the fastest first, the requests of each column.
    counts: Vec<Vec<u64>>,
    requests: u64,
}

/// Selects requests by where they enter.
#[derive(Clone, Default)]
pub(crate) struct EntryFilter {
    pub(crate) service: Option<String>,
    pub(crate) operation: Option<String>,
}

impl EntryFilter {
    pub(crate) fn selects(&self, requests: &Requests, request: &RequestView<'_>) -> bool {
        let entry = requests.names().operation_key(request.tree().operation[0]);
        self.service.as_deref().is_none_or(|service| service == entry.service)
            && self.operation.as_deref().is_none_or(|operation| operation == entry.operation)
    }
}

/// Latencies over time
///
/// Requests counted in equal intervals of time and of the logarithm of their latency.
#[utoipa::path(
    get, path = "/api/v1/latency-map", tag = "data", params(LatencyMapParameters),
    responses((status = 200, body = LatencyMap), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn latency_map(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<LatencyMapParameters>,
) -> Result<Json<LatencyMap>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let columns = count("columns", parameters.columns, COLUMNS, COLUMNS_MAX)?;
    let rows = count("rows", parameters.rows, ROWS, ROWS_MAX)?;
    let filter = EntryFilter { service: parameters.service, operation: parameters.operation };
    let answer = query(&state, &tenant.store, window, move |requests| {
        Ok(map_of(requests, window, &filter, (columns, rows)))
    });
    Ok(Json(answer.await?))
}

fn map_of(
    requests: &Requests,
    window: Window,
    filter: &EntryFilter,
    (columns, rows): (usize, usize),
) -> LatencyMap {
    let bins = Bins::new(window, columns as i64);
    let selected = || {
        let range = requests.within(window.since, window.until);
        range.iter().filter(|request| filter.selects(requests, request))
    };
    let (mut low, mut high, mut number) = (u64::MAX, 0, 0);
    for request in selected() {
        let ns = request.latency().ns();
        (low, high, number) = (low.min(ns), high.max(ns), number + 1);
    }
    let edges_ns = if number == 0 { Vec::new() } else { edges(low.max(1), high.max(1), rows) };
    let mut counts = vec![vec![0; columns]; edges_ns.len().saturating_sub(1)];
    for request in selected() {
        counts[row_of(&edges_ns, request.latency().ns())][bins.of(request.start())] += 1;
    }
    LatencyMap {
        since_ns: window.since.unix_ns(),
        column_ns: bins.bin_ns as u64,
        columns: columns as u64,
        edges_ns,
        counts,
        requests: number,
    }
}

/// Ends of at most so many rows of equal width on a logarithmic scale, whole numbers. The last is above the highest value.
pub(super) fn edges(low: u64, high: u64, rows: usize) -> Vec<u64> {
    let step = ((high as f64 / low as f64).ln() / rows as f64).max(0.0);
    let mut edges: Vec<u64> = (0..rows).map(|row| (low as f64 * (step * row as f64).exp()) as u64).collect();
    edges[0] = low;
    edges.push(high.saturating_add(1));
    edges.dedup();
    edges
}

/// The row of a latency. What is below the first counts there.
pub(super) fn row_of(edges: &[u64], ns: u64) -> usize {
    let begun = edges.partition_point(|&edge| edge <= ns);
    begun.saturating_sub(1).min(edges.len() - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_equally_wide_on_a_logarithmic_scale() {
        let edges = edges(1_000, 1_000_000, 3);
        assert_eq!((edges[0], edges[3]), (1_000, 1_000_001));
        assert!(edges[1].abs_diff(10_000) <= 1 && edges[2].abs_diff(100_000) <= 1, "{edges:?}");
        let rows = [0, 1_000, 9_000, 11_000, 1_000_000, u64::MAX].map(|ns| row_of(&edges, ns));
        assert_eq!(rows, [0, 0, 0, 1, 2, 2]);
    }

    #[test]
    fn equal_latencies_are_one_row() {
        assert_eq!(edges(5, 5, 40), [5, 6]);
        assert_eq!(row_of(&[5, 6], 5), 0);
        assert!(edges(1, 3, 40).is_sorted_by(|a, b| a < b));
    }
}
