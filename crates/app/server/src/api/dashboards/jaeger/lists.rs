//! Services, operations, and who calls whom.

use super::{JaegerError, answer};
use crate::api::dashboards::stored_operations::StoredNames;
use crate::api::dashboards::url_fields::UrlFields;
use crate::api::data::query;
use crate::api::parameters::now;
use crate::api::problem::ApiError;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use laggard_engine::Requests;
use laggard_model::{Nanos, ServiceId, SpanKind};
use laggard_params::Window;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MS: i64 = 1_000_000;

/// How far back calls between services are counted by default, as by Jaeger.
const LOOKBACK_MS: i64 = 24 * 3_600 * 1_000;

/// Jaeger: services
///
/// Of all stored traces.
#[utoipa::path(get, path = "/jaeger/api/services", tag = "dashboards", responses((status = 200, body = Value)))]
pub(crate) async fn jaeger_services(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
) -> Result<Response, JaegerError> {
    let names = StoredNames::read(&state, &tenant).await?;
    let services = names.services();
    Ok(answer(&services, services.len()))
}

/// Jaeger: names of the operations of a service
#[utoipa::path(
    get, path = "/jaeger/api/services/{service}/operations", tag = "dashboards",
    params(("service" = String, Path)), responses((status = 200, body = Value))
)]
pub(crate) async fn jaeger_operations_of(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(service): Path<String>,
) -> Result<Response, JaegerError> {
    operation_names(&state, &tenant, &service).await
}

async fn operation_names(state: &AppState, tenant: &Tenant, service: &str) -> Result<Response, JaegerError> {
    let names = StoredNames::read(state, tenant).await?;
    let of_service = names.operations.iter().filter(|(known, _, _)| known == service);
    let operations: BTreeSet<&str> = of_service.map(|(_, operation, _)| operation.as_str()).collect();
    Ok(answer(&operations, operations.len()))
}

/// Paths that are not routes. Grafana does not escape a slash in the name of a service.
pub(crate) async fn jaeger_other(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(path): Path<String>,
) -> Result<Response, JaegerError> {
    match path.strip_prefix("api/services/").and_then(|path| path.strip_suffix("/operations")) {
        Some(service) => operation_names(&state, &tenant, service).await,
        None => Err(ApiError::not_found("this part of Jaeger's API is not there").into()),
    }
}

/// An operation as Jaeger lists it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JaegerOperation<'a> {
    name: &'a str,
    span_kind: &'static str,
}

/// Jaeger: operations of a service with their kinds
#[utoipa::path(
    get, path = "/jaeger/api/operations", tag = "dashboards",
    params(("service" = String, Query), ("spanKind" = Option<String>, Query)),
    responses((status = 200, body = Value))
)]
pub(crate) async fn jaeger_operations(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Response, JaegerError> {
    let service =
        fields.text("service").ok_or_else(|| ApiError::invalid("parameter 'service' is required"))?;
    let kind = fields.text("spanKind").map(|text| {
        SpanKind::parse(text)
            .ok_or_else(|| ApiError::invalid(format_args!("unsupported span kind: {text:?}")))
    });
    let kind = kind.transpose()?;
    let names = StoredNames::read(&state, &tenant).await?;
    let of_service = names
        .operations
        .iter()
        .filter(|(known, _, known_kind)| known == service && kind.is_none_or(|kind| kind == *known_kind));
    let operations: Vec<JaegerOperation<'_>> =
        of_service.map(|(_, name, kind)| JaegerOperation { name, span_kind: kind.name() }).collect();
    Ok(answer(&operations, operations.len()))
}

/// Calls from one service to another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    parent: String,
    child: String,
    call_count: u64,
}

/// Jaeger: which services call which
///
/// Of requests that start in the time.
#[utoipa::path(
    get, path = "/jaeger/api/dependencies", tag = "dashboards",
    params(
        ("endTs" = Option<i64>, Query, description = "End of the time, in milliseconds; now if absent"),
        ("lookback" = Option<i64>, Query, description = "Its length, in milliseconds; a day if absent"),
        ("service" = Option<String>, Query, description = "Only calls from or to this service")
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn jaeger_dependencies(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Response, JaegerError> {
    let until = fields.time("endTs", MS)?.unwrap_or_else(now);
    let lookback = fields.number("lookback")?.unwrap_or(LOOKBACK_MS);
    let lookback = u64::try_from(lookback).map_err(|_| ApiError::invalid("lookback is negative"))?;
    let window = Window { since: until.minus(Nanos::from_ns(lookback.saturating_mul(MS as u64))), until };
    let service = fields.text("service").map(str::to_owned);
    let links = query(&state, &tenant.store, window, move |requests| Ok(dependencies(requests, window)));
    let mut links = links.await?;
    if let Some(service) = service {
        links.retain(|link| link.parent == service || link.child == service);
    }
    Ok(answer(&links, 0))
}

fn dependencies(requests: &Requests, window: Window) -> Vec<Dependency> {
    let names = requests.names();
    let mut by_structure = vec![0_u64; requests.structures().len()];
    for request in requests.within(window.since, window.until).iter() {
        by_structure[request.structure()] += 1;
    }
    let mut links: BTreeMap<(ServiceId, ServiceId), u64> = BTreeMap::new();
    for (structure, requests) in requests.structures().iter().zip(by_structure) {
        if requests == 0 {
            continue;
        }
        for (operation, parent) in structure.operation.iter().zip(&structure.parent) {
            let Some(parent) = parent else { continue };
            let caller = names.service_of(structure.operation[*parent as usize]);
            let callee = names.service_of(*operation);
            if caller != callee {
                *links.entry((caller, callee)).or_default() += requests;
            }
        }
    }
    let link = |((parent, child), call_count)| Dependency {
        parent: names.service_name(parent).to_owned(),
        child: names.service_name(child).to_owned(),
        call_count,
    };
    links.into_iter().map(link).collect()
}
