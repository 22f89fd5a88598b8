//! Zipkin's spans, version 2, over HTTP.
//!
//! Reference: <https://zipkin.io/zipkin-api/>

use super::counters::{Receiver, Taken};
use super::otlp_http::{arrive, media_type, refuse};
use super::refusal::{Cause, Refusal};
use super::take::{Message, count, take};
use crate::shared::{AppState, Tenant};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, StatusCode};
use laggard_formats::MessageKind;
use std::sync::Arc;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/v2/spans", post(spans)).route("/api/v1/spans", post(version_1))
}

async fn spans(
    State(shared): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Response {
    let result = take_request(&shared, &tenant, request).await;
    count(&shared, Receiver::Zipkin, &result);
    match result {
        Ok(taken) if taken.rejected == 0 => StatusCode::ACCEPTED.into_response(),
        // Zipkin's tracers read no answer; people who look for their spans do.
        Ok(taken) => (StatusCode::ACCEPTED, format!("not taken: {}\n", taken.reason)).into_response(),
        Err(refusal) => refuse(&refusal, format!("{}\n", refusal.text)),
    }
}

async fn version_1() -> Response {
    (StatusCode::NOT_FOUND, "spans of Zipkin's version 1 are not taken; send version 2 to /api/v2/spans\n")
        .into_response()
}

async fn take_request(shared: &AppState, tenant: &Arc<Tenant>, request: Request) -> Result<Taken, Refusal> {
    let kind = kind(request.headers())?;
    let (encoding, arrived) = arrive(&shared.receivers, request).await?;
    take(shared, tenant, Receiver::Zipkin, Message { kind, encoding, arrived }).await
}

/// Zipkin's own server takes what tells no content type for JSON, too.
fn kind(headers: &HeaderMap) -> Result<MessageKind, Refusal> {
    match media_type(headers).as_str() {
        "application/json" | "" => Ok(MessageKind::ZipkinJson),
        "application/x-protobuf" | "application/protobuf" => Ok(MessageKind::ZipkinProtobuf),
        other => {
            let text =
                format!("the content type is {other:?}; send application/json or application/x-protobuf");
            Err(Refusal::lasting(Cause::MediaType, text))
        }
    }
}
