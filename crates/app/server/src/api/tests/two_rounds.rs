//! Diagnoses of windows that hold more than is compared.

use super::*;
use serde_json::json;

/// The requests of several shops in the same ten minutes: 600 calls each, and ten of `ping`.
fn shops(count: u128) -> Batch {
    let mut all = Batch::default();
    for number in 0..count {
        let one = shop();
        for row in &one.spans {
            let key = one.names.operation_key(row.operation);
            all.span(&SpanRecord {
                trace_id: TraceId::from_value(row.trace.value() + 10_000 * number),
                ..span(
                    0,
                    row.span.value(),
                    row.parent.map(SpanId::value),
                    (key.service, key.operation, key.kind),
                    (
                        one.names.replica_name(row.replica),
                        row.status,
                        row.start.unix_ns() + number as i64 * MS,
                        row.inclusive.ns() as i64,
                    ),
                )
            });
        }
    }
    all
}

async fn server(calls_max: u32) -> TestServer {
    let server = TestServer::with(|settings| settings.limits.calls = calls_max).await;
    server.append(shops(8)).await;
    server
}

async fn report(server: &TestServer, question: Value) -> Value {
    answer(server, "diagnose", question).await
}

async fn answer(server: &TestServer, name: &str, question: Value) -> Value {
    let answered = server.post(&format!("/api/v1/{name}?wait=true"), question).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    answered.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn frequent_requests_are_thinned_above_the_limit_and_the_report_states_it() {
    let (whole, limited) = (server(1_000_000).await, server(2_000).await);
    let question = json!({"since": START, "until": START + 600 * SECOND});
    let (whole, limited) = (report(&whole, question.clone()).await, report(&limited, question).await);
    assert_eq!(whole["suspects"][0]["operation"], "read");
    assert_eq!(limited["suspects"][0]["operation"], "read");
    for figure in ["spans", "traces", "operations", "losses"] {
        assert_eq!(limited["input"][figure], whole["input"][figure], "{figure}");
    }
    // 4,800 calls of `buy` are thinned to a quarter; the 80 of `ping` are all there.
    let requests = limited["input"]["requests"].as_u64().unwrap();
    assert!((400..560).contains(&requests), "{requests} of 1,680");
    let category = |operation: &str| {
        let mut all = limited["categories"].as_array().unwrap().iter();
        all.find(|row| row["operation"] == operation).unwrap()
    };
    assert_eq!(
        (&category("ping")["requests"], &category("ping")["requests_estimated"]),
        (&json!(80), &json!(80.0))
    );
    assert_eq!(category("buy")["requests_estimated"], 4.0 * (requests as f64 - 80.0));
    let caution = limited["cautions"][0].as_str().unwrap();
    assert!(caution.starts_with(&format!("Only {requests} of 1680 requests, with ")), "{caution}");
    assert!(caution.contains("one in 2 to 4"), "{caution}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_large_segment_is_compared_completely_if_it_fits() {
    let (whole, limited) = (server(1_000_000).await, server(3_500).await);
    let until = START + 400 * SECOND;
    for question in [
        json!({"since": START, "until": until}),
        json!({"since": START + 300 * SECOND, "until": until, "baseline-since": START, "baseline-until": START + 299 * SECOND}),
        json!({"since": START + 300 * SECOND, "until": until}),
    ] {
        assert_eq!(
            report(&limited, question.clone()).await,
            report(&whole, question.clone()).await,
            "{question}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_above_the_limit_is_of_a_fair_sample() {
    let (whole, limited) = (server(1_000_000).await, server(2_000).await);
    let question = json!({"before-until": START + 299 * SECOND, "since": START + 300 * SECOND});
    let whole = answer(&whole, "compare", question.clone()).await;
    let limited = answer(&limited, "compare", question).await;
    for side in ["before", "after"] {
        assert_eq!(limited[side]["input"]["spans"], whole[side]["input"]["spans"], "of all requests");
        let requests = |report: &Value| report[side]["input"]["requests"].as_u64().unwrap();
        let (of_whole, of_limited) = (requests(&whole), requests(&limited));
        assert!(of_limited.abs_diff(of_whole / 4) < of_whole / 16, "{of_limited} of {of_whole}");
    }
    assert_eq!(limited["verdict"], whole["verdict"]);
    let caution = limited["cautions"][0].as_str().unwrap();
    assert!(caution.starts_with("Only ") && caution.contains("one in 4, selected"), "{caution}");
    assert_eq!(whole["cautions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_of_a_large_segment_are_compared_completely_if_they_fit() {
    let (whole, limited) = (server(1_000_000).await, server(3_500).await);
    let question = json!({"before-until": START + 99 * SECOND, "since": START + 500 * SECOND});
    assert_eq!(
        answer(&limited, "compare", question.clone()).await,
        answer(&whole, "compare", question).await
    );
}
