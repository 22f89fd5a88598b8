//! A trace in the JSON of Jaeger's pages (`internal/uimodel/model.go` of `jaegertracing/jaeger`).

use crate::api::dashboards::attributes::named_values;
use crate::api::dashboards::call_filter::AttributeScope;
use crate::api::search::StatusName;
use crate::api::trace::{TraceDocument, TraceEvent, TraceSpan};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct JaegerTrace<'a> {
    #[serde(rename = "traceID")]
    trace_id: &'a str,
    spans: Vec<JaegerSpan<'a>>,
    processes: BTreeMap<String, JaegerProcess<'a>>,
    warnings: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JaegerSpan<'a> {
    #[serde(rename = "traceID")]
    trace_id: &'a str,
    #[serde(rename = "spanID")]
    span_id: &'a str,
    operation_name: &'a str,
    references: Vec<JaegerReference<'a>>,
    /// Microseconds.
    start_time: i64,
    duration: i64,
    tags: Vec<JaegerTag<'a>>,
    logs: Vec<JaegerLog<'a>>,
    #[serde(rename = "processID")]
    process_id: String,
    warnings: (),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JaegerReference<'a> {
    ref_type: &'static str,
    #[serde(rename = "traceID")]
    trace_id: &'a str,
    #[serde(rename = "spanID")]
    span_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JaegerProcess<'a> {
    service_name: &'a str,
    tags: Vec<JaegerTag<'a>>,
}

#[derive(Serialize)]
struct JaegerTag<'a> {
    key: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    value: TagValue<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TagValue<'a> {
    Text(&'a str),
    Flag(bool),
}

#[derive(Serialize)]
struct JaegerLog<'a> {
    timestamp: i64,
    fields: Vec<JaegerTag<'a>>,
}

/// A trace as JSON.
pub(super) fn trace_json(document: &TraceDocument) -> Vec<u8> {
    let id = document.id.to_string();
    let attributes = document.attributes.as_str();
    let mut numbers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut processes = BTreeMap::new();
    let spans = document.spans.iter().map(|span| {
        let next = numbers.len() + 1;
        let number = *numbers.entry((&span.service, &span.replica)).or_insert(next);
        let process_id = format!("p{number}");
        if number == next {
            processes.insert(process_id.clone(), process(span, attributes));
        }
        jaeger_span(span, &id, process_id, attributes)
    });
    let spans = spans.collect();
    let trace = JaegerTrace { trace_id: &id, spans, processes, warnings: warnings(document) };
    serde_json::to_vec(&trace).expect("texts and numbers are JSON")
}

fn process<'a>(span: &'a TraceSpan, attributes: &'a str) -> JaegerProcess<'a> {
    let mut tags = Vec::new();
    if !span.replica.is_empty() {
        tags.push(text_tag("service.instance.id", &span.replica));
    }
    let of_service = named_values(attributes, &span.service, AttributeScope::Service);
    let named =
        |(name, values): (&'a str, Vec<&'a str>)| values.into_iter().map(move |value| text_tag(name, value));
    tags.extend(of_service.into_iter().flat_map(named));
    JaegerProcess { service_name: &span.service, tags }
}

/// Both ends are rounded down, so that a span that lies in another one still does.
fn jaeger_span<'a>(
    span: &'a TraceSpan,
    trace_id: &'a str,
    process_id: String,
    attributes: &'a str,
) -> JaegerSpan<'a> {
    let end = span.start_ns.saturating_add_unsigned(span.inclusive_ns);
    let start_time = microseconds(span.start_ns);
    let parent = |span_id: &'a String| JaegerReference { ref_type: "CHILD_OF", trace_id, span_id };
    JaegerSpan {
        trace_id,
        span_id: &span.span,
        operation_name: &span.operation,
        references: span.parent.iter().map(parent).collect(),
        start_time,
        duration: microseconds(end) - start_time,
        tags: tags(span, attributes),
        logs: span.events.iter().map(log).collect(),
        process_id,
        warnings: (),
    }
}

fn tags<'a>(span: &'a TraceSpan, attributes: &'a str) -> Vec<JaegerTag<'a>> {
    let mut tags = Vec::new();
    if !span.kind.is_empty() {
        tags.push(text_tag("span.kind", span.kind));
    }
    match span.status {
        StatusName::Unset => {}
        StatusName::Ok => tags.push(text_tag("otel.status_code", "OK")),
        StatusName::Error => {
            tags.push(text_tag("otel.status_code", "ERROR"));
            tags.push(JaegerTag { key: "error", kind: "bool", value: TagValue::Flag(true) });
        }
    }
    for (name, values) in named_values(attributes, "", AttributeScope::Request) {
        tags.extend(values.into_iter().map(|value| text_tag(name, value)));
    }
    tags
}

fn log(event: &TraceEvent) -> JaegerLog<'_> {
    let own = [("event", &event.name), ("level", &event.severity), ("message", &event.body)];
    let own = own.into_iter().filter(|(_, text)| !text.is_empty()).map(|(key, text)| text_tag(key, text));
    let further = event.attributes.iter().map(|attribute| text_tag(&attribute.name, &attribute.value));
    JaegerLog { timestamp: microseconds(event.time_ns), fields: own.chain(further).collect() }
}

fn text_tag<'a>(key: &'a str, text: &'a str) -> JaegerTag<'a> {
    JaegerTag { key, kind: "string", value: TagValue::Text(text) }
}

fn microseconds(ns: i64) -> i64 {
    ns.div_euclid(1_000)
}

/// What is missing from the trace, or doubtful.
fn warnings(document: &TraceDocument) -> Option<Vec<String>> {
    let mut warnings = Vec::new();
    if document.omitted > 0 {
        warnings.push(format!("{} spans beyond the limit are left out", document.omitted));
    }
    let losses = document.losses.iter();
    warnings.extend(losses.map(|(name, loss)| format!("{name}: {} ({})", loss.count, loss.example)));
    (!warnings.is_empty()).then_some(warnings)
}
