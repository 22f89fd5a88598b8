//! The automatic baseline of diagnoses that name none.

use super::*;
use serde_json::json;

const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

/// The shop from one minute to another, a request every 3 s. Every twentieth call of the database takes 100 ms longer,
/// always; all take `extra` longer.
fn shop_between(from_minute: i64, to_minute: i64, extra: i64) -> Batch {
    let mut batch = Batch::default();
    for index in from_minute * 20..to_minute * 20 {
        let start = START + index * 3 * SECOND;
        // Scattered, so that the slow calls are not concentrated in time.
        let slow = if (index * 7_919).rem_euclid(20) == 3 { 100 * MS } else { 0 };
        let extra = extra + slow + (index * 37).rem_euclid(11) * MS / 50;
        let web = ["web-1", "web-2"][index.rem_euclid(2) as usize];
        let trace = (START + index) as u128;
        let buy = (web, Status::Ok, start, 10 * MS + extra);
        batch.span(&span(trace, 1, None, ("web", "buy", SpanKind::Server), buy));
        let read = ("db-1", Status::Ok, start + 2 * MS, 4 * MS + extra);
        batch.span(&span(trace, 2, Some(1), ("db", "read", SpanKind::Server), read));
    }
    batch
}

/// The quarter of an hour that starts an hour after [`START`].
fn quarter() -> Value {
    json!({"since": START + 60 * MINUTE, "until": START + 75 * MINUTE - 1})
}

async fn diagnosed(server: &TestServer, settings: Value) -> Value {
    let answered = server.post("/api/v1/diagnose?wait=true", settings).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    answered.json()
}

/// The report as text, in one line.
async fn text_of(server: &TestServer, settings: Value) -> String {
    let text = server.post("/api/v1/diagnose?wait=true&output=text", settings).await.text();
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_quarter_hour_is_compared_with_the_quiet_hour_before_it() {
    let server = TestServer::empty().await;
    server.append(shop_between(0, 60, 0)).await;
    server.append(shop_between(60, 75, 30 * MS)).await;
    let report = diagnosed(&server, quarter()).await;
    assert_eq!(
        (&report["verdict"], &report["suspects"][0]["operation"]),
        (&json!("suspects"), &json!("read"))
    );
    let automatic = &report["automatic_baseline"];
    assert_eq!(automatic["choice"], "before");
    let window = &automatic["window"];
    assert_eq!((&window["since_ns"], &window["until_ns"]), (&json!(START), &json!(START + 60 * MINUTE - 1)));
    assert_eq!(report["baseline"]["requests"], 1_200);
    let text = text_of(&server, quarter()).await;
    let sentence = "The baseline was chosen automatically: the time directly before the window, \
                    2026-01-12T09:00:00.000Z to 2026-01-12T09:59:59.999Z.";
    assert!(text.contains(sentence), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_can_be_limited_to_one_operation_or_category() {
    let server = TestServer::with_shop().await;
    let all = diagnosed(&server, json!({"since": START})).await;
    assert_eq!(all["input"]["requests"], 210);
    let category = all["categories"][0]["id"].as_str().unwrap();
    let limits = [
        ("operation", "buy"),
        ("operation", "web:buy"),
        ("category", category),
        ("category", &category[..4]),
    ];
    for (name, value) in limits {
        let report = diagnosed(&server, json!({"since": START, name: value})).await;
        assert_eq!(report["input"]["requests"], 200, "{name} {value}");
    }
    for (name, value, message) in [
        ("operation", "bui", "no request enters at operation \"bui\"; did you mean web:buy?"),
        ("operation", "query", "the most frequent are web:buy, api:ping"),
        ("category", "zz", "there is no category \"zz\""),
    ] {
        for path in ["diagnose", "compare"] {
            let settings = json!({"since": START + 300 * SECOND, name: value});
            let detail = server.post(&format!("/api/v1/{path}?wait=true"), settings).await.problem(400);
            assert!(detail.contains(message), "{detail}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_always_slow_operation_is_no_suspect() {
    let server = TestServer::empty().await;
    server.append(shop_between(0, 75, 0)).await;
    let report = diagnosed(&server, quarter()).await;
    assert_eq!(report["automatic_baseline"]["choice"], "before");
    assert!(["healthy", "tail"].contains(&report["verdict"].as_str().unwrap()), "{}", report["headline"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explicit_or_declined_baseline_is_not_replaced() {
    let server = TestServer::empty().await;
    server.append(shop_between(0, 75, 0)).await;
    for (name, value) in [("baseline", json!("none")), ("method", json!("clouddiag"))] {
        let mut settings = quarter();
        settings[name] = value;
        let report = diagnosed(&server, settings).await;
        assert!(report.get("baseline").is_none() && report.get("automatic_baseline").is_none(), "{name}");
    }
    let mut settings = quarter();
    settings["baseline-since"] = json!(START + 30 * MINUTE);
    settings["baseline-until"] = json!(START + 60 * MINUTE - 1);
    let report = diagnosed(&server, settings).await;
    assert!(report.get("automatic_baseline").is_none());
    assert_eq!(report["baseline"]["requests"], 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_before_is_the_fallback_baseline() {
    let server = TestServer::empty().await;
    let yesterday = -DAY / MINUTE;
    server.append(shop_between(yesterday + 50, yesterday + 90, 0)).await;
    server.append(shop_between(60, 75, 30 * MS)).await;
    let report = diagnosed(&server, quarter()).await;
    assert_eq!(report["automatic_baseline"]["choice"], "day-before");
    assert_eq!(report["verdict"], "suspects");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_baseline_is_reported() {
    let server = TestServer::empty().await;
    server.append(shop_between(58, 75, 0)).await;
    let report = diagnosed(&server, quarter()).await;
    assert_eq!(report["automatic_baseline"], json!({"choice": "none", "window": null}));
    assert!(report.get("baseline").is_none());
    let text = text_of(&server, quarter()).await;
    assert!(text.contains("There is no baseline: too few requests are stored"), "{text}");
}
