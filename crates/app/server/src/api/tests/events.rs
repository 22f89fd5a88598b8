//! Deployments and other changes of the system: accepted, listed, refused, and named by a diagnosis.

use super::{SECOND, START, TestServer};
use laggard_report::rfc3339;
use serde_json::{Value, json};

async fn listed(server: &TestServer, query: &str) -> Vec<Value> {
    let list = server.ok(&format!("/api/v1/events{query}")).await;
    assert_eq!(list["damaged"], 0);
    list["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn events_are_stored_once_and_listed() {
    let server = TestServer::empty().await;
    let cart = json!({
        "time": "2026-01-12T09:02:00Z", "kind": "deployment", "service": "cart", "version": "1.4.3",
        "text": "https://ci.example/17"
    });
    let scaling = json!({"time": START + 200 * SECOND, "kind": "scaling", "service": "db", "replicas": 12, "zone": "eu-1"});
    let whole = json!({"time": START + 300 * SECOND, "kind": "configuration", "text": "new DNS servers"});
    let stored = server.post("/api/v1/events", cart.clone()).await.json();
    assert_eq!(stored, json!({"stored": 1, "known": 0}));
    let stored = server.post("/api/v1/events", json!([cart, scaling, whole, whole])).await.json();
    assert_eq!(stored, json!({"stored": 2, "known": 2}));

    let all = listed(&server, "").await;
    let kinds: Vec<&str> = all.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["configuration", "scaling", "deployment"], "the latest first");
    assert_eq!((&all[2]["version"], &all[2]["time_ns"]), (&json!("1.4.3"), &json!(START + 120 * SECOND)));
    assert_eq!((&all[1]["replicas"], &all[1]["zone"]), (&json!(12), &json!("eu-1")));
    assert_eq!(listed(&server, "?service=cart").await.len(), 2, "with those of the whole system");
    let window = format!("?since={}&until={}", START + 150 * SECOND, START + 250 * SECOND);
    assert_eq!(listed(&server, &window).await.len(), 1);
    let one = server.ok("/api/v1/events?limit=1").await;
    assert_eq!((one["events"].as_array().unwrap().len(), &one["omitted"]), (1, &json!(2)));
}

#[tokio::test]
async fn a_message_with_an_invalid_event_is_rejected_entirely() {
    let server = TestServer::empty().await;
    let good = json!({"kind": "deployment", "service": "cart", "version": "1"});
    let future = rfc3339(laggard_system::now().plus(laggard_model::Nanos::from_secs(3_600)));
    for (event, reason) in [
        (json!({"kind": "deployment"}), "service is missing"),
        (json!({"kind": "scaling", "replicas": 3}), "service is missing"),
        (json!({"service": "cart"}), "missing field `kind`"),
        (json!({"kind": "outage", "service": "cart"}), "unknown variant `outage`"),
        (json!({"kind": "deployment", "service": "cart", "tag": "1"}), "unknown field `tag`"),
        (json!({"kind": "deployment", "service": "cart", "time": "noon"}), "is not a time"),
        (json!({"kind": "deployment", "service": "cart", "time": future}), "more than five minutes after"),
        (
            json!({"kind": "deployment", "service": "c".repeat(201)}),
            "service has 201 characters; at most 200",
        ),
        (json!({"kind": "other", "text": "x".repeat(2_001)}), "text has 2001 characters; at most 2000"),
        (json!(7), "expected struct"),
    ] {
        let detail = server.post("/api/v1/events", event.clone()).await.problem(400);
        assert!(detail.contains(reason), "{event}: {detail}");
        let detail = server.post("/api/v1/events", json!([good, event])).await.problem(400);
        assert!(detail.starts_with("event 2: "), "{detail}");
    }
    let many: Vec<Value> = (0..1_001).map(|_| good.clone()).collect();
    let detail = server.post("/api/v1/events", json!(many)).await.problem(400);
    assert_eq!(detail, "1001 events; a message has 1 to 1000");
    server.post("/api/v1/events", json!([])).await.problem(400);
    let large = json!({"kind": "other", "text": "x".repeat(2 << 20)});
    server.post("/api/v1/events", large).await.problem(413);
    assert!(listed(&server, "").await.is_empty());
    assert!(server.get("/api/v1/events?since=2&until=1").await.problem(400).contains("since is later"));
}

#[tokio::test]
async fn a_diagnosis_lists_the_events_of_its_window() {
    let server = TestServer::with_shop().await;
    let event = json!({"time": START + 60 * SECOND, "kind": "deployment", "service": "web", "version": "3"});
    server.post("/api/v1/events", event).await;
    let question = json!({
        "since": START, "until": START + 600 * SECOND, "deployment": "db@7=2026-01-12T09:02:00Z"
    });
    let report = server.post("/api/v1/diagnose?wait=true", question).await.json();
    let services: Vec<&Value> =
        report["events"].as_array().unwrap().iter().map(|event| &event["service"]).collect();
    assert_eq!(services, ["web", "db"], "{}", report["headline"]);
    let later = json!({"since": START + 3_600 * SECOND, "until": START + 7_200 * SECOND});
    let report = server.post("/api/v1/diagnose?wait=true", later).await.json();
    assert_eq!(report["events"], Value::Null);
    let wrong = server.post("/api/v1/diagnose", json!({"deployment": "db@7"})).await.problem(400);
    assert!(wrong.starts_with("deployment: "), "{wrong}");
}
