//! The HTTP API (`docs/manual/api.md`).
//!
//! ```text
//! GET   ─► parameters ─► data (slices of a window) ─► figures ─► JSON
//! POST  ─► settings, files ─► job ─► diagnose ─► report, in any form
//! ```

mod alertmanager;
mod alerts;
mod answers;
mod attributes;
mod cache;
mod categories;
mod category_latencies;
mod client_id;
mod dashboards;
mod data;
mod events;
mod health;
mod import;
mod incidents;
mod jobs;
mod latencies;
mod latency_map;
mod matrix;
mod mcp;
mod measured;
mod metrics;
mod objectives;
mod openapi;
mod overview;
mod page_sample;
mod parameters;
mod problem;
mod queries;
mod recordings;
mod replica_latencies;
mod running;
mod sampled;
mod search;
mod selection;
mod selection_tests;
mod service_calls;
mod service_map;
mod services;
mod signatures;
mod state;
mod status;
mod supervise;
#[cfg(test)]
mod tests;
mod trace;
mod tree;
mod uploads;
mod usual;

pub(crate) use import::Filling;
pub use mcp::tools;
pub use openapi::document as openapi;
pub(crate) use problem::ProblemKind;
pub(crate) use queries::TenantQueries;
pub use queries::{ReadLimits, StoredData, WorkerStore};
pub(crate) use signatures::signature_of_store;
pub(crate) use state::{Api, ApiState, AppState};
pub(crate) use supervise::supervise;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, post, put};
use http::header::{CACHE_CONTROL, HeaderValue};
use problem::ApiError;
use std::borrow::Cow;

/// A route as it stands in the OpenAPI document.
struct Route {
    path: Cow<'static, str>,
    handler: MethodRouter<AppState>,
}

fn all() -> Vec<Route> {
    let route = |path, handler| Route { path: Cow::Borrowed(path), handler };
    let mut routes = vec![
        route("/api/v1/status", get(status::status)),
        route("/api/v1/services", get(services::services)),
        route("/api/v1/operations", get(services::operations)),
        route("/api/v1/service-map", get(service_map::service_map)),
        route("/api/v1/replica-latencies", get(replica_latencies::replica_latencies)),
        route("/api/v1/attributes", get(attributes::attributes)),
        route("/api/v1/latency-map", get(latency_map::latency_map)),
        route("/api/v1/latency-map/compare", get(selection::compare)),
        route("/api/v1/overview", get(overview::overview)),
        route("/api/v1/categories", get(categories::categories)),
        route("/api/v1/categories/{id}/tree", get(tree::tree)),
        route("/api/v1/categories/{id}/matrix", get(matrix::matrix)),
        route("/api/v1/traces/{id}", get(trace::trace)),
        route("/api/v1/traces/{id}/usual", get(usual::usual)),
        route("/api/v1/search", get(search::search)),
        route("/api/v1/settings/{question}", get(queries::settings)),
        route("/api/v1/alerts", get(alerts::alerts)),
        route("/api/v1/incidents", get(incidents::incidents)),
        route("/api/v1/incidents/{id}", get(incidents::incident)),
        route("/api/v1/silences", get(incidents::silences).merge(post(incidents::add_silence))),
        route("/api/v1/silences/{id}", delete(incidents::end_silence)),
        route("/api/v1/objectives", get(objectives::objectives)),
        route("/api/v1/events", get(events::events).merge(post(events::add_events))),
        route("/api/v1/recordings", get(recordings::recordings).merge(post(recordings::request_recording))),
        route("/api/v1/recordings/{id}", get(recordings::download)),
        route("/api/v1/signatures", get(signatures::signatures)),
        route("/api/v1/signatures/diff", get(signatures::diff)),
        route("/api/v1/signatures/{id}", get(signatures::signature)),
        route("/api/v1/agent/poll", post(recordings::poll)),
        route("/api/v1/agent/recordings/{id}", put(recordings::upload)),
        route("/api/v1/alertmanager", post(alertmanager::alertmanager)),
        route("/api/v1/jobs", get(jobs::routes::jobs)),
        route("/api/v1/jobs/{id}", get(jobs::routes::job).merge(delete(jobs::routes::cancel))),
        route("/api/v1/jobs/{id}/result", get(jobs::routes::result)),
        route("/api/v1/jobs/{id}/events", get(jobs::routes::events)),
        route("/api/v1/import", post(import::import)),
        route("/api/v1/flush", post(import::flush)),
        route("/api/v1/mcp", post(mcp::mcp)),
        route("/api/v1/openapi.json", get(openapi::openapi)),
        route("/healthz", get(health::healthz)),
        route("/readyz", get(health::readyz)),
        route("/version", get(health::version)),
        route("/metrics", get(metrics::metrics)),
    ];
    routes.extend(dashboards::routes());
    routes.extend(
        queries::questions().map(|question| Route { path: question.path.into(), handler: question.handler }),
    );
    routes
}

/// `/api/v1/...`, `/healthz`, `/readyz`, `/metrics`, `/version`.
pub(crate) fn routes(state: AppState) -> Router {
    let mut router: Router<AppState> = Router::new();
    for Route { path, handler } in all() {
        router = router.route(&path, handler.fallback(not_allowed));
    }
    // Unknown paths of the API are errors, not pages.
    for path in ["/api", "/api/", "/api/{*rest}"] {
        router = router.route(path, any(not_found));
    }
    router = dashboards::add_other_paths(router);
    // Handlers count what they read; nothing else may end an upload early.
    router
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(never_stored))
        .layer(from_fn(page_sample::note_sample))
        .layer(from_fn_with_state(state.clone(), client_id::note_client))
        .layer(from_fn_with_state(state.clone(), refuse_questions))
        .with_state(state)
}

/// What a server that only receives data answers: everything but questions about the data.
const WITHOUT_QUESTIONS: [&str; 9] = [
    "/healthz",
    "/readyz",
    "/version",
    "/metrics",
    "/api/v1/status",
    "/api/v1/import",
    "/api/v1/flush",
    "/api/v1/jobs",
    "/api/v1/openapi.json",
];

/// Refuses questions to a server that only receives data: an answer from its own part would pass for the whole.
async fn refuse_questions(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_below =
        |known: &str| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if state.tenants.only_receives() && !WITHOUT_QUESTIONS.into_iter().any(is_below) {
        let text = "this server only receives data (store.role); ask one that answers questions";
        return ApiError::new(ProblemKind::NotReady, text).into_response();
    }
    next.run(request).await
}

async fn not_allowed() -> ApiError {
    ApiError::new(ProblemKind::MethodNotAllowed, "this path has other methods")
}

async fn not_found() -> ApiError {
    ApiError::not_found("there is nothing at this path; GET /api/v1/openapi.json lists all of them")
}

/// Answers are of this moment, unless a handler says otherwise.
async fn never_stored(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
    response
}
