//! Stand-ins for servers with traces, built from their documented query APIs: Jaeger, Tempo, and Zipkin.
//!
//! What they store are files in the server's format, as `laggard simulate` writes them. Of more traces than the limit, Jaeger and
//! Zipkin return the newest, Tempo any: here the first.

use crate::http_stand_in::{HttpStandIn, ReceivedRequest, StandInResponse};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A trace of a stand-in.
#[derive(Clone, Debug, Default)]
pub struct StoredTrace {
    /// Service and start, in ns, of each span.
    pub spans: Vec<(String, i64)>,
    /// The end of its last span, in ns.
    pub end: i64,
    /// As its server writes it.
    pub document: Value,
}

/// The traces of a server, by their ids.
pub type StoredTraces = BTreeMap<String, StoredTrace>;

impl StoredTrace {
    fn start(&self) -> i64 {
        self.spans.iter().map(|(_, start)| *start).min().unwrap_or_default()
    }

    fn has_span(&self, service: Option<&str>, from: i64, to: i64) -> bool {
        let is_in = |(name, start): &(String, i64)| {
            service.is_none_or(|service| service == name) && (from..=to).contains(start)
        };
        self.spans.iter().any(is_in)
    }
}

/// Reads a file in the format of Jaeger's API.
///
/// # Panics
/// On another format; so do the other readers.
pub fn jaeger_traces(file: &str) -> StoredTraces {
    let document: Value = serde_json::from_str(file).expect("the file is JSON");
    let traces = document["data"].as_array().expect("a list of traces").iter();
    let stored = traces.map(|trace| {
        let mut stored = StoredTrace { document: trace.clone(), ..StoredTrace::default() };
        for span in trace["spans"].as_array().expect("a list of spans") {
            let process = span["processID"].as_str().expect("a process");
            let service = trace["processes"][process]["serviceName"].as_str().expect("a service");
            let start = span["startTime"].as_i64().expect("a start") * 1_000;
            stored.spans.push((service.to_owned(), start));
            stored.end = stored.end.max(start + span["duration"].as_i64().unwrap_or_default() * 1_000);
        }
        (text(&trace["traceID"]), stored)
    });
    stored.collect()
}

/// Reads a file in Zipkin's format.
pub fn zipkin_traces(file: &str) -> StoredTraces {
    let spans: Vec<Value> = serde_json::from_str(file).expect("the file is a list");
    let mut traces = StoredTraces::new();
    for span in spans {
        let stored = traces
            .entry(text(&span["traceId"]))
            .or_insert_with(|| StoredTrace { document: json!([]), ..StoredTrace::default() });
        let start = span["timestamp"].as_i64().expect("a timestamp") * 1_000;
        stored.spans.push((text(&span["localEndpoint"]["serviceName"]), start));
        stored.end = stored.end.max(start + span["duration"].as_i64().unwrap_or_default() * 1_000);
        stored.document.as_array_mut().expect("a list").push(span);
    }
    traces
}

/// Reads a file of OTLP JSON documents, one a line.
pub fn tempo_traces(file: &str) -> StoredTraces {
    let mut traces = StoredTraces::new();
    for line in file.lines().filter(|line| !line.trim().is_empty()) {
        let document: Value = serde_json::from_str(line).expect("each line is JSON");
        for batch in list(&document["resourceSpans"]) {
            let attributes = list(&batch["resource"]["attributes"]);
            let service = attributes.iter().find(|attribute| attribute["key"] == "service.name");
            let service = service.map(|service| text(&service["value"]["stringValue"])).unwrap_or_default();
            for span in list(&batch["scopeSpans"]).iter().flat_map(|scope| list(&scope["spans"])) {
                let stored = traces.entry(text(&span["traceId"])).or_insert_with(|| StoredTrace {
                    document: json!({"batches": []}),
                    ..StoredTrace::default()
                });
                let time = |name: &str| text(&span[name]).parse::<i64>().expect("a time");
                stored.spans.push((service.clone(), time("startTimeUnixNano")));
                stored.end = stored.end.max(time("endTimeUnixNano"));
                let part = json!({"resource": batch["resource"], "scopeSpans": [{"spans": [span]}]});
                stored.document["batches"].as_array_mut().expect("a list").push(part);
            }
        }
    }
    traces
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn services(traces: &StoredTraces) -> BTreeSet<&str> {
    traces.values().flat_map(|trace| trace.spans.iter().map(|(service, _)| service.as_str())).collect()
}

/// The newest of some traces.
fn newest<'a>(traces: impl Iterator<Item = &'a StoredTrace>, limit: usize) -> Vec<&'a Value> {
    let mut traces: Vec<&StoredTrace> = traces.collect();
    traces.sort_by_key(|trace| -trace.start());
    traces.into_iter().take(limit).map(|trace| &trace.document).collect()
}

fn limit_of(request: &ReceivedRequest, default: i64) -> usize {
    usize::try_from(request.number("limit").unwrap_or(default)).unwrap_or_default()
}

/// What Jaeger answers (`cmd/jaeger/internal/extension/jaegerquery`). Other paths are those of its pages.
pub fn jaeger_response(traces: &StoredTraces, request: &ReceivedRequest) -> StandInResponse {
    let body =
        |data: Value| json!({"data": data, "total": 0, "limit": 0, "offset": 0, "errors": null}).to_string();
    match request.path.as_str() {
        "/api/services" => StandInResponse::json(body(json!(services(traces)))),
        "/api/traces" => {
            let Some(service) = request.field("service").filter(|service| !service.is_empty()) else {
                let error = json!({"data": null, "errors": [{"code": 400, "msg": "parameter 'service' is required"}]});
                return StandInResponse::new("400 Bad Request", error.to_string());
            };
            let time = |name: &str| request.number(name).expect("a time in microseconds") * 1_000;
            let (start, end) = (time("start"), time("end"));
            let matching = traces.values().filter(|trace| trace.has_span(Some(service), start, end));
            StandInResponse::json(body(json!(newest(matching, limit_of(request, 100)))))
        }
        _ => StandInResponse::json("<!doctype html><html>Jaeger UI</html>"),
    }
}

/// What Zipkin answers (`ZipkinQueryApiV2`).
pub fn zipkin_response(traces: &StoredTraces, request: &ReceivedRequest) -> StandInResponse {
    match request.path.as_str() {
        "/api/v2/services" => StandInResponse::json(json!(services(traces)).to_string()),
        "/api/v2/traces" => {
            let (Some(end), Some(lookback @ 1..)) = (request.number("endTs"), request.number("lookback"))
            else {
                return StandInResponse::new("400 Bad Request", "lookback <= 0");
            };
            let (from, to) = ((end - lookback) * 1_000_000, end * 1_000_000 + 999_999);
            let service = request.field("serviceName");
            // Its storage in memory compares the time of the root.
            let matching = traces.values().filter(|trace| {
                (from..=to).contains(&trace.start()) && trace.has_span(service, i64::MIN, i64::MAX)
            });
            StandInResponse::json(json!(newest(matching, limit_of(request, 10))).to_string())
        }
        _ => StandInResponse::new("404 Not Found", ""),
    }
}

/// What Tempo answers (*Tempo HTTP API*).
pub fn tempo_response(traces: &StoredTraces, request: &ReceivedRequest) -> StandInResponse {
    if let Some(id) = request.path.strip_prefix("/api/traces/") {
        // The list leaves out leading zeros.
        let stored = traces.iter().find(|(stored, _)| stored.trim_start_matches('0') == id);
        return match stored {
            Some((_, trace)) => StandInResponse::json(trace.document.to_string()),
            None => StandInResponse::new("404 Not Found", "trace not found"),
        };
    }
    match request.path.as_str() {
        "/api/search/tag/service.name/values" => {
            StandInResponse::json(json!({"tagValues": services(traces), "metrics": {}}).to_string())
        }
        "/api/search" => {
            let time = |name: &str| request.number(name).expect("a time in seconds") * 1_000_000_000;
            let (start, end) = (time("start"), time("end"));
            if end <= start {
                return StandInResponse::new("400 Bad Request", "http parameter start must be before end");
            }
            let query = request.field("q").unwrap_or_default();
            let service =
                query.strip_prefix("{ resource.service.name = \"").and_then(|q| q.strip_suffix("\" }"));
            let matching = traces.iter().filter(|(_, trace)| {
                trace.start() <= end && trace.end >= start && trace.has_span(service, i64::MIN, i64::MAX)
            });
            let listed = matching.take(limit_of(request, 20)).map(|(id, trace)| {
                json!({
                    "traceID": id.trim_start_matches('0'),
                    "startTimeUnixNano": trace.start().to_string(),
                    "durationMs": (trace.end - trace.start()) / 1_000_000,
                })
            });
            let listed: Vec<Value> = listed.collect();
            StandInResponse::json(json!({"traces": listed, "metrics": {}}).to_string())
        }
        _ => StandInResponse::new("404 Not Found", "404 page not found"),
    }
}

/// How a kind of server answers.
pub type Answering = fn(&StoredTraces, &ReceivedRequest) -> StandInResponse;

/// A server with some traces.
pub fn trace_stand_in(traces: StoredTraces, answering: Answering) -> HttpStandIn {
    HttpStandIn::new(move |_, request| answering(&traces, request))
}
