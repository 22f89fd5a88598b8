//! Authentication, authorization, and limits against hostile clients.

use super::{Response, Running, TRACE, TRACE_PATH, read_response};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const READER: &str = "Authorization: Bearer reader-0123456789";
const WRITER: &str = "Authorization: Bearer writer-0123456789";
const SHOP: &str = "Authorization: Bearer shop-0123456789abc";

/// A configuration with a token for each scope, and one for one tenant.
fn configuration(folder: &Path, further: &str) -> PathBuf {
    for (name, secret) in
        [("reader", "reader-0123456789"), ("writer", "writer-0123456789"), ("shop", "shop-0123456789abc")]
    {
        std::fs::write(folder.join(name), format!("{secret}\n")).unwrap();
    }
    let folder_name = folder.display();
    let text = format!(
        "tokens:\n  - {{ name: reader, file: \"{folder_name}/reader\", scopes: [read] }}\n  - {{ name: writer, file: \
         \"{folder_name}/writer\", scopes: [write] }}\n  - {{ name: shop, file: \"{folder_name}/shop\", scopes: [read, write], tenants: \
         [shop] }}\n{further}"
    );
    let path = folder.join("laggard.yaml");
    std::fs::write(&path, text).unwrap();
    path
}

fn with_tokens(folder: &Path, further: &str) -> Running {
    let path = configuration(folder, further);
    Running::start(&folder.join("data"), &["--config", path.to_str().unwrap()])
}

fn get(server: &Running, path: &str, headers: &[&str]) -> Response {
    server.request("http", "GET", path, headers, "")
}

#[test]
fn a_token_grants_only_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), "");
    for path in ["/healthz", "/readyz", "/", "/api/v1/session"] {
        assert_eq!(get(&server, path, &[]).status, 200, "{path} is open");
    }
    for path in ["/api/v1/status", "/metrics", "/version", "/api/v1/openapi.json", "/api/nothing"] {
        let refused = get(&server, path, &[]);
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
        assert_eq!(get(&server, path, &[WRITER]).status, 403, "{path}");
    }
    assert_eq!(get(&server, "/api/v1/status", &["Authorization: Bearer reader-0123456780"]).status, 401);
    assert_eq!(get(&server, "/api/v1/status", &[READER]).status, 200);
    // A tool of an assistant is a question like any other.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let tools = |headers: &[&str]| server.request("http", "POST", "/api/v1/mcp", headers, list).status;
    assert_eq!((tools(&[]), tools(&[WRITER]), tools(&[READER])), (401, 403, 200));
    let foreign = "Origin: https://evil.example";
    assert_eq!(tools(&[READER, foreign]), 403, "a browser sent it for another site");
    assert_eq!(server.send_trace(TRACE, &[]).status, 401);
    assert_eq!(server.send_trace(TRACE, &[READER]).status, 403);
    assert_eq!(server.send_trace(TRACE, &[WRITER]).status, 200);
    assert_eq!(server.request("http", "POST", "/api/v1/flush", &[READER], "").status, 403);
    assert_eq!(server.request("http", "POST", "/api/v1/flush", &[WRITER], "").status, 204);
    assert_eq!(get(&server, TRACE_PATH, &[READER]).status, 200);
    let counted = get(&server, "/metrics", &[READER]).body;
    assert!(counted.contains("laggard_unauthorized_requests_total "), "{counted}");
}

#[test]
fn a_login_creates_a_browser_session() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), "");
    let json = "Content-Type: application/json";
    let log_in = |body: &str, headers: &[&str]| {
        server.request("http", "POST", "/api/v1/session", &[&[json], headers].concat(), body)
    };
    assert_eq!(log_in(r#"{"token":"wrong-0123456789abc"}"#, &[]).status, 401);
    let token = r#"{"token":"reader-0123456789"}"#;
    assert_eq!(log_in(token, &["Sec-Fetch-Site: cross-site"]).status, 403);
    let done = log_in(token, &["Sec-Fetch-Site: same-origin"]);
    assert_eq!(done.status, 204, "{}", done.body);
    let set = done.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(set.contains("httponly") && set.contains("samesite=strict"), "{set}");
    let cookie = format!("Cookie: {}", set.split(';').next().unwrap());
    assert_eq!(get(&server, "/api/v1/status", &[&cookie]).status, 200);
    let shown = get(&server, "/api/v1/session", &[&cookie]).body;
    assert!(shown.contains(r#""logged_in":true"#) && shown.contains(r#""write":false"#), "{shown}");
    let sent = server.request("otlp_http", "POST", "/v1/traces", &[&cookie, json], "{}");
    assert_eq!(sent.status, 401, "a cookie is for pages only");
    assert_eq!(server.request("http", "DELETE", "/api/v1/session", &[&cookie], "").status, 204);
    assert_eq!(get(&server, "/api/v1/status", &[&cookie]).status, 401);
}

#[test]
fn logins_are_refused_after_many_failed_ones() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), "");
    let log_in = |body: &str| {
        server.request("http", "POST", "/api/v1/session", &["Content-Type: application/json"], body)
    };
    let statuses: Vec<u16> =
        (0..12).map(|number| log_in(&format!(r#"{{"token":"wrong-{number}"}}"#)).status).collect();
    assert_eq!(statuses, [[401; 10].as_slice(), &[429; 2]].concat());
    let refused = log_in(r#"{"token":"reader-0123456789"}"#);
    assert!(refused.status == 429 && refused.head.contains("retry-after: "), "{}", refused.head);
    assert_eq!(get(&server, "/api/v1/status", &[READER]).status, 200, "tokens go on");
}

#[test]
fn wrong_credentials_are_refused_and_right_ones_of_the_same_address_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), "");
    let wrong = |number: u32| match number % 2 {
        0 => format!("Authorization: Bearer wrong-{number}-0123456789"),
        _ => format!("Authorization: Basic d3Jvbmc6{number}"),
    };
    let statuses: Vec<u16> =
        (0..12).map(|number| get(&server, "/api/v1/status", &[&wrong(number)]).status).collect();
    assert_eq!(statuses, [[401; 10].as_slice(), &[429; 2]].concat());
    let refused = get(&server, "/metrics", &[&wrong(12)]);
    assert!(refused.head.contains("retry-after: "), "{}", refused.head);
    assert_eq!(server.send_trace(TRACE, &[&wrong(13)]).status, 429, "on every address");
    assert_eq!(get(&server, "/api/v1/status", &[]).status, 401, "who shows nothing guesses nothing");
    for _ in 0..3 {
        assert_eq!(get(&server, "/api/v1/status", &[READER]).status, 200);
        assert_eq!(server.send_trace(TRACE, &[WRITER]).status, 200);
    }
    let log_in = r#"{"token":"reader-0123456789"}"#;
    let json = "Content-Type: application/json";
    assert_eq!(server.request("http", "POST", "/api/v1/session", &[json], log_in).status, 204);
}

#[test]
fn tenants_are_isolated() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_tokens(folder.path(), "tenants: { enabled: true, most: 2 }\n");
    let (shop, other) = ("X-Scope-OrgID: shop", "X-Scope-OrgID: other");
    assert_eq!(server.send_trace(TRACE, &[SHOP]).status, 200, "a token for one tenant needs no header");
    assert_eq!(server.send_trace(TRACE, &[SHOP, other]).status, 403);
    assert_eq!(server.send_trace(TRACE, &[WRITER]).status, 400, "which one?");
    assert_eq!(server.request("http", "POST", "/api/v1/flush", &[SHOP], "").status, 204);
    assert_eq!(get(&server, TRACE_PATH, &[READER, shop]).status, 200);
    assert_eq!(get(&server, TRACE_PATH, &[READER, other]).status, 404);
    let id = TRACE_PATH.rsplit('/').next().unwrap();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"trace","arguments":{{"trace":"{id}"}}}}}}"#
    );
    let tool = |headers: &[&str]| server.request("http", "POST", "/api/v1/mcp", headers, &call);
    assert!(tool(&[READER, shop]).body.contains("\"isError\":false"), "an assistant's tool");
    assert_eq!((tool(&[READER, other]).status, tool(&[SHOP, other]).status), (404, 403));
    for path in ["/jaeger/api/services", "/tempo/api/search/tag/service.name/values"] {
        let own = get(&server, path, &[READER, shop]);
        assert!(own.status == 200 && own.body.contains("\"cart\""), "{path}: {}", own.body);
        let statuses = [&[READER, other], &[SHOP, other], &[WRITER, shop]]
            .map(|headers| get(&server, path, headers).status);
        assert_eq!((statuses, get(&server, path, &[]).status), ([404, 403, 403], 401), "{path}");
    }
    assert_eq!(get(&server, TRACE_PATH, &[READER, "X-Scope-OrgID: ../shop"]).status, 400);
    assert!(!folder.path().join("data/tenants/other").exists(), "reading creates none");
    assert_eq!(server.send_trace(TRACE, &[WRITER, other]).status, 200, "and takes nobody's room");
    assert_eq!(server.send_trace(TRACE, &[WRITER, "X-Scope-OrgID: third"]).status, 403, "there is no more");
    assert!(!folder.path().join("data/tenants/third").exists());
    let all = get(&server, "/metrics", &[READER]);
    for name in ["laggard_received_requests_total{", "tenant=\"shop\"", "tenant=\"other\""] {
        assert!(all.body.contains(name), "{name} is not in\n{}", all.body);
    }
    let own = get(&server, "/metrics", &[SHOP]);
    assert!(own.body.contains("tenant=\"shop\"") && !own.body.contains("other"), "{}", own.body);
    assert!(!own.body.contains("laggard_received"), "figures of the server: {}", own.body);
    assert!(get(&server, "/api/v1/status", &[SHOP]).body.contains("\"receivers\":[]"));
}

#[test]
fn cross_origin_pages_cannot_use_a_server_without_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let status = |headers: &[&str]| get(&server, "/api/v1/status", headers).status;
    assert_eq!(status(&["Host: evil.example:4316"]), 403, "a name that suddenly means this machine");
    assert_eq!(status(&["Host: 127.0.0.1:4316"]), 200);
    let flush = |headers: &[&str]| server.request("http", "POST", "/api/v1/flush", headers, "").status;
    assert_eq!(flush(&["Sec-Fetch-Site: cross-site"]), 403);
    assert_eq!(flush(&["Origin: http://evil.example"]), 403);
    assert_eq!(flush(&["Origin: http://localhost"]), 204);
    assert_eq!(server.send_trace(TRACE, &["Origin: http://evil.example"]).status, 403);
    let page = get(&server, "/", &[]);
    assert_eq!(page.status, 200);
    for header in [
        "content-security-policy: default-src 'self'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: no-referrer",
    ] {
        assert!(page.head.contains(header), "{header} is not in\n{}", page.head);
    }
}

#[test]
fn slow_clients_are_disconnected_and_others_served() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ["--set", "limits.header_timeout=500ms", "--set", "limits.body_timeout=500ms"];
    let server = Running::start(folder.path(), &limits);
    let mut silent = server.connect("otlp_grpc");
    let mut dripping = server.connect("http");
    dripping.write_all(b"GET /healthz HTTP/1.1\r\nHost: local").unwrap();
    let mut half = server.connect("otlp_http");
    half.write_all(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{").unwrap();
    assert_eq!(server.get("/healthz").status, 200);
    let started = Instant::now();
    assert_eq!(silent.read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(dripping.read(&mut [0; 1]).unwrap_or(0), 0);
    let status = read_response(&mut half).status;
    assert!(status == 408 || status == 400, "{status}");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn connections_of_one_address_make_room_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &["--set", "limits.connections_per_peer=2"]);
    let mut half_open: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = server.connect("http");
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get("/healthz").status, 200);
    for stream in &mut half_open[..18] {
        match stream.read(&mut [0; 1]) {
            Ok(0) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            other => panic!("the longest idle ones are closed: {other:?}"),
        }
    }
    assert_eq!(server.request("zipkin", "GET", "/", &[], "").status, 404, "other listeners go on");
}
