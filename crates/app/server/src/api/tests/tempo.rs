//! Tempo's query API, by the examples of *Tempo HTTP API* and their limits. The requests of Grafana's data source are in `grafana.rs`.

use super::*;
use laggard_formats::{ReaderOptions, find_format};
use laggard_model::{CallRecord, Loss, OwnedSpan, Severity, SpanEvent};
use laggard_wire::{Fields, Value as WireValue};
use serde_json::json;

/// The shop's window as Tempo writes it.
fn times() -> String {
    format!("end={}&start={}", START / SECOND + 600, START / SECOND)
}

/// Percent-encodes what a query may have.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn search(server: &TestServer, query: &str) -> Vec<Value> {
    let uri = format!("/tempo/api/search?{}&limit=1000&q={}&spss=3", times(), encoded(query));
    server.ok(&uri).await["traces"].as_array().unwrap().clone()
}

/// Checks that it is an error in Tempo's form, a text.
fn error(answered: &Answered, status: u16) -> String {
    assert_eq!(answered.status.as_u16(), status, "{}", answered.text());
    assert!(answered.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    answered.text()
}

#[derive(Default)]
struct ReadSpans(Vec<OwnedSpan>);

impl Sink for ReadSpans {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.0.push(OwnedSpan::from_record(span));
    }

    fn call(&mut self, _: &CallRecord<'_>) {
        panic!("a record of a call log");
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        panic!("{}: {}", loss.name(), example());
    }
}

/// The spans of a document, as the reader of a format understands it, by id.
fn spans(format: &str, document: &[u8]) -> Vec<OwnedSpan> {
    let mut spans = ReadSpans::default();
    let mut reader = (find_format(format).unwrap().open)(&ReaderOptions::default());
    reader.push(document, &mut spans).unwrap();
    reader.finish(&mut spans).unwrap();
    spans.0.sort_by_key(|span| span.span_id);
    spans.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_is_tested_by_its_echo() {
    let server = TestServer::empty().await;
    assert_eq!(server.get("/tempo/api/echo").await.text(), "echo");
    assert_eq!(server.get("/tempo/ready").await.text(), "ready\n");
    let build = server.ok("/tempo/api/status/buildinfo").await;
    // From 2.2.0 on, Grafana expects streams.
    assert!(build["version"].as_str().unwrap().starts_with("0."), "{build}");
    // Grafana 7 asks for a trace that cannot be there.
    assert_eq!(error(&server.get("/tempo/api/traces/0").await, 404), "trace not found");
}

/// JSON and protobuf have what the store has, by both versions of the request.
#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_otlp() {
    const ID: &str = "00000000000000070000000000000014";
    let trace = u128::from_str_radix(ID, 16).unwrap();
    let server = TestServer::empty().await;
    let mut batch = Batch::default();
    let (mut resource, mut own) = (AttributeText::default(), AttributeText::default());
    resource.add(Attribute { key: "version", service: "web", value: "1.4" });
    own.add(Attribute { key: "route", service: "", value: "/buy" });
    let entry = ("web", "buy", SpanKind::Server);
    let mut first = span(trace, 1, None, entry, ("web-1", Status::Error, START, 10 * MS + 7));
    first.attributes =
        SpanAttributes { resource: resource.as_str(), span: own.as_str(), ..SpanAttributes::default() };
    batch.span(&first);
    let called = ("db", "read", SpanKind::Consumer);
    batch.span(&span(trace, 2, Some(1), called, ("", Status::Ok, START + 2, MS)));
    server.append(batch).await;
    let protobuf = async |version: &str| {
        let uri = format!("/tempo/api/{version}traces/{ID}?start=1768208000&end=1768209000");
        let request = Request::get(&uri).header("accept", "application/protobuf");
        let answered = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answered.headers["content-type"], "application/protobuf");
        answered.body
    };
    let (first_version, second_version) = (protobuf("").await, protobuf("v2/").await);
    let fields: Vec<_> = Fields::new(&second_version).map(Result::unwrap).collect();
    assert_eq!(fields, [(1, WireValue::Bytes(&first_version))], "TraceByIDResponse.trace, complete");
    let json = server.ok(&format!("/tempo/api/traces/{ID}")).await;
    let wrapped = server.ok(&format!("/tempo/api/v2/traces/{ID}?q=%7B%7D")).await;
    assert_eq!(wrapped, json!({"trace": {"resourceSpans": json["batches"]}}));
    let read = spans("otlp-proto", &first_version);
    assert_eq!(read, spans("otlp-json", json.to_string().as_bytes()));
    let record = &read[0];
    assert_eq!((record.service.as_str(), record.operation.as_str()), ("web", "buy"));
    assert_eq!(
        (record.replica.as_str(), record.kind, record.status),
        ("web-1", SpanKind::Server, Status::Error)
    );
    assert_eq!((record.start.unix_ns(), record.inclusive.ns()), (START, 10 * MS as u64 + 7));
    assert_eq!((record.trace_id.value(), record.parent), (trace, None));
    let consumer = &read[1];
    assert_eq!(
        (consumer.replica.as_str(), consumer.kind, consumer.status),
        ("", SpanKind::Consumer, Status::Ok)
    );
    assert_eq!(consumer.parent, SpanId::new(1));
    let text = json.to_string();
    assert!(text.contains(r#"{"key":"service.version","value":{"stringValue":"1.4"}}"#), "{text}");
    assert!(text.contains(r#"{"key":"http.route","value":{"stringValue":"/buy"}}"#), "{text}");
    assert!(text.contains(r#""traceId":"00000000000000070000000000000014""#), "{text}");
    let filtered =
        server.get(&format!("/tempo/api/v2/traces/{ID}?q={}", encoded("{ status = error }"))).await;
    assert!(error(&filtered, 400).starts_with("q: "));
}

/// What a trace has besides its spans: events, and attributes of which it has several values.
#[tokio::test(flavor = "multi_thread")]
async fn events_and_several_values_are_returned() {
    let server = TestServer::empty().await;
    let mut batch = Batch::default();
    for (id, tenant) in [(1, "acme"), (2, "zeta")] {
        let mut own = AttributeText::default();
        own.add(Attribute { key: "tenant", service: "", value: tenant });
        let named = ("web", "buy", SpanKind::Server);
        let mut record = span(20, id, (id > 1).then_some(1), named, ("web-1", Status::Ok, START, MS));
        record.attributes = SpanAttributes { span: own.as_str(), ..SpanAttributes::default() };
        batch.span(&record);
    }
    batch.event(SpanEvent {
        trace: TraceId::from_value(20),
        span: SpanId::new(2).unwrap(),
        time: Timestamp::from_unix_ns(START + 7_000),
        severity: Severity::from_number(17),
        name: "exception".into(),
        body: "no stock".into(),
        attributes: r#"{"exception.type":"StockError"}"#.into(),
    });
    server.append(batch).await;
    let trace = server.ok("/tempo/api/traces/14").await;
    let text = |name: &str, value: &str| json!({"key": name, "value": {"stringValue": value}});
    let spans = &trace["batches"][0]["scopeSpans"][0]["spans"];
    let event = json!({
        "timeUnixNano": (START + 7_000).to_string(), "name": "exception",
        "attributes": [text("severity", "ERROR"), text("message", "no stock"), text("exception.type", "StockError")]
    });
    assert_eq!((&spans[1]["events"], &spans[0]["events"]), (&json!([event]), &Value::Null));
    let values = json!({"arrayValue": {"values": [{"stringValue": "acme"}, {"stringValue": "zeta"}]}});
    assert_eq!(spans[0]["attributes"], json!([{"key": "tenant", "value": values}]));
    for query in [r#"{span.tenant="acme"}"#, r#"{.tenant!="acme"}"#] {
        assert_eq!(search(&server, query).await.len(), 1, "{query}");
    }
    let request = Request::get("/tempo/api/traces/14").header("accept", "application/protobuf");
    let body = server.send(request.body(Body::empty()).unwrap()).await.body;
    for part in ["exception", "no stock", "acme", "zeta"] {
        assert!(body.windows(part.len()).any(|bytes| bytes == part.as_bytes()), "{part}");
    }
    let jaeger = server.ok("/jaeger/api/traces/14").await;
    let field = |key: &str, value: &str| json!({"key": key, "type": "string", "value": value});
    let log = json!({
        "timestamp": START / 1_000 + 7,
        "fields": [
            field("event", "exception"), field("level", "ERROR"), field("message", "no stock"),
            field("exception.type", "StockError")
        ]
    });
    assert_eq!(jaeger["data"][0]["spans"][1]["logs"], json!([log]));
    let tags = jaeger["data"][0]["spans"][0]["tags"].as_array().unwrap();
    assert!(tags.contains(&field("tenant", "acme")) && tags.contains(&field("tenant", "zeta")), "{tags:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_lists_traces_with_their_spans() {
    let server = TestServer::with_shop().await;
    let slow = search(&server, r#"{resource.service.name="db" && duration>100ms}"#).await;
    assert_eq!(slow.len(), 10);
    let start = START + 199 * 3 * SECOND;
    let span_set = json!({
        "spans": [{
            "spanID": "0000000000000003", "name": "read", "startTimeUnixNano": (start + 2 * MS).to_string(),
            "durationNanos": "104000000",
            "attributes": [
                {"key": "service.name", "value": {"stringValue": "db"}},
                {"key": "status", "value": {"stringValue": "unset"}}
            ]
        }],
        "matched": 1
    });
    let first = json!({
        "traceID": "00000000000000c8", "rootServiceName": "web", "rootTraceName": "buy",
        "startTimeUnixNano": start.to_string(), "durationMs": 110, "spanSet": span_set, "spanSets": [span_set]
    });
    assert_eq!(slow[0], first);
    let uri = format!("/tempo/api/search?{}&q={}&spss=2", times(), encoded("{}"));
    let all = server.ok(&uri).await;
    assert_eq!(all["traces"].as_array().unwrap().len(), 20, "20 by default");
    let set = &all["traces"][1]["spanSets"][0];
    assert_eq!((&set["matched"], set["spans"].as_array().unwrap().len()), (&json!(3), 2));
    assert!(all["metrics"]["inspectedTraces"].as_u64().unwrap() >= 20);
}

/// Grafana before 9.5 searches by tags.
#[tokio::test(flavor = "multi_thread")]
async fn tags_are_searched_for() {
    let server = TestServer::with_shop().await;
    let found = async |query: &str| {
        let uri = format!("/tempo/api/search?{query}&limit=1000&{}", times());
        server.ok(&uri).await["traces"].as_array().unwrap().len()
    };
    assert_eq!(found(&format!("tags={}", encoded(" service.name=\"WEB\" name=\"qu\""))).await, 200);
    assert_eq!(found(&format!("tags={}", encoded("service.name=db name=buy"))).await, 200, "two calls");
    assert_eq!(found("tags=error%3Dtrue").await, 4);
    assert_eq!(found("tags=&minDuration=100ms").await, 10);
    assert_eq!(found("minDuration=1ms&maxDuration=5ms").await, 10);
    let unknown = server.get(&format!("/tempo/api/search?tags=http.status_code%3D500&{}", times())).await;
    assert!(error(&unknown, 400).contains("http.status_code=500"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_traceql_cannot_be_answered_is_an_error() {
    let server = TestServer::with_shop().await;
    for (query, part) in [
        ("{ status = error } | rate()", "`| rate()`"),
        ("{ span.http.status_code >= 500 }", "`span.http.status_code`"),
        ("{ } >> { name = \"x\" }", "`>> { name = \"x\" }`"),
        ("{ name = ", "column 10"),
    ] {
        let answered = server.get(&format!("/tempo/api/search?{}&q={}", times(), encoded(query))).await;
        assert!(error(&answered, 400).contains(part), "{}", answered.text());
    }
    assert!(error(&server.get("/tempo/api/search?start=5&end=4").await, 400).contains("before"));
    assert!(error(&server.get("/tempo/api/search?start=5").await, 400).contains("both"));
    assert!(error(&server.get("/tempo/api/search?limit=0").await, 400).contains("limit"));
    let metrics = server.get("/tempo/api/metrics/query_range?q=%7B%7D%7Crate()").await;
    assert!(error(&metrics, 404).contains("TraceQL metrics"));
    error(&server.get("/tempo/api/overrides").await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_and_their_values_are_listed() {
    let server = TestServer::with_shop().await;
    let scopes = server.ok("/tempo/api/v2/search/tags?limit=5000").await;
    assert_eq!(
        scopes["scopes"][0],
        json!({"name": "resource", "tags": ["service.instance.id", "service.name"]})
    );
    assert_eq!(scopes["scopes"][1]["name"], "intrinsic");
    assert!(scopes["scopes"][1]["tags"].as_array().unwrap().contains(&json!("traceDuration")));
    let intrinsic = server.ok(&format!("/tempo/api/v2/search/tags?scope=intrinsic&{}", times())).await;
    assert_eq!(intrinsic["scopes"].as_array().unwrap().len(), 1);
    assert_eq!(
        error(&server.get("/tempo/api/v2/search/tags?scope=bogus").await, 400),
        "invalid scope: bogus"
    );
    let names = server.ok("/tempo/api/search/tags").await["tagNames"].to_string();
    assert!(names.contains("service.name") && names.contains("status.code") && !names.contains("duration"));
    let values = async |tag: &str, query: &str| {
        let answered = server.ok(&format!("/tempo/api/v2/search/tag/{tag}/values?{query}")).await;
        let values = answered["tagValues"].as_array().unwrap().iter();
        values.map(|value| value["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(values("resource.service.name", "").await, ["api", "db", "web"]);
    assert_eq!(values(".service.name", &times()).await, ["api", "db", "web"]);
    assert_eq!(values("name", "").await, ["buy", "ping", "query", "read"]);
    let of_web = format!("q={}", encoded(r#"{resource.service.name="web"}"#));
    assert_eq!(values("name", &of_web).await, ["buy", "query"]);
    // A query that is being typed does not limit the values.
    assert_eq!(values("name", &format!("q={}", encoded("{resource.service.name="))).await.len(), 4);
    let typed = r#"{resource.service.name="web" && name="""#;
    assert_eq!(values("name", &format!("q={}", encoded(typed))).await, ["buy", "query"]);
    assert_eq!(
        values("resource.service.instance.id", &format!("{of_web}&{}", times())).await,
        ["web-1", "web-2"]
    );
    assert_eq!(values("rootServiceName", "").await, ["api", "web"]);
    assert_eq!(values("status", "").await, ["error", "ok", "unset"]);
    // Grafana escapes twice: `span:name`.
    assert_eq!(values("span%253Aname", "").await.len(), 4);
    assert_eq!(values("span.http.status_code", "").await, [] as [&str; 0]);
    let kinds = server.ok("/tempo/api/v2/search/tag/kind/values").await;
    assert_eq!(kinds["tagValues"][0], json!({"type": "keyword", "value": "client"}));
    let plain = server.ok("/tempo/api/search/tag/service.name/values").await;
    assert_eq!(plain["tagValues"], json!(["api", "db", "web"]));
    let status = server.ok("/tempo/api/search/tag/status.code/values").await;
    assert_eq!(status["tagValues"], json!(["error", "ok", "unset"]));
}
