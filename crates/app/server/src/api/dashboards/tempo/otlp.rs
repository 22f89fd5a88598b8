//! A trace as OTLP: the JSON of OpenTelemetry, with ids as hexadecimal digits, and protobuf.
//!
//! Source: `trace/v1/trace.proto` of `open-telemetry/opentelemetry-proto`.

use crate::api::dashboards::attributes::{NamedValues, named_values};
use crate::api::dashboards::call_filter::AttributeScope;
use crate::api::search::StatusName;
use crate::api::trace::{TraceDocument, TraceEvent, TraceSpan};
use laggard_model::{SpanId, SpanKind, TraceId};
use laggard_wire::{put_bytes, put_fixed64, put_varint};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Spans of one resource.
struct ResourceSpans<'a> {
    service: &'a str,
    replica: &'a str,
    spans: Vec<&'a TraceSpan>,
}

/// Spans by resource, in the order of the first of each.
fn resources(document: &TraceDocument) -> Vec<ResourceSpans<'_>> {
    let mut numbers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut resources: Vec<ResourceSpans<'_>> = Vec::new();
    for span in &document.spans {
        let (service, replica) = (span.service.as_str(), span.replica.as_str());
        let number = *numbers.entry((service, replica)).or_insert(resources.len());
        if number == resources.len() {
            resources.push(ResourceSpans { service, replica, spans: Vec::new() });
        }
        resources[number].spans.push(span);
    }
    resources
}

impl<'a> ResourceSpans<'a> {
    fn attributes(&self, document: &'a TraceDocument) -> NamedValues<'a> {
        let mut values = named_values(document.attributes.as_str(), self.service, AttributeScope::Service);
        values.retain(|name, _| !matches!(*name, "service.name" | "service.instance.id"));
        values
    }

    /// Its names, each with one value.
    fn names(&self) -> Vec<(&'static str, &'a str)> {
        let replica = (!self.replica.is_empty()).then_some(("service.instance.id", self.replica));
        [("service.name", self.service)].into_iter().chain(replica).collect()
    }
}

fn of_request(document: &TraceDocument) -> NamedValues<'_> {
    named_values(document.attributes.as_str(), "", AttributeScope::Request)
}

fn kind_number(span: &TraceSpan) -> u8 {
    SpanKind::parse(span.kind).unwrap_or_default() as u8
}

fn status_number(span: &TraceSpan) -> u8 {
    match span.status {
        StatusName::Unset => 0,
        StatusName::Ok => 1,
        StatusName::Error => 2,
    }
}

fn end_ns(span: &TraceSpan) -> u64 {
    unsigned(span.start_ns.saturating_add_unsigned(span.inclusive_ns))
}

/// Times before 1970 do not exist in OTLP.
fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

/// The name of an event, and what else it has.
fn event_parts(event: &TraceEvent) -> (&str, Vec<(&str, &str)>) {
    let own = [("severity", &event.severity), ("message", &event.body)];
    let own = own.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.as_str()));
    let further =
        event.attributes.iter().map(|attribute| (attribute.name.as_str(), attribute.value.as_str()));
    let name = if event.name.is_empty() { "log" } else { &event.name };
    (name, own.chain(further).collect())
}

/// `resourceSpans` as JSON.
pub(super) fn resource_spans_json(document: &TraceDocument) -> Value {
    let id = format!("{:032x}", document.id.value());
    let attributes = attributes_json(of_request(document));
    let resources = resources(document).into_iter().map(|resource| {
        let mut names: Vec<Value> =
            resource.names().into_iter().map(|(name, value)| attribute_json(name, &[value])).collect();
        names.extend(attributes_json(resource.attributes(document)));
        let spans: Vec<Value> = resource.spans.iter().map(|span| span_json(span, &id, &attributes)).collect();
        json!({ "resource": { "attributes": names }, "scopeSpans": [{ "scope": {}, "spans": spans }] })
    });
    resources.collect()
}

fn span_json(span: &TraceSpan, trace: &str, attributes: &[Value]) -> Value {
    let mut value = json!({
        "traceId": trace,
        "spanId": span.span,
        "name": span.operation,
        "kind": kind_number(span),
        "startTimeUnixNano": unsigned(span.start_ns).to_string(),
        "endTimeUnixNano": end_ns(span).to_string(),
        "attributes": attributes,
        "status": { "code": status_number(span) },
    });
    if let Some(parent) = &span.parent {
        value["parentSpanId"] = json!(parent);
    }
    if !span.events.is_empty() {
        value["events"] = span.events.iter().map(event_json).collect();
    }
    value
}

fn event_json(event: &TraceEvent) -> Value {
    let (name, attributes) = event_parts(event);
    let attributes: Vec<Value> =
        attributes.into_iter().map(|(name, value)| attribute_json(name, &[value])).collect();
    json!({ "timeUnixNano": unsigned(event.time_ns).to_string(), "name": name, "attributes": attributes })
}

fn attributes_json(attributes: NamedValues<'_>) -> Vec<Value> {
    attributes.into_iter().map(|(name, values)| attribute_json(name, &values)).collect()
}

/// An attribute with several values is an array: which span has which is not stored.
fn attribute_json(name: &str, values: &[&str]) -> Value {
    let text = |value: &&str| json!({ "stringValue": value });
    let value = match values {
        [value] => text(value),
        values => json!({ "arrayValue": { "values": values.iter().map(text).collect::<Vec<_>>() } }),
    };
    json!({ "key": name, "value": value })
}

/// A message `TracesData`, which Tempo calls `Trace`.
pub(super) fn traces_data(document: &TraceDocument) -> Vec<u8> {
    let attributes = of_request(document);
    let mut out = Vec::new();
    for resource in resources(document) {
        let mut names = Vec::new();
        for (name, value) in resource.names() {
            put_attribute(&mut names, 1, name, &[value]);
        }
        put_attributes(&mut names, 1, &resource.attributes(document));
        let mut scope = Vec::new();
        put_bytes(&mut scope, 1, &[]);
        for span in &resource.spans {
            put_bytes(&mut scope, 2, &span_message(span, document.id, &attributes));
        }
        let mut message = Vec::new();
        put_bytes(&mut message, 1, &names);
        put_bytes(&mut message, 2, &scope);
        put_bytes(&mut out, 1, &message);
    }
    out
}

fn span_message(span: &TraceSpan, trace: TraceId, attributes: &NamedValues<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let id = |text: &str| SpanId::parse_text(text).map_or(0, SpanId::value).to_be_bytes();
    put_bytes(&mut out, 1, &trace.value().to_be_bytes());
    put_bytes(&mut out, 2, &id(&span.span));
    if let Some(parent) = &span.parent {
        put_bytes(&mut out, 4, &id(parent));
    }
    put_bytes(&mut out, 5, span.operation.as_bytes());
    put_number(&mut out, 6, kind_number(span));
    put_fixed64(&mut out, 7, unsigned(span.start_ns));
    put_fixed64(&mut out, 8, end_ns(span));
    put_attributes(&mut out, 9, attributes);
    for event in &span.events {
        let (name, attributes) = event_parts(event);
        let mut message = Vec::new();
        put_fixed64(&mut message, 1, unsigned(event.time_ns));
        put_bytes(&mut message, 2, name.as_bytes());
        attributes.into_iter().for_each(|(name, value)| put_attribute(&mut message, 3, name, &[value]));
        put_bytes(&mut out, 11, &message);
    }
    let mut status = Vec::new();
    put_number(&mut status, 3, status_number(span));
    put_bytes(&mut out, 15, &status);
    out
}

fn put_number(out: &mut Vec<u8>, field: u64, number: u8) {
    if number > 0 {
        put_varint(out, field << 3);
        put_varint(out, u64::from(number));
    }
}

fn put_attributes(out: &mut Vec<u8>, field: u64, attributes: &NamedValues<'_>) {
    attributes.iter().for_each(|(name, values)| put_attribute(out, field, name, values));
}

fn put_attribute(out: &mut Vec<u8>, field: u64, name: &str, values: &[&str]) {
    let text = |value: &str| {
        let mut message = Vec::new();
        put_bytes(&mut message, 1, value.as_bytes());
        message
    };
    let value = match values {
        [value] => text(value),
        values => {
            let mut array = Vec::new();
            values.iter().for_each(|value| put_bytes(&mut array, 1, &text(value)));
            let mut message = Vec::new();
            put_bytes(&mut message, 5, &array);
            message
        }
    };
    let mut message = Vec::new();
    put_bytes(&mut message, 1, name.as_bytes());
    put_bytes(&mut message, 2, &value);
    put_bytes(out, field, &message);
}
