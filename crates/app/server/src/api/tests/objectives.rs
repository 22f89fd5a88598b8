//! Objectives: requests are counted exactly once, and objectives are listed with their alerts.

use super::*;
use crate::objectives::{ObjectiveFigures, Objectives, evaluate_tenant, finish};
use crate::settings::ObjectiveSettings;
use serde_json::json;
use tokio::sync::Semaphore;

const MINUTE: i64 = 60 * SECOND;

/// At most 5 % of `buy` above 50 ms or with an error.
fn objective() -> ObjectiveSettings {
    ObjectiveSettings {
        name: "buy".to_owned(),
        service: "web".to_owned(),
        operation: Some("buy".to_owned()),
        limit: Some("50ms".parse().unwrap()),
        without_error: true,
        target: 0.95,
        days: 28,
        tenants: Vec::new(),
    }
}

async fn server() -> TestServer {
    TestServer::with(|settings| settings.objectives = vec![objective()]).await
}

fn time(ns: i64) -> Timestamp {
    Timestamp::from_unix_ns(ns)
}

/// The objectives of a server that was started again on the same data.
fn restarted(server: &TestServer, objective: ObjectiveSettings) -> Arc<Objectives> {
    let data = server.data.path().to_owned();
    let settings = ServeSettings { data, objectives: vec![objective], ..ServeSettings::default() };
    let state = &server.state;
    Objectives::new(
        &settings.check().unwrap(),
        state.tenants.clone(),
        state.alerts.clone(),
        Arc::new(Semaphore::new(2)),
        state.stopping.clone(),
    )
}

async fn evaluated(server: &TestServer, objectives: &Arc<Objectives>, at: i64) -> ObjectiveFigures {
    evaluate_tenant(objectives, &server.tenant, time(at)).await;
    objectives.of_tenant("default").figures(0, time(at)).0
}

fn counts(figures: &ObjectiveFigures) -> (u64, u64) {
    (figures.requests, figures.bad)
}

/// Requests of `web buy` with these latencies, a second apart. Every tenth fails.
fn buys(first_trace: u128, since: i64, latencies_ms: &[i64]) -> Batch {
    let mut batch = Batch::default();
    for (index, latency) in latencies_ms.iter().enumerate() {
        let status = if index % 10 == 9 { Status::Error } else { Status::Ok };
        let start = since + index as i64 * SECOND;
        let entry = ("web", "buy", SpanKind::Server);
        let what = ("web-1", status, start, latency * MS);
        batch.span(&span(first_trace + index as u128, 1, None, entry, what));
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn the_objectives_share_matches_counted_requests() {
    let server = server().await;
    server.append(shop()).await;
    let now_s = START + 11 * MINUTE;
    let figures = evaluated(&server, &server.state.objectives, now_s).await;
    // 200 buys: every twentieth takes longer, numbers 19, 39, …; every fiftieth fails, 0, 50, 100, 150.
    assert_eq!(counts(&figures), (200, 14));
    assert_eq!((figures.incomplete, figures.uncounted, figures.represented), (0, 0, 200.0));
    assert!((figures.good_share.unwrap() - 186.0 / 200.0).abs() < 1e-12);
    // The same by other ways through the API: the errors of the service, and the slow traces that a search lists.
    let operations = server.ok(&format!("/api/v1/operations?{}&service=web", shop_window())).await;
    assert_eq!(
        (&operations["operations"][0]["requests"], &operations["operations"][0]["errors"]),
        (&json!(200), &json!(4))
    );
    let search =
        format!("/api/v1/search?{}&service=web&operation=buy&min_ms=50.001&limit=100", shop_window());
    let slow = server.ok(&search).await;
    assert_eq!(slow["traces"].as_array().map(Vec::len), Some(10), "{slow}");
    // A second evaluation counts no further requests.
    for _ in 0..3 {
        assert_eq!(counts(&evaluated(&server, &server.state.objectives, now_s).await), (200, 14));
    }
    // Requests before the period do not count.
    let later = now_s + 29 * 86_400 * SECOND;
    let figures = evaluated(&server, &server.state.objectives, later).await;
    assert_eq!((counts(&figures), figures.good_share), ((0, 0), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn late_requests_are_counted_exactly_once() {
    let server = server().await;
    let objectives = server.state.objectives.clone();
    server.append(buys(1, START, &[10; 30])).await;
    let now = START + 11 * MINUTE;
    assert_eq!(counts(&evaluated(&server, &objectives, now).await), (30, 3));
    // An hour later, requests arrive that began before and after those.
    let now = now + 60 * MINUTE;
    server.append(buys(1_000, START - 5 * MINUTE, &[200; 20])).await;
    server.append(buys(2_000, START + MINUTE, &[10; 9])).await;
    assert_eq!(counts(&evaluated(&server, &objectives, now).await), (59, 23));
    // The callee of one request arrives first and its entry half an hour later: the request counts once its entry has arrived.
    let mut called = Batch::default();
    let what = ("db-1", Status::Ok, START + 2 * MS, 5 * MS);
    called.span(&span(5_000, 2, Some(1), ("db", "read", SpanKind::Server), what));
    server.append(called).await;
    assert_eq!(counts(&evaluated(&server, &objectives, now).await), (59, 23));
    server.append(buys(5_000, START, &[10])).await;
    assert_eq!(counts(&evaluated(&server, &objectives, now + 30 * MINUTE).await), (60, 23));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_survive_a_restart_and_a_crash() {
    let server = server().await;
    let first = server.state.objectives.clone();
    server.append(buys(1, START, &[10; 30])).await;
    let now = START + 11 * MINUTE;
    assert_eq!(counts(&evaluated(&server, &first, now).await), (30, 3));
    // Saved at the first evaluation; later counts are lost with the process.
    server.append(buys(1_000, START + 6 * MINUTE, &[100; 10])).await;
    assert_eq!(counts(&evaluated(&server, &first, now).await), (40, 13));
    let crashed = restarted(&server, objective());
    let before = crashed.of_tenant("default").figures(0, time(now)).0;
    assert_eq!(counts(&before), (30, 3), "what was saved");
    assert_eq!(counts(&evaluated(&server, &crashed, now).await), (40, 13));
    finish(&crashed).await;
    let stopped = restarted(&server, objective());
    assert_eq!(counts(&stopped.of_tenant("default").figures(0, time(now)).0), (40, 13));
    assert_eq!(counts(&evaluated(&server, &stopped, now).await), (40, 13));
    // A changed target keeps the counts; a changed limit does not.
    let target = ObjectiveSettings { target: 0.5, ..objective() };
    let target = restarted(&server, target);
    assert_eq!(counts(&target.of_tenant("default").figures(0, time(now)).0), (40, 13));
    let limit = restarted(&server, ObjectiveSettings { limit: Some("5ms".parse().unwrap()), ..objective() });
    assert_eq!(counts(&limit.of_tenant("default").figures(0, time(now)).0), (0, 0));
    assert_eq!(counts(&evaluated(&server, &limit, now).await), (40, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_count_file_is_rebuilt() {
    let server = server().await;
    server.append(buys(1, START, &[10; 30])).await;
    let file = server.data.path().join("tenants/default/objectives.json");
    std::fs::write(&file, "{\"version\":1,\"objectives\":{\"buy\":{\"counts\":{\"x\":[1]}}}}").unwrap();
    let now = START + 11 * MINUTE;
    assert_eq!(counts(&evaluated(&server, &server.state.objectives, now).await), (30, 3));
    assert!(file.with_extension("json.unreadable").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burning_budget_fires_and_names_the_slow_operation() {
    let server = server().await;
    // Ten minutes ago until now: all of the last 100 requests are slow by `db read`.
    let now = crate::api::parameters::now().unix_ns();
    let mut batch = Batch::default();
    for index in 0..200_i64 {
        let (start, extra) = (now - (200 - index) * SECOND, if index < 100 { 0 } else { 100 * MS });
        let (trace, entry) = (index as u128 + 1, ("web", "buy", SpanKind::Server));
        batch.span(&span(trace, 1, None, entry, ("web-1", Status::Ok, start, 10 * MS + extra)));
        let read = ("db-1", Status::Ok, start + 2 * MS, 4 * MS + extra);
        batch.span(&span(trace, 2, Some(1), ("db", "read", SpanKind::Server), read));
    }
    server.append(batch).await;
    let finding = json!({
        "service": "db", "operation": "read", "replicas": [], "categories": [], "factor": 25.0, "effect_ns": 100_000_000,
        "slower": 10.0, "requests_hit": 100, "requests_seen": 200, "traces": [], "onset_ns": null,
    });
    let other = json!({
        "service": "web", "operation": "log", "replicas": [], "categories": [], "factor": 2.0, "effect_ns": 1_000,
        "slower": 0.1, "requests_hit": 100, "requests_seen": 200, "traces": [], "onset_ns": null,
    });
    let tenant_alerts = server.state.alerts.tenant_alerts.tenant("default");
    let window = laggard_params::Window { since: time(now - 15 * MINUTE), until: time(now) };
    let evaluation = crate::alerts::Evaluation {
        window,
        baseline: window,
        findings: vec![serde_json::from_value(other).unwrap(), serde_json::from_value(finding).unwrap()],
        recoveries: Default::default(),
        others: Vec::new(),
    };
    let rules = crate::alerts::Detection::from_settings(&crate::settings::AlertSettings::default()).rules;
    tenant_alerts.state().alerts.apply(&evaluation, rules, time(now));
    for _ in 0..2 {
        evaluated(&server, &server.state.objectives, crate::api::parameters::now().unix_ns()).await;
    }
    let answer = server.ok("/api/v1/objectives").await;
    let row = &answer["objectives"][0];
    assert_eq!(
        (&row["requests"], &row["bad"], &row["limit_ns"]),
        (&json!(200), &json!(100), &json!(50_000_000))
    );
    let rate = row["burn_rates"][2]["rate"].as_f64().unwrap();
    assert!((rate - 10.0).abs() < 1e-9, "half of the requests where 5 % are allowed: {row}");
    assert!((row["budget_left"].as_f64().unwrap() + 9.0).abs() < 1e-9);
    let states: Vec<_> = row["alerts"].as_array().unwrap().iter().map(|alert| &alert["severity"]).collect();
    assert_eq!(states, [&json!("page"), &json!("ticket")], "{row}");
    let cause = &row["cause"];
    assert_eq!((&cause["service"], &cause["operation"]), (&json!("db"), &json!("read")), "{row}");
    assert_eq!((&cause["explained"], &cause["bad"]), (&json!(100), &json!(100)));
    let alerts = server.ok("/api/v1/alerts?state=firing").await;
    let of_objective = &alerts["alerts"][0];
    assert_eq!((&of_objective["kind"], &of_objective["objective"]), (&json!("budget_burn"), &json!("buy")));
    let summary = of_objective["summary"].as_str().unwrap();
    assert!(
        summary.ends_with("`read` of `db` explains 100 of the 100 bad requests of the last hour."),
        "{summary}"
    );
    let metrics = server.get("/metrics").await.text();
    for line in [
        "laggard_objective_budget_left_ratio{tenant=\"default\",objective=\"buy\"} -",
        "laggard_objective_burn_rate{tenant=\"default\",objective=\"buy\",window=\"1h\"} ",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_requests_there_is_no_data() {
    let server = server().await;
    server.append(Batch::default()).await;
    evaluated(&server, &server.state.objectives, crate::api::parameters::now().unix_ns()).await;
    let row = server.ok("/api/v1/objectives").await["objectives"][0].clone();
    assert_eq!((&row["good_share"], &row["budget_left"]), (&Value::Null, &Value::Null));
    assert!(row["burn_rates"].as_array().unwrap().iter().all(|burn| burn["rate"].is_null()));
    assert_eq!((&row["alerts"], &row["cause"], &row["since_ns"]), (&json!([]), &Value::Null, &Value::Null));
    let none = TestServer::empty().await.ok("/api/v1/objectives").await;
    assert_eq!(none["objectives"], json!([]));
}
