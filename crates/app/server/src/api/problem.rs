//! Errors as problem documents (RFC 9457).

use crate::tenants::ONLY_ANSWERS;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use laggard_store::{AppendError, StoreError};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// Why a request was not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ApiError {
    kind: ProblemKind,
    detail: String,
    retry_after_s: Option<u64>,
}

/// Kinds of problems; a program can act on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProblemKind {
    /// An invalid parameter or setting.
    Invalid,
    /// Nothing has this name.
    NotFound,
    /// The path has no such method.
    MethodNotAllowed,
    /// It exists, but is not in the required state.
    NotReady,
    /// The request did not arrive in time.
    Slow,
    /// The body is larger than allowed.
    TooLarge,
    /// The body has an unsupported type.
    WrongType,
    /// The uploaded data cannot be read.
    Unreadable,
    /// There is too little data for an answer.
    TooLittleData,
    /// The window has too much data for an answer.
    TooMuchData,
    /// It was canceled.
    Canceled,
    /// The server is overloaded; a retry may succeed.
    Busy,
    /// The data cannot be read or written.
    Storage,
    /// An error of the server.
    Internal,
}

impl ProblemKind {
    const fn status(self) -> StatusCode {
        match self {
            ProblemKind::Invalid => StatusCode::BAD_REQUEST,
            ProblemKind::NotFound => StatusCode::NOT_FOUND,
            ProblemKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ProblemKind::NotReady | ProblemKind::Canceled => StatusCode::CONFLICT,
            ProblemKind::Slow => StatusCode::REQUEST_TIMEOUT,
            ProblemKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ProblemKind::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ProblemKind::Unreadable | ProblemKind::TooLittleData | ProblemKind::TooMuchData => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            ProblemKind::Busy | ProblemKind::Storage => StatusCode::SERVICE_UNAVAILABLE,
            ProblemKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The end of its URI, and its title.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            ProblemKind::Invalid => ("invalid", "Invalid request"),
            ProblemKind::NotFound => ("not-found", "Not found"),
            ProblemKind::MethodNotAllowed => ("method-not-allowed", "Method not allowed"),
            ProblemKind::NotReady => ("not-ready", "Not in this state"),
            ProblemKind::Slow => ("slow", "The request did not arrive in time"),
            ProblemKind::TooLarge => ("too-large", "The body is too large"),
            ProblemKind::WrongType => ("wrong-type", "Unsupported type of body"),
            ProblemKind::Unreadable => ("unreadable", "The input cannot be read"),
            ProblemKind::TooLittleData => ("too-little-data", "There is too little data to say"),
            ProblemKind::TooMuchData => ("too-much-data", "There is too much data for one answer"),
            ProblemKind::Canceled => ("cancelled", "It was canceled"),
            ProblemKind::Busy => ("busy", "Overloaded"),
            ProblemKind::Storage => ("storage", "The data cannot be read or written"),
            ProblemKind::Internal => ("internal", "The server failed"),
        }
    }
}

/// The document.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProblemDocument {
    /// `urn:laggard:` and a word for programs.
    #[serde(rename = "type")]
    uri: String,
    /// The kind of problem in words.
    title: &'static str,
    /// The status, again.
    status: u16,
    /// The cause in this case.
    detail: String,
}

impl ApiError {
    pub(crate) fn new(kind: ProblemKind, detail: impl fmt::Display) -> ApiError {
        let retry_after_s = matches!(kind, ProblemKind::Busy | ProblemKind::Storage).then_some(5);
        ApiError { kind, detail: detail.to_string(), retry_after_s }
    }

    pub(crate) fn invalid(detail: impl fmt::Display) -> ApiError {
        ApiError::new(ProblemKind::Invalid, detail)
    }

    pub(crate) fn not_found(detail: impl fmt::Display) -> ApiError {
        ApiError::new(ProblemKind::NotFound, detail)
    }

    pub(crate) fn kind(&self) -> ProblemKind {
        self.kind
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    fn document(&self) -> ProblemDocument {
        let (word, title) = self.kind.words();
        ProblemDocument {
            uri: format!("urn:laggard:{word}"),
            title,
            status: self.kind.status().as_u16(),
            detail: self.detail.clone(),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        ApiError::new(ProblemKind::Storage, error)
    }
}

impl From<AppendError> for ApiError {
    fn from(error: AppendError) -> ApiError {
        match error {
            AppendError::Busy(after) => ApiError {
                retry_after_s: Some(after.as_secs().max(1)),
                ..ApiError::new(ProblemKind::Busy, "the store has no memory for more open data now")
            },
            AppendError::Storage(error) => ApiError::from(error),
            AppendError::Closing => ApiError::new(ProblemKind::Busy, "the server is stopping"),
            AppendError::ReadOnly => ApiError::new(ProblemKind::NotReady, ONLY_ANSWERS),
            AppendError::TooLarge { bytes, bytes_max } => ApiError::new(
                ProblemKind::TooLarge,
                format_args!("{bytes} bytes at once; at most {bytes_max} are accepted"),
            ),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.document()).expect("texts and a number are JSON");
        let mut response = (self.kind.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_has_a_retry_delay() {
        let response =
            ApiError::from(AppendError::Busy(std::time::Duration::from_millis(2500))).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        let document = serde_json::to_value(ApiError::invalid("x is 1").document()).unwrap();
        let expected = serde_json::json!({
            "type": "urn:laggard:invalid", "title": "Invalid request", "status": 400, "detail": "x is 1"
        });
        assert_eq!(document, expected);
    }
}
