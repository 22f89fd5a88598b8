//! Prometheus remote write, 1.0 and 2.0.
//!
//! References: <https://prometheus.io/docs/specs/prw/remote_write_spec/>,
//! <https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/>

use super::counters::{IngestResult, Receiver};
use super::decompress::Encoding;
use super::error::{ErrorKind, ReceiveError};
use super::ingest::{Message, count, ingest};
use super::otlp_http::{error_response, media_type, receive_body};
use super::receivers::Receivers;
use crate::tenants::Tenant;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, StatusCode, header};
use laggard_formats::MessageKind;
use std::sync::Arc;

/// `/api/v1/write`.
pub(crate) fn routes(receivers: Arc<Receivers>) -> Router {
    Router::new().route("/api/v1/write", post(write)).with_state(receivers)
}

async fn write(
    State(receivers): State<Arc<Receivers>>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Response {
    let kind = kind(request.headers());
    let result = match kind {
        Ok(kind) => ingest_request(&receivers, &tenant, kind, request).await,
        Err(error) => Err(error),
    };
    count(&receivers, Receiver::RemoteWrite, &result);
    match result {
        Ok(result) => success_response(&result),
        Err(error) => error_response(&error, format!("{}\n", error.text)),
    }
}

/// Version 2.0 requires the numbers of written records; histograms and exemplars are not stored.
fn success_response(result: &IngestResult) -> Response {
    let written = [
        ("x-prometheus-remote-write-samples-written", result.points.to_string()),
        ("x-prometheus-remote-write-histograms-written", "0".to_owned()),
        ("x-prometheus-remote-write-exemplars-written", "0".to_owned()),
    ];
    (StatusCode::NO_CONTENT, written).into_response()
}

async fn ingest_request(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    kind: MessageKind,
    request: Request,
) -> Result<IngestResult, ReceiveError> {
    let (encoding, body) = receive_body(receivers, request).await?;
    // Both versions require Snappy; some senders do not declare it.
    let encoding = if encoding == Encoding::Identity { Encoding::Snappy } else { encoding };
    ingest(receivers, tenant, Receiver::RemoteWrite, Message { kind, encoding, body }).await
}

/// The kind of message by its content type.
fn kind(headers: &HeaderMap) -> Result<MessageKind, ReceiveError> {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = text.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("proto="));
    match (media_type(headers).as_str(), message.map(|message| message.trim_matches('"'))) {
        ("application/x-protobuf", None | Some("prometheus.WriteRequest")) => Ok(MessageKind::RemoteWrite),
        ("application/x-protobuf", Some("io.prometheus.write.v2.Request")) => Ok(MessageKind::RemoteWrite2),
        _ => Err(ReceiveError::permanent(
            ErrorKind::MediaType,
            "send application/x-protobuf, of prometheus.WriteRequest or io.prometheus.write.v2.Request",
        )),
    }
}
