//! OTLP over HTTP: protobuf and JSON.
//!
//! Reference: <https://opentelemetry.io/docs/specs/otlp/#otlphttp>

use super::body::{self, ReceivedBody};
use super::counters::{IngestResult, Receiver};
use super::decompress::Encoding;
use super::error::{ErrorKind, ReceiveError};
use super::ingest::{Message, count, ingest};
use super::receivers::Receivers;
use super::response;
use crate::tenants::Tenant;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use laggard_formats::MessageKind;
use std::sync::Arc;

const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A signal, as protobuf and as JSON.
#[derive(Clone, Copy)]
struct Signal {
    protobuf: MessageKind,
    json: MessageKind,
}

const TRACES: Signal = Signal { protobuf: MessageKind::TracesProtobuf, json: MessageKind::TracesJson };
const METRICS: Signal = Signal { protobuf: MessageKind::MetricsProtobuf, json: MessageKind::MetricsJson };
const LOGS: Signal = Signal { protobuf: MessageKind::LogsProtobuf, json: MessageKind::LogsJson };

/// `/v1/traces`, `/v1/metrics` and `/v1/logs`, for a separate listener.
pub(crate) fn routes(receivers: Arc<Receivers>) -> Router {
    let route = |signal: Signal| {
        post(
            move |State(receivers): State<Arc<Receivers>>,
                  Extension(tenant): Extension<Arc<Tenant>>,
                  request: Request| { export(receivers, tenant, signal, request) },
        )
    };
    Router::new()
        .route("/v1/traces", route(TRACES))
        .route("/v1/metrics", route(METRICS))
        .route("/v1/logs", route(LOGS))
        .with_state(receivers)
}

/// Encoding of a request and its response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Protobuf,
    Json,
}

async fn export(
    receivers: Arc<Receivers>,
    tenant: Arc<Tenant>,
    signal: Signal,
    request: Request,
) -> Response {
    let (form, result) = match form(request.headers()) {
        Ok(form) => (form, ingest_request(&receivers, &tenant, signal, form, request).await),
        Err(error) => (Form::Json, Err(error)),
    };
    count(&receivers, Receiver::OtlpHttp, &result);
    respond(result, form, signal)
}

fn form(headers: &HeaderMap) -> Result<Form, ReceiveError> {
    match media_type(headers).as_str() {
        "application/x-protobuf" | "application/protobuf" => Ok(Form::Protobuf),
        "application/json" => Ok(Form::Json),
        other => {
            let text =
                format!("the content type is {other:?}; send application/x-protobuf or application/json");
            Err(ReceiveError::permanent(ErrorKind::MediaType, text))
        }
    }
}

/// The content type without its parameters, in lower case; at most 60 bytes of it.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = text.split(';').next().unwrap_or_default().trim();
    bare.chars().take(60).collect::<String>().to_ascii_lowercase()
}

/// The body of a request and its compression.
pub(super) async fn receive_body(
    receivers: &Receivers,
    request: Request,
) -> Result<(Encoding, ReceivedBody), ReceiveError> {
    let (parts, body) = request.into_parts();
    let encodings = parts.headers.get_all(header::CONTENT_ENCODING);
    let mut encoding = Encoding::Identity;
    for value in encodings {
        let next = Encoding::named(value.to_str().unwrap_or("?"))?;
        if encoding != Encoding::Identity && next != Encoding::Identity {
            return Err(ReceiveError::permanent(
                ErrorKind::Encoding,
                "the message is compressed twice; send it compressed once",
            ));
        }
        encoding = if next == Encoding::Identity { encoding } else { next };
    }
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let declared = length.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let body = body::read_all(body, declared, &receivers.in_flight, &receivers.settings).await?;
    Ok((encoding, body))
}

async fn ingest_request(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    signal: Signal,
    form: Form,
    request: Request,
) -> Result<IngestResult, ReceiveError> {
    let (encoding, body) = receive_body(receivers, request).await?;
    let kind = if form == Form::Json { signal.json } else { signal.protobuf };
    ingest(receivers, tenant, Receiver::OtlpHttp, Message { kind, encoding, body }).await
}

fn respond(result: Result<IngestResult, ReceiveError>, form: Form, signal: Signal) -> Response {
    let content_type = (header::CONTENT_TYPE, if form == Form::Json { JSON } else { PROTOBUF });
    match (result, form) {
        (Ok(result), Form::Protobuf) => ([content_type], response::export(&result)).into_response(),
        (Ok(result), Form::Json) => {
            ([content_type], response::export_json(&result, signal.json)).into_response()
        }
        (Err(error), Form::Protobuf) => error_response(&error, ([content_type], response::status(&error))),
        (Err(error), Form::Json) => error_response(&error, ([content_type], response::status_json(&error))),
    }
}

/// A response with the status of an error and, when it is temporary, the time to retry after.
pub(super) fn error_response(error: &ReceiveError, body: impl IntoResponse) -> Response {
    let mut response = (error.http_status(), body).into_response();
    if let Some(seconds) = error.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    // The rest of the body is not read, so that the connection cannot be reused.
    if matches!(response.status(), StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
