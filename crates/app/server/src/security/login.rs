//! How a browser logs in: it shows a token once and gets a cookie.

use super::admission::Admission;
use super::sessions::{clear_cookie, set_cookie};
use crate::listen::Peer;
use crate::tenants::TENANT_LENGTH_MAX;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

const PATH: &str = "/api/v1/session";
const BODY_BYTES_MAX: usize = 8 << 10;

/// `GET /api/v1/session`: who am I? `POST` logs in, `DELETE` logs out.
pub(crate) fn routes(admission: Arc<Admission>) -> Router {
    let methods = get(show).post(log_in).delete(log_out);
    Router::new().route(PATH, methods).layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).with_state(admission)
}

/// Values that a page needs before its first query.
#[derive(Serialize)]
struct Shown {
    /// Whether a login is needed.
    required: bool,
    /// Whether this browser did.
    logged_in: bool,
    /// The name of the token that was shown.
    name: Option<String>,
    /// Whether it may read.
    read: bool,
    /// Whether it may send data.
    write: bool,
    /// The header that names a tenant, where there are tenants.
    tenant_header: Option<String>,
    /// The tenant that was chosen.
    tenant: Option<Box<str>>,
}

async fn show(State(admission): State<Arc<Admission>>, headers: HeaderMap) -> Json<Shown> {
    let required = admission.tokens.are_needed();
    let (session, token) = admission.session(&headers).unzip();
    let tenants = &admission.tenant_settings;
    Json(Shown {
        required,
        logged_in: session.is_some(),
        name: token.as_ref().map(|token| token.checked.name.clone()),
        read: !required || token.as_ref().is_some_and(|token| token.checked.read),
        write: !required || token.is_some_and(|token| token.checked.write),
        tenant_header: tenants.enabled.then(|| tenants.header.clone()),
        tenant: session.and_then(|session| session.tenant),
    })
}

/// The body of a login.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
    /// The tenant to show, where there are several.
    tenant: Option<String>,
}

async fn log_in(
    State(admission): State<Arc<Admission>>,
    Extension(peer): Extension<Peer>,
    Json(login): Json<Login>,
) -> Response {
    let (address, now) = (peer.address.ip(), Instant::now());
    if let Some(wait) = admission.logins.wait(address, now) {
        let mut refused = problem(StatusCode::TOO_MANY_REQUESTS, "too many failed logins from this address");
        refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        return refused;
    }
    let Some(token) = admission.tokens.find(login.token.trim().as_bytes()) else {
        tracing::warn!(peer = %peer.address, "login with an unknown token");
        admission.logins.failed(address, now);
        return problem(StatusCode::UNAUTHORIZED, "unknown token");
    };
    if login.tenant.as_ref().is_some_and(|name| name.len() > TENANT_LENGTH_MAX) {
        return problem(StatusCode::BAD_REQUEST, "invalid tenant name");
    }
    match admission.sessions.begin(&token.checked.secret, login.tenant.map(String::into_boxed_str)) {
        Ok(id) => (StatusCode::NO_CONTENT, [(SET_COOKIE, set_cookie(&id, peer.encrypted))]).into_response(),
        Err(error) => problem(StatusCode::SERVICE_UNAVAILABLE, &format!("no random numbers: {error}")),
    }
}

async fn log_out(
    State(admission): State<Arc<Admission>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Response {
    admission.sessions.end(&headers);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, clear_cookie(peer.encrypted))]).into_response()
}

fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("refused");
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
    let mut response = (status, Json(body)).into_response();
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}
