//! Jaeger's query API, which its pages use: `/api/services` and `/api/traces`.
//!
//! A search needs a service, and returns whole traces of which a span of that service starts in the time; times are in
//! microseconds, both ends inclusive. Elasticsearch as its storage rounds them to milliseconds. Most storages return the newest
//! traces if there are more than the limit. Source: `cmd/jaeger/internal/extension/jaegerquery` of `jaegertracing/jaeger`.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::row::{SliceAnswer, SliceQuery, SourceRow, TraceApi};
use crate::time_slice::TimeSlice;
use laggard_model::Nanos;
use serde_json::Value;

/// The row in [`SOURCES`](crate::SOURCES).
pub(crate) const ROW: SourceRow = SourceRow {
    name: "jaeger",
    title: "Jaeger",
    help: "Read traces from this Jaeger server, by its query API",
    example: "http://localhost:16686",
    format: "jaeger",
    table: None,
    known_paths: &["/api/traces", "/api/services", "/api", "/search"],
    finest: Nanos::from_us(1),
    traces_per_answer: 200,
    api: &Jaeger,
};

struct Jaeger;

impl TraceApi for Jaeger {
    fn needs_service(&self) -> bool {
        true
    }

    fn services(&self, client: &SourceClient, _slice: TimeSlice) -> Result<Vec<String>, SourceError> {
        const PATH: &str = "/api/services";
        let answer = client.get_value(PATH, &[])?;
        match &answer["data"] {
            Value::Array(names) => Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            Value::Null if answer.get("data").is_some() => Ok(Vec::new()),
            _ => Err(client.unexpected(PATH, "the answer has no list \"data\"")),
        }
    }

    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError> {
        let [start, end] = query.slice.in_units(ROW.finest).map(|time| time.to_string());
        let limit = query.limit.to_string();
        let service = query.service.unwrap_or_default();
        let fields = [("service", service), ("start", &start), ("end", &end), ("limit", &limit)];
        client.get("/api/traces", &fields).map(SliceAnswer::Document)
    }
}
