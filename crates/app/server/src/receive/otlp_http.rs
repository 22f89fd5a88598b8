//! OTLP over HTTP: protobuf and JSON.
//!
//! Reference: <https://opentelemetry.io/docs/specs/otlp/#otlphttp>

use super::body::{self, Arrived};
use super::counters::{Receiver, Taken};
use super::refusal::{Cause, Refusal};
use super::take::{Message, count, take};
use super::unpack::Encoding;
use super::{Receivers, answer};
use crate::shared::{AppState, Tenant};
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

pub(super) fn routes() -> Router<AppState> {
    let route = |signal: Signal| {
        post(
            move |State(shared): State<AppState>,
                  Extension(tenant): Extension<Arc<Tenant>>,
                  request: Request| { export(shared, tenant, signal, request) },
        )
    };
    Router::new()
        .route("/v1/traces", route(TRACES))
        .route("/v1/metrics", route(METRICS))
        .route("/v1/logs", route(LOGS))
}

/// In which form a request is, and its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Protobuf,
    Json,
}

async fn export(shared: AppState, tenant: Arc<Tenant>, signal: Signal, request: Request) -> Response {
    let (form, result) = match form(request.headers()) {
        Ok(form) => (form, take_request(&shared, &tenant, signal, form, request).await),
        Err(refusal) => (Form::Json, Err(refusal)),
    };
    count(&shared, Receiver::OtlpHttp, &result);
    answer(result, form, signal)
}

fn form(headers: &HeaderMap) -> Result<Form, Refusal> {
    match media_type(headers).as_str() {
        "application/x-protobuf" | "application/protobuf" => Ok(Form::Protobuf),
        "application/json" => Ok(Form::Json),
        other => {
            let text =
                format!("the content type is {other:?}; send application/x-protobuf or application/json");
            Err(Refusal::lasting(Cause::MediaType, text))
        }
    }
}

/// The content type without its parameters, in small letters; at most 60 bytes of it.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bare = text.split(';').next().unwrap_or_default().trim();
    bare.chars().take(60).collect::<String>().to_ascii_lowercase()
}

/// The body of a request and how it is compressed.
pub(super) async fn arrive(receivers: &Receivers, request: Request) -> Result<(Encoding, Arrived), Refusal> {
    let (parts, body) = request.into_parts();
    let encodings = parts.headers.get_all(header::CONTENT_ENCODING);
    let mut encoding = Encoding::Identity;
    for value in encodings {
        let next = Encoding::named(value.to_str().unwrap_or("?"))?;
        if encoding != Encoding::Identity && next != Encoding::Identity {
            return Err(Refusal::lasting(Cause::Encoding, "the message is compressed twice; once is enough"));
        }
        encoding = if next == Encoding::Identity { encoding } else { next };
    }
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let declared = length.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    let arrived = body::whole(body, declared, &receivers.gate, &receivers.settings).await?;
    Ok((encoding, arrived))
}

async fn take_request(
    shared: &AppState,
    tenant: &Arc<Tenant>,
    signal: Signal,
    form: Form,
    request: Request,
) -> Result<Taken, Refusal> {
    let (encoding, arrived) = arrive(&shared.receivers, request).await?;
    let kind = if form == Form::Json { signal.json } else { signal.protobuf };
    take(shared, tenant, Receiver::OtlpHttp, Message { kind, encoding, arrived }).await
}

fn answer(result: Result<Taken, Refusal>, form: Form, signal: Signal) -> Response {
    let content_type = (header::CONTENT_TYPE, if form == Form::Json { JSON } else { PROTOBUF });
    match (result, form) {
        (Ok(taken), Form::Protobuf) => ([content_type], answer::export(&taken)).into_response(),
        (Ok(taken), Form::Json) => ([content_type], answer::export_json(&taken, signal.json)).into_response(),
        (Err(refusal), Form::Protobuf) => refuse(&refusal, ([content_type], answer::status(&refusal))),
        (Err(refusal), Form::Json) => refuse(&refusal, ([content_type], answer::status_json(&refusal))),
    }
}

/// An answer with the status of a refusal and, when it passes, the time to come back.
pub(super) fn refuse(refusal: &Refusal, answer: impl IntoResponse) -> Response {
    let mut response = (refusal.http_status(), answer).into_response();
    if let Some(seconds) = refusal.retry_after_s() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    // What is left of the body is not read: the connection is of no more use.
    if matches!(response.status(), StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
