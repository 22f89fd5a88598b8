//! Zipkin's query API: `/api/v2/services` and `/api/v2/traces`.
//!
//! A search returns whole traces, the newest if there are more than the limit; times are in milliseconds, and a window is its end
//! and its length. Source: `ZipkinQueryApiV2` of `openzipkin/zipkin`.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::row::{SliceAnswer, SliceQuery, SourceRow, TraceApi};
use crate::time_slice::TimeSlice;
use laggard_model::Nanos;
use serde_json::Value;

/// The row in [`SOURCES`](crate::SOURCES).
pub(crate) const ROW: SourceRow = SourceRow {
    name: "zipkin",
    title: "Zipkin",
    help: "Read traces from this Zipkin server, by its query API",
    example: "http://localhost:9411",
    format: "zipkin",
    table: None,
    known_paths: &["/api/v2/traces", "/api/v2"],
    finest: Nanos::from_ms(1),
    traces_per_answer: 200,
    api: &Zipkin,
};

struct Zipkin;

const TRACES: &str = "/api/v2/traces";

impl TraceApi for Zipkin {
    fn services(&self, client: &SourceClient, _slice: TimeSlice) -> Result<Vec<String>, SourceError> {
        const PATH: &str = "/api/v2/services";
        match client.get_value(PATH, &[])? {
            Value::Array(names) => Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            _ => Err(client.unexpected(PATH, "the answer is not a list")),
        }
    }

    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError> {
        let [first, last] = query.slice.in_units(ROW.finest);
        // A window of length 0 is rejected.
        let (end, lookback) = (last.to_string(), (last - first).max(1).to_string());
        let limit = query.limit.to_string();
        let mut fields = vec![("endTs", end.as_str()), ("lookback", &lookback), ("limit", &limit)];
        fields.extend(query.service.map(|service| ("serviceName", service)));
        let document = client.get(TRACES, &fields)?;
        match document.trim_ascii_start().first() {
            Some(b'[') => Ok(SliceAnswer::Document(document)),
            _ => Err(client.unexpected(TRACES, "the answer is not a list of traces")),
        }
    }
}
