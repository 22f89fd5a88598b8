//! OTLP over gRPC: unary calls, implemented here so that a message holds a memory permit while it arrives and is
//! decoded in place.
//!
//! ```text
//! HEADERS ─ DATA: ┌ compressed? u8 ┬ length u32 BE ┬ message ┐ … END_STREAM
//! ```
//!
//! References: <https://opentelemetry.io/docs/specs/otlp/#otlpgrpc>,
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

mod frame;

use super::counters::{IngestResult, Receiver};
use super::decompress::Encoding;
use super::error::{ErrorKind, ReceiveError};
use super::ingest::{Message, count, ingest};
use super::otlp_http::media_type;
use super::receivers::Receivers;
use super::response;
use crate::grpc;
use crate::tenants::Tenant;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use base64::Engine;
use frame::{Frame, Unary};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use laggard_formats::MessageKind;
use std::sync::Arc;

const ACCEPTED: HeaderValue = HeaderValue::from_static("identity,gzip,zstd");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// gRPC's binary headers have no padding.
const BASE64: base64::engine::GeneralPurpose = base64::engine::general_purpose::STANDARD_NO_PAD;

/// `Export` of each signal, for a separate listener.
pub(crate) fn routes(receivers: Arc<Receivers>) -> Router {
    let route = |kind: MessageKind| {
        post(
            move |State(receivers): State<Arc<Receivers>>,
                  Extension(tenant): Extension<Arc<Tenant>>,
                  request: Request| { export(receivers, tenant, kind, request) },
        )
    };
    let path = |signal: &str, service: &str| {
        format!("/opentelemetry.proto.collector.{signal}.v1.{service}Service/Export")
    };
    Router::new()
        .route(&path("trace", "Trace"), route(MessageKind::TracesProtobuf))
        .route(&path("metrics", "Metrics"), route(MessageKind::MetricsProtobuf))
        .route(&path("logs", "Logs"), route(MessageKind::LogsProtobuf))
        .route("/grpc.health.v1.Health/Check", post(health))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .with_state(receivers)
}

async fn export(
    receivers: Arc<Receivers>,
    tenant: Arc<Tenant>,
    kind: MessageKind,
    request: Request,
) -> Response {
    if !is_grpc(request.headers()) {
        return not_grpc();
    }
    let result = ingest_request(&receivers, &tenant, kind, request).await;
    count(&receivers, Receiver::OtlpGrpc, &result);
    match result {
        Ok(result) => respond(&response::export(&result)),
        Err(error) => error_response(&error),
    }
}

async fn ingest_request(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    kind: MessageKind,
    request: Request,
) -> Result<IngestResult, ReceiveError> {
    let (parts, body) = request.into_parts();
    let named = parts.headers.get(ENCODING).map_or("", |value| value.to_str().unwrap_or("?"));
    let encoding = Encoding::named(named)?;
    let frame = frame::read_one(body, &receivers.in_flight, &receivers.settings).await?;
    let Frame { is_compressed, body } = frame;
    let encoding = match (is_compressed, encoding) {
        (false, _) => Encoding::Identity,
        (true, Encoding::Identity) => {
            return Err(ReceiveError::permanent(
                ErrorKind::Malformed,
                "a compressed message without grpc-encoding",
            ));
        }
        (true, encoding) => encoding,
    };
    ingest(receivers, tenant, Receiver::OtlpGrpc, Message { kind, encoding, body }).await
}

/// `application/grpc`, alone or with a suffix; OTLP has no JSON in gRPC.
fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = media_type(headers);
    matches!(media_type.as_str(), "application/grpc" | "application/grpc+proto")
}

fn not_grpc() -> Response {
    let text = "this port serves OTLP over gRPC; OTLP over HTTP has its own port, 4318 by default\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
}

/// Orchestrators probe this.
async fn health(request: Request) -> Response {
    const SERVING: [u8; 2] = [0x08, 0x01];
    if is_grpc(request.headers()) { respond(&SERVING) } else { not_grpc() }
}

async fn unknown(request: Request) -> Response {
    if !is_grpc(request.headers()) {
        return not_grpc();
    }
    let path: String = request.uri().path().chars().take(120).collect();
    error_response(&ReceiveError::permanent(ErrorKind::UnknownMethod, format!("unknown method {path}")))
}

fn respond(message: &[u8]) -> Response {
    let mut response = Response::new(Body::new(Unary::new(message)));
    response.headers_mut().insert(header::CONTENT_TYPE, grpc::CONTENT_TYPE);
    response
}

/// An error, all of it in headers.
fn error_response(error: &ReceiveError) -> Response {
    let mut response = grpc::status_response(error.grpc_code(), &error.text);
    let headers = response.headers_mut();
    if error.kind == ErrorKind::Encoding {
        headers.insert(ACCEPT_ENCODING, ACCEPTED);
    }
    // The details repeat the text, so that they are only sent where they add a retry delay.
    if error.retry_after.is_some()
        && let Ok(details) = HeaderValue::try_from(BASE64.encode(response::status(error)))
    {
        headers.insert(DETAILS, details);
    }
    response
}
