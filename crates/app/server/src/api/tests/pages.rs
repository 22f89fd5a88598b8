//! What the pages alone request: the map of services, the map of latencies with its comparison, attributes.

use super::*;
use serde_json::json;

/// The shop, with requests of two versions of `web`: the second is in place for the last 40 requests, every other one of which
/// takes 110 ms because of `db`; each request has a tenant.
fn versions() -> Batch {
    let mut batch = Batch::default();
    for index in 0..200_i64 {
        let start = START + index * 3 * SECOND;
        let is_slow = index >= 160 && index % 2 == 0;
        let version = if is_slow { "2" } else { "1" };
        let extra = if is_slow { 100 * MS } else { index % 7 * MS / 100 };
        let (mut resource, mut own) = (AttributeText::default(), AttributeText::default());
        resource.add(Attribute { key: "version", service: "web", value: version });
        own.add(Attribute {
            key: "tenant",
            service: "",
            value: if index / 2 % 2 == 0 { "a b" } else { "acme" },
        });
        let mut record = span(
            index as u128 + 1,
            1,
            None,
            ("web", "buy", SpanKind::Server),
            ("web-1", Status::Ok, start, 10 * MS + extra),
        );
        record.attributes =
            SpanAttributes { resource: resource.as_str(), span: own.as_str(), ..SpanAttributes::default() };
        batch.span(&record);
        let read = ("db-1", Status::Unset, start + 2 * MS, 4 * MS + extra);
        batch.span(&span(index as u128 + 1, 2, Some(1), ("db", "read", SpanKind::Server), read));
    }
    batch
}

async fn with_versions() -> TestServer {
    let server = TestServer::empty().await;
    server.append(versions()).await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_map_has_all_services_and_who_calls_whom() {
    let server = TestServer::with_shop().await;
    let map = server.ok(&format!("/api/v1/service-map?{}", shop_window())).await;
    let names: Vec<&str> =
        map["services"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["db", "web", "api"]);
    // Calls within `web` are not between services: its entry is one call.
    assert_eq!((&map["services"][1]["calls"], &map["services"][1]["call_errors"]), (&json!(200), &json!(4)));
    let link = json!({
        "caller": "web", "callee": "db", "calls": 200, "call_errors": 0, "call_p50_ns": 4_030_000, "call_p99_ns": 104_000_000
    });
    assert_eq!(map["links"], json!([link]));
    let empty = server.ok("/api/v1/service-map?since=1&until=2").await;
    assert_eq!((&empty["services"], &empty["links"]), (&json!([]), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_map_of_latencies_counts_every_request_once() {
    let server = with_versions().await;
    let map = server.ok(&format!("/api/v1/latency-map?columns=10&rows=4&{}", shop_window())).await;
    let counts: Vec<Vec<u64>> = serde_json::from_value(map["counts"].clone()).unwrap();
    assert_eq!((counts.len(), counts[0].len(), &map["requests"]), (4, 10, &json!(200)));
    let sums: Vec<u64> = counts.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(sums, [180, 0, 0, 20], "the slow ones are in the row of the slowest");
    // The first slow one starts 480 s after the start, 8 ns before the ninth column.
    assert_eq!(counts[3], [0, 0, 0, 0, 0, 0, 0, 1, 10, 9]);
    let edges: Vec<u64> = serde_json::from_value(map["edges_ns"].clone()).unwrap();
    assert_eq!((edges[0], edges[4]), (10_000_000, 110_000_001));
    let other = server.ok(&format!("/api/v1/latency-map?service=db&{}", shop_window())).await;
    assert_eq!(
        (&other["requests"], &other["counts"], &other["edges_ns"]),
        (&json!(0), &json!([]), &json!([]))
    );
    server.get("/api/v1/latency-map?rows=101").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_is_compared_with_the_other_requests() {
    let server = with_versions().await;
    let slow = format!("/api/v1/latency-map/compare?min_ns=50000000&{}", shop_window());
    let compared = server.ok(&slow).await;
    assert_eq!((&compared["selected"], &compared["rest"]), (&json!(20), &json!(180)));
    // Requests of the second version are the slow ones; those of a tenant or replica are not.
    let differences = compared["differences"].as_array().unwrap();
    let found: Vec<_> = differences.iter().map(|one| (&one["kind"], &one["name"], &one["value"])).collect();
    let version = |value: &'static str| (json!("attribute"), json!("service.version"), json!(value));
    let expected = [version("1"), version("2")];
    assert_eq!(found, expected.iter().map(|(kind, name, value)| (kind, name, value)).collect::<Vec<_>>());
    assert_eq!(
        (&differences[1]["selected"], &differences[1]["rest"], &differences[1]["service"]),
        (&json!(20), &json!(0), &json!("web"))
    );
    // Of C(200, 20) choices of 20 requests one is that extreme; version, tenant (twice each) are 4 tests.
    let p = differences[1]["p_value"].as_f64().unwrap();
    assert!((p.log10() - (-27.2074 + 2_f64.log10())).abs() < 0.01, "{p}");
    let operation = &compared["operations"][0];
    assert_eq!((&operation["service"], &operation["operation"]), (&json!("db"), &json!("read")));
    assert_eq!(operation["selected_p50_ns"], 104_000_000);
    assert_eq!(operation["chance"], 1.0);
    assert_eq!(compared["operations"].as_array().unwrap().len(), 1, "`buy` itself takes 6 ms in all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selection_without_a_difference_has_none() {
    let server = with_versions().await;
    let until = START + 150 * SECOND;
    let early = format!("selected_since={START}&selected_until={until}");
    let compared = server
        .ok(&format!("/api/v1/latency-map/compare?{early}&since={START}&until={}", START + 400 * SECOND))
        .await;
    assert_eq!((&compared["selected"], &compared["differences"]), (&json!(51), &json!([])));
    assert_eq!(compared["operations"], json!([]));
    let none = server.ok(&format!("/api/v1/latency-map/compare?max_ns=1&{}", shop_window())).await;
    assert_eq!(
        (&none["selected"], &none["rest"], &none["differences"]),
        (&json!(0), &json!(200), &json!([]))
    );
    server.get("/api/v1/latency-map/compare?min_ns=2&max_ns=1").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn latencies_of_a_service_by_replica() {
    let server = TestServer::with_shop().await;
    let web = server.ok(&format!("/api/v1/replica-latencies?service=web&{}", shop_window())).await;
    let rows = web["replicas"].as_array().unwrap();
    // Every twentieth request is slow, and all of these have odd numbers: `web-2` runs them.
    let expected = |replica: &str, p99_ns: u64, errors: u64| {
        (json!(replica), json!(100), json!(errors), json!(10_030_000), json!(p99_ns))
    };
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["replica"].clone(),
                row["calls"].clone(),
                row["errors"].clone(),
                row["p50_ns"].clone(),
                row["p99_ns"].clone(),
            )
        })
        .collect();
    assert_eq!(found, [expected("web-1", 10_060_000, 4), expected("web-2", 110_000_000, 0)]);
    let counts: Vec<u64> = serde_json::from_value(rows[1]["counts"].clone()).unwrap();
    assert_eq!((counts[0], counts[counts.len() - 1], counts.len()), (90, 10, 32));
    // `query` is called by its own service.
    let query =
        server.ok(&format!("/api/v1/replica-latencies?service=web&operation=query&{}", shop_window())).await;
    assert_eq!((&query["replicas"], &query["edges_ns"]), (&json!([]), &json!([])));
    server.get("/api/v1/replica-latencies").await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_listed_and_searched_for() {
    let server = with_versions().await;
    let window = shop_window();
    let list = server.ok(&format!("/api/v1/attributes?{window}")).await;
    let version = json!({
        "name": "service.version", "omitted": 0,
        "values": [{ "value": "1", "requests": 180 }, { "value": "2", "requests": 20 }]
    });
    assert_eq!(list["attributes"][0], version);
    assert_eq!(list["attributes"].as_array().unwrap().len(), 2);
    let one = server.ok(&format!("/api/v1/attributes?name=service.version&limit=1&{window}")).await;
    assert_eq!((&one["attributes"][0]["omitted"], &one["omitted"]), (&json!(1), &json!(0)));
    let found = async |attributes: &str| {
        let uri = format!("/api/v1/search?limit=1000&attributes={attributes}&{window}");
        server.ok(&uri).await["traces"].as_array().unwrap().len()
    };
    assert_eq!(found("service.version%3D2").await, 20);
    assert_eq!(found("version%3D2").await, 20, "by its short name");
    assert_eq!(found("service.version%3D2%20tenant%3D%22a%20b%22").await, 10);
    assert_eq!(found("service.version%3D3").await, 0);
    server.get("/api/v1/search?attributes=version").await.problem(400);
}

/// `list` takes long, and `read` with it: among requests for `list` nothing differs.
#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_requests_are_not_compared_with_each_other() {
    let server = TestServer::empty().await;
    let mut batch = Batch::default();
    for index in 0..200_i64 {
        let (start, trace) = (START + index * 3 * SECOND, index as u128 + 1);
        let (entry, times) = if index % 2 == 0 { ("list", 10) } else { ("get", 1) };
        let spread = index / 2 % 10 * MS / 100;
        let whole = ("web-1", Status::Ok, start, times * 10 * MS + spread);
        batch.span(&span(trace, 1, None, ("web", entry, SpanKind::Server), whole));
        let read = ("db-1", Status::Unset, start + 2 * MS, times * 4 * MS);
        batch.span(&span(trace, 2, Some(1), ("db", "read", SpanKind::Server), read));
    }
    server.append(batch).await;
    // Most requests for `list`, and none for `get`.
    let slow = format!("/api/v1/latency-map/compare?min_ns=100020000&{}", shop_window());
    let compared = server.ok(&slow).await;
    assert_eq!((&compared["selected"], &compared["rest"]), (&json!(80), &json!(120)));
    let operations = compared["operations"].as_array().unwrap();
    let names: Vec<_> = operations.iter().map(|one| &one["operation"]).collect();
    assert_eq!(names, [&json!("list")], "`read` is as long in the other requests for `list`: {operations:?}");
    assert_eq!((&operations[0]["selected"], &operations[0]["rest"]), (&json!(80), &json!(20)));
}
