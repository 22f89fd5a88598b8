//! Headers that forbid browsers what the pages do not need.

use crate::listen::Peer;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue};

/// Everything from this server, no inline scripts or styles, no frames.
const PAGE_POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
                           frame-ancestors 'none'";

/// For a report as HTML with inline styles: no scripts, no other resources.
pub(crate) const REPORT_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

const ALWAYS: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Adds them to every response, unless a handler set them.
pub(super) async fn harden(request: Request, next: Next) -> Response {
    let api = request.uri().path().starts_with("/api/");
    let encrypted = request.extensions().get::<Peer>().is_some_and(|peer| peer.encrypted);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    add(headers, CONTENT_SECURITY_POLICY, PAGE_POLICY);
    if api {
        add(headers, CACHE_CONTROL, "no-store");
    }
    if encrypted {
        add(headers, STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    response
}

fn add(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}
