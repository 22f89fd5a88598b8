//! `/api/v1/replica-latencies`: how long calls of a service take on each of its replicas.

use super::data::query_beside;
use super::latencies::quantile;
use super::latency_map::{edges, row_of};
use super::measured::MeasuredCalls;
use super::parameters::{Query, now, shorten, window};
use super::problem::{ApiError, ProblemDocument};
use super::service_calls::CALL_TIMES_BYTES;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_model::{ReplicaId, Status};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Intervals of latency.
const BINS: usize = 32;

// Limit: replicas of a service whose latencies are shown | the ones with fewer calls are left out
/// Most replicas.
const REPLICAS_MAX: usize = 500;

/// Calls of a replica whose times are retained.
const MEASURED_MAX: usize = 2_000;

/// Parameters of the latencies of replicas.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReplicaLatencyParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Calls of this service: requests that enter there, and calls from other services.
    service: String,
    /// Only calls of an operation of this name.
    operation: Option<String>,
}

/// Latencies of the calls of a service by replica.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplicaLatencies {
    /// Ends of the intervals of latency, growing, one more than there are; empty without calls.
    edges_ns: Vec<u64>,
    /// By median, the slowest first.
    replicas: Vec<ReplicaLatencyRow>,
    /// Replicas beyond the limit.
    omitted: u64,
}

/// Latencies of the calls on a replica.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplicaLatencyRow {
    /// Empty if it is not known.
    replica: String,
    calls: u64,
    errors: u64,
    p50_ns: u64,
    p99_ns: u64,
    /// Calls in each interval of latency.
    counts: Vec<u64>,
}

/// Latencies of a service by replica
#[utoipa::path(
    get, path = "/api/v1/replica-latencies", tag = "data", params(ReplicaLatencyParameters),
    responses((status = 200, body = ReplicaLatencies), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn replica_latencies(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<ReplicaLatencyParameters>,
) -> Result<Json<ReplicaLatencies>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let answer = query_beside(&state, &tenant.store, (window, CALL_TIMES_BYTES), move |requests| {
        Ok(by_replica(requests, window, (&parameters.service, parameters.operation.as_deref())))
    });
    Ok(Json(answer.await?))
}

/// The calls of one replica.
struct ReplicaCalls {
    errors: u64,
    counts: Vec<u64>,
    times: MeasuredCalls<u64>,
}

fn by_replica(
    requests: &Requests,
    window: Window,
    (service, operation): (&str, Option<&str>),
) -> ReplicaLatencies {
    let nodes = called_nodes(requests, service, operation);
    let range = requests.within(window.since, window.until);
    let (mut low, mut high) = (u64::MAX, 0);
    let mut numbers: BTreeMap<ReplicaId, usize> = BTreeMap::new();
    for request in range.iter() {
        for &node in &nodes[request.structure()] {
            let ns = request.inclusive_time(node).ns();
            (low, high) = (low.min(ns), high.max(ns));
            *numbers.entry(request.replica(node)).or_default() += 1;
        }
    }
    let mut listed: Vec<(ReplicaId, usize)> = numbers.into_iter().collect();
    listed.sort_by_key(|&(replica, calls)| (Reverse(calls), replica));
    let omitted = shorten(&mut listed, REPLICAS_MAX);
    if listed.is_empty() {
        return ReplicaLatencies { edges_ns: Vec::new(), replicas: Vec::new(), omitted };
    }
    let edges_ns = edges(low.max(1), high.max(1), BINS);
    let counts = vec![0; edges_ns.len() - 1];
    let mut calls: BTreeMap<ReplicaId, ReplicaCalls> = listed
        .into_iter()
        .map(|(replica, number)| {
            let times = MeasuredCalls::new(number, MEASURED_MAX);
            (replica, ReplicaCalls { errors: 0, counts: counts.clone(), times })
        })
        .collect();
    for request in range.iter() {
        for &node in &nodes[request.structure()] {
            let Some(calls) = calls.get_mut(&request.replica(node)) else { continue };
            let ns = request.inclusive_time(node).ns();
            let status = if node == 0 { request.status() } else { request.call_status()[node] };
            calls.errors += u64::from(status == Status::Error);
            calls.counts[row_of(&edges_ns, ns)] += 1;
            calls.times.add(ns);
        }
    }
    let mut replicas: Vec<ReplicaLatencyRow> = calls
        .into_iter()
        .map(|(replica, calls)| row(requests.names().replica_name(replica), calls))
        .collect();
    replicas.sort_by(|a, b| (Reverse(a.p50_ns), &a.replica).cmp(&(Reverse(b.p50_ns), &b.replica)));
    ReplicaLatencies { edges_ns, replicas, omitted }
}

fn row(replica: &str, calls: ReplicaCalls) -> ReplicaLatencyRow {
    let number = calls.times.calls();
    let mut ns = calls.times.into_values();
    ReplicaLatencyRow {
        replica: replica.to_owned(),
        calls: number,
        errors: calls.errors,
        p50_ns: quantile(&mut ns, 50).unwrap_or(0),
        p99_ns: quantile(&mut ns, 99).unwrap_or(0),
        counts: calls.counts,
    }
}

/// The nodes of every structure that are calls of the service from outside of it.
fn called_nodes(requests: &Requests, service: &str, operation: Option<&str>) -> Vec<Vec<usize>> {
    let names = requests.names();
    let structures = requests.structures().iter().map(|structure| {
        let calls = structure.operation.iter().zip(&structure.parent).enumerate();
        let called = calls.filter(|(_, (callee, parent))| {
            let key = names.operation_key(**callee);
            key.service == service
                && operation.is_none_or(|operation| operation == key.operation)
                && parent.is_none_or(|parent| {
                    names.service_of(structure.operation[parent as usize]) != names.service_of(**callee)
                })
        });
        called.map(|(node, _)| node).collect()
    });
    structures.collect()
}
