//! The contract of the HTTP listeners on any request, for a fuzz target and the tests (feature `contract`).
//!
//! A request is answered within [`ANSWER_MAX`]. It never panics, and never fails for a reason that is the server's own (status 500).
//! What calls itself JSON is JSON.

use crate::listen::Peer;
use crate::run;
use crate::settings::{ListenerKind, ServeSettings, Size};
use axum::Router;
use axum::body::{Body, to_bytes};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, StatusCode};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Longest time until a request is answered, even by a slow build of a fuzz target.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Memory of the server, so that what requests store is bounded, too.
const MEMORY: Size = Size(1 << 30);

const LISTENERS: [ListenerKind; 4] =
    [ListenerKind::Http, ListenerKind::OtlpHttp, ListenerKind::Zipkin, ListenerKind::OtlpGrpc];

/// A server with an empty store in a temporary folder, without sockets.
pub struct HttpContract {
    runtime: Runtime,
    routers: [Router; 4],
    _data: TempDir,
}

impl HttpContract {
    /// Starts the server.
    ///
    /// # Panics
    /// When the temporary folder or threads cannot be created.
    pub fn start() -> HttpContract {
        let runtime = Runtime::new().expect("threads are started");
        let data = tempfile::tempdir().expect("the temporary folder is created");
        let settings =
            ServeSettings { data: data.path().to_owned(), memory: Some(MEMORY), ..ServeSettings::default() };
        let settings = settings.check().expect("the settings are valid");
        let state = runtime.block_on(run::state(&settings, Vec::new(), None, CancellationToken::new()));
        let state = state.expect("an empty store is opened");
        let routers = LISTENERS.map(|listener| run::router(listener, true, &state, None));
        HttpContract { runtime, routers, _data: data }
    }

    /// Checks the answer to one request. The first byte selects the listener; then come a line with method and path, lines with
    /// headers, an empty line, and the body, as in HTTP/1.1. What is no request is ignored.
    ///
    /// # Panics
    /// When the contract is broken.
    pub fn check(&self, bytes: &[u8]) {
        let Some((selector, text)) = bytes.split_first() else { return };
        let Some(request) = parse(text) else { return };
        let router = self.routers[usize::from(*selector) % self.routers.len()].clone();
        self.runtime.block_on(async {
            let answered = tokio::time::timeout(ANSWER_MAX, check_answer(router, request)).await;
            answered.expect("the request is answered in time");
        });
    }
}

async fn check_answer(router: Router, request: Request<Body>) {
    let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    let (status, headers) = (response.status(), response.headers().clone());
    // A body that ends early is an error of the client's, such as a compression that it did not ask for.
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
    assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{}", String::from_utf8_lossy(&body));
    let is_json = headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().ends_with(b"json"));
    if is_json && !body.is_empty() && !headers.contains_key(http::header::CONTENT_ENCODING) {
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&body);
        assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(&body));
    }
}

/// The request that a text describes.
fn parse(text: &[u8]) -> Option<Request<Body>> {
    let mut rest = text;
    let mut line = || {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = rest[..end].trim_ascii_end();
        rest = rest.get(end + 1..).unwrap_or_default();
        line
    };
    let mut first = line().splitn(2, |byte| *byte == b' ');
    let (method, path) = (first.next()?, first.next()?);
    let mut headers = HeaderMap::new();
    loop {
        let header = line();
        let Some(colon) = header.iter().position(|byte| *byte == b':') else { break };
        let name = http::HeaderName::from_bytes(&header[..colon]).ok()?;
        headers.append(name, http::HeaderValue::from_bytes(header[colon + 1..].trim_ascii()).ok()?);
    }
    let mut request = Request::builder().method(method).uri(path).body(Body::from(rest.to_vec())).ok()?;
    *request.headers_mut() = headers;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    request.extensions_mut().insert(Peer { address, encrypted: false });
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi;
    use serde_json::Value;

    /// A request without a body for each operation of the API.
    fn requests() -> Vec<String> {
        let document = openapi();
        let paths = document["paths"].as_object().unwrap();
        let methods = |(path, methods): (&String, &Value)| {
            let path =
                path.replace("{id}", "00000000000000000000000000000001").replace("{question}", "diagnose");
            let methods: Vec<String> = methods.as_object().unwrap().keys().cloned().collect();
            methods
                .into_iter()
                .map(move |method| format!("{} {path}", method.to_uppercase()))
                .collect::<Vec<_>>()
        };
        paths.iter().flat_map(methods).collect()
    }

    #[test]
    fn every_operation_answers_hostile_requests() {
        let contract = HttpContract::start();
        let requests = requests();
        assert!(requests.len() > 40, "{requests:?}");
        let queries = [
            "",
            "?since=x",
            "?since=9223372036854775807&until=-1",
            "?%00=%ff",
            "?limit=18446744073709551616",
        ];
        let bodies = [
            "content-type: application/json\n\n{\"since\":1e308,\"window\":[]}",
            "content-type: multipart/form-data; boundary=a\n\n--a\r\n\r\n",
            "content-type: application/x-protobuf\ncontent-encoding: gzip\n\n\u{1}\u{2}",
        ];
        for request in &requests {
            queries.iter().for_each(|query| contract.check(format!("\0{request}{query}\n\n").as_bytes()));
            bodies.iter().for_each(|body| contract.check(format!("\0{request}\n{body}").as_bytes()));
        }
        for (listener, path) in [(1, "/v1/traces"), (1, "/v1/logs"), (2, "/api/v2/spans"), (3, "/x.Y/Export")]
        {
            let text = format!("{}POST {path}\ncontent-type: application/json\n\n[{{]", char::from(listener));
            contract.check(text.as_bytes());
        }
    }

    #[test]
    fn texts_are_read_as_requests() {
        let request = parse(b"POST /a?b=c\r\nX-Y: z \r\n\r\nbody\n").unwrap();
        assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), ("POST", "/a?b=c"));
        assert_eq!(request.headers()["x-y"], "z");
        assert!(parse(b"").is_none() && parse(b"GET").is_none() && parse(b"G T /\n\n").is_none());
    }
}
