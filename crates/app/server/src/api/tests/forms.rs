//! Uploads and imports.

use super::*;
use serde_json::json;

/// Three requests of a shop as OTLP.
fn otlp() -> String {
    let spans: Vec<String> = (1..=3)
        .map(|index| {
            format!(
                r#"{{"traceId": "{index:032x}", "spanId": "{index:016x}", "name": "buy", "kind": 2,
                "startTimeUnixNano": "{START}", "endTimeUnixNano": "{}"}}"#,
                START + 5 * MS
            )
        })
        .collect();
    format!(
        r#"{{"resourceSpans": [{{"resource": {{"attributes": [{{"key": "service.name",
        "value": {{"stringValue": "web"}}}}]}}, "scopeSpans": [{{"spans": [{}]}}]}}]}}"#,
        spans.join(",")
    )
}

fn left(server: &TestServer) -> usize {
    std::fs::read_dir(server.data.path().join("uploads")).map_or(0, Iterator::count)
}

const DAY_NS: i64 = 86_400_000_000_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_imported() {
    let server = TestServer::empty().await;
    let answered = server.send(Request::post("/api/v1/import").body(Body::from(otlp())).unwrap()).await;
    let mut answer = answered.json();
    // The spans are of an earlier year; they are kept for as long as new ones.
    let kept_until_ns = answer.as_object_mut().unwrap().remove("kept_until_ns").unwrap().as_i64().unwrap();
    let kept_for_ns = kept_until_ns - server.ok("/api/v1/status").await["now_ns"].as_i64().unwrap();
    assert!((6 * DAY_NS..7 * DAY_NS).contains(&kept_for_ns), "{kept_for_ns}");
    assert_eq!(answer, json!({"spans": 3, "calls": 0, "samples": 0, "events": 0, "losses": {}}));
    assert_eq!(server.call(Method::POST, "/api/v1/flush").await.status, StatusCode::NO_CONTENT);
    let status = server.ok("/api/v1/status").await;
    assert_eq!((&status["spans_received"], &status["spans_stored"]), (&json!(3), &json!(3)));
    assert_eq!(server.ok(&format!("/api/v1/services?{}", shop_window())).await["services"][0]["requests"], 3);
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn unrecognized_files_are_rejected() {
    let server = TestServer::empty().await;
    let detail =
        server.send(Request::post("/api/v1/import").body(Body::from("hello")).unwrap()).await.problem(422);
    assert!(!detail.contains(server.data.path().to_str().unwrap()), "no path of this machine: {detail}");
    let wrong = Request::post("/api/v1/import?format=zipkin").body(Body::from(otlp())).unwrap();
    assert!(matches!(server.send(wrong).await.status.as_u16(), 200 | 422));
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_have_a_limit() {
    let server = TestServer::with(|settings| settings.limits.upload = crate::Size(1_000)).await;
    let large = Request::post("/api/v1/import").body(Body::from(vec![b'x'; 1_001])).unwrap();
    server.send(large).await.problem(413);
    let content = vec![b'x'; 1_001];
    server.form("/api/v1/kernel/stats", json!({}), &[("file", "a.dat", &content)]).await.problem(413);
    let many: Vec<(&str, &str, &[u8])> = vec![("file", "a", b"1"); 65];
    server.form("/api/v1/kernel/stats", json!({}), &many).await.problem(413);
    assert_eq!((left(&server), server.state.api.uploads.bytes()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_can_be_uploaded_with_a_question() {
    let server = TestServer::empty().await;
    let mut table = String::from("time,server,transaction,transactions,utilization\n");
    for minute in 0..120 {
        let transactions = 100 + minute * 37 % 80;
        let busy = 0.05 + 0.002 * f64::from(transactions);
        table += &format!("{},app-1,buy,{transactions},{busy}\n", START / SECOND + i64::from(minute) * 60);
    }
    let file: &[(&str, &str, &[u8])] = &[("file", "../samples.csv", table.as_bytes())];
    let answered = server.form("/api/v1/changes?wait=true", json!({"window": "60s"}), file).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text());
    assert_eq!(answered.json()["input"]["files"], 1);
    let detail = server.form("/api/v1/changes?wait=true", json!({"format": "docx"}), file).await.problem(400);
    assert!(detail.contains("there is no format"));
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn kernel_traces_are_uploaded() {
    let server = TestServer::empty().await;
    let trace = "# tracer: nop\n\
        bash-100 [000] d... 10.000000: sched_switch: prev_comm=bash prev_pid=100 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
        <idle>-0 [000] d... 10.500000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=bash next_pid=100 next_prio=120\n";
    let file: &[(&str, &str, &[u8])] = &[("file", "trace.txt", trace.as_bytes())];
    let stats = server.form("/api/v1/kernel/stats?wait=true", json!({}), file).await;
    assert_eq!(stats.status, StatusCode::OK, "{}", stats.text());
    assert_eq!(stats.json()["input"]["traces"][0]["path"], "trace.txt");
    let path = server.form("/api/v1/kernel/path?wait=true&output=text", json!({"thread": "100"}), file).await;
    assert_eq!(path.status, StatusCode::OK, "{}", path.text());
    let none: &[(&str, &str, &[u8])] = &[("file", "x.dat", b"nothing that is known")];
    let detail = server.form("/api/v1/kernel/stats?wait=true", json!({}), none).await.problem(422);
    assert!(detail.contains("x.dat") && !detail.contains("/"), "{detail}");
    let both = json!({"normal-to": "+1s", "sample-from": "+1s"});
    let mixed: &[(&str, &str, &[u8])] = &[("file", "a", b"1"), ("normal", "b", b"2")];
    server.form("/api/v1/kernel/diagnose", both, mixed).await.problem(400);
    server.form("/api/v1/kernel/diagnose", json!({}), &[("normal", "b", b"2")]).await.problem(400);
    server.form("/api/v1/kernel/path", json!({}), &[("sample", "b", b"2")]).await.problem(400);
    server.form("/api/v1/kernel/path", json!({}), &[("other", "b", b"2")]).await.problem(400);
    assert_eq!(left(&server), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_form_is_rejected() {
    let server = TestServer::empty().await;
    let request =
        Request::post("/api/v1/kernel/stats").header("content-type", "multipart/form-data; boundary=cut");
    let cut = "--cut\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc";
    server.send(request.body(Body::from(cut)).unwrap()).await.problem(400);
    let request = Request::post("/api/v1/kernel/stats").header("content-type", "multipart/form-data");
    server.send(request.body(Body::from(cut)).unwrap()).await.problem(400);
    assert_eq!(left(&server), 0);
}
