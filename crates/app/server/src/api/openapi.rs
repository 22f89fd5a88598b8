//! The OpenAPI document: every route, from the code that answers it.

use super::{
    alertmanager, alerts, attributes, categories, dashboards, events, health, import, incidents, jobs,
    latency_map, matrix, mcp, metrics, objectives, overview, queries, recordings, replica_latencies, search,
    selection, service_map, services, signatures, status, trace, tree, usual,
};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use laggard_model::Fingerprint;
use laggard_params::Forms;
use serde_json::{Value, json};
use std::sync::LazyLock;
use utoipa::OpenApi;

/// The document but for the questions, which describe themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Laggard",
        description = "Finds out why a distributed system is slow. Explained in docs/manual/api.md."
    ),
    paths(
        status::status,
        services::services,
        services::operations,
        service_map::service_map,
        replica_latencies::replica_latencies,
        attributes::attributes,
        latency_map::latency_map,
        selection::compare,
        overview::overview,
        categories::categories,
        tree::tree,
        matrix::matrix,
        trace::trace,
        usual::usual,
        search::search,
        queries::settings,
        alerts::alerts,
        incidents::incidents,
        incidents::incident,
        incidents::silences,
        incidents::add_silence,
        incidents::end_silence,
        objectives::objectives,
        events::events,
        events::add_events,
        signatures::signatures,
        signatures::signature,
        signatures::diff,
        recordings::recordings,
        recordings::request_recording,
        recordings::download,
        recordings::poll,
        recordings::upload,
        alertmanager::alertmanager,
        jobs::routes::jobs,
        jobs::routes::job,
        jobs::routes::cancel,
        jobs::routes::result,
        jobs::routes::events,
        import::import,
        import::flush,
        mcp::mcp,
        health::healthz,
        health::readyz,
        health::version,
        metrics::metrics,
        dashboards::jaeger_services,
        dashboards::jaeger_operations_of,
        dashboards::jaeger_operations,
        dashboards::jaeger_traces,
        dashboards::jaeger_trace,
        dashboards::jaeger_dependencies,
        dashboards::tempo_ready,
        dashboards::tempo_echo,
        dashboards::tempo_build,
        dashboards::tempo_trace,
        dashboards::tempo_trace_v2,
        dashboards::tempo_search,
        dashboards::tempo_tags,
        dashboards::tempo_tags_v2,
        dashboards::tempo_values,
        dashboards::tempo_values_v2,
        openapi,
    )
)]
struct Document;

static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The OpenAPI document as it is served: problems have their own media type.
pub fn document() -> Value {
    let mut document = Document::openapi();
    queries::questions().for_each(|question| question.document(&mut document));
    let mut document = serde_json::to_value(document).expect("a document of our own is JSON");
    // For the pages, which have them from here.
    document["x-forms"] = json!(Forms::all());
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let methods = paths.flat_map(|(_, methods)| methods.as_object_mut().into_iter().flatten());
    for (_, method) in methods {
        let responses = method["responses"].as_object_mut().into_iter().flatten();
        for content in responses.filter_map(|(_, response)| response.get_mut("content")?.as_object_mut()) {
            let is_problem =
                |schema: &Value| schema["schema"]["$ref"] == "#/components/schemas/ProblemDocument";
            if content.get(JSON).is_some_and(is_problem) {
                let schema = content.remove(JSON).expect("it was just there");
                content.insert(PROBLEM.to_owned(), schema);
            }
        }
    }
    document
}

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

static TAG: LazyLock<String> = LazyLock::new(|| format!("\"{}\"", Fingerprint::from_bytes(TEXT.as_bytes())));

/// This document
#[utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "server",
    responses((status = 200, body = Value), (status = 304, description = "As the client knows it"))
)]
pub(crate) async fn openapi(headers: HeaderMap) -> Response {
    let tag = HeaderValue::from_static(TAG.as_str());
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| *known == tag);
    let mut response = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => TEXT.as_str().into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(ETAG, tag);
    response
}
