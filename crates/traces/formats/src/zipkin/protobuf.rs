//! Zipkin v2 as protobuf, `ListOfSpans`: converted to the equivalent JSON, so that there is one interpretation of a
//! span. It is rare, and Zipkin's own server uses JSON.
//!
//! Field numbers: <https://github.com/openzipkin/zipkin-api/blob/master/zipkin.proto>

use super::Zipkin;
use crate::format::{FormatError, Reader};
use laggard_model::{Loss, Sink};
use laggard_wire::{Fields, Value, WireError};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A span may have this many bytes; the equivalent JSON has a few times as many.
const SPAN_BYTES_MAX: usize = 2 << 20;

/// Names of the kinds; the number 0 is no kind.
const KINDS: [&str; 5] = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct SpanMessage<'a> {
    trace_id: String,
    parent_id: String,
    id: String,
    kind: &'static str,
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "is_zero")]
    timestamp: u64,
    #[serde(skip_serializing_if = "is_zero")]
    duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_endpoint: Option<EndpointMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<AnnotationMessage<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct EndpointMessage<'a> {
    service_name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv4: Option<Ipv4Addr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6: Option<Ipv6Addr>,
    port: u64,
}

#[derive(Serialize, Default)]
struct AnnotationMessage<'a> {
    timestamp: u64,
    value: Cow<'a, str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads the list.
///
/// # Errors
/// When it is no message.
pub(crate) fn read(message: &[u8], mut reader: Zipkin, sink: &mut dyn Sink) -> Result<(), FormatError> {
    let damaged = |WireError| FormatError::new("this is no list of Zipkin's spans");
    let mut json = Vec::new();
    for field in Fields::new(message) {
        let (1, Value::Bytes(span)) = field.map_err(damaged)? else { continue };
        if span.len() > SPAN_BYTES_MAX {
            sink.lose(Loss::OversizedRecord, &|| format!("a span of {} bytes", span.len()));
            continue;
        }
        let span = read_span(span).map_err(damaged)?;
        json.clear();
        serde_json::to_writer(&mut json, &span).expect("names and numbers can be written to memory");
        reader.push(&json, sink)?;
    }
    reader.finish(sink)
}

fn read_span(message: &[u8]) -> Result<SpanMessage<'_>, WireError> {
    let mut span = SpanMessage::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(id)) => span.trace_id = hex(id),
            (2, Value::Bytes(id)) => span.parent_id = hex(id),
            (3, Value::Bytes(id)) => span.id = hex(id),
            (4, Value::Varint(kind)) => span.kind = KINDS.get(kind as usize).copied().unwrap_or_default(),
            (5, Value::Bytes(name)) => span.name = String::from_utf8_lossy(name),
            (6, Value::Fixed64(us)) => span.timestamp = us,
            (7, Value::Varint(us)) => span.duration = us,
            (8, Value::Bytes(endpoint)) => span.local_endpoint = Some(read_endpoint(endpoint)?),
            (10, Value::Bytes(annotation)) => span.annotations.push(read_annotation(annotation)?),
            (11, Value::Bytes(tag)) => {
                let (key, value) = read_tag(tag)?;
                span.tags.insert(key, value);
            }
            _ => {}
        }
    }
    Ok(span)
}

/// Ids are bytes here and digits in JSON; the JSON reader rejects ids that are too long.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(32).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read_endpoint(message: &[u8]) -> Result<EndpointMessage<'_>, WireError> {
    let mut endpoint = EndpointMessage::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(name)) => endpoint.service_name = String::from_utf8_lossy(name),
            (2, Value::Bytes(ip)) => endpoint.ipv4 = <[u8; 4]>::try_from(ip).ok().map(Ipv4Addr::from),
            (3, Value::Bytes(ip)) => endpoint.ipv6 = <[u8; 16]>::try_from(ip).ok().map(Ipv6Addr::from),
            (4, Value::Varint(port)) => endpoint.port = port,
            _ => {}
        }
    }
    Ok(endpoint)
}

fn read_annotation(message: &[u8]) -> Result<AnnotationMessage<'_>, WireError> {
    let mut annotation = AnnotationMessage::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Fixed64(us)) => annotation.timestamp = us,
            (2, Value::Bytes(value)) => annotation.value = String::from_utf8_lossy(value),
            _ => {}
        }
    }
    Ok(annotation)
}

fn read_tag(message: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>), WireError> {
    let mut tag = (Cow::default(), Cow::default());
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(key)) => tag.0 = String::from_utf8_lossy(key),
            (2, Value::Bytes(value)) => tag.1 = String::from_utf8_lossy(value),
            _ => {}
        }
    }
    Ok(tag)
}
