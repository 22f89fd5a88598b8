//! Grafana's data sources *Jaeger* and *Tempo*: every request that they make, as `grafana.jsonl` has it.
//!
//! Each line is one exchange: what a person does (`act`), the file of `grafana/grafana` whose code sent the request (below
//! `public/app/plugins/datasource`; a `pkg/…` alone: the request is built as that Go function does), path and query, `Accept`, the status, and of the answer what Grafana uses:
//! values by JSON pointer, where `#` is the number of elements, and only the first element of a longer list is there; or the text; or
//! the spans of a protobuf. `shows` is what Grafana's code made of the answer: tables with rows and columns, options, or an error.
//! Versions are in `docs/manual/grafana.md`.

use super::*;
use laggard_wire::{Fields, Value as WireValue};
use serde::Deserialize;
use std::collections::BTreeMap;

const RECORDED: &str = include_str!("grafana.jsonl");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    act: String,
    code: String,
    get: String,
    /// Empty if none is sent.
    accept: String,
    status: u16,
    #[serde(default)]
    answer: BTreeMap<String, Value>,
    text: Option<String>,
    spans: Option<usize>,
    #[serde(default)]
    shows: Value,
}

/// The shop, and after it one failed request with attributes.
async fn store() -> TestServer {
    let server = TestServer::with_shop().await;
    let mut batch = Batch::default();
    let (mut resource, mut own) = (AttributeText::default(), AttributeText::default());
    resource.add(Attribute { key: "version", service: "web", value: "1.4" });
    own.add(Attribute { key: "route", service: "", value: "/checkout" });
    let entry = ("web", "checkout", SpanKind::Server);
    let start = START + 599 * SECOND;
    let mut record = span((7 << 64) + 20, 1, None, entry, ("web-1", Status::Error, start, 20 * MS));
    record.attributes =
        SpanAttributes { resource: resource.as_str(), span: own.as_str(), ..SpanAttributes::default() };
    batch.span(&record);
    server.append(batch).await;
    server
}

/// Spans of `TracesData`, or of Tempo's message around it.
fn spans_of(body: &[u8], path: &[u32]) -> usize {
    let Some((first, rest)) = path.split_first() else { return 1 };
    let inner = Fields::new(body).map(Result::unwrap).filter(|(field, _)| field == first);
    inner
        .map(|(_, value)| match value {
            WireValue::Bytes(bytes) => spans_of(bytes, rest),
            _ => panic!("a message"),
        })
        .sum()
}

/// Rows that a table of Grafana has for an answer; `None` for other tables.
fn rows(table: &str, answer: &Value) -> Option<usize> {
    let length = |value: &Value| value.as_array().map(Vec::len);
    match table {
        "Traces" => length(&answer["traces"]),
        "Spans" => {
            let sets = answer["traces"].as_array()?.iter().flat_map(|trace| trace["spanSets"].as_array());
            sets.flatten().map(|set| length(&set["spans"])).sum()
        }
        "table" => length(&answer["data"]),
        "trace" => length(&answer["data"][0]["spans"]),
        _ => None,
    }
}

/// Checks that Grafana shows all of an answer.
fn is_shown(shows: &Value, answer: &Value, named: &str) {
    for table in shows.as_array().into_iter().flatten() {
        if let Some(rows) = rows(table["frame"].as_str().unwrap(), answer) {
            assert_eq!(table["rows"], rows, "{named}: {table}");
        }
    }
    if let (Some(options), Some(values)) = (shows["options"].as_array(), answer["tagValues"].as_array()) {
        let values: Vec<&Value> = values.iter().map(|value| value.get("value").unwrap_or(value)).collect();
        assert_eq!(options.iter().collect::<Vec<_>>(), values, "{named}");
    }
}

async fn replay(server: &TestServer, exchange: &Exchange, named: &str) {
    let mut request = Request::get(&exchange.get);
    if !exchange.accept.is_empty() {
        request = request.header("accept", &exchange.accept);
    }
    let answered = server.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answered.status.as_u16(), exchange.status, "{named}: {}", answered.text());
    let content_type = answered.headers["content-type"].to_str().unwrap();
    if let Some(text) = &exchange.text {
        assert_eq!(answered.text(), *text, "{named}");
    } else if let Some(spans) = exchange.spans {
        assert_eq!(content_type, "application/protobuf", "{named}");
        let path: &[u32] = if exchange.get.contains("/v2/") { &[1, 1, 2, 2] } else { &[1, 2, 2] };
        assert_eq!(spans_of(&answered.body, path), spans, "{named}");
    } else {
        assert_eq!(content_type, "application/json", "{named}");
        let document = answered.json();
        assert!(!exchange.answer.is_empty(), "{named}");
        for (pointer, expected) in &exchange.answer {
            let found = match pointer.strip_suffix('#') {
                Some(list) => document.pointer(list).and_then(Value::as_array).map(|list| list.len().into()),
                None => document.pointer(pointer).cloned(),
            };
            assert_eq!(found.as_ref(), Some(expected), "{named}: {pointer} in {document}");
        }
        is_shown(&exchange.shows, &document, named);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_grafanas_data_sources_is_answered() {
    let server = store().await;
    let mut by_code: BTreeMap<String, usize> = BTreeMap::new();
    for (index, line) in RECORDED.lines().enumerate() {
        let exchange: Exchange = serde_json::from_str(line).unwrap();
        let named = format!("line {}, {}: {}", index + 1, exchange.act, exchange.get);
        replay(&server, &exchange, &named).await;
        *by_code.entry(exchange.code).or_default() += 1;
    }
    let count =
        |part: &str| by_code.iter().filter(|(code, _)| code.starts_with(part)).map(|(_, n)| n).sum::<usize>();
    assert_eq!((count("jaeger/"), count("tempo/"), count("pkg/")), (22, 103, 10), "{by_code:?}");
}
