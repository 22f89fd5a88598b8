//! One trace.

use super::TempoError;
use super::otlp::{resource_spans_json, traces_data};
use super::traceql::parse_query;
use crate::api::dashboards::url_fields::UrlFields;
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::running::blocking;
use crate::api::state::AppState;
use crate::api::trace::{TraceDocument, trace_document};
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::header::{ACCEPT, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};
use laggard_model::TraceId;
use laggard_wire::{put_bytes, put_varint};
use serde_json::{Value, json};
use std::sync::Arc;

/// `TraceByIDResponse.status` of a trace that is not all there.
const PARTIAL: u64 = 1;

/// Tempo: one trace
///
/// A message `Trace` if `Accept` names `application/protobuf`, else JSON.
#[utoipa::path(
    get, path = "/tempo/api/traces/{id}", tag = "dashboards", params(("id" = String, Path)),
    responses((status = 200, description = "OTLP", content((Value = "application/json"), (String = "application/protobuf"))))
)]
pub(crate) async fn tempo_trace(
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, TempoError> {
    let document = read(&tenant, &id).await?;
    if document.omitted > 0 {
        // There is no place in the answer to say so; Tempo answers the same.
        return Err(ApiError::new(ProblemKind::TooMuchData, missing_spans(&document)).into());
    }
    let body = match wants_protobuf(&headers) {
        true => protobuf(blocking(move || traces_data(&document)).await?),
        false => Json(blocking(move || json!({ "batches": resource_spans_json(&document) })).await?)
            .into_response(),
    };
    Ok(varying(body))
}

/// Tempo: one trace, and whether it is all there
///
/// A message `TraceByIDResponse` if `Accept` names `application/protobuf`, else JSON.
#[utoipa::path(
    get, path = "/tempo/api/v2/traces/{id}", tag = "dashboards", params(("id" = String, Path)),
    responses((status = 200, description = "OTLP", content((Value = "application/json"), (String = "application/protobuf"))))
)]
pub(crate) async fn tempo_trace_v2(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    fields: UrlFields,
    headers: HeaderMap,
) -> Result<Response, TempoError> {
    if let Some(query) = fields.text("q")
        && parse_query(query, super::selected(&state))?.decided() != Some(true)
    {
        return Err(ApiError::invalid("q: a trace is returned with all its spans").into());
    }
    let document = read(&tenant, &id).await?;
    let message = (document.omitted > 0).then(|| missing_spans(&document));
    let body = match wants_protobuf(&headers) {
        true => {
            let trace = blocking(move || traces_data(&document)).await?;
            let mut out = Vec::with_capacity(trace.len() + 16);
            put_bytes(&mut out, 1, &trace);
            if let Some(message) = message {
                put_varint(&mut out, 3 << 3);
                put_varint(&mut out, PARTIAL);
                put_bytes(&mut out, 4, message.as_bytes());
            }
            protobuf(out)
        }
        false => {
            let mut value: Value =
                blocking(move || json!({ "trace": { "resourceSpans": resource_spans_json(&document) } }))
                    .await?;
            if let Some(message) = message {
                value["status"] = json!("PARTIAL");
                value["message"] = json!(message);
            }
            Json(value).into_response()
        }
    };
    Ok(varying(body))
}

async fn read(tenant: &Tenant, text: &str) -> Result<TraceDocument, ApiError> {
    let missing = || ApiError::not_found("trace not found");
    let id = TraceId::parse_text(text.trim()).ok_or_else(missing)?.id;
    trace_document(tenant, id).await?.ok_or_else(missing)
}

fn missing_spans(document: &TraceDocument) -> String {
    format!("{} spans beyond the limit are left out", document.omitted)
}

fn wants_protobuf(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("application/protobuf"))
}

fn protobuf(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static("application/protobuf"))], body).into_response()
}

fn varying(mut response: Response) -> Response {
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}
