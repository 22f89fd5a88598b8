//! Responses of gRPC that consist of a status only: all of it in headers ("Trailers-Only").
//!
//! Reference: <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, header};
use std::fmt::Write;

pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");
pub(crate) const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Longest message in a header, before it is escaped.
const MESSAGE_BYTES_MAX: usize = 512;

/// Status codes (<https://grpc.io/docs/guides/status-codes/>) that are used here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Unavailable = 14,
    Unauthenticated = 16,
}

/// A response without a message.
pub(crate) fn status_response(code: Code, message: &str) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    headers.insert(STATUS, (code as u32).into());
    if let Ok(message) = HeaderValue::try_from(escape(message)) {
        headers.insert(MESSAGE, message);
    }
    response
}

/// gRPC's escape of text in headers: `%` and two digits for all but printable ASCII.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes().take(MESSAGE_BYTES_MAX) {
        match byte {
            b' '..=b'~' if byte != b'%' => escaped.push(char::from(byte)),
            _ => write!(escaped, "%{byte:02X}").expect("writing to text does not fail"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_percent_encoded() {
        assert_eq!(escape("50% of\né"), "50%25 of%0A%C3%A9");
        assert_eq!(escape(&"x".repeat(1_000)).len(), MESSAGE_BYTES_MAX);
    }

    #[test]
    fn a_status_needs_only_headers() {
        let response = status_response(Code::Unauthenticated, "send a token");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/grpc");
        assert_eq!(response.headers()["grpc-status"], "16");
        assert_eq!(response.headers()["grpc-message"], "send a token");
    }
}
