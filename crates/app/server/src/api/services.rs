//! `/api/v1/services` and `/api/v1/operations`: where requests enter, and how they fare.

use super::data::{query, query_beside};
use super::latencies::{Figures, Latencies};
use super::parameters::{Query, WindowParameters, window};
use super::problem::{ApiError, ProblemDocument};
use super::service_calls::{CALL_TIMES_BYTES, CallFigures, ServiceCalls};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::{RequestRange, Requests};
use laggard_model::{OperationId, ReplicaId, ServiceId};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Most rows of an answer.
const ROWS_MAX: usize = 10_000;

/// All services.
#[derive(Serialize, ToSchema)]
pub(crate) struct Services {
    /// By requests, the most first; those without any by calls.
    services: Vec<ServiceRow>,
    /// Services beyond the limit.
    omitted: u64,
}

/// One service.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceRow {
    name: String,
    /// Its operations that were called.
    operations: u64,
    /// Its replicas that were called.
    replicas: u64,
    /// Figures of requests that enter there.
    #[serde(flatten)]
    figures: Figures,
    /// Figures of all its calls.
    #[serde(flatten)]
    calls: CallFigures,
}

/// Services
#[utoipa::path(
    get, path = "/api/v1/services", tag = "data", params(WindowParameters),
    responses((status = 200, body = Services), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn services(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<WindowParameters>,
) -> Result<Json<Services>, ApiError> {
    let window = parameters.window()?;
    let answer = query_beside(&state, &tenant.store, (window, CALL_TIMES_BYTES), move |requests| {
        Ok(all_services(requests, window))
    });
    Ok(Json(answer.await?))
}

fn all_services(requests: &Requests, window: Window) -> Services {
    let names = requests.names();
    let range = requests.within(window.since, window.until);
    let mut entries: BTreeMap<ServiceId, Latencies> = BTreeMap::new();
    for request in range.iter() {
        entries.entry(names.service_of(request.tree().operation[0])).or_default().add(&request);
    }
    let (mut operations, mut replicas) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, HashSet<_>>::new());
    for (operation, ran_at) in homes(requests, range) {
        let service = names.service_of(operation);
        *operations.entry(service).or_default() += 1;
        replicas.entry(service).or_default().extend(ran_at);
    }
    let calls = ServiceCalls::of(requests, range).services;
    let mut services: Vec<ServiceRow> = (operations.into_iter())
        .map(|(service, operations)| ServiceRow {
            name: names.service_name(service).to_owned(),
            operations,
            replicas: replicas[&service].len() as u64,
            figures: entries.remove(&service).unwrap_or_default().figures(),
            calls: calls.get(&service).copied().unwrap_or_default(),
        })
        .collect();
    services.sort_by(|a, b| {
        let order = |row: &ServiceRow| (row.figures.requests, row.calls.calls);
        order(b).cmp(&order(a)).then_with(|| a.name.cmp(&b.name))
    });
    let omitted = services.len().saturating_sub(ROWS_MAX) as u64;
    services.truncate(ROWS_MAX);
    Services { services, omitted }
}

/// On which replicas each operation ran.
fn homes(requests: &Requests, range: RequestRange<'_>) -> BTreeMap<OperationId, BTreeSet<ReplicaId>> {
    let mut homes: Vec<BTreeSet<ReplicaId>> = vec![BTreeSet::new(); requests.names().operations()];
    // Calls of an operation often follow each other on one replica.
    let mut last: Vec<Option<ReplicaId>> = vec![None; homes.len()];
    for request in range.iter() {
        for (node, operation) in request.tree().operation.iter().enumerate() {
            let replica = request.replica(node);
            if last[operation.index()] != Some(replica) {
                last[operation.index()] = Some(replica);
                homes[operation.index()].insert(replica);
            }
        }
    }
    let seen = homes.into_iter().enumerate().filter(|(_, replicas)| !replicas.is_empty());
    seen.map(|(index, replicas)| (OperationId::from_index(index), replicas)).collect()
}

/// Parameters of the list of operations.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OperationParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Only operations of this service.
    service: Option<String>,
}

/// Operations by which requests enter.
#[derive(Serialize, ToSchema)]
pub(crate) struct Operations {
    /// By requests, the most first.
    operations: Vec<OperationRow>,
    /// Operations beyond the limit.
    omitted: u64,
}

/// One operation.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperationRow {
    service: String,
    operation: String,
    /// `server`, `consumer`, ...
    kind: &'static str,
    /// Replicas at which requests entered by it.
    replicas: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// Operations by which requests enter
#[utoipa::path(
    get, path = "/api/v1/operations", tag = "data", params(OperationParameters),
    responses((status = 200, body = Operations), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn operations(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<OperationParameters>,
) -> Result<Json<Operations>, ApiError> {
    let window = window(parameters.since, parameters.until, super::parameters::now())?;
    let service = parameters.service;
    let answer = query(&state, &tenant.store, window, move |requests| {
        Ok(all_operations(requests, window, service.as_deref()))
    });
    Ok(Json(answer.await?))
}

fn all_operations(requests: &Requests, window: Window, service: Option<&str>) -> Operations {
    let names = requests.names();
    let mut entries: BTreeMap<OperationId, (Latencies, BTreeSet<ReplicaId>)> = BTreeMap::new();
    for request in requests.within(window.since, window.until).iter() {
        let (latencies, replicas) = entries.entry(request.tree().operation[0]).or_default();
        latencies.add(&request);
        replicas.insert(request.replica(0));
    }
    let rows = entries.into_iter().map(|(operation, (latencies, replicas))| {
        let key = names.operation_key(operation);
        OperationRow {
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            kind: key.kind.name(),
            replicas: replicas.len() as u64,
            figures: latencies.figures(),
        }
    });
    let mut operations: Vec<OperationRow> =
        rows.filter(|row| service.is_none_or(|requested| row.service == requested)).collect();
    operations.sort_by(|a, b| {
        let names = |row: &OperationRow| (row.service.clone(), row.operation.clone(), row.kind);
        b.figures.requests.cmp(&a.figures.requests).then_with(|| names(a).cmp(&names(b)))
    });
    let omitted = operations.len().saturating_sub(ROWS_MAX) as u64;
    operations.truncate(ROWS_MAX);
    Operations { operations, omitted }
}
