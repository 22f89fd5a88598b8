//! Jaeger's query API. The requests of Grafana's data source are in `grafana.rs`; the answers' form is that of `internal/uimodel` of
//! `jaegertracing/jaeger`.

use super::*;
use serde_json::json;

/// The shop's window as Jaeger writes it.
fn times(since_s: i64, until_s: i64) -> String {
    format!("end={}&start={}", START / 1_000 + until_s * 1_000_000, START / 1_000 + since_s * 1_000_000)
}

/// Ids of the traces that a search returns.
async fn ids(server: &TestServer, query: &str) -> Vec<String> {
    let answered = server.ok(&format!("/jaeger/api/traces?{query}")).await;
    assert_eq!(answered["errors"], Value::Null);
    let traces = answered["data"].as_array().unwrap();
    traces.iter().map(|trace| trace["traceID"].as_str().unwrap().to_owned()).collect()
}

async fn count(server: &TestServer, query: &str) -> usize {
    ids(server, &format!("{query}&limit=1000&{}", times(0, 600))).await.len()
}

/// Checks that it is an error in Jaeger's form, and returns its message.
fn error(answered: &Answered, status: u16) -> String {
    assert_eq!(answered.status.as_u16(), status, "{}", answered.text());
    assert_eq!(answered.headers["content-type"], "application/json");
    let document = answered.json();
    assert_eq!((&document["data"], &document["errors"][0]["code"]), (&Value::Null, &json!(status)));
    document["errors"][0]["msg"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn services_and_operations_are_lists_of_names() {
    let server = TestServer::with_shop().await;
    let services = json!({"data": ["api", "db", "web"], "total": 3, "limit": 0, "offset": 0, "errors": null});
    assert_eq!(server.ok("/jaeger/api/services").await, services);
    assert_eq!(server.ok("/jaeger/api/services/web/operations").await["data"], json!(["buy", "query"]));
    assert_eq!(server.ok("/jaeger/api/services/none/operations").await["data"], json!([]));
    let operations = json!([{"name": "buy", "spanKind": "server"}, {"name": "query", "spanKind": "client"}]);
    assert_eq!(server.ok("/jaeger/api/operations?service=web").await["data"], operations);
    assert_eq!(
        server.ok("/jaeger/api/operations?service=web&spanKind=client").await["data"],
        json!([operations[1]])
    );
    assert!(error(&server.get("/jaeger/api/operations").await, 400).contains("'service' is required"));
    let empty = TestServer::empty().await;
    assert_eq!(empty.ok("/jaeger/api/services").await["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_services_may_have_a_slash() {
    let server = TestServer::empty().await;
    let mut batch = Batch::default();
    let entry = ("team/app", "get", SpanKind::Server);
    batch.span(&span(1, 1, None, entry, ("a", Status::Ok, START, MS)));
    server.append(batch).await;
    for service in ["team%2Fapp", "team/app"] {
        let answered = server.ok(&format!("/jaeger/api/services/{service}/operations")).await;
        assert_eq!(answered["data"], json!(["get"]), "{service}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_has_spans_and_processes() {
    let server = TestServer::with_shop().await;
    // Grafana adds the time, and Jaeger takes ids with leading zeros.
    for id in ["0000000000000014", "00000000000000000000000000000014?end=2000&start=1000"] {
        let answered = server.ok(&format!("/jaeger/api/traces/{id}")).await;
        let trace = &answered["data"][0];
        assert_eq!(trace["traceID"], "0000000000000014");
        assert_eq!((&trace["warnings"], &trace["spans"][0]["warnings"]), (&Value::Null, &Value::Null));
        let start = (START + 19 * 3 * SECOND) / 1_000;
        let query = json!({
            "traceID": "0000000000000014", "spanID": "0000000000000002", "operationName": "query",
            "references": [{"refType": "CHILD_OF", "traceID": "0000000000000014", "spanID": "0000000000000001"}],
            "startTime": start + 2_000, "duration": 104_000,
            "tags": [{"key": "span.kind", "type": "string", "value": "client"}],
            "logs": [], "processID": "p1", "warnings": null
        });
        assert_eq!(trace["spans"][1], query);
        let tags = trace["spans"][0]["tags"].to_string();
        assert!(tags.contains("otel.status_code") && tags.contains("OK"), "{tags}");
        let processes = json!({
            "p1": {"serviceName": "web", "tags": [{"key": "service.instance.id", "type": "string", "value": "web-2"}]},
            "p2": {"serviceName": "db", "tags": [{"key": "service.instance.id", "type": "string", "value": "db-1"}]}
        });
        assert_eq!(trace["processes"], processes);
    }
    let failed = server.ok("/jaeger/api/traces/0000000000000001").await;
    let tags = failed["data"][0]["spans"][0]["tags"].to_string();
    assert!(tags.contains(r#"{"key":"error","type":"bool","value":true}"#), "{tags}");
    assert_eq!(error(&server.get("/jaeger/api/traces/ff").await, 404), "trace not found");
    let several = server.ok("/jaeger/api/traces?traceID=1&traceID=2&traceID=ff").await;
    assert_eq!(several["data"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_the_latest_traces_of_a_service() {
    let server = TestServer::with_shop().await;
    let all = ids(&server, &format!("service=web&{}", times(0, 600))).await;
    assert_eq!((all.len(), all[0].as_str()), (100, "00000000000000c8"), "100 by default");
    let (least, most) = ("minDuration=100ms", "maxDuration=1.1ms");
    for (query, expected) in [
        ("service=web".to_owned(), 200),
        ("service=db".to_owned(), 200),
        ("service=api".to_owned(), 10),
        ("service=web&operation=buy".to_owned(), 200),
        ("service=db&operation=buy".to_owned(), 0),
        (format!("service=web&{least}"), 10),
        (format!("service=web&operation=query&{least}&lookback=custom"), 10),
        (format!("service=api&{most}"), 10),
        (format!("service=web&{most}"), 0),
        // {"error":"true"}, {"span.kind":"client"}, {"service.instance.id":"web-1"}
        ("service=web&tags=%7B%22error%22%3A%22true%22%7D".to_owned(), 4),
        ("service=db&tags=%7B%22error%22%3A%22true%22%7D".to_owned(), 0),
        ("service=web&operation=buy&tags=%7B%22span.kind%22%3A%22client%22%7D".to_owned(), 0),
        ("service=web&tags=%7B%22service.instance.id%22%3A%22web-1%22%7D".to_owned(), 100),
        ("service=web&operation=buy&tag=error:false&tag=span.kind:server".to_owned(), 196),
        ("service=web&tags=%7B%22tenant%22%3A%22acme%22%7D".to_owned(), 0),
    ] {
        assert_eq!(count(&server, &query).await, expected, "{query}");
    }
}

/// A span is searched for by its own start, not by that of its request, and both ends of the time belong to it.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_is_that_of_the_span() {
    let server = TestServer::with_shop().await;
    let find = async |service: &str, since_us: i64, until_us: i64| {
        let start = START / 1_000;
        let query = format!("service={service}&start={}&end={}", start + since_us, start + until_us);
        ids(&server, &query).await.len()
    };
    assert_eq!(find("db", 2_000, 2_000).await, 1, "2 ms after its request");
    assert_eq!(find("db", 0, 1_999).await, 0);
    assert_eq!(find("db", 2_001, 3_001_999).await, 0);
    assert_eq!(find("web", 0, 3_000_000).await, 2);
    assert_eq!(find("web", 2_000, 2_000).await, 1, "its call of the database");
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_are_tags() {
    let server = TestServer::empty().await;
    let mut batch = Batch::default();
    for (trace, tenant, version) in [(1, "acme", "1.4"), (2, "zeta", "1.5")] {
        let (mut resource, mut own) = (AttributeText::default(), AttributeText::default());
        resource.add(Attribute { key: "version", service: "web", value: version });
        own.add(Attribute { key: "tenant", service: "", value: tenant });
        let entry = ("web", "buy", SpanKind::Server);
        let mut record = span(trace, 1, None, entry, ("web-1", Status::Ok, START, MS));
        record.attributes =
            SpanAttributes { resource: resource.as_str(), span: own.as_str(), ..SpanAttributes::default() };
        batch.span(&record);
    }
    server.append(batch).await;
    for (tag, expected) in [("tenant", "acme"), ("tenant.id", "acme"), ("service.version", "1.4")] {
        let found = ids(&server, &format!("service=web&tag={tag}:{expected}&{}", times(0, 1))).await;
        assert_eq!(found, ["0000000000000001"], "{tag}");
    }
    let trace = &server.ok("/jaeger/api/traces/1").await["data"][0];
    assert!(
        trace["spans"][0]["tags"].to_string().contains(r#""key":"tenant","type":"string","value":"acme""#)
    );
    let version = r#""key":"service.version","type":"string","value":"1.4""#;
    assert!(trace["processes"]["p1"]["tags"].to_string().contains(version));
}

#[tokio::test(flavor = "multi_thread")]
async fn dependencies_count_calls_between_services() {
    let server = TestServer::with_shop().await;
    let end = START / MS + 600_000;
    let link = json!([{"parent": "web", "child": "db", "callCount": 200}]);
    let answered = server.ok(&format!("/jaeger/api/dependencies?endTs={end}&lookback=600000")).await;
    assert_eq!((&answered["data"], &answered["errors"]), (&link, &Value::Null));
    let half = server.ok(&format!("/jaeger/api/dependencies?endTs={end}&lookback=300000")).await;
    assert_eq!(half["data"][0]["callCount"], 100);
    let of_api =
        server.ok(&format!("/jaeger/api/dependencies?endTs={end}&lookback=600000&service=api")).await;
    assert_eq!(of_api["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_form_of_jaeger() {
    let server = TestServer::with_shop().await;
    for (query, words) in [
        ("", "parameter 'service' is required"),
        ("service=web&start=x", "start"),
        ("service=web&start=2&end=1", "start time must be before end time"),
        ("service=web&limit=0", "limit"),
        ("service=web&minDuration=5", "minDuration"),
        ("service=web&minDuration=2s&maxDuration=1s", "maxDuration"),
        ("service=web&tag=x", "malformed 'tag'"),
        ("service=web&tags=x", "malformed 'tags'"),
        ("service=web&tag=http.status_code:500", "http.status_code is not stored"),
        ("service=web&tag=error:maybe", "error"),
    ] {
        let message = error(&server.get(&format!("/jaeger/api/traces?{query}")).await, 400);
        assert!(message.contains(words), "{query}: {message}");
    }
    error(&server.get("/jaeger/api/nothing").await, 404);
    error(&server.get("/jaeger/api/dependencies?lookback=-1").await, 400);
}

/// What does not fit into an answer is an error, not a part.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_is_an_error() {
    let server = TestServer::with(|settings| settings.memory = Some(Size(256 << 20))).await;
    let mut batch = Batch::default();
    for trace in 1..=40_u128 {
        let name = "x".repeat(1_000);
        for id in 1..=1_000_u64 {
            let parent = (id > 1).then_some(1);
            let named = ("web", name.as_str(), SpanKind::Internal);
            batch.span(&span(trace, id, parent, named, ("web-1", Status::Ok, START + id as i64, MS)));
        }
    }
    server.append(batch).await;
    let query = format!("service=web&{}", times(0, 1));
    assert_eq!(ids(&server, &format!("{query}&limit=5")).await.len(), 5);
    let message = error(&server.get(&format!("/jaeger/api/traces?{query}")).await, 422);
    assert!(message.contains("smaller limit"), "{message}");
}
