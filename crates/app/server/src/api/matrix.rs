//! `/api/v1/categories/{id}/matrix`: the request x invocation matrix and what robust PCA makes of it.

use super::data::{query, threads};
use super::parameters::{Query, count, now, window};
use super::problem::{ApiError, ProblemDocument};
use super::tree::MatchedCategory;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_localize::{
    Call, CategoryCalls, CategoryPosition, CloudDiagSettings, RequestRow, decompose, gate_weighted,
};
use laggard_numeric::Weights;
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of rows.
const ROWS: usize = 500;
const ROWS_MAX: usize = 5_000;

/// Columns that are shown: those with the largest part of the slow requests' excess.
const COLUMNS_MAX: usize = 256;

/// Parameters of a matrix.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MatrixParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Maximum number of requests (1 to 5000; default 500), chosen evenly.
    #[param(minimum = 1, maximum = 5_000)]
    rows: Option<u64>,
}

/// A request x invocation matrix: a row a request, a column a position. Nanoseconds of self time.
#[derive(Serialize, ToSchema)]
pub(crate) struct RequestMatrix {
    id: String,
    /// Rows, by start.
    requests: Vec<MatrixRow>,
    /// Columns, in depth-first pre-order.
    positions: Vec<MatrixColumn>,
    /// Measured times.
    original: Vec<Vec<u64>>,
    /// Usual times of requests of that size.
    low_rank: Vec<Vec<i64>>,
    /// Deviations from the usual times.
    sparse: Vec<Vec<i64>>,
    /// Requests beyond the limit.
    omitted_requests: u64,
    /// Positions beyond the limit.
    omitted_positions: u64,
    /// Whether the decomposition converged.
    converged: bool,
}

/// A row of the matrix.
#[derive(Serialize, ToSchema)]
pub(crate) struct MatrixRow {
    trace: String,
    start_ns: i64,
    latency_ns: u64,
}

/// A column of the matrix.
#[derive(Serialize, ToSchema)]
pub(crate) struct MatrixColumn {
    position: u32,
    service: String,
    operation: String,
    /// Whether deviations there are suspicious.
    flagged: bool,
}

/// The matrix of a category
#[utoipa::path(
    get, path = "/api/v1/categories/{id}/matrix", tag = "data",
    params(("id" = String, Path, description = "The category, as lists and reports name it"), MatrixParameters),
    responses((status = 200, body = RequestMatrix), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn matrix(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    Query(parameters): Query<MatrixParameters>,
) -> Result<Json<RequestMatrix>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let rows = count("rows", parameters.rows, ROWS, ROWS_MAX)?;
    let answer = query(&state, &tenant.store, window, move |requests| matrix_of(requests, window, &id, rows));
    Ok(Json(answer.await?))
}

fn matrix_of(requests: &Requests, window: Window, id: &str, rows: usize) -> Result<RequestMatrix, ApiError> {
    let matched = MatchedCategory::find(requests, window, id)?;
    let mut category = calls(&matched);
    let omitted_requests = category.thin(rows) as u64;
    let settings = CloudDiagSettings { columns_max: COLUMNS_MAX, ..CloudDiagSettings::default() };
    let latencies: Vec<f64> = category.requests.iter().map(|row| row.latency_ns as f64).collect();
    let gate = gate_weighted(&latencies, Weights::from_slice(&category.weights()), &settings);
    let parts = decompose(&category, &gate, &settings, threads());
    let times = category.matrix();
    let columns = shown(&parts.positions);
    let names = requests.names();
    let row = |i: usize, value: &dyn Fn(usize) -> i64| -> Vec<i64> {
        columns.iter().map(|&j| value(i * times.cols() + j)).collect()
    };
    let sparse_at = |cell: usize| parts.sparse[cell].round() as i64;
    let time_at = |cell: usize| times.row(cell / times.cols())[cell % times.cols()];
    let usual_at = |cell: usize| (time_at(cell) - parts.sparse[cell]).round() as i64;
    let all = 0..times.rows();
    Ok(RequestMatrix {
        id: matched.shape.id.short(),
        requests: (category.requests.iter())
            .map(|row| MatrixRow {
                trace: requests.trace_text(row.trace),
                start_ns: row.start.unix_ns(),
                latency_ns: row.latency_ns,
            })
            .collect(),
        positions: (columns.iter())
            .map(|&j| {
                let key = names.operation_key(category.positions[j].operation);
                MatrixColumn {
                    position: j as u32,
                    service: key.service.to_owned(),
                    operation: key.operation.to_owned(),
                    flagged: parts.positions[j].flagged,
                }
            })
            .collect(),
        original: all.clone().map(|i| columns.iter().map(|&j| times.row(i)[j] as u64).collect()).collect(),
        low_rank: all.clone().map(|i| row(i, &usual_at)).collect(),
        sparse: all.map(|i| row(i, &sparse_at)).collect(),
        omitted_requests,
        omitted_positions: (times.cols() - columns.len()) as u64,
        converged: parts.converged,
    })
}

/// Positions with the largest shares, in their order.
fn shown(positions: &[laggard_localize::PositionFinding]) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..positions.len()).collect();
    columns.sort_by(|&a, &b| positions[b].share.total_cmp(&positions[a].share).then(a.cmp(&b)));
    columns.truncate(COLUMNS_MAX);
    columns.sort_unstable();
    columns
}

/// The calls of a category as the methods' input.
fn calls(matched: &MatchedCategory<'_>) -> CategoryCalls {
    let to_position = |position: &laggard_assembly::ShapePosition| CategoryPosition {
        operation: position.operation,
        parent: position.parent,
    };
    let mut out = CategoryCalls {
        id: matched.shape.id,
        positions: matched.shape.positions.iter().map(to_position).collect(),
        requests: Vec::with_capacity(matched.requests.len()),
        calls: Vec::new(),
        left_out: 0,
    };
    for request in &matched.requests {
        let row = out.requests.len() as u32;
        out.requests.push(RequestRow {
            start: request.start(),
            trace: request.trace(),
            latency_ns: request.latency().ns(),
            weight: request.weight(None),
        });
        let first = out.calls.len();
        for (node, &position) in matched.positions_of(request).iter().enumerate() {
            let time_ns = request.self_time(node).ns();
            out.calls.push(Call { request: row, position, replica: request.replica(node), time_ns });
        }
        out.calls[first..].sort_by_key(|call| call.position);
    }
    out
}
