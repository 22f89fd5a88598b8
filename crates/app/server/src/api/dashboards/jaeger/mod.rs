//! `/jaeger/api/…`: Jaeger's query API, which its pages and Grafana's data source use.
//!
//! Source: `cmd/jaeger/internal/extension/jaegerquery/internal/http_handler.go` and `query_parser.go` of `jaegertracing/jaeger`.

mod lists;
mod search;
mod trace_json;

pub(crate) use lists::*;
pub(crate) use search::*;

use crate::api::problem::ApiError;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What every answer looks like.
#[derive(Serialize)]
struct Envelope<'a, T> {
    data: Option<T>,
    total: usize,
    limit: usize,
    offset: usize,
    errors: Option<[EnvelopeError<'a>; 1]>,
}

#[derive(Serialize)]
struct EnvelopeError<'a> {
    code: u16,
    msg: &'a str,
}

/// An answer without errors.
fn answer(data: impl Serialize, total: usize) -> Response {
    let envelope = Envelope { data: Some(data), total, limit: 0, offset: 0, errors: None };
    let body = serde_json::to_vec(&envelope).expect("texts and numbers are JSON");
    (StatusCode::OK, [(CONTENT_TYPE, JSON)], body).into_response()
}

/// An error in Jaeger's form.
pub(crate) struct JaegerError(ApiError);

impl From<ApiError> for JaegerError {
    fn from(error: ApiError) -> JaegerError {
        JaegerError(error)
    }
}

impl IntoResponse for JaegerError {
    fn into_response(self) -> Response {
        let msg = self.0.detail().to_owned();
        let mut response = self.0.into_response();
        let errors = Some([EnvelopeError { code: response.status().as_u16(), msg: &msg }]);
        let envelope = Envelope::<()> { data: None, total: 0, limit: 0, offset: 0, errors };
        *response.body_mut() = serde_json::to_vec(&envelope).expect("texts and numbers are JSON").into();
        response.headers_mut().insert(CONTENT_TYPE, JSON);
        response
    }
}
