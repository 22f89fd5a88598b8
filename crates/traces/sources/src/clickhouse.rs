//! ClickHouse's HTTP interface, with the table of the OpenTelemetry Collector's exporter or that of SigNoz.
//!
//! A query selects the spans of some traces of which a span starts in the slice, as `JSONEachRow`; rows become OTLP JSON, so that
//! names and attributes follow the same rules. Queries are GET requests, which ClickHouse does not allow to write. Sources of the
//! tables: `exporter/clickhouseexporter` of `open-telemetry/opentelemetry-collector-contrib`; `TracesMigrations` of
//! `SigNoz/signoz-otel-collector`.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::row::{SliceAnswer, SliceQuery, SourceRow, TraceApi};
use crate::time_slice::TimeSlice;
use laggard_model::{Nanos, SpanKind, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The row of the Collector's table in [`SOURCES`](crate::SOURCES).
pub(crate) const ROW: SourceRow = SourceRow {
    name: "clickhouse",
    title: "ClickHouse",
    help: "Read traces from this ClickHouse server, from the table of the OpenTelemetry Collector's exporter",
    example: "http://localhost:8123",
    format: "otlp-json",
    table: Some("otel_traces"),
    known_paths: &["/play", "/ping"],
    finest: Nanos::from_us(1),
    traces_per_answer: 1_000,
    api: &COLLECTOR,
};

/// The row of SigNoz's table in [`SOURCES`](crate::SOURCES).
pub(crate) const SIGNOZ_ROW: SourceRow = SourceRow {
    name: "signoz",
    title: "SigNoz's ClickHouse",
    help: "Read traces from SigNoz's ClickHouse server",
    table: Some("signoz_traces.distributed_signoz_index_v3"),
    api: &SIGNOZ,
    ..ROW
};

/// The columns of a table, as expressions.
struct SpanTable {
    time: &'static str,
    trace: &'static str,
    service: &'static str,
    /// The beginning of the half hour of a span, in seconds, where the table is sorted by it.
    half_hour: Option<&'static str>,
    /// The other expressions of a row, with the names of [`SpanRow`].
    rest: &'static str,
}

static COLLECTOR: SpanTable = SpanTable {
    time: "Timestamp",
    trace: "TraceId",
    service: "ServiceName",
    half_hour: None,
    rest: "SpanId AS span_id, ParentSpanId AS parent_id, TraceState AS trace_state, SpanName AS name, SpanKind AS kind, \
           ResourceAttributes AS resource, SpanAttributes AS attributes, toString(Duration) AS duration, \
           StatusCode AS status",
};

static SIGNOZ: SpanTable = SpanTable {
    time: "timestamp",
    trace: "trace_id",
    service: "`resource_string_service$$name`",
    half_hour: Some("ts_bucket_start"),
    rest: "span_id AS span_id, parent_span_id AS parent_id, trace_state AS trace_state, name AS name, \
           kind_string AS kind, resources_string AS resource, \
           mapConcat(CAST(attributes_string, 'Map(String, String)'), \
           CAST(mapApply((k, v) -> (k, toString(v)), attributes_number), 'Map(String, String)'), \
           CAST(mapApply((k, v) -> (k, toString(v)), attributes_bool), 'Map(String, String)')) AS attributes, \
           toString(duration_nano) AS duration, status_code_string AS status",
};

/// How long before and after the slice spans of its traces are searched for.
const MARGIN: Nanos = Nanos::from_secs(3_600);

/// How ClickHouse's message of an unknown table begins.
const UNKNOWN_TABLE: &str = "Code: 60.";

/// Names of services that are listed.
const SERVICES_MAX: u32 = 1_000;

impl TraceApi for SpanTable {
    fn services(&self, client: &SourceClient, slice: TimeSlice) -> Result<Vec<String>, SourceError> {
        let (service, table, when) = (self.service, table_of(client)?, self.within(slice));
        let query =
            format!("SELECT DISTINCT {service} AS service FROM {table} WHERE {when} LIMIT {SERVICES_MAX}");
        let mut services = Vec::new();
        each_row(client, &query, |row: ServiceRow| services.push(row.service))?;
        Ok(services)
    }

    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError> {
        let sql = self.query(&table_of(client)?, query);
        let mut document = Vec::new();
        each_row(client, &sql, |row: SpanRow| {
            document.extend_from_slice(row.otlp().to_string().as_bytes());
            document.push(b'\n');
        })?;
        Ok(SliceAnswer::Document(document))
    }
}

impl SpanTable {
    fn query(&self, table: &str, query: &SliceQuery<'_>) -> String {
        let SpanTable { time, trace, service, rest, .. } = self;
        let slice = query.slice;
        let around = TimeSlice { since: slice.since.minus(MARGIN), until: slice.until.plus(MARGIN) };
        let (inside, around, limit) = (self.within(slice), self.within(around), query.limit);
        let of_service =
            query.service.map(|name| format!(" AND {service} = {}", quoted(name))).unwrap_or_default();
        format!(
            "SELECT toString({trace}) AS trace_id, {service} AS service, \
             toString(toUnixTimestamp64Nano({time})) AS start, {rest} FROM {table} WHERE {around} AND {trace} GLOBAL IN \
             (SELECT DISTINCT {trace} FROM {table} WHERE {inside}{of_service} LIMIT {limit})"
        )
    }

    /// The condition that a span starts in a slice.
    fn within(&self, slice: TimeSlice) -> String {
        let time = self.time;
        let instant = |time: Timestamp| format!("fromUnixTimestamp64Nano(toInt64({}))", time.unix_ns());
        let mut condition =
            format!("{time} >= {} AND {time} < {}", instant(slice.since), instant(slice.until));
        if let Some(half_hour) = self.half_hour {
            let [first, last] = slice.in_units(Nanos::from_secs(1));
            condition.push_str(&format!(" AND {half_hour} >= {} AND {half_hour} <= {last}", first - 1_800));
        }
        condition
    }
}

/// A text in a query.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// The table, whose name is part of queries.
fn table_of(client: &SourceClient) -> Result<String, SourceError> {
    let table = client.table();
    let is_name = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if table.split('.').count() <= 2 && table.split('.').all(is_name) {
        return Ok(table.to_owned());
    }
    Err(SourceError::Settings(
        "--source-table is not a name like otel.otel_traces: DATABASE.TABLE".to_owned(),
    ))
}

/// Passes the rows of a query on.
fn each_row<R: for<'a> Deserialize<'a>>(
    client: &SourceClient,
    query: &str,
    mut pass_on: impl FnMut(R),
) -> Result<(), SourceError> {
    let fields = [("query", query), ("default_format", "JSONEachRow")];
    let answer = match client.get_rows("/", &fields) {
        Err(SourceError::Status { message, .. }) if message.starts_with(UNKNOWN_TABLE) => {
            return Err(SourceError::Settings(format!(
                "{} at {} has no table {}: name it with --source-table DATABASE.TABLE",
                client.row().title,
                client.base(),
                client.table()
            )));
        }
        answer => answer?,
    };
    for line in answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        // After an error in the middle of an answer, its text or an `exception` follows the rows.
        pass_on(serde_json::from_slice(line).map_err(|_| {
            let start = String::from_utf8_lossy(&line[..line.len().min(600)]);
            client.unexpected("/", &format!("not a row: {start}"))
        })?);
    }
    Ok(())
}

#[derive(Deserialize)]
struct ServiceRow {
    service: String,
}

/// A span as a query returns it.
#[derive(Deserialize)]
struct SpanRow {
    trace_id: String,
    span_id: String,
    parent_id: String,
    trace_state: String,
    name: String,
    kind: String,
    service: String,
    resource: Map<String, Value>,
    attributes: Map<String, Value>,
    /// Nanoseconds since the epoch.
    start: String,
    /// Nanoseconds.
    duration: String,
    status: String,
}

impl SpanRow {
    /// The span as an OTLP JSON document.
    fn otlp(mut self) -> Value {
        let service = Value::String(self.service);
        self.resource.entry("service.name").or_insert(service);
        let end = match (self.start.parse::<i64>(), self.duration.parse::<i64>()) {
            (Ok(start), Ok(duration)) => start.saturating_add(duration).to_string(),
            // Not a time: the reader counts it.
            _ => self.duration,
        };
        let status = match self.status.trim_start_matches("STATUS_CODE_").to_ascii_lowercase().as_str() {
            "ok" => 1,
            "error" => 2,
            _ => 0,
        };
        json!({"resourceSpans": [{
            "resource": {"attributes": attributes(&self.resource)},
            "scopeSpans": [{"spans": [{
                "traceId": self.trace_id,
                "spanId": self.span_id,
                "parentSpanId": self.parent_id,
                "traceState": self.trace_state,
                "name": self.name,
                "kind": SpanKind::parse(&self.kind).unwrap_or_default() as u8,
                "startTimeUnixNano": self.start,
                "endTimeUnixNano": end,
                "attributes": attributes(&self.attributes),
                "status": {"code": status},
            }]}],
        }]})
    }
}

fn attributes(map: &Map<String, Value>) -> Vec<Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    map.iter().map(|(key, value)| json!({"key": key, "value": {"stringValue": text(value)}})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice() -> TimeSlice {
        let time = |s: i64| Timestamp::from_unix_ns(s * 1_000_000_000);
        TimeSlice { since: time(10_000), until: time(10_060) }
    }

    #[test]
    fn texts_in_queries_are_quoted() {
        assert_eq!(quoted(r"a' OR '1'='1\"), r"'a\' OR \'1\'=\'1\\'");
        let query = SliceQuery { service: Some("it's"), slice: slice(), limit: 7 };
        let sql = COLLECTOR.query("otel.otel_traces", &query);
        assert!(sql.ends_with(r"AND ServiceName = 'it\'s' LIMIT 7)"), "{sql}");
        let sql = SIGNOZ.query("t", &query);
        assert!(sql.contains("ts_bucket_start >= 8200 AND ts_bucket_start <= 10059"), "{sql}");
    }

    #[test]
    fn kinds_and_results_have_two_spellings() {
        let row = |kind: &str, status: &str| SpanRow {
            trace_id: "a".to_owned(),
            span_id: "b".to_owned(),
            parent_id: String::new(),
            trace_state: String::new(),
            name: "get".to_owned(),
            kind: kind.to_owned(),
            service: "shop".to_owned(),
            resource: Map::new(),
            attributes: Map::new(),
            start: "5".to_owned(),
            duration: "7".to_owned(),
            status: status.to_owned(),
        };
        let span = |kind, status| {
            let document = row(kind, status).otlp();
            let span = &document["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
            [&span["kind"], &span["status"]["code"], &span["endTimeUnixNano"]].map(Value::to_string)
        };
        assert_eq!(span("SPAN_KIND_SERVER", "STATUS_CODE_ERROR"), ["2", "2", "\"12\""]);
        assert_eq!(span("Server", "Error"), span("SPAN_KIND_SERVER", "STATUS_CODE_ERROR"));
        assert_eq!(span("Client", "Ok"), ["3", "1", "\"12\""]);
        assert_eq!(span("", "Unset"), ["0", "0", "\"12\""]);
    }
}
