//! Reading from stand-ins that are built from the documented interfaces of the servers.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod clickhouse;
mod errors;
mod windows;

use laggard_formats::{NoProgress, ReaderOptions};
use laggard_model::{Collect, Timestamp, TraceId};
use laggard_testkit::{
    Answering, HttpStandIn, StoredTrace, StoredTraces, elasticsearch_document, elasticsearch_response,
    jaeger_response, tempo_response, trace_stand_in, zipkin_response,
};
use laggard_trace_sources::{
    ReadRequest, SOURCES, SourceClient, SourceError, SourceSettings, SourceSummary, TimeSlice, read_traces,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// 2026-01-12T09:00:00Z
const START_US: i64 = 1_768_208_400_000_000;

/// A kind of server: its name, how it answers, and how it writes a trace.
struct Kind {
    name: &'static str,
    answering: Answering,
    document: fn(id: &str, start_us: i64) -> serde_json::Value,
}

const KINDS: [Kind; 4] = [
    Kind { name: "jaeger", answering: jaeger_response, document: jaeger_document },
    Kind { name: "tempo", answering: tempo_response, document: tempo_document },
    Kind { name: "zipkin", answering: zipkin_response, document: zipkin_document },
    Kind { name: "elasticsearch", answering: elasticsearch_response, document: stored_document },
];

/// Spans of a trace: service, id, parent, microseconds after its start, and length in microseconds.
const SPANS: [(&str, &str, Option<&str>, i64, i64); 3] = [
    ("front", "00000000000000a1", None, 0, 9_000),
    ("back", "00000000000000b1", Some("00000000000000a1"), 1_000, 5_000),
    ("back", "00000000000000b2", Some("00000000000000a1"), 7_000, 1_000),
];

fn jaeger_document(id: &str, start_us: i64) -> serde_json::Value {
    let spans = SPANS.map(|(service, span, parent, after, length)| {
        let references: Vec<_> = parent
            .iter()
            .map(|parent| json!({"refType": "CHILD_OF", "traceID": id, "spanID": parent}))
            .collect();
        json!({"traceID": id, "spanID": span, "operationName": "get", "references": references, "tags": [],
               "startTime": start_us + after, "duration": length, "processID": service})
    });
    json!({"traceID": id, "spans": spans,
           "processes": {"front": {"serviceName": "front"}, "back": {"serviceName": "back"}}})
}

fn stored_document(id: &str, start_us: i64) -> serde_json::Value {
    elasticsearch_document(&jaeger_document(id, start_us))
}

fn zipkin_document(id: &str, start_us: i64) -> serde_json::Value {
    let spans = SPANS.map(|(service, span, parent, after, length)| {
        let mut span = json!({"traceId": id, "id": span, "name": "get", "timestamp": start_us + after, "duration": length,
               "localEndpoint": {"serviceName": service}});
        if let Some(parent) = parent {
            span["parentId"] = json!(parent);
        }
        span
    });
    json!(spans)
}

fn tempo_document(id: &str, start_us: i64) -> serde_json::Value {
    let batches = SPANS.map(|(service, span, parent, after, length)| {
        let start = (start_us + after) * 1_000;
        json!({
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
            "scopeSpans": [{"spans": [{
                "traceId": id, "spanId": span, "parentSpanId": parent.unwrap_or_default(), "name": "get",
                "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + length * 1_000).to_string(),
            }]}],
        })
    });
    json!({"batches": batches})
}

impl Kind {
    /// A trace at each of these microseconds after the start.
    fn traces(&self, starts_us: impl Iterator<Item = i64>) -> StoredTraces {
        let traces = starts_us.enumerate().map(|(index, after)| {
            let (id, start_us) = (format!("{:032x}", index + 1), START_US + after);
            let spans =
                SPANS.map(|(service, _, _, after, _)| (service.to_owned(), (start_us + after) * 1_000));
            let document = (self.document)(&id, start_us);
            (id, StoredTrace { spans: spans.to_vec(), end: (start_us + 9_000) * 1_000, document })
        });
        traces.collect()
    }

    fn serve(&self, starts_us: impl Iterator<Item = i64>) -> HttpStandIn {
        trace_stand_in(self.traces(starts_us), self.answering)
    }

    fn settings(&self, url: &str) -> SourceSettings {
        settings_of(self.name, url)
    }
}

/// Settings for a kind of server, with short pauses.
fn settings_of(name: &str, url: &str) -> SourceSettings {
    let row = SOURCES.iter().find(|row| row.name == name).unwrap();
    SourceSettings { pause: Duration::from_millis(1), ..SourceSettings::new(row, url) }
}

/// A window in seconds after the start.
fn window(since_s: f64, until_s: f64) -> TimeSlice {
    let time = |s: f64| Timestamp::from_unix_ns(START_US * 1_000 + (s * 1e9) as i64);
    TimeSlice { since: time(since_s), until: time(until_s) }
}

struct ReadSpans {
    spans: Collect,
    summary: SourceSummary,
}

impl ReadSpans {
    fn traces(&self) -> BTreeSet<TraceId> {
        self.spans.spans.iter().map(|span| span.trace_id).collect()
    }

    /// Starts of the roots in seconds after the start.
    fn starts_s(&self) -> Vec<f64> {
        let roots = self.spans.spans.iter().filter(|span| span.parent.is_none());
        roots.map(|root| (root.start.unix_ns() - START_US * 1_000) as f64 / 1e9).collect()
    }
}

fn read(
    settings: SourceSettings,
    windows: &[TimeSlice],
    service: Option<&str>,
    traces_max: u64,
) -> Result<ReadSpans, SourceError> {
    let client = SourceClient::new(settings)?;
    let reader = ReaderOptions::default();
    let now = window(7_200.0, 7_200.0).since;
    let request = ReadRequest { windows, service, traces_max, reader: &reader, now: Some(now) };
    let mut spans = Collect::default();
    let summary = read_traces(&client, &request, &mut spans, &NoProgress)?;
    Ok(ReadSpans { spans, summary })
}
