//! `/api/v1/traces/{id}/usual`: how long calls like those of a trace take in a window.

use super::data::query_beside;
use super::latencies::quantile;
use super::measured::MeasuredCalls;
use super::parameters::{Query, WindowParameters, shorten};
use super::problem::{ApiError, ProblemDocument};
use super::trace::{TraceDocument, TraceSpan, stored_trace};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_model::{OperationId, OperationKey, SpanKind};
use laggard_params::Window;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use utoipa::ToSchema;

// Limit: operations of a trace whose usual times are shown | the others have none
/// Most rows of an answer: operations by their callers.
const ROWS_MAX: usize = 2_000;

/// Calls of a row that are measured; of more, these are chosen evenly.
const MEASURED_MAX: usize = 2_000;

/// Bytes of a measured call.
const MEASURED_BYTES: u64 = 16;

/// The times that calls like those of a trace take.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsualCalls {
    /// Where the window begins.
    since_ns: i64,
    /// Where it ends.
    until_ns: i64,
    /// By operation and caller, in their order in the trace; only those with calls in the window.
    calls: Vec<UsualCall>,
    /// Operations beyond the limit.
    omitted: u64,
}

/// The calls of an operation from one caller, in complete requests.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsualCall {
    callee: CallName,
    /// Absent for entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<CallName>,
    /// How many there are.
    calls: u64,
    /// Median with callees.
    inclusive_p50_ns: u64,
    /// 95th percentile with callees (nearest rank).
    inclusive_p95_ns: u64,
    /// Median without callees.
    self_p50_ns: u64,
}

/// One end of a call.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub(crate) struct CallName {
    service: String,
    operation: String,
    /// `server`, `client`, ...
    kind: String,
}

/// How long calls like those of a trace take
///
/// Calls of the same operation from the same caller, in complete requests that start in the window.
#[utoipa::path(
    get, path = "/api/v1/traces/{id}/usual", tag = "data",
    params(("id" = String, Path, description = "The trace, with the id of its spans, or as lists show it"), WindowParameters),
    responses((status = 200, body = UsualCalls), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn usual(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(text): Path<String>,
    Query(parameters): Query<WindowParameters>,
) -> Result<Json<UsualCalls>, ApiError> {
    let window = parameters.window()?;
    let mut pairs = call_pairs(&stored_trace(&tenant, &text).await?);
    let omitted = shorten(&mut pairs, ROWS_MAX);
    let beside = MEASURED_BYTES * (MEASURED_MAX * pairs.len()) as u64;
    let answer = query_beside(&state, &tenant.store, (window, beside), move |requests| {
        let calls = usual_calls(requests, window, pairs);
        Ok(UsualCalls { since_ns: window.since.unix_ns(), until_ns: window.until.unix_ns(), calls, omitted })
    });
    Ok(Json(answer.await?))
}

/// An operation with its caller.
type CallPair = (Option<CallName>, CallName);

/// The distinct calls of a trace, in its order.
fn call_pairs(trace: &TraceDocument) -> Vec<CallPair> {
    let by_id: HashMap<&str, &TraceSpan> =
        trace.spans.iter().map(|span| (span.span.as_str(), span)).collect();
    let name = |span: &TraceSpan| CallName {
        service: span.service.clone(),
        operation: span.operation.clone(),
        kind: span.kind.to_owned(),
    };
    let mut known = BTreeSet::new();
    let pairs = trace.spans.iter().map(|span| {
        let parent = span.parent.as_deref().filter(|_| span.depth > 0);
        (parent.and_then(|parent| by_id.get(parent)).map(|caller| name(caller)), name(span))
    });
    pairs.filter(|pair| known.insert(pair.clone())).collect()
}

fn usual_calls(requests: &Requests, window: Window, pairs: Vec<CallPair>) -> Vec<UsualCall> {
    let nodes = pair_nodes(requests, &pairs);
    let complete = || requests.within(window.since, window.until).iter().filter(|one| one.is_complete());
    let mut of_structure = vec![0_usize; nodes.len()];
    complete().for_each(|request| of_structure[request.structure()] += 1);
    let mut counts = vec![0_usize; pairs.len()];
    for (nodes, requests) in nodes.iter().zip(of_structure) {
        nodes.iter().for_each(|&(_, pair)| counts[pair as usize] += requests);
    }
    let mut measured: Vec<MeasuredCalls<(u64, u64)>> =
        counts.iter().map(|&calls| MeasuredCalls::new(calls, MEASURED_MAX)).collect();
    for request in complete() {
        for &(node, pair) in &nodes[request.structure()] {
            let (inclusive, own) = (request.inclusive_time(node as usize), request.self_time(node as usize));
            measured[pair as usize].add((inclusive.ns(), own.ns()));
        }
    }
    let rows = pairs.into_iter().zip(measured).filter_map(|((caller, callee), measured)| {
        let calls = measured.calls();
        let (mut inclusive, mut own): (Vec<u64>, Vec<u64>) = measured.into_values().into_iter().unzip();
        Some(UsualCall {
            callee,
            caller,
            calls,
            inclusive_p50_ns: quantile(&mut inclusive, 50)?,
            inclusive_p95_ns: quantile(&mut inclusive, 95)?,
            self_p50_ns: quantile(&mut own, 50)?,
        })
    });
    rows.collect()
}

/// The nodes of every structure that are calls of a pair, with its index.
fn pair_nodes(requests: &Requests, pairs: &[CallPair]) -> Vec<Vec<(u32, u32)>> {
    let id = |name: &CallName| {
        let kind = SpanKind::parse(&name.kind).unwrap_or_default();
        let key = OperationKey { service: &name.service, operation: &name.operation, kind };
        requests.names().find_operation(key)
    };
    let mut by_ids: HashMap<(Option<OperationId>, OperationId), u32> = HashMap::new();
    for ((caller, callee), index) in pairs.iter().zip(0..) {
        // A caller that is not there calls nothing.
        let Some(callee) = id(callee) else { continue };
        match caller.as_ref().map(id) {
            Some(None) => {}
            known => _ = by_ids.insert((known.flatten(), callee), index),
        }
    }
    let nodes = requests.structures().iter().map(|structure| {
        let calls = structure.operation.iter().zip(&structure.parent).zip(0..);
        let pairs = calls.filter_map(|((&callee, parent), node)| {
            let caller = parent.map(|parent| structure.operation[parent as usize]);
            by_ids.get(&(caller, callee)).map(|&pair| (node, pair))
        });
        pairs.collect()
    });
    nodes.collect()
}
