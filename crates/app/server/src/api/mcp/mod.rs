//! `POST /api/v1/mcp`: the questions as tools of assistants, over the Model Context Protocol (streamable HTTP, without sessions).
//!
//! ```text
//! message ─► ToolServer ─► reply, or a call ─► the question's job, in its client's turn ─► bounded answer
//! ```

mod data_tools;
mod tools;
mod trace_text;

pub use tools::tools;
pub(crate) use tools::{ServerTool, ToolContext, report_answer};

use super::client_id::ClientId;
use super::problem::{ApiError, ProblemDocument};
use super::queries::small_body;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::{FutureExt, stream};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use laggard_mcp::{
    CAPABILITIES_KEY, Era, PROTOCOL_VERSION_KEY, Received, RpcError, ToolCall, ToolServer, is_supported,
    reply_without_id, unsupported_version,
};
use laggard_params::INSTRUCTIONS;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

static SERVER: LazyLock<ToolServer> = LazyLock::new(|| ToolServer::new(tools(), INSTRUCTIONS));

/// How often a client that waits hears that it is still being answered. A client that ends a call closes its connection then at the
/// latest (`laggard mcp --server`).
const STILL_ANSWERING: Duration = Duration::from_millis(400);

/// The questions as tools of assistants: one message of the Model Context Protocol
#[utoipa::path(
    post, path = "/api/v1/mcp", tag = "questions", request_body = Value,
    responses(
        (status = 200, description = "A message of JSON-RPC 2.0; of a call, as server-sent events if the client accepts those", body = Value),
        (status = 202, description = "A notification"),
        (status = "4XX", body = ProblemDocument)
    )
)]
pub(crate) async fn mcp(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let body = small_body(request).await?;
    if let Some(error) = check_headers(&headers, &serde_json::from_slice(&body).unwrap_or_default()) {
        return Ok(message(StatusCode::BAD_REQUEST, reply_without_id(&error)));
    }
    let call = match SERVER.receive(&body) {
        Received::Reply { text, error, era } => return Ok(message(status(error, era), text)),
        // A call over HTTP ends with its connection.
        Received::Cancel(_) | Received::Nothing => return Ok(StatusCode::ACCEPTED.into_response()),
        Received::Call(call) => call,
    };
    let answer = answer(ToolContext { state, tenant }, call);
    let answer = ClientId::current().scope(answer);
    let streams = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !streams.into_iter().any(|accepted| accepted.contains("text/event-stream")) {
        return Ok(message(StatusCode::OK, answer.await));
    }
    let events =
        stream::once(answer.map(|text| Ok::<_, Infallible>(Event::default().event("message").data(text))));
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(STILL_ANSWERING)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would hide that it is being answered.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

async fn answer(context: ToolContext, call: ToolCall) -> String {
    call.reply(&tools::answer(context, &call.tool, Value::Object(call.arguments.clone())).await)
}

fn message(status: StatusCode, text: String) -> Response {
    let mut response = (status, text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The status of a reply: those that the protocol requires.
fn status(error: Option<i64>, era: Era) -> StatusCode {
    match error {
        Some(RpcError::METHOD_NOT_FOUND) if era == Era::Modern => StatusCode::NOT_FOUND,
        Some(RpcError::PARSE | RpcError::INVALID_REQUEST | RpcError::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

/// Why headers do not fit a message. Proxies decide by the headers, so that these must not state anything else.
fn check_headers(headers: &HeaderMap, message: &Value) -> Option<RpcError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = header("mcp-protocol-version");
    let meta = &message["params"]["_meta"];
    let Some(in_message) = meta[PROTOCOL_VERSION_KEY].as_str() else {
        // Sessions of earlier versions; the header is as old as 2025-06-18, and only then was there a version with batches.
        let unknown = version.filter(|version| !is_supported(version) && *version != "2025-03-26");
        return unknown.map(unsupported_version);
    };
    let differs = |name: &str, header: Option<String>, in_message: &str| {
        let reason = match header {
            Some(header) if header == in_message => return None,
            Some(header) => format!("the header {name} is {header:?}, the message has {in_message:?}"),
            None => format!("the header {name} is missing; the message has {in_message:?}"),
        };
        Some(RpcError::new(RpcError::HEADER_MISMATCH, reason))
    };
    let method = message["method"].as_str().unwrap_or_default();
    let name = message["params"]["name"].as_str().filter(|_| method == "tools/call");
    let no_capabilities = || {
        let reason = format!("_meta has no {CAPABILITIES_KEY}");
        (!meta[CAPABILITIES_KEY].is_object()).then(|| RpcError::new(RpcError::INVALID_PARAMS, reason))
    };
    differs("MCP-Protocol-Version", version.map(str::to_owned), in_message)
        .or_else(|| differs("Mcp-Method", header("mcp-method").map(str::to_owned), method))
        .or_else(|| name.and_then(|name| differs("Mcp-Name", header("mcp-name").map(decoded), name)))
        .or_else(no_capabilities)
}

/// A header's value, which is Base64 where it is no plain text.
fn decoded(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let bytes = encoded.and_then(|encoded| BASE64_STANDARD.decode(encoded).ok());
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| value.to_owned())
}
