//! `/api/v1/service-map`: services and who calls whom.

use super::data::query_beside;
use super::parameters::{Query, WindowParameters, shorten};
use super::problem::{ApiError, ProblemDocument};
use super::service_calls::{CALL_TIMES_BYTES, CallFigures, ServiceCalls};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_params::Window;
use serde::Serialize;
use std::cmp::Reverse;
use std::sync::Arc;
use utoipa::ToSchema;

// Limit: services of a map, and pairs of them | the ones with fewer calls are left out
/// Most services, and most pairs of them.
const SERVICES_MAX: usize = 1_000;
const LINKS_MAX: usize = 10_000;

/// Services and the calls between them.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceMap {
    /// By calls, the most first.
    services: Vec<MappedService>,
    /// By calls, the most first; only between services that are listed.
    links: Vec<ServiceLink>,
    /// Services beyond the limit.
    omitted: u64,
    /// Pairs of services beyond the limit.
    omitted_links: u64,
}

/// A service.
#[derive(Serialize, ToSchema)]
pub(crate) struct MappedService {
    name: String,
    #[serde(flatten)]
    figures: CallFigures,
}

/// The calls from one service to another.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceLink {
    caller: String,
    callee: String,
    #[serde(flatten)]
    figures: CallFigures,
}

/// Services and who calls whom
#[utoipa::path(
    get, path = "/api/v1/service-map", tag = "data", params(WindowParameters),
    responses((status = 200, body = ServiceMap), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn service_map(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<WindowParameters>,
) -> Result<Json<ServiceMap>, ApiError> {
    let window = parameters.window()?;
    let answer = query_beside(&state, &tenant.store, (window, CALL_TIMES_BYTES), move |requests| {
        Ok(map_of(requests, window))
    });
    Ok(Json(answer.await?))
}

fn map_of(requests: &Requests, window: Window) -> ServiceMap {
    let names = requests.names();
    let calls = ServiceCalls::of(requests, requests.within(window.since, window.until));
    let name = |id| names.service_name(id).to_owned();
    let mut services: Vec<MappedService> =
        calls.services.into_iter().map(|(id, figures)| MappedService { name: name(id), figures }).collect();
    services.sort_by(|a, b| (Reverse(a.figures.calls), &a.name).cmp(&(Reverse(b.figures.calls), &b.name)));
    let omitted = shorten(&mut services, SERVICES_MAX);
    let listed = |name: &str| omitted == 0 || services.iter().any(|service| service.name == name);
    let links = calls.links.into_iter().map(|((caller, callee), figures)| ServiceLink {
        caller: name(caller),
        callee: name(callee),
        figures,
    });
    let mut links: Vec<ServiceLink> =
        links.filter(|link| listed(&link.caller) && listed(&link.callee)).collect();
    links.sort_by(|a, b| {
        let key =
            |link: &ServiceLink| (Reverse(link.figures.calls), link.caller.clone(), link.callee.clone());
        key(a).cmp(&key(b))
    });
    let omitted_links = shorten(&mut links, LINKS_MAX);
    ServiceMap { services, links, omitted, omitted_links }
}
