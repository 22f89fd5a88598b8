//! Requests that are not admitted, as an answer of HTTP or gRPC.

use crate::grpc::{self, Code};
use crate::tenants::TenantError;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use std::time::Duration;

/// Why a request is not admitted.
#[derive(Debug)]
pub(super) enum AdmissionError {
    /// It has no token, or an unknown one.
    Unauthenticated,
    /// Its token is unknown, as were too many of its address before. The next attempt counts after this time.
    TooManyFailures(Duration),
    /// Its token lacks this scope.
    Scope(&'static str),
    /// Its token is for other tenants.
    OtherTenant,
    /// It names no tenant in this header, which it must.
    NoTenant(String),
    /// It reads from a tenant that nothing was sent to.
    UnknownTenant,
    /// It names a tenant that cannot be opened.
    Tenant(TenantError),
    /// It names another server.
    OtherHost,
    /// A page of another site made a browser send it.
    CrossSite,
}

impl AdmissionError {
    fn status(&self) -> StatusCode {
        match self {
            AdmissionError::Unauthenticated => StatusCode::UNAUTHORIZED,
            AdmissionError::TooManyFailures(_) => StatusCode::TOO_MANY_REQUESTS,
            AdmissionError::Scope(_)
            | AdmissionError::OtherTenant
            | AdmissionError::OtherHost
            | AdmissionError::CrossSite
            | AdmissionError::Tenant(TenantError::TooMany) => StatusCode::FORBIDDEN,
            AdmissionError::UnknownTenant => StatusCode::NOT_FOUND,
            AdmissionError::NoTenant(_) | AdmissionError::Tenant(TenantError::Name) => {
                StatusCode::BAD_REQUEST
            }
            AdmissionError::Tenant(TenantError::Store(_) | TenantError::Prefix(_)) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn text(&self) -> String {
        match self {
            AdmissionError::Unauthenticated => "send a token: Authorization: Bearer TOKEN".to_owned(),
            AdmissionError::TooManyFailures(_) => {
                "too many requests with wrong tokens from this address; the right one is still accepted"
                    .to_owned()
            }
            AdmissionError::Scope(needed) => format!("this token does not allow {needed}"),
            AdmissionError::OtherTenant => "this token is not valid for this tenant".to_owned(),
            AdmissionError::NoTenant(header) => format!("name a tenant: {header}: NAME"),
            AdmissionError::UnknownTenant => {
                "there is no such tenant: the first data that is sent to it creates it".to_owned()
            }
            AdmissionError::Tenant(error) => error.to_string(),
            AdmissionError::OtherHost => {
                "unknown host name; add the names of this server to the setting `names`".to_owned()
            }
            AdmissionError::CrossSite => "cross-site request".to_owned(),
        }
    }

    /// For clients of HTTP: a problem document.
    pub(super) fn over_http(&self) -> Response {
        let status = self.status();
        let title = status.canonical_reason().unwrap_or("refused");
        let problem = json!({
            "type": "about:blank", "title": title, "status": status.as_u16(), "detail": self.text(),
        });
        let mut response = (status, Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let AdmissionError::TooManyFailures(wait) = self {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"laggard\""));
        }
        response
    }

    /// For clients of gRPC, which read its status only from a response of HTTP status 200.
    pub(super) fn over_grpc(&self) -> Response {
        let code = match self.status() {
            // Not ResourceExhausted, which clients of OTLP take for a reason to send again.
            StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS => Code::Unauthenticated,
            StatusCode::BAD_REQUEST => Code::InvalidArgument,
            StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
            _ => Code::PermissionDenied,
        };
        grpc::status_response(code, &self.text())
    }
}
