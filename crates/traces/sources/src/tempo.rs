//! Tempo's query API: `/api/search`, which lists traces, and `/api/traces/{id}`, which returns one.
//!
//! A search has a TraceQL query and returns any traces that are in part in the time, which is in seconds. Source: *Tempo HTTP
//! API*, `docs/sources/tempo/api_docs` of `grafana/tempo`.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::row::{ListedTrace, SliceAnswer, SliceQuery, SourceRow, TraceApi};
use crate::time_slice::TimeSlice;
use laggard_model::{Nanos, Timestamp, TraceId};
use serde_json::Value;

/// The row in [`SOURCES`](crate::SOURCES).
pub(crate) const ROW: SourceRow = SourceRow {
    name: "tempo",
    title: "Tempo",
    help: "Read traces from this Grafana Tempo server, by its query API",
    example: "http://localhost:3200",
    format: "otlp-json",
    table: None,
    known_paths: &["/api/search", "/api/traces", "/api"],
    finest: Nanos::from_secs(1),
    traces_per_answer: 200,
    api: &Tempo,
};

struct Tempo;

const SEARCH: &str = "/api/search";

impl TraceApi for Tempo {
    fn services(&self, client: &SourceClient, slice: TimeSlice) -> Result<Vec<String>, SourceError> {
        const PATH: &str = "/api/search/tag/service.name/values";
        let [start, end] = seconds(slice);
        let answer = client.get_value(PATH, &[("start", &start), ("end", &end)])?;
        let names = answer["tagValues"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError> {
        let [start, end] = seconds(query.slice);
        let (limit, filter) = (query.limit.to_string(), trace_query(query.service));
        let fields =
            [("q", filter.as_str()), ("start", &start), ("end", &end), ("limit", &limit), ("spss", "1")];
        let answer = client.get_value(SEARCH, &fields)?;
        let traces = match &answer["traces"] {
            Value::Array(traces) => traces.iter().filter_map(listed).collect(),
            // Left out if there is none.
            Value::Null if answer.get("metrics").is_some() || answer.get("traces").is_some() => Vec::new(),
            _ => return Err(client.unexpected(SEARCH, "the answer has no list \"traces\"")),
        };
        Ok(SliceAnswer::List(traces))
    }

    fn trace(&self, client: &SourceClient, trace: &ListedTrace) -> Result<Option<Vec<u8>>, SourceError> {
        match client.get(&format!("/api/traces/{}", trace.text), &[]) {
            Ok(document) => Ok(Some(document)),
            // Expired since it was listed, or larger than Tempo's own limit.
            Err(SourceError::Status { status: 404 | 413 | 422 | 500, .. } | SourceError::TooLarge { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The slice in seconds; a search whose end is not after its start is rejected.
fn seconds(slice: TimeSlice) -> [String; 2] {
    let [first, last] = slice.in_units(ROW.finest);
    [first.to_string(), (last + 1).to_string()]
}

/// All traces, or those with a span of a service, in TraceQL.
fn trace_query(service: Option<&str>) -> String {
    match service {
        None => "{ }".to_owned(),
        Some(name) => {
            let escaped = name.replace('\\', r"\\").replace('"', r#"\""#);
            format!(r#"{{ resource.service.name = "{escaped}" }}"#)
        }
    }
}

/// A trace of the list; `None` if its id is not one, which could lead elsewhere as part of a URL.
fn listed(trace: &Value) -> Option<ListedTrace> {
    let text = trace["traceID"].as_str()?;
    if text.len() > 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let start = &trace["startTimeUnixNano"];
    let start = start.as_str().and_then(|text| text.parse().ok()).or_else(|| start.as_i64())?;
    let id = TraceId::parse_text(text)?.id;
    Some(ListedTrace { id, text: text.to_owned(), start: Timestamp::from_unix_ns(start) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_of_services_are_quoted() {
        assert_eq!(trace_query(None), "{ }");
        assert_eq!(trace_query(Some(r#"a"}\b"#)), r#"{ resource.service.name = "a\"}\\b" }"#);
    }

    #[test]
    fn listed_traces_have_an_id_and_a_start() {
        let trace = json!({"traceID": "2f3e0cee77ae5dc9c17ade3689eb2e54", "startTimeUnixNano": "17", "durationMs": 3});
        let trace = listed(&trace).unwrap();
        assert_eq!((trace.id.to_string(), trace.start.unix_ns()), (trace.text, 17));
        assert_eq!(listed(&json!({"traceID": "../search", "startTimeUnixNano": "1"})), None);
        assert_eq!(listed(&json!({"traceID": "ab"})), None);
    }
}
