//! OTLP over gRPC: unary calls, written out, so that a message takes room at the gate while it arrives and is read
//! where it lies.
//!
//! ```text
//! HEADERS ─ DATA: ┌ compressed? u8 ┬ length u32 BE ┬ message ┐ … END_STREAM
//! ```
//!
//! References: <https://opentelemetry.io/docs/specs/otlp/#otlpgrpc>,
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

mod frame;

use super::answer;
use super::counters::{Receiver, Taken};
use super::refusal::{Cause, Refusal};
use super::take::{Message, count, take};
use super::unpack::Encoding;
use crate::shared::{AppState, Tenant};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use frame::{Frame, Unary};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use laggard_formats::MessageKind;
use std::fmt::Write;
use std::sync::Arc;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ACCEPTED: HeaderValue = HeaderValue::from_static("identity,gzip,zstd");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Longest text of a refusal in a header, before it is escaped.
const MESSAGE_BYTES_MAX: usize = 512;

pub(super) fn routes() -> Router<AppState> {
    let route = |kind: MessageKind| {
        post(
            move |State(shared): State<AppState>,
                  Extension(tenant): Extension<Arc<Tenant>>,
                  request: Request| { export(shared, tenant, kind, request) },
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
}

async fn export(shared: AppState, tenant: Arc<Tenant>, kind: MessageKind, request: Request) -> Response {
    if !is_grpc(request.headers()) {
        return no_grpc();
    }
    let result = take_request(&shared, &tenant, kind, request).await;
    count(&shared, Receiver::OtlpGrpc, &result);
    match result {
        Ok(taken) => respond(&answer::export(&taken)),
        Err(refusal) => refuse(&refusal),
    }
}

async fn take_request(
    shared: &AppState,
    tenant: &Arc<Tenant>,
    kind: MessageKind,
    request: Request,
) -> Result<Taken, Refusal> {
    let (parts, body) = request.into_parts();
    let named = parts.headers.get(ENCODING).map_or("", |value| value.to_str().unwrap_or("?"));
    let encoding = Encoding::named(named)?;
    let receivers = &shared.receivers;
    let Frame { is_compressed, arrived } = frame::one(body, &receivers.gate, &receivers.settings).await?;
    let encoding = match (is_compressed, encoding) {
        (false, _) => Encoding::Identity,
        (true, Encoding::Identity) => {
            return Err(Refusal::lasting(Cause::Malformed, "a compressed message without grpc-encoding"));
        }
        (true, encoding) => encoding,
    };
    take(shared, tenant, Receiver::OtlpGrpc, Message { kind, encoding, arrived }).await
}

/// `application/grpc`, alone or with a suffix; JSON in gRPC is no OTLP.
fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = super::otlp_http::media_type(headers);
    matches!(media_type.as_str(), "application/grpc" | "application/grpc+proto")
}

fn no_grpc() -> Response {
    let text =
        "this address takes OTLP over gRPC; OTLP over HTTP has an address of its own, 4318 by default\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
}

/// Whoever can ask is served: orchestrators probe this.
async fn health(request: Request) -> Response {
    const SERVING: [u8; 2] = [0x08, 0x01];
    if is_grpc(request.headers()) { respond(&SERVING) } else { no_grpc() }
}

async fn unknown(request: Request) -> Response {
    if !is_grpc(request.headers()) {
        return no_grpc();
    }
    let path: String = request.uri().path().chars().take(120).collect();
    refuse(&Refusal::lasting(Cause::UnknownMethod, format!("there is no method {path}")))
}

fn respond(message: &[u8]) -> Response {
    let mut response = Response::new(Body::new(Unary::new(message)));
    response.headers_mut().insert(header::CONTENT_TYPE, GRPC);
    response
}

/// A refusal, all of it in headers.
fn refuse(refusal: &Refusal) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, GRPC);
    headers.insert(STATUS, refusal.grpc_code().into());
    if refusal.cause == Cause::Encoding {
        headers.insert(ACCEPT_ENCODING, ACCEPTED);
    }
    if let Ok(text) = HeaderValue::try_from(escape(&refusal.text)) {
        headers.insert(MESSAGE, text);
    }
    // The details repeat the text, so that they are only sent where they say more.
    if refusal.after.is_some()
        && let Ok(details) = HeaderValue::try_from(base64(&answer::status(refusal)))
    {
        headers.insert(DETAILS, details);
    }
    response
}

/// gRPC's escape of text in headers: `%` and two digits for all but printable ASCII.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes().take(MESSAGE_BYTES_MAX) {
        match byte {
            b' '..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => write!(escaped, "%{byte:02X}").expect("writing to text does not fail"),
        }
    }
    escaped
}

/// Base64 without padding, as gRPC has binary headers.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..=group.len() {
            text.push(char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_escaped() {
        assert_eq!(escape("50% of\né"), "50%25 of%0A%C3%A9");
        assert_eq!(escape(&"x".repeat(1_000)).len(), MESSAGE_BYTES_MAX);
    }

    /// The examples of RFC 4648, without their padding.
    #[test]
    fn bytes_become_base64() {
        let examples =
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        for (bytes, text) in examples {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
