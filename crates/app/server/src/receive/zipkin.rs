//! Zipkin's spans, version 2, over HTTP.
//!
//! Reference: <https://zipkin.io/zipkin-api/>

use super::counters::{IngestResult, Receiver};
use super::error::{ErrorKind, ReceiveError};
use super::ingest::{Message, count, ingest};
use super::otlp_http::{error_response, media_type, receive_body};
use super::receivers::Receivers;
use crate::tenants::Tenant;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::{HeaderMap, StatusCode};
use laggard_formats::MessageKind;
use std::sync::Arc;

/// `/api/v2/spans`, for a separate listener.
pub(crate) fn routes(receivers: Arc<Receivers>) -> Router {
    Router::new()
        .route("/api/v2/spans", post(spans))
        .route("/api/v1/spans", post(version_1))
        .with_state(receivers)
}

async fn spans(
    State(receivers): State<Arc<Receivers>>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Response {
    let result = ingest_request(&receivers, &tenant, request).await;
    count(&receivers, Receiver::Zipkin, &result);
    match result {
        Ok(result) if result.rejected == 0 => StatusCode::ACCEPTED.into_response(),
        // Zipkin's tracers ignore the body; people who miss their spans read it.
        Ok(result) => (StatusCode::ACCEPTED, format!("rejected: {}\n", result.reason)).into_response(),
        Err(error) => error_response(&error, format!("{}\n", error.text)),
    }
}

async fn version_1() -> Response {
    (StatusCode::NOT_FOUND, "Zipkin's version 1 is not supported; send version 2 to /api/v2/spans\n")
        .into_response()
}

async fn ingest_request(
    receivers: &Receivers,
    tenant: &Arc<Tenant>,
    request: Request,
) -> Result<IngestResult, ReceiveError> {
    let kind = kind(request.headers())?;
    let (encoding, body) = receive_body(receivers, request).await?;
    ingest(receivers, tenant, Receiver::Zipkin, Message { kind, encoding, body }).await
}

/// Like Zipkin's own server, reads a body without a content type as JSON.
fn kind(headers: &HeaderMap) -> Result<MessageKind, ReceiveError> {
    match media_type(headers).as_str() {
        "application/json" | "" => Ok(MessageKind::ZipkinJson),
        "application/x-protobuf" | "application/protobuf" => Ok(MessageKind::ZipkinProtobuf),
        other => {
            let text =
                format!("the content type is {other:?}; send application/json or application/x-protobuf");
            Err(ReceiveError::permanent(ErrorKind::MediaType, text))
        }
    }
}
