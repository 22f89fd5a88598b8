//! The server itself.

use super::*;
use serde_json::json;
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_healthy_and_ready() {
    let server = TestServer::empty().await;
    assert_eq!(server.get("/healthz").await.text(), "ok\n");
    assert_eq!(server.ok("/readyz").await, json!({"ready": true, "problems": []}));
    assert_eq!(server.ok("/version").await["name"], "laggard");
    let status = server.ok("/api/v1/status").await;
    assert_eq!((&status["ready"], &status["spans_received"]), (&json!(true), &json!(0)));
    server.state.stopping.cancel();
    let stopping = server.get("/readyz").await;
    assert_eq!(
        (stopping.status, &stopping.json()["ready"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_not_stored_by_caches() {
    let server = TestServer::empty().await;
    for uri in ["/healthz", "/api/v1/status", "/api/v1/jobs", "/metrics", "/api/v1/nothing"] {
        assert_eq!(server.get(uri).await.headers["cache-control"], "no-store", "{uri}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_openmetrics() {
    let server = TestServer::with_shop().await;
    let request = Request::get("/metrics").header("accept", "application/openmetrics-text;version=1.0.0");
    let answered = server.send(request.body(Body::empty()).unwrap()).await;
    assert!(answered.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    let text = answered.text();
    assert!(text.ends_with("# EOF\n"));
    let mut families = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert!(families.insert(rest.split(' ').next().unwrap().to_owned()), "once each: {line}");
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let ends = ["_total", "_info", "_bucket", "_sum", "_count"];
            let family = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(families.contains(family), "{line}");
            assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(text.contains("laggard_store_appended_spans_total{tenant=\"default\"} 610\n"), "{text}");
}
