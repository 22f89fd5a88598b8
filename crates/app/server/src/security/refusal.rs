//! Requests that are not let in, in the words of their protocol.

use super::tenants::TenantError;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;

/// Why a request is not let in.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It shows no token, or one that nobody knows.
    Unknown,
    /// Its token is for something else.
    Scope(&'static str),
    /// Its token is for other tenants.
    OtherTenant,
    /// It names no tenant and must.
    NoTenant(String),
    /// It names a tenant that cannot be.
    Tenant(TenantError),
    /// It names another server.
    OtherHost,
    /// Another site made a browser send it.
    CrossSite,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Refusal::Unknown => StatusCode::UNAUTHORIZED,
            Refusal::Scope(_) | Refusal::OtherTenant | Refusal::OtherHost | Refusal::CrossSite => {
                StatusCode::FORBIDDEN
            }
            Refusal::NoTenant(_) | Refusal::Tenant(TenantError::Name) => StatusCode::BAD_REQUEST,
            Refusal::Tenant(TenantError::TooMany) => StatusCode::FORBIDDEN,
            Refusal::Tenant(TenantError::Store(_)) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(&self) -> String {
        match self {
            Refusal::Unknown => "show a token: Authorization: Bearer TOKEN".to_owned(),
            Refusal::Scope(needed) => format!("this token is not for {needed}"),
            Refusal::OtherTenant => "this token is not for this tenant".to_owned(),
            Refusal::NoTenant(header) => format!("say which tenant: {header}: NAME"),
            Refusal::Tenant(error) => error.to_string(),
            Refusal::OtherHost => {
                "this server is not called so; names that it should answer to belong into the setting `names`"
                    .to_owned()
            }
            Refusal::CrossSite => "another site made your browser send this".to_owned(),
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
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"laggard\""));
        }
        response
    }

    /// For clients of gRPC: a status, which they understand only in an answer that went well.
    pub(super) fn over_grpc(&self) -> Response {
        let code = match self.status() {
            StatusCode::UNAUTHORIZED => tonic::Code::Unauthenticated,
            StatusCode::BAD_REQUEST => tonic::Code::InvalidArgument,
            StatusCode::SERVICE_UNAVAILABLE => tonic::Code::Unavailable,
            _ => tonic::Code::PermissionDenied,
        };
        tonic::Status::new(code, self.text()).into_http()
    }
}
