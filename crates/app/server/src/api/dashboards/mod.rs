//! The query APIs of Jaeger and Tempo over the stored traces, for the data sources of Grafana and other tools that speak them
//! (`docs/manual/grafana.md`).
//!
//! ```text
//! Jaeger's parameters ─┐                                     ┌─► Jaeger's JSON
//! TraceQL, tags ───────┴─► call filters ─► requests ─► traces ┴─► OTLP, as JSON or protobuf
//! ```

mod attributes;
mod call_filter;
mod go_duration;
mod jaeger;
mod request_search;
mod stored_operations;
mod tempo;
mod url_fields;

pub(super) use jaeger::*;
pub(super) use tempo::*;

use super::Route;
use super::state::AppState;
use axum::Router;
use axum::routing::{any, get};
use std::borrow::Cow;

/// All routes.
pub(super) fn routes() -> Vec<Route> {
    let route = |path, handler| Route { path: Cow::Borrowed(path), handler };
    vec![
        route("/jaeger/api/services", get(jaeger_services)),
        route("/jaeger/api/services/{service}/operations", get(jaeger_operations_of)),
        route("/jaeger/api/operations", get(jaeger_operations)),
        route("/jaeger/api/traces", get(jaeger_traces)),
        route("/jaeger/api/traces/{id}", get(jaeger_trace)),
        route("/jaeger/api/dependencies", get(jaeger_dependencies)),
        route("/tempo/ready", get(tempo_ready)),
        route("/tempo/api/echo", get(tempo_echo)),
        route("/tempo/api/status/buildinfo", get(tempo_build)),
        route("/tempo/api/traces/{id}", get(tempo_trace)),
        route("/tempo/api/v2/traces/{id}", get(tempo_trace_v2)),
        route("/tempo/api/search", get(tempo_search)),
        route("/tempo/api/search/tags", get(tempo_tags)),
        route("/tempo/api/v2/search/tags", get(tempo_tags_v2)),
        route("/tempo/api/search/tag/{tag}/values", get(tempo_values)),
        route("/tempo/api/v2/search/tag/{tag}/values", get(tempo_values_v2)),
    ]
}

/// Unknown paths are errors of these APIs, not pages.
pub(super) fn add_other_paths(router: Router<AppState>) -> Router<AppState> {
    router.route("/jaeger/{*rest}", any(jaeger_other)).route("/tempo/{*rest}", any(tempo_other))
}
