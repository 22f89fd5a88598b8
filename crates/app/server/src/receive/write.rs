//! Prometheus remote write, 1.0 and 2.0.
//!
//! References: <https://prometheus.io/docs/specs/prw/remote_write_spec/>,
//! <https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/>

use super::counters::{Receiver, Taken};
use super::otlp_http::{arrive, media_type, refuse};
use super::refusal::{Cause, Refusal};
use super::take::{Message, count, take};
use super::unpack::Encoding;
use crate::shared::{AppState, Tenant};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, StatusCode, header};
use laggard_formats::MessageKind;
use std::sync::Arc;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/v1/write", post(write))
}

async fn write(
    State(shared): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Response {
    let kind = kind(request.headers());
    let result = match kind {
        Ok(kind) => take_request(&shared, &tenant, kind, request).await,
        Err(refusal) => Err(refusal),
    };
    count(&shared, Receiver::RemoteWrite, &result);
    match result {
        Ok(taken) => answer(&taken),
        Err(refusal) => refuse(&refusal, format!("{}\n", refusal.text)),
    }
}

/// Version 2.0 asks how much was written; histograms and exemplars are none of what is kept.
fn answer(taken: &Taken) -> Response {
    let written = [
        ("x-prometheus-remote-write-samples-written", taken.points.to_string()),
        ("x-prometheus-remote-write-histograms-written", "0".to_owned()),
        ("x-prometheus-remote-write-exemplars-written", "0".to_owned()),
    ];
    (StatusCode::NO_CONTENT, written).into_response()
}

async fn take_request(
    shared: &AppState,
    tenant: &Arc<Tenant>,
    kind: MessageKind,
    request: Request,
) -> Result<Taken, Refusal> {
    let (encoding, arrived) = arrive(&shared.receivers, request).await?;
    // Both versions say that it is Snappy; some senders do not say so.
    let encoding = if encoding == Encoding::Identity { Encoding::Snappy } else { encoding };
    take(shared, tenant, Receiver::RemoteWrite, Message { kind, encoding, arrived }).await
}

/// The message that the content type tells.
fn kind(headers: &HeaderMap) -> Result<MessageKind, Refusal> {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let message = text.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("proto="));
    match (media_type(headers).as_str(), message.map(|message| message.trim_matches('"'))) {
        ("application/x-protobuf", None | Some("prometheus.WriteRequest")) => Ok(MessageKind::RemoteWrite),
        ("application/x-protobuf", Some("io.prometheus.write.v2.Request")) => Ok(MessageKind::RemoteWrite2),
        _ => Err(Refusal::lasting(
            Cause::MediaType,
            "send application/x-protobuf, of prometheus.WriteRequest or io.prometheus.write.v2.Request",
        )),
    }
}
