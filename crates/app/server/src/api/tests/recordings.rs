//! Recordings: polled for, requested, uploaded once, listed, downloaded.

use super::{Answered, TestServer};
use axum::body::Body;
use http::{Method, Request};
use serde_json::{Value, json};

const TRACE: &[u8] = b"\x17\x08\x44tracing7 and the rest";

async fn server() -> TestServer {
    TestServer::with(|settings| {
        settings.recordings.hosts = vec!["web-*".to_owned()];
        settings.recordings.upload = laggard_settings::Size(1_000);
    })
    .await
}

async fn poll(server: &TestServer, host: &str) -> Value {
    server.post("/api/v1/agent/poll", json!({"host": host, "recording": true})).await.json()
}

async fn put(server: &TestServer, id: &str, body: &[u8]) -> Answered {
    let uri = format!("/api/v1/agent/recordings/{id}");
    let request = Request::builder().method(Method::PUT).uri(uri).body(Body::from(body.to_vec()));
    server.send(request.unwrap()).await
}

async fn request(server: &TestServer) -> String {
    let body = json!({"hosts": ["web-1"], "since": "-10s", "reason": "by hand"});
    let made = server.post("/api/v1/recordings", body).await.json();
    made["recordings"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_recording_goes_from_request_to_download() {
    let server = server().await;
    let orders = poll(&server, "web-1").await;
    assert_eq!(orders["record"], json!({"buffer_bytes": 32 << 20, "cpu_share": 0.03}));
    assert_eq!(orders["requests"], json!([]));
    assert_eq!(poll(&server, "db-1").await["record"], Value::Null);

    let id = request(&server).await;
    let orders = poll(&server, "web-1").await;
    assert_eq!(orders["requests"][0]["id"], json!(id));
    assert_eq!(put(&server, &id, TRACE).await.json(), json!({"known": false}));
    assert_eq!(put(&server, &id, TRACE).await.json(), json!({"known": true}), "again changes nothing");
    assert_eq!(poll(&server, "web-1").await["requests"], json!([]));

    let list = server.ok("/api/v1/recordings?host=web-1").await;
    let listed = &list["recordings"][0];
    assert_eq!((&listed["state"], &listed["bytes"]), (&json!("stored"), &json!(TRACE.len())));
    assert_eq!((&listed["reason"], &list["omitted"]), (&json!("by hand"), &json!(0)));
    let agents = list["agents"].as_array().unwrap();
    assert_eq!(
        agents.iter().map(|agent| agent["host"].as_str().unwrap()).collect::<Vec<_>>(),
        ["db-1", "web-1"]
    );
    assert_eq!(server.ok("/api/v1/recordings?host=db-1").await["recordings"], json!([]));
    let downloaded = server.get(&format!("/api/v1/recordings/{id}")).await;
    assert_eq!(downloaded.body, TRACE);
    assert_eq!(downloaded.headers["content-type"], "application/octet-stream");
    assert!(server.data.path().join(format!("tenants/default/recordings/{id}.dat")).exists());
}

#[tokio::test]
async fn unrequested_recordings_are_rejected_with_a_reason() {
    let server = server().await;
    for (body, status, reason) in [
        (json!({"hosts": ["web-1"]}), 409, "no agent of \"web-1\""),
        (json!({"hosts": ["db-1"]}), 409, "may not record"),
        (json!({"hosts": []}), 400, "0 hosts"),
        (json!({"hosts": ["web-1"], "since": "-1h"}), 400, "recordings.length allows"),
        (json!({"hosts": [""]}), 400, "a name of 1 to 200"),
        (json!({"hosts": ["web-1"], "host": 1}), 400, "unknown field"),
    ] {
        let detail = server.post("/api/v1/recordings", body).await.problem(status);
        assert!(detail.contains(reason), "{detail}");
    }
    server.post("/api/v1/agent/poll", json!({"host": "a\nb", "recording": true})).await.problem(400);
    put(&server, "0123456789abcdef0123456789abcdef", TRACE).await.problem(404);
    server.get("/api/v1/recordings/0123456789abcdef0123456789abcdef").await.problem(404);
    server.get("/api/v1/recordings?since=2&until=1").await.problem(400);

    poll(&server, "web-1").await;
    let id = request(&server).await;
    assert!(put(&server, &id, b"PK").await.problem(422).contains("no trace.dat"));
    put(&server, &id, &[TRACE, &[0; 1_000]].concat()).await.problem(413);
    let missed = json!({"host": "web-1", "recording": false, "note": "no tracefs", "missed": [{"id": id, "reason": "gone"}]});
    server.post("/api/v1/agent/poll", missed).await;
    put(&server, &id, TRACE).await.problem(409);
    let list = server.ok("/api/v1/recordings").await;
    assert_eq!(
        (&list["recordings"][0]["state"], &list["recordings"][0]["why"]),
        (&json!("missed"), &json!("gone"))
    );
    let detail = server.post("/api/v1/recordings", json!({"hosts": ["web-1"]})).await.problem(409);
    assert!(detail.contains("does not record: no tracefs"), "{detail}");
}

#[tokio::test]
async fn without_a_rule_nothing_is_recorded() {
    let server = TestServer::empty().await;
    assert_eq!(poll(&server, "web-1").await["record"], Value::Null);
    let detail = server.post("/api/v1/recordings", json!({"hosts": ["web-1"]})).await.problem(409);
    assert!(detail.starts_with("nothing may be recorded"), "{detail}");
}
