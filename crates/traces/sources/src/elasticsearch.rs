//! Elasticsearch or OpenSearch as Jaeger's storage: `_search` in the indices `jaeger-span-*`.
//!
//! As in Jaeger's own reader, a search first counts spans by trace, and a second one fetches the spans of these traces, page by page
//! with `search_after`. Source: `internal/storage/v1/elasticsearch` of `jaegertracing/jaeger`.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::row::{SliceAnswer, SliceQuery, SourceRow, TraceApi};
use crate::time_slice::TimeSlice;
use laggard_model::Nanos;
use serde::Deserialize;
use serde_json::{Value, json};

/// The row in [`SOURCES`](crate::SOURCES).
pub(crate) const ROW: SourceRow = SourceRow {
    name: "elasticsearch",
    title: "Elasticsearch",
    help: "Read Jaeger's traces from this Elasticsearch or OpenSearch server",
    example: "http://localhost:9200",
    format: "jaeger",
    table: Some("jaeger-span-*"),
    known_paths: &["/_search"],
    finest: Nanos::from_ms(1),
    traces_per_answer: 200,
    api: &Elasticsearch,
};

struct Elasticsearch;

/// Spans of a page; more are rejected by default.
const PAGE: usize = 10_000;

/// How long before and after the slice spans of its traces are searched for, as Jaeger does.
const MARGIN: Nanos = Nanos::from_secs(3_600);

/// Names of services that are listed.
const SERVICES_MAX: u32 = 1_000;

impl TraceApi for Elasticsearch {
    fn services(&self, client: &SourceClient, slice: TimeSlice) -> Result<Vec<String>, SourceError> {
        groups(client, slice, None, "process.serviceName", u64::from(SERVICES_MAX))
    }

    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError> {
        let ids = groups(client, query.slice, query.service, "traceID", query.limit)?;
        let mut document = Vec::new();
        if !ids.is_empty() {
            let around =
                TimeSlice { since: query.slice.since.minus(MARGIN), until: query.slice.until.plus(MARGIN) };
            pages(client, around, &ids, &mut document)?;
        }
        Ok(SliceAnswer::Document(document))
    }
}

/// The most frequent values of a field among the spans of a slice.
fn groups(
    client: &SourceClient,
    slice: TimeSlice,
    service: Option<&str>,
    field: &str,
    limit: u64,
) -> Result<Vec<String>, SourceError> {
    let mut filters = vec![within(slice)];
    filters.extend(service.map(|name| json!({"term": {"process.serviceName": name}})));
    let search = json!({
        "size": 0,
        "query": {"bool": {"filter": filters}},
        "aggs": {"groups": {"terms": {"field": field, "size": limit}}},
    });
    let (answer, _) = search_in(client, &search)?;
    // Without an index there is no group.
    let buckets = answer.aggregations.unwrap_or_default().groups.buckets;
    Ok(buckets.into_iter().map(|bucket| bucket.key).collect())
}

/// Adds all spans of some traces to a document.
fn pages(
    client: &SourceClient,
    slice: TimeSlice,
    ids: &[String],
    document: &mut Vec<u8>,
) -> Result<(), SourceError> {
    let mut search = json!({
        "size": PAGE,
        "query": {"bool": {"filter": [{"terms": {"traceID": ids}}, within(slice)]}},
        "sort": [{"startTime": "asc"}, {"spanID": "asc"}],
    });
    loop {
        let (answer, text) = search_in(client, &search)?;
        document.extend_from_slice(&text);
        document.push(b'\n');
        client.check_size(document.len())?;
        let hits = answer.hits.unwrap_or_default().hits;
        match hits.last().and_then(|hit| hit.sort.as_ref()) {
            Some(last) if hits.len() >= PAGE => search["search_after"] = last.clone(),
            _ => return Ok(()),
        }
    }
}

/// What is used of an answer, beside the spans.
#[derive(Deserialize, Default)]
struct SearchAnswer {
    hits: Option<Hits>,
    #[serde(default)]
    timed_out: bool,
    #[serde(default, rename = "_shards")]
    shards: Shards,
    aggregations: Option<Aggregations>,
}

#[derive(Deserialize, Default)]
struct Hits {
    #[serde(default)]
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    sort: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Shards {
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize, Default)]
struct Aggregations {
    groups: Groups,
}

#[derive(Deserialize, Default)]
struct Groups {
    buckets: Vec<Bucket>,
}

#[derive(Deserialize)]
struct Bucket {
    key: String,
}

fn within(slice: TimeSlice) -> Value {
    let [first, last] = slice.in_units(ROW.finest);
    json!({"range": {"startTimeMillis": {"gte": first, "lte": last, "format": "epoch_millis"}}})
}

/// The answer of a search, and its text.
fn search_in(client: &SourceClient, search: &Value) -> Result<(SearchAnswer, Vec<u8>), SourceError> {
    let table = client.table();
    let is_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*' | b',' | b':');
    if table.is_empty() || !table.bytes().all(is_name) {
        return Err(SourceError::Settings(
            "--source-table is not a pattern of indices like jaeger-span-*".to_owned(),
        ));
    }
    let path = format!("/{table}/_search");
    let text = client.post(&path, &[("ignore_unavailable", "true")], search)?;
    let answer: SearchAnswer =
        serde_json::from_slice(&text).map_err(|error| client.unexpected(&path, &error.to_string()))?;
    if answer.hits.is_none() {
        return Err(client.unexpected(&path, "the answer has no \"hits\""));
    }
    if answer.timed_out || answer.shards.failed > 0 {
        let reason = "the search was not completed on all shards, so traces would be missing";
        return Err(client.unexpected(&path, reason));
    }
    Ok((answer, text))
}
