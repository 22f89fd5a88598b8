//! Questions, at once and as jobs.

use super::*;
use crate::api::ApiError;
use crate::api::client_id::ClientId;
use crate::api::jobs::{JobLimits, NewJob, Progress};
use crate::api::running::JobSize;
use serde_json::json;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// The slow half of an hour against the quiet one before.
fn window() -> Value {
    json!({"since": START, "until": START + 600 * SECOND})
}

async fn ended(server: &TestServer, href: &str) -> Value {
    let started = Instant::now();
    loop {
        let job = server.ok(href).await;
        if !matches!(job["state"].as_str().unwrap(), "waiting" | "running") {
            return job;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{job}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diagnosis_names_the_database() {
    let server = TestServer::with_shop().await;
    let answered = server.post("/api/v1/diagnose?wait=true", window()).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    assert_eq!(answered.headers["laggard-verdict"], "tail");
    assert_eq!(answered.headers["cache-control"], "no-store");
    let report = answered.json();
    let suspect = &report["suspects"][0];
    assert_eq!((&suspect["service"], &suspect["operation"]), (&json!("db"), &json!("read")));
    assert_eq!((&report["input"]["requests"], &report["input"]["spans"]), (&json!(210), &json!(610)));
    for (output, kind, word) in [
        ("text", "text/plain; charset=utf-8", "db"),
        ("markdown", "text/markdown; charset=utf-8", "db"),
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
    ] {
        let answered = server.post(&format!("/api/v1/diagnose?wait=true&output={output}"), window()).await;
        assert_eq!(answered.headers["content-type"], kind);
        assert!(answered.text().contains(word), "{output}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_served_as_a_document() {
    let server = TestServer::with_shop().await;
    let answered = server.post("/api/v1/diagnose?wait=true&output=document", window()).await;
    assert_eq!(answered.headers["content-type"], "application/json");
    assert_eq!(answered.headers["laggard-verdict"], "tail");
    let document = answered.json();
    let section = &document["sections"][0];
    assert_eq!((&document["tone"], &section["id"]), (&json!("good"), &json!("tail")));
    let table = &section["blocks"][0]["content"];
    assert_eq!(table["type"], "table");
    assert_eq!(table["rows"][0]["cells"][1]["text"][2]["text"], "read", "{table}");
    let openapi = server.ok("/api/v1/openapi.json").await;
    let schema = &openapi["components"]["schemas"]["Document"]["properties"];
    for field in document.as_object().unwrap().keys() {
        assert!(schema[field].is_object(), "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_little_data_is_a_problem() {
    let server = TestServer::empty().await;
    let answered = server.post("/api/v1/diagnose?wait=true", json!({})).await;
    assert_eq!(
        (answered.status, &answered.headers["laggard-verdict"]),
        (StatusCode::OK, &"insufficient-data".parse().unwrap())
    );
    server.post("/api/v1/changes?wait=true", json!({})).await.problem(422);
    let compared = server.post("/api/v1/compare?wait=true", json!({"since": START})).await;
    assert_eq!(compared.headers["laggard-verdict"], "insufficient-data");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_followed_fetched_and_listed() {
    let server = TestServer::with_shop().await;
    let created = server.post("/api/v1/diagnose", window()).await;
    assert_eq!(created.status, StatusCode::ACCEPTED);
    let href = created.json()["href"].as_str().unwrap().to_owned();
    assert_eq!(created.headers["location"].to_str().unwrap(), href);
    let job = ended(&server, &href).await;
    assert_eq!(
        (&job["state"], &job["question"], &job["verdict"]),
        (&json!("done"), &json!("diagnose"), &json!("tail"))
    );
    let result = server.get(&format!("{href}/result?output=text")).await;
    assert!(result.text().contains("db"), "{}", result.text());
    assert_eq!(server.get(&format!("{href}/result")).await.json()["suspects"][0]["service"], "db");
    let listed = server.ok("/api/v1/jobs").await;
    assert_eq!(listed["jobs"], json!([job]));
    let events = server.get(&format!("{href}/events")).await;
    assert_eq!(events.headers["content-type"], "text/event-stream");
    let last = events.text();
    let last = last.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), job);
    assert_eq!(server.call(Method::DELETE, &href).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.ok(&href).await["state"], "done", "what has ended stays as it ended");
}

/// Lets jobs occupy all threads until the sender is dropped.
pub(super) fn occupy_threads(server: &TestServer) -> Sender<()> {
    let (end, ended) = channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    for number in 0..=JobLimits::default().threads as u64 {
        let ended = ended.clone();
        let work = move |_: &Progress| {
            let _ = ended.lock().unwrap().recv();
            Err(ApiError::invalid("enough"))
        };
        let client = ClientId::from_number(number);
        let new = NewJob { tenant: "default", client, question: "diagnose", size: JobSize::Short };
        server.state.api.jobs.submit(new, work).unwrap();
    }
    end
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_can_be_canceled() {
    let server = TestServer::with_shop().await;
    let end = occupy_threads(&server);
    let created = server.post("/api/v1/diagnose", window()).await.json();
    let href = created["href"].as_str().unwrap();
    server.get(&format!("{href}/result")).await.problem(409);
    assert_eq!(server.call(Method::DELETE, href).await.status, StatusCode::NO_CONTENT);
    assert_eq!(server.ok(href).await["state"], "cancelled");
    server.get(&format!("{href}/result")).await.problem(409);
    drop(end);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_cancels_the_job() {
    let server = TestServer::with_shop().await;
    let end = occupy_threads(&server);
    let waiting = server.post("/api/v1/diagnose?wait=true", window());
    assert!(tokio::time::timeout(Duration::from_millis(200), waiting).await.is_err());
    assert_eq!(server.ok("/api/v1/jobs").await["jobs"][0]["state"], "cancelled");
    drop(end);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_windows_are_compared() {
    let server = TestServer::with_shop().await;
    let middle = START + 300 * SECOND;
    let settings = json!({"before-since": START, "since": middle, "until": START + 600 * SECOND});
    let answered = server.post("/api/v1/compare?wait=true", settings).await;
    let comparison = answered.json();
    assert_eq!((&comparison["kind"], &comparison["verdict"]), (&json!("comparison"), &json!("unchanged")));
    assert_eq!(comparison["before"]["input"]["requests"], 105);
    let detail = server.post("/api/v1/compare", json!({})).await.problem(400);
    assert!(detail.contains("two windows"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_validated_before_data_is_read() {
    let server = TestServer::empty().await;
    for (path, settings, expected) in [
        ("diagnose", json!({"sinse": 1}), "there is no setting \"sinse\""),
        ("diagnose", json!({"set": {"cv-min": -1}}), "cv-min is -1; allowed: a number, at least 0"),
        ("diagnose", json!({"since": 2, "until": 1}), "--since is later than --until"),
        ("diagnose", json!({"baseline-rest": true}), "needs --since or --until"),
        ("diagnose", json!([1]), "a JSON object"),
        ("compare", json!({"since": 1, "level": 7}), "level is 7"),
        ("changes", json!({"window": "never"}), "window: \"never\" is not a length"),
        ("signature", json!({"types-max": 0}), "types-max"),
        ("capacity", json!({}), "latency-max is needed"),
        ("kernel/stats", json!({}), "kernel traces are needed"),
        ("kernel/path", json!({"execution": 0}), "execution"),
    ] {
        let detail = server.post(&format!("/api/v1/{path}"), settings).await.problem(400);
        assert!(detail.contains(expected), "{path}: {detail}");
    }
    let request = Request::post("/api/v1/diagnose").header("content-type", "text/csv");
    server.send(request.body(Body::from("a,b")).unwrap()).await.problem(415);
    let request = Request::post("/api/v1/diagnose").header("content-type", "application/json");
    server.send(request.body(Body::from("{\"since\": ")).unwrap()).await.problem(400);
    let request = Request::post("/api/v1/diagnose").header("content-type", "application/json");
    server.send(request.body(Body::from(vec![b' '; (1 << 20) + 1])).unwrap()).await.problem(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_computed_from_stored_samples() {
    let server = TestServer::empty().await;
    server.append(shop_samples()).await;
    let settings = json!({"since": START, "until": START + 7_200 * SECOND});
    let changes = server.post("/api/v1/changes?wait=true", settings.clone()).await;
    assert_eq!(changes.status, StatusCode::OK, "{}", changes.text());
    assert_eq!(changes.headers["laggard-verdict"], "steady");
    let signature = server.post("/api/v1/signature?wait=true", settings.clone()).await;
    assert_eq!(
        (signature.status, &signature.headers["laggard-verdict"]),
        (StatusCode::OK, &"usable".parse().unwrap()),
        "{}",
        signature.text()
    );
    let mut settings = settings;
    settings["latency-max"] = json!("500ms");
    settings["think"] = json!("7s");
    let capacity = server.post("/api/v1/capacity?wait=true", settings).await;
    assert_eq!(capacity.status, StatusCode::OK, "{}", capacity.text());
}
