//! `/tempo/…`: Tempo's query API, which Grafana's data source uses. Source: *Tempo HTTP API* in the manual of `grafana/tempo`, and
//! `pkg/tsdb/tempo` of `grafana/grafana`.

mod otlp;
mod search;
mod tags;
mod trace;
mod traceql;

pub(crate) use search::*;
pub(crate) use tags::*;
pub(crate) use trace::*;

use super::stored_operations::latest_hour;
use super::url_fields::UrlFields;
use crate::api::parameters::now;
use crate::api::problem::{ApiError, ProblemKind};
use crate::api::state::AppState;
use crate::api::status::is_ready;
use crate::tenants::Tenant;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use laggard_model::Nanos;
use laggard_params::Window;
use serde_json::{Value, json};
use std::sync::Arc;
use traceql::TraceQlError;

const SECOND: i64 = 1_000_000_000;

/// An error in Tempo's form, a text.
pub(crate) struct TempoError(ApiError);

impl From<ApiError> for TempoError {
    fn from(error: ApiError) -> TempoError {
        TempoError(error)
    }
}

impl From<TraceQlError> for TempoError {
    fn from(error: TraceQlError) -> TempoError {
        TempoError(ApiError::invalid(error))
    }
}

impl IntoResponse for TempoError {
    fn into_response(self) -> Response {
        let text = self.0.detail().to_owned();
        let mut response = self.0.into_response();
        *response.body_mut() = text.into();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    }
}

/// Tempo: whether data are accepted and queries answered
#[utoipa::path(get, path = "/tempo/ready", tag = "dashboards", responses((status = 200, body = String)))]
pub(crate) async fn tempo_ready(
    Extension(tenant): Extension<Arc<Tenant>>,
) -> Result<&'static str, TempoError> {
    match is_ready(&tenant.store.state()) {
        true => Ok("ready\n"),
        false => Err(ApiError::new(ProblemKind::Storage, "not ready; GET /readyz says why").into()),
    }
}

/// Tempo: answers, without reading anything
#[utoipa::path(get, path = "/tempo/api/echo", tag = "dashboards", responses((status = 200, body = String)))]
pub(crate) async fn tempo_echo() -> &'static str {
    "echo"
}

/// Tempo: the version
///
/// That of Laggard, which is below all those from which clients expect what is not here, such as streams.
#[utoipa::path(
    get, path = "/tempo/api/status/buildinfo", tag = "dashboards", responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_build() -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "revision": "", "branch": "", "buildUser": "laggard", "buildDate": "", "goVersion": ""
    }))
}

/// Paths that are not routes.
pub(crate) async fn tempo_other(Path(path): Path<String>) -> TempoError {
    let text = match path.starts_with("api/metrics") {
        true => "metrics from traces (TraceQL metrics) are not computed",
        false => "404 page not found",
    };
    ApiError::not_found(text).into()
}

/// The time of `start` and `end`, in seconds; the latest hour of the stored data if absent.
fn window(tenant: &Tenant, fields: &UrlFields) -> Result<Window, ApiError> {
    let latest = || latest_hour(tenant, now());
    let window = match (fields.time("start", SECOND)?, fields.time("end", SECOND)?) {
        (None, None) => latest(),
        (Some(since), Some(until)) => Window { since, until: until.plus(Nanos::from_ns(SECOND as u64 - 1)) },
        _ => return Err(ApiError::invalid("start and end are set both or not at all")),
    };
    match window.since > window.until {
        true => Err(ApiError::invalid("http parameter start must be before end")),
        false => Ok(window),
    }
}

/// Which attributes are stored.
fn selected(state: &AppState) -> &laggard_formats::SelectedAttributes {
    &state.tenants.reader().attributes
}
