//! Queries of stored data, with numbers worked out by hand from [`shop`].

use super::*;
use crate::api::page_sample::{PageReads, note_sample};
use crate::operations::ProcessMemory;
use laggard_params::Window;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn services_and_operations() {
    let server = TestServer::with_shop().await;
    let answered = server.ok(&format!("/api/v1/services?{}", shop_window())).await;
    let web = json!({
        "name": "web", "operations": 2, "replicas": 2, "requests": 200, "errors": 4, "p50_ns": 10_030_000,
        "p99_ns": 110_000_000, "calls": 200, "call_errors": 4, "call_p50_ns": 10_030_000, "call_p99_ns": 110_000_000
    });
    assert_eq!(answered["services"][0], web);
    let rest: Vec<&Value> = answered["services"].as_array().unwrap()[1..].iter().collect();
    assert_eq!(
        (&rest[0]["name"], &rest[0]["requests"], &rest[0]["p99_ns"]),
        (&json!("api"), &json!(10), &json!(1_000_000))
    );
    assert_eq!(
        (&rest[1]["name"], &rest[1]["requests"], &rest[1]["p50_ns"]),
        (&json!("db"), &json!(0), &Value::Null)
    );
    assert_eq!(
        (&rest[1]["calls"], &rest[1]["call_errors"], &rest[1]["call_p50_ns"], &rest[1]["call_p99_ns"]),
        (&json!(200), &json!(0), &json!(4_030_000), &json!(104_000_000)),
        "it is only called"
    );
    let all = server.ok(&format!("/api/v1/operations?{}", shop_window())).await;
    assert_eq!(all["operations"].as_array().unwrap().len(), 2);
    let one = server.ok(&format!("/api/v1/operations?service=api&{}", shop_window())).await;
    let ping = json!({
        "service": "api", "operation": "ping", "kind": "server", "replicas": 1, "requests": 10, "errors": 0,
        "p50_ns": 1_000_000, "p99_ns": 1_000_000
    });
    assert_eq!(one["operations"], json!([ping]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_does_not_fit_in_memory_is_sampled_as_a_header_states() {
    let server = TestServer::with_shop().await;
    let read = async |memory: u64| {
        let reads = Arc::new(PageReads::new(Arc::new(ProcessMemory::with_resident(memory, 0))));
        let view = server.tenant.store.view();
        let handler = move || {
            let (reads, view) = (reads.clone(), view.clone());
            async move {
                let window = Window { since: Timestamp::MIN, until: Timestamp::MAX };
                let slices = reads.read(view, window, ProcessMemory::query_deadline()).await.unwrap();
                slices.iter().map(|slice| slice.requests.len()).sum::<usize>().to_string()
            }
        };
        let router = Router::new().route("/", axum::routing::get(handler));
        let router = router.layer(axum::middleware::from_fn(note_sample));
        let response = router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        let one_in = response.headers().get("laggard-sampled-one-in").cloned();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let requests: u64 = String::from_utf8(body.to_vec()).unwrap().parse().unwrap();
        (requests, one_in.map_or(1, |one_in| one_in.to_str().unwrap().parse().unwrap()))
    };
    assert_eq!(read(1 << 30).await, (210, 1));
    let (requests, one_in) = read(400 << 10).await;
    assert!(one_in > 1 && (requests * one_in).abs_diff(210) < 60, "{requests}, one in {one_in}");
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_include_both_ends() {
    let server = TestServer::with_shop().await;
    let requests = async |since: i64, until: i64| {
        let answered =
            server.ok(&format!("/api/v1/operations?service=web&since={since}&until={until}")).await;
        answered["operations"][0]["requests"].as_u64().unwrap_or(0)
    };
    assert_eq!(requests(START, START + 3 * SECOND).await, 2);
    assert_eq!(requests(START + 1, START + 3 * SECOND).await, 1);
    assert_eq!(requests(START + 1, START + 3 * SECOND - 1).await, 0);
    let named = server.ok("/api/v1/operations?since=2026-01-12T09:00:00Z&until=2026-01-12T09:00:03Z").await;
    assert_eq!(named["operations"][0]["requests"], 2);
    let now = server.ok("/api/v1/operations?since=-15m").await;
    assert_eq!(now["operations"], json!([]), "the data are of another day");
}

#[tokio::test(flavor = "multi_thread")]
async fn overview_over_time() {
    let server = TestServer::with_shop().await;
    let answered = server.ok(&format!("/api/v1/overview?bins=10&{}", shop_window())).await;
    assert_eq!(
        (&answered["since_ns"], &answered["bin_ns"], &answered["bins"]),
        (&json!(START), &json!(60_000_000_001_u64), &json!(10))
    );
    let web = &answered["services"][0];
    assert_eq!(web["name"], "web");
    assert_eq!(web["requests"], json!([21, 20, 20, 20, 20, 20, 20, 20, 20, 19]));
    assert_eq!(web["errors"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 4);
    assert_eq!(web["p99_ns"][3], 110_000_000);
    let anomaly = &answered["anomalies"][0];
    assert_eq!((&anomaly["service"], &anomaly["operation"]), (&json!("web"), &json!("buy")));
    let api = server.ok(&format!("/api/v1/overview?bins=10&service=api&{}", shop_window())).await;
    assert_eq!((api["services"].as_array().unwrap().len(), &api["anomalies"]), (1, &json!([])));
    let empty = server.ok("/api/v1/overview?since=1&until=2&bins=3").await;
    assert_eq!((&empty["services"], &empty["bins"]), (&json!([]), &json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn categories_with_tree_and_matrix() {
    let server = TestServer::with_shop().await;
    let window = shop_window();
    let list = server.ok(&format!("/api/v1/categories?{window}")).await;
    let buy = &list["categories"][0];
    assert_eq!(
        (&buy["service"], &buy["positions"], &buy["requests"]),
        (&json!("web"), &json!(3), &json!(200))
    );
    assert_eq!((&buy["anomalous"], &list["categories"][1]["anomalous"]), (&json!(true), &json!(false)));
    assert!(buy["reason"].as_str().unwrap().contains("varies"), "{buy}");
    let limited = server.ok(&format!("/api/v1/categories?limit=1&{window}")).await;
    assert_eq!((limited["categories"].as_array().unwrap().len(), &limited["omitted"]), (1, &json!(1)));
    let id = buy["id"].as_str().unwrap();
    let tree = server.ok(&format!("/api/v1/categories/{id}/tree?{window}")).await;
    let read = json!({
        "position": 2, "parent": 1, "service": "db", "operation": "read", "kind": "server", "calls_mean": 1.0,
        "self_p50_ns": 4_030_000, "self_p99_ns": 104_000_000, "inclusive_p50_ns": 4_030_000,
        "inclusive_p99_ns": 104_000_000, "replicas": 1
    });
    assert_eq!(tree["positions"][2], read);
    assert_eq!((&tree["requests"], &tree["positions"][0]["replicas"]), (&json!(200), &json!(2)));
    let few = server.ok(&format!("/api/v1/categories/{id}/matrix?rows=50&{window}")).await;
    assert_eq!((&few["omitted_requests"], few["requests"].as_array().unwrap().len()), (&json!(150), 50));
    let matrix = server.ok(&format!("/api/v1/categories/{id}/matrix?{window}")).await;
    assert_eq!((&matrix["omitted_requests"], &matrix["omitted_positions"]), (&json!(0), &json!(0)));
    let cells = |part: &str, row: usize, column: usize| matrix[part][row][column].as_i64().unwrap();
    assert_eq!(matrix["original"].as_array().unwrap().len(), 200);
    for row in 0..200 {
        for column in 0..3 {
            let sum = cells("low_rank", row, column) + cells("sparse", row, column);
            assert!((sum - cells("original", row, column)).abs() <= 1, "row {row}, column {column}");
        }
    }
    let slow = (0..200).find(|&row| matrix["requests"][row]["latency_ns"] == 110_000_000).unwrap();
    assert!(cells("sparse", slow, 2) > 50_000_000, "the excess of a slow request is at the database");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_span_by_span() {
    let server = TestServer::with_shop().await;
    let trace = server.ok("/api/v1/traces/0000000000000014").await;
    assert_eq!(trace["trace"], "0000000000000014");
    assert_eq!(
        (&trace["requests"][0]["latency_ns"], &trace["requests"][0]["complete"]),
        (&json!(110_000_000), &json!(true))
    );
    let spans = trace["spans"].as_array().unwrap();
    let listed: Vec<_> = spans
        .iter()
        .map(|span| (span["operation"].as_str().unwrap(), span["depth"].as_u64().unwrap()))
        .collect();
    assert_eq!(listed, [("buy", 0), ("query", 1), ("read", 2)]);
    let read = &spans[2];
    assert_eq!((&read["span"], &read["parent"]), (&json!("0000000000000003"), &json!("0000000000000002")));
    assert_eq!(
        (&read["replica"], &read["status"], &read["kind"]),
        (&json!("db-1"), &json!("unset"), &json!("server"))
    );
    assert_eq!((&read["self_ns"], &read["path_ns"]), (&json!(104_000_000), &json!(104_000_000)));
    assert_eq!((&spans[0]["self_ns"], &spans[0]["inclusive_ns"]), (&json!(6_000_000), &json!(110_000_000)));
    let list = server.ok(&format!("/api/v1/categories?{}", shop_window())).await;
    assert_eq!(trace["requests"][0]["category"], list["categories"][0]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn usual_times_of_a_trace_are_those_of_the_same_calls() {
    let server = TestServer::with_shop().await;
    let times = server.ok(&format!("/api/v1/traces/0000000000000014/usual?{}", shop_window())).await;
    let calls = times["calls"].as_array().unwrap();
    let name = |service: &str, operation: &str, kind: &str| json!({ "service": service, "operation": operation, "kind": kind });
    let read = json!({
        "callee": name("db", "read", "server"), "caller": name("web", "query", "client"), "calls": 200,
        "inclusive_p50_ns": 4_030_000, "inclusive_p95_ns": 4_060_000, "self_p50_ns": 4_030_000
    });
    assert_eq!((calls.len(), &calls[2], &calls[0]["caller"]), (3, &read, &Value::Null));
    // Only the requests of the window count: of the first minute 21, the last of which begins with the second.
    let minute = format!("since={START}&until={}", START + 60 * SECOND);
    let first = server.ok(&format!("/api/v1/traces/0000000000000014/usual?{minute}")).await;
    assert_eq!(first["calls"][0]["calls"], 21);
    let before = server.ok("/api/v1/traces/0000000000000014/usual?since=1&until=2").await;
    assert_eq!(before["calls"], json!([]));
    server.get("/api/v1/traces/0000000000000fff/usual").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn search_finds_the_latest_first() {
    let server = TestServer::with_shop().await;
    let window = shop_window();
    let slow = server.ok(&format!("/api/v1/search?min_ms=100&limit=3&{window}")).await;
    assert_eq!((&slow["scanned"], &slow["omitted"]), (&json!(210), &json!(7)));
    let first = json!({
        "trace": "00000000000000c8", "service": "web", "operation": "buy", "start_ns": START + 199 * 3 * SECOND,
        "latency_ns": 110_000_000, "spans": 3, "status": "ok", "category": slow["traces"][0]["category"]
    });
    assert_eq!(slow["traces"][0], first);
    let found = async |parameters: &str| {
        let answered = server.ok(&format!("/api/v1/search?limit=1000&{parameters}&{window}")).await;
        answered["traces"].as_array().unwrap().len()
    };
    assert_eq!(found("service=db").await, 200, "requests that call it");
    assert_eq!(found("service=db&operation=buy").await, 0, "both are of one call");
    assert_eq!(found("operation=ping").await, 10);
    assert_eq!(found("status=error").await, 4);
    assert_eq!(found("max_ms=1").await, 10);
    let category = slow["traces"][0]["category"].as_str().unwrap();
    assert_eq!(found(&format!("category={category}")).await, 200);
    assert_eq!(found("category=000000000000").await, 0);
}
