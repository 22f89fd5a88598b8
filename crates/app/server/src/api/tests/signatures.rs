//! Signatures of releases and days.

use super::*;
use crate::signatures::{TenantSignatures, store_due};
use serde_json::json;
use std::collections::BTreeSet;

const HOUR: i64 = 3_600 * SECOND;

/// Version 1.0, and 2.0 two hours later with more work per transaction.
async fn two_releases(work_s: f64) -> TestServer {
    let server = TestServer::empty().await;
    server.append(app_samples(START, 0.12)).await;
    server.append(app_samples(START + 2 * HOUR, work_s)).await;
    let deployments = [("1.0", -600 * SECOND), ("2.0", 2 * HOUR)].map(|(version, at)| {
        json!({"kind": "deployment", "service": "app", "version": version, "time": START + at})
    });
    server.post("/api/v1/events", json!(deployments)).await;
    server
}

async fn store_until(server: &TestServer, after: i64) -> Vec<Value> {
    store_due(&server.state, Timestamp::from_unix_ns(START + after), &mut BTreeSet::new()).await;
    let list = server.ok("/api/v1/signatures?service=app").await;
    list["signatures"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_releases_can_be_compared_later() {
    let server = two_releases(0.15).await;
    let list = store_until(&server, 4 * HOUR).await;
    let fields = |entry: &Value| (entry["version"].clone(), entry["complete"].clone());
    let fields: Vec<_> = list.iter().map(fields).collect();
    assert_eq!(fields, [(json!("2.0"), json!(false)), (json!("1.0"), json!(true))], "{list:?}");
    let signature = server.ok("/api/v1/signatures/app@1.0").await;
    assert_eq!((&signature["verdict"], &signature["label"]), (&json!("usable"), &json!("app 1.0")));
    let diff = server.ok("/api/v1/signatures/diff?old=app@1.0&new=app@2.0").await;
    assert_eq!((&diff["verdict"], &diff["counts"]["slower"]), (&json!("slower"), &json!(1)), "{diff}");
    let id = list[0]["id"].as_str().unwrap();
    let same = server.get(&format!("/api/v1/signatures/diff?old={id}&new=app@2.0&output=text")).await;
    assert!(same.text().contains("No change"), "{}", same.text());
    server.get("/api/v1/signatures/app@3.0").await.problem(404);
    server.get("/api/v1/signatures/diff?old=app@1.0").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_complete_after_a_day_and_survives_a_restart() {
    let server = two_releases(0.12).await;
    let before = store_until(&server, 4 * HOUR).await;
    assert_eq!(store_until(&server, 5 * HOUR).await, before, "computed once while it runs");
    let after = store_until(&server, 27 * HOUR).await;
    assert_eq!((&after[0]["id"], &after[0]["complete"]), (&before[0]["id"], &json!(true)));
    let days = server.ok("/api/v1/signatures?service=").await;
    assert_eq!(days["signatures"].as_array().unwrap().len(), 1, "the day of the samples: {days}");
    let folder = server.data.path().join("tenants/default");
    let reopened = TenantSignatures::open(&folder).unwrap();
    assert_eq!(reopened.list(), server.tenant.signatures.list());
    let file = std::fs::read_dir(folder.join("signatures")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(TenantSignatures::open(&folder).unwrap().list().len(), reopened.list().len() - 1);
    assert!(file.exists(), "what cannot be read is left alone");
}
