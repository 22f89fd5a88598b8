//! `/healthz`, `/readyz`, `/version`: for operators and orchestrators.

use super::status::{ProblemRow, is_ready, row, server_problems};
use crate::api::state::AppState;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde::Serialize;
use utoipa::ToSchema;

/// Whether it ingests and answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    /// Problems of all tenants, also those that do not block.
    problems: Vec<ProblemRow>,
}

/// The program's version.
#[derive(Serialize, ToSchema)]
pub(crate) struct Version {
    name: &'static str,
    version: &'static str,
}

/// The process runs
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// It ingests and answers
#[utoipa::path(
    get, path = "/readyz", tag = "server",
    responses((status = 200, body = Readiness), (status = 503, description = "It does not, and says why", body = Readiness))
)]
pub(crate) async fn readyz(State(state): State<AppState>) -> Response {
    let (mut ready, mut problems) = (!state.stopping.is_cancelled(), Vec::new());
    for tenant in state.tenants.all() {
        let store = tenant.store.state();
        ready &= is_ready(&store);
        problems.extend(store.problems.iter().map(row));
    }
    problems.extend(server_problems(&state));
    ready &= state.memory.full_since().is_none();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut response = (status, Json(Readiness { ready, problems })).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Its version
#[utoipa::path(get, path = "/version", tag = "server", responses((status = 200, body = Version)))]
pub(crate) async fn version() -> Json<Version> {
    Json(Version { name: "laggard", version: env!("CARGO_PKG_VERSION") })
}
