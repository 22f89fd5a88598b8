//! A stand-in for Elasticsearch or OpenSearch with Jaeger's indices: the parts of `_search` that Jaeger's reader uses.

use crate::http_stand_in::{ReceivedRequest, StandInResponse};
use crate::trace_stand_in::{StoredTraces, jaeger_traces};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The spans of a trace of Jaeger's API as Jaeger stores them.
///
/// # Panics
/// On another format.
pub fn elasticsearch_document(trace: &Value) -> Value {
    let spans = trace["spans"].as_array().expect("a list of spans").iter().map(|span| {
        let mut span = span.clone();
        let process = span["processID"].as_str().expect("a process").to_owned();
        span["process"] = trace["processes"][&process].clone();
        span["startTimeMillis"] = json!(span["startTime"].as_i64().expect("a start") / 1_000);
        span.as_object_mut().expect("an object").remove("processID");
        span
    });
    Value::Array(spans.collect())
}

/// Reads a file in the format of Jaeger's API as what Elasticsearch then stores.
pub fn elasticsearch_traces(file: &str) -> StoredTraces {
    let mut traces = jaeger_traces(file);
    for trace in traces.values_mut() {
        trace.document = elasticsearch_document(&trace.document);
    }
    traces
}

fn is_match(span: &Value, filter: &Value) -> bool {
    if let Some(range) = filter["range"].get("startTimeMillis") {
        let bound = |name: &str| range[name].as_i64().expect("a bound");
        return (bound("gte")..=bound("lte")).contains(&span["startTimeMillis"].as_i64().expect("a start"));
    }
    if let Some(service) = filter["term"].get("process.serviceName") {
        return span["process"]["serviceName"] == *service;
    }
    let ids = filter["terms"]["traceID"].as_array().expect("a filter that this stand-in knows");
    ids.contains(&span["traceID"])
}

/// What Elasticsearch answers.
///
/// # Panics
/// On searches that Jaeger's reader does not make.
pub fn elasticsearch_response(traces: &StoredTraces, request: &ReceivedRequest) -> StandInResponse {
    if request.path != "/jaeger-span-*/_search" {
        return StandInResponse::new("404 Not Found", r#"{"error":{"reason":"no such index"},"status":404}"#);
    }
    let search: Value = serde_json::from_slice(&request.body).expect("a search is JSON");
    let filters = search["query"]["bool"]["filter"].as_array().expect("filters");
    let spans = traces.values().flat_map(|trace| trace.document.as_array().expect("a list of spans"));
    let mut spans: Vec<&Value> =
        spans.filter(|span| filters.iter().all(|filter| is_match(span, filter))).collect();
    let key = |span: &Value| (span["startTime"].as_i64(), span["spanID"].as_str().map(str::to_owned));
    spans.sort_by_key(|span| key(span));
    let after =
        search.get("search_after").map(|after| (after[0].as_i64(), after[1].as_str().map(str::to_owned)));
    spans.retain(|span| after.as_ref().is_none_or(|after| key(span) > *after));
    let size = search["size"].as_u64().expect("a size") as usize;
    let hits = spans
        .iter()
        .take(size)
        .map(|span| json!({"_source": span, "sort": [span["startTime"], span["spanID"]]}));
    let hits: Vec<Value> = hits.collect();
    let mut answer = json!({"took": 1, "timed_out": false, "_shards": {"failed": 0}, "hits": {"hits": hits}});
    if let Some(terms) = search["aggs"].get("groups") {
        let field = terms["terms"]["field"].as_str().expect("a field");
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for span in &spans {
            let value = if field == "traceID" { &span["traceID"] } else { &span["process"]["serviceName"] };
            *counts.entry(value.as_str().expect("a text")).or_default() += 1;
        }
        let limit = terms["terms"]["size"].as_u64().expect("a size") as usize;
        let buckets: Vec<Value> =
            counts.iter().take(limit).map(|(key, count)| json!({"key": key, "doc_count": count})).collect();
        answer["aggregations"] = json!({"groups": {"buckets": buckets}});
    }
    StandInResponse::json(answer.to_string())
}
