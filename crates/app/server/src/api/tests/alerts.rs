//! Alerts of the server and diagnoses of Alertmanager's alerts.

use super::*;
use crate::settings::Size;
use laggard_report::rfc3339;
use serde_json::json;
use std::time::{Duration, Instant};

/// A message of Alertmanager's webhook, as its documentation has it, about the second half of the shop's ten minutes.
fn message(labels: &[Value]) -> Value {
    let time = |seconds: i64| rfc3339(Timestamp::from_unix_ns(START + seconds * SECOND));
    let alert = |labels: &Value| {
        json!({
            "status": "resolved", "labels": labels, "annotations": {"summary": "slow"}, "startsAt": time(300),
            "endsAt": time(600), "generatorURL": "http://prometheus/graph", "fingerprint": "c0ffee0123456789",
        })
    };
    let alerts: Vec<Value> = labels.iter().map(alert).collect();
    json!({
        "version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0, "status": "resolved", "receiver": "laggard",
        "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": "http://alertmanager",
        "alerts": alerts,
    })
}

async fn shop_with_short_windows() -> TestServer {
    let server = TestServer::with(|settings| {
        settings.alerts.lead = "1m".parse().unwrap();
        settings.alerts.baseline = "4m".parse().unwrap();
        settings.alerts.window = "4m".parse().unwrap();
        settings.alerts.pages = Some("https://laggard.example".to_owned());
    })
    .await;
    server.append(shop()).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_an_alert_is_diagnosed() {
    let server = shop_with_short_windows().await;
    let labels = [json!({"alertname": "SlowShop", "job": "web"})];
    let answered = server.post("/api/v1/alertmanager", message(&labels)).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    let answer = answered.json();
    let diagnosis = &answer["diagnoses"][0];
    let time = |seconds: i64| json!(rfc3339(Timestamp::from_unix_ns(START + seconds * SECOND)));
    assert_eq!((&diagnosis["since"], &diagnosis["until"]), (&time(240), &time(600)));
    assert_eq!(diagnosis["baseline_since"], time(0));
    assert_eq!(
        (&diagnosis["fingerprint"], &diagnosis["service"]),
        (&json!("c0ffee0123456789"), &json!("web"))
    );
    // The first half is equally slow, so nothing got slower.
    assert_eq!(
        (&diagnosis["verdict"], &diagnosis["problem"]),
        (&json!("healthy"), &Value::Null),
        "{diagnosis}"
    );
    let job = diagnosis["job"].as_str().unwrap();
    assert_eq!(diagnosis["page"], format!("https://laggard.example/verdict?job={job}"));
    let report = server.ok(&format!("/api/v1/jobs/{job}/result")).await;
    assert_eq!((&report["verdict"], &report["baseline"]["requests"]), (&json!("healthy"), &json!(80)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_entry_requests_means_all_requests() {
    let server = shop_with_short_windows().await;
    let labels = [json!({"service": "db"}), json!({"service_name": "db"}), json!({})];
    let answer = server.post("/api/v1/alertmanager", message(&labels)).await.json();
    assert_eq!((answer["diagnoses"].as_array().unwrap().len(), &answer["omitted"]), (2, &json!(1)));
    for diagnosis in answer["diagnoses"].as_array().unwrap() {
        assert_eq!(diagnosis["verdict"], "healthy", "{diagnosis}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_can_be_fetched_later() {
    let server = shop_with_short_windows().await;
    let answered = server.post("/api/v1/alertmanager?wait=false", message(&[json!({"job": "web"})])).await;
    assert_eq!(answered.status, StatusCode::ACCEPTED);
    let job = answered.json()["diagnoses"][0]["job"].as_str().unwrap().to_owned();
    let listed = server.ok("/api/v1/jobs").await;
    assert_eq!(listed["jobs"][0]["id"], json!(job));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_rejected() {
    let server = TestServer::empty().await;
    for wrong in [
        json!([]),
        json!({"alerts": 3}),
        json!({"version": "3", "alerts": []}),
        json!({"alerts": [{"labels": {}}]}),
        json!({"alerts": [{"labels": {}, "startsAt": "yesterday"}]}),
        json!({"alerts": [{"labels": {"a": 1}, "startsAt": "2026-01-12T09:00:00Z"}]}),
        json!({"alerts": [{"labels": {}, "startsAt": "2226-01-12T09:00:00Z"}]}),
    ] {
        server.post("/api/v1/alertmanager", wrong).await.problem(400);
    }
    let large = json!({"version": "4", "alerts": [], "commonAnnotations": {"x": "y".repeat(2 << 20)}});
    server.post("/api/v1/alertmanager", large).await.problem(413);
    let none = server.post("/api/v1/alertmanager", json!({"version": "4", "alerts": []})).await;
    assert_eq!((none.status, none.json()), (StatusCode::OK, json!({"diagnoses": [], "omitted": 0})));
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_alerts_are_checked() {
    let server = TestServer::empty().await;
    let answer = server.ok("/api/v1/alerts").await;
    assert_eq!(
        (&answer["enabled"], &answer["alerts"], &answer["last"]),
        (&json!(true), &json!([]), &Value::Null)
    );
    server.ok("/api/v1/alerts?since=-1h&until=-1m&state=firing&limit=2000").await;
    for wrong in ["since=2&until=1", "state=sleeping", "limit=0", "limit=2001", "x=1"] {
        server.get(&format!("/api/v1/alerts?{wrong}")).await.problem(400);
    }
}

/// Waits until an evaluation has this outcome.
async fn evaluated(server: &TestServer, outcome: &str) -> Value {
    until(server, |answer| answer["last"]["outcome"] == outcome).await
}

/// Waits until the alerts meet a condition.
async fn until(server: &TestServer, is_met: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let answer = server.ok("/api/v1/alerts").await;
        if is_met(&answer) {
            return answer;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{answer}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn often(settings: &mut ServeSettings) {
    settings.alerts.every = "100ms".parse().unwrap();
    settings.alerts.window = "1m".parse().unwrap();
    settings.alerts.baseline = "2m".parse().unwrap();
}

/// One request per second until now.
fn recent(seconds: i64) -> Batch {
    recent_every(SECOND, seconds)
}

/// Some requests until now, one in each interval.
fn recent_every(interval: i64, requests: i64) -> Batch {
    until_time(super::super::parameters::now().unix_ns(), interval, requests)
}

fn until_time(now: i64, interval: i64, requests: i64) -> Batch {
    let mut batch = Batch::default();
    for index in 0..requests {
        let start = now - (requests - index) * interval;
        let entry = ("web", "buy", SpanKind::Server);
        batch.span(&self::span(index as u128 + 1, 1, None, entry, ("web-1", Status::Ok, start, 10 * MS)));
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_evaluation_has_a_reason() {
    let server = TestServer::with(often).await;
    crate::alerts::start(&server.state.alerts);
    let nothing = evaluated(&server, "nothing_new").await;
    assert_eq!(nothing["last"]["text"], "nothing is stored yet");
    // Imported historical data never triggers alerts.
    server.append(shop()).await;
    evaluated(&server, "old_data").await;
    server.append(recent(30)).await;
    let new = evaluated(&server, "too_little_data").await;
    assert!(new["last"]["text"].as_str().unwrap().contains("no baseline yet"), "{new}");
    server.append(recent(150)).await;
    let few = until(&server, |answer| answer["last"]["text"].as_str().unwrap().contains("are needed")).await;
    assert!(few["last"]["text"].as_str().unwrap().contains("100 are needed"), "{few}");
    assert_eq!((&few["last_evaluated"], &few["alerts"]), (&Value::Null, &json!([])));
    let metrics = server.get("/metrics").await.text();
    for line in [
        "laggard_alerts{tenant=\"default\",state=\"firing\"} 0\n",
        "laggard_alert_evaluations_total{tenant=\"default\",outcome=\"old_data\"} ",
        "laggard_alert_unsaved{tenant=\"default\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    server.state.stopping.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn data_beyond_the_memory_is_not_read() {
    let server = TestServer::with(|settings| {
        often(settings);
        settings.alerts.memory = Size(64);
    })
    .await;
    server.append(recent(150)).await;
    crate::alerts::start(&server.state.alerts);
    let much = evaluated(&server, "too_much_data").await;
    assert!(much["last"]["text"].as_str().unwrap().contains("alerts.memory"), "{much}");
    server.state.stopping.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fair_sample_of_too_much_data_is_evaluated() {
    let server = TestServer::with(|settings| {
        often(settings);
        settings.alerts.requests_min = 10;
        // Memory for some 250 of the 600 calls.
        settings.alerts.memory = Size(250 * 32);
    })
    .await;
    // The sample has some 50 requests of the last minute.
    server.append(recent_every(300 * MS, 600)).await;
    crate::alerts::start(&server.state.alerts);
    let evaluated = evaluated(&server, "evaluated").await;
    assert_eq!(evaluated["last_evaluated"]["sampled_one_in"], 4, "{evaluated}");
    assert_eq!(evaluated["alerts"], json!([]));
    server.state.stopping.cancel();
}

/// No further request arrives that would start an evaluation.
#[tokio::test(flavor = "multi_thread")]
async fn requests_of_hosts_whose_clocks_are_ahead_are_evaluated_when_their_time_comes() {
    let server = TestServer::with(|settings| {
        often(settings);
        settings.alerts.requests_min = 10;
    })
    .await;
    let end = super::super::parameters::now().unix_ns() + 3 * SECOND;
    server.append(until_time(end, SECOND, 200)).await;
    crate::alerts::start(&server.state.alerts);
    let newest = json!(end - SECOND);
    until(&server, |answer| answer["last_evaluated"]["window"]["until_ns"] == newest).await;
    server.state.stopping.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_incidents_are_checked() {
    let server = TestServer::empty().await;
    assert_eq!(
        server.ok("/api/v1/incidents").await,
        json!({"open": 0, "incidents": [], "omitted": 0, "damaged": 0})
    );
    server.ok("/api/v1/incidents?since=-1h&until=-1m&state=open&limit=1000").await;
    for wrong in ["since=2&until=1", "state=firing", "limit=0", "limit=1001", "x=1"] {
        server.get(&format!("/api/v1/incidents?{wrong}")).await.problem(400);
    }
    server.get("/api/v1/incidents/0123456789abcdef").await.problem(404);
}

/// A number of hours from now.
fn hours(hours: i64) -> String {
    let now = super::super::parameters::now().unix_ns();
    rfc3339(Timestamp::from_unix_ns(now + hours * 3_600 * SECOND))
}

#[tokio::test(flavor = "multi_thread")]
async fn silences_are_made_listed_and_ended() {
    let server = TestServer::empty().await;
    let made =
        server.post("/api/v1/silences", json!({"service": "db", "until": hours(1), "comment": "test"})).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let silence = made.json();
    assert_eq!(server.ok("/api/v1/silences").await["silences"], json!([silence]));
    let id = silence["id"].as_str().unwrap();
    assert_eq!(server.delete(&format!("/api/v1/silences/{id}")).await.status, StatusCode::NO_CONTENT);
    server.delete(&format!("/api/v1/silences/{id}")).await.problem(404);
    for wrong in [
        json!({"until": hours(1)}),
        json!({"service": "db"}),
        json!({"service": "db", "until": hours(-1)}),
        json!({"service": "db", "until": hours(91 * 24)}),
        json!({"service": "x".repeat(2_000), "until": hours(1)}),
        json!({"service": "db", "until": hours(1), "pager": true}),
    ] {
        server.post("/api/v1/silences", wrong).await.problem(400);
    }
}
