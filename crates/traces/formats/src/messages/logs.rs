//! Log records of OTLP: those of a span become its events, the others are counted.
//!
//! ```text
//! request ─1─► ResourceLogs ─2─► ScopeLogs ─2─► LogRecord        numbered like spans
//! ```
//! Reference: `logs/v1/logs.proto` of <https://github.com/open-telemetry/opentelemetry-proto>.

mod body;

use crate::lax_json::{LaxText, Number};
use crate::otlp_json::id;
use body::{read_json_body, read_json_exception, read_wire_body, read_wire_exception};
use laggard_model::{EVENT_TEXT_BYTES_MAX, Loss, Severity, Sink, SpanEvent, SpanId, Timestamp, TraceId};
use laggard_wire::{Fields, Value, WireError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Field of the records in `ResourceLogs.ScopeLogs`, from the outside in.
const PATH: [u32; 3] = [1, 2, 2];

/// A record as it was written, in either encoding.
struct LogFields {
    trace: Option<TraceId>,
    span: Option<SpanId>,
    /// When it happened, or when it was observed if that is not known; nanoseconds since the epoch, 0 for none.
    time_ns: u64,
    severity: u64,
    name: String,
    body: String,
}

impl LogFields {
    /// Passes the record on, or counts it.
    fn emit(self, sink: &mut dyn Sink) {
        let (Some(trace), Some(span)) = (self.trace, self.span) else {
            return sink.lose(Loss::UntracedLog, &|| excerpt(&self.body).to_owned());
        };
        let time_ns = i64::try_from(self.time_ns).ok().filter(|&ns| ns > 0);
        let Some(time_ns) = time_ns else {
            return sink
                .lose(Loss::MalformedRecord, &|| format!("a log record of span {span} without a time"));
        };
        let time = Timestamp::from_unix_ns(time_ns);
        let severity = Severity::from_number(self.severity);
        let (name, body) = (cut(self.name, span, sink), cut(self.body, span, sink));
        sink.event(SpanEvent { trace, span, time, severity, name, body });
    }
}

/// The start of a text, as an example.
fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

/// A text within the limit.
fn cut(mut text: String, span: SpanId, sink: &mut dyn Sink) -> Box<str> {
    if text.len() > EVENT_TEXT_BYTES_MAX {
        sink.lose(Loss::LongLog, &|| format!("span {span}: {} …", excerpt(&text)));
        text.truncate(text.floor_char_boundary(EVENT_TEXT_BYTES_MAX));
    }
    text.into()
}

/// Reads `ExportLogsServiceRequest`; what is wrong with it otherwise.
pub(super) fn read_protobuf(message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    let read = read_level(message, &PATH, sink);
    read.err().map(|WireError| "this is no message of log records".to_owned())
}

fn read_level(message: &[u8], path: &[u32], sink: &mut dyn Sink) -> Result<(), WireError> {
    let Some((&number, below)) = path.split_first() else {
        match read_record(message) {
            Ok(record) => record.emit(sink),
            Err(WireError) => {
                sink.lose(Loss::MalformedRecord, &|| "a log record that is no message".to_owned());
            }
        }
        return Ok(());
    };
    for field in Fields::new(message) {
        if let (field, Value::Bytes(contents)) = field?
            && field == number
        {
            read_level(contents, below, sink)?;
        }
    }
    Ok(())
}

fn read_record(message: &[u8]) -> Result<LogFields, WireError> {
    let (mut trace, mut span) = (None, None);
    let (mut time_ns, mut observed_ns, mut severity) = (0, 0, 0);
    let (mut name, mut body) = (String::new(), String::new());
    for field in Fields::new(message) {
        match field? {
            (1, Value::Fixed64(ns)) => time_ns = ns,
            (2, Value::Varint(number)) => severity = number,
            (5, Value::Bytes(value)) => body = read_wire_body(value),
            (9, Value::Bytes(bytes)) => trace = bytes.try_into().ok().map(TraceId::from_bytes),
            (10, Value::Bytes(bytes)) => span = bytes.try_into().ok().and_then(SpanId::from_bytes),
            (11, Value::Fixed64(ns)) => observed_ns = ns,
            (12, Value::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into_owned(),
            _ => {}
        }
    }
    if body.is_empty() {
        body = read_wire_exception(message, 6);
    }
    let time_ns = if time_ns == 0 { observed_ns } else { time_ns };
    let trace = trace.filter(|id| id.value() != 0);
    Ok(LogFields { trace, span, time_ns, severity, name, body })
}

#[derive(Deserialize)]
struct LogsRequest<'a> {
    #[serde(borrow, default, rename = "resourceLogs", alias = "resource_logs")]
    resource_logs: Vec<ResourceLogs<'a>>,
}

#[derive(Deserialize)]
struct ResourceLogs<'a> {
    #[serde(borrow, default, rename = "scopeLogs", alias = "scope_logs")]
    scope_logs: Vec<ScopeLogs<'a>>,
}

#[derive(Deserialize)]
struct ScopeLogs<'a> {
    #[serde(borrow, default, rename = "logRecords", alias = "log_records")]
    log_records: Vec<&'a RawValue>,
}

/// A record as written; protobuf's JSON mapping allows names in both spellings.
#[derive(Deserialize)]
struct LogRecordJson<'a> {
    #[serde(borrow, default, rename = "traceId", alias = "trace_id")]
    trace_id: LaxText<'a>,
    #[serde(borrow, default, rename = "spanId", alias = "span_id")]
    span_id: LaxText<'a>,
    #[serde(default, rename = "timeUnixNano", alias = "time_unix_nano")]
    time: Number,
    #[serde(default, rename = "observedTimeUnixNano", alias = "observed_time_unix_nano")]
    observed: Number,
    #[serde(borrow, default, rename = "severityNumber", alias = "severity_number")]
    severity: LaxText<'a>,
    #[serde(borrow, default, rename = "eventName", alias = "event_name")]
    name: LaxText<'a>,
    #[serde(default)]
    body: serde_json::Value,
    #[serde(default)]
    attributes: serde_json::Value,
}

/// As [`read_protobuf`], of JSON.
pub(super) fn read_json(message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    let request: LogsRequest<'_> = match serde_json::from_slice(message) {
        Ok(request) => request,
        Err(error) => return Some(error.to_string()),
    };
    for record in request.resource_logs.iter().flat_map(|resource| &resource.scope_logs) {
        for record in &record.log_records {
            match serde_json::from_str::<LogRecordJson<'_>>(record.get()) {
                Ok(record) => record.fields().emit(sink),
                Err(error) => sink.lose(Loss::MalformedRecord, &|| format!("a log record: {error}")),
            }
        }
    }
    None
}

impl LogRecordJson<'_> {
    fn fields(&self) -> LogFields {
        let ns = |number: Number| number.scaled(1).and_then(|ns| u64::try_from(ns).ok()).filter(|&ns| ns > 0);
        let body = read_json_body(&self.body);
        LogFields {
            trace: id::trace(self.trace_id.as_str()).map(|parsed| parsed.id),
            span: id::span(self.span_id.as_str()),
            time_ns: ns(self.time).or_else(|| ns(self.observed)).unwrap_or(0),
            severity: severity_number(self.severity.as_str()),
            name: self.name.as_str().to_owned(),
            body: if body.is_empty() { read_json_exception(&self.attributes) } else { body },
        }
    }
}

/// A number, or the name of the enumeration: `SEVERITY_NUMBER_WARN2` is 14. 0 for anything else.
fn severity_number(text: &str) -> u64 {
    if let Ok(number) = text.parse() {
        return number;
    }
    let name = text.strip_prefix("SEVERITY_NUMBER_").unwrap_or(text);
    let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let step: u64 = name[base.len()..].parse().unwrap_or(1);
    let first = (1..=24).step_by(4).find(|&number| Severity::from_number(number).name() == base);
    first.filter(|_| (1..=4).contains(&step)).map_or(0, |first| first + step - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_are_numbers_or_names() {
        let read = ["9", "SEVERITY_NUMBER_WARN", "SEVERITY_NUMBER_ERROR4", "FATAL5", "loud", ""]
            .map(severity_number);
        assert_eq!(read, [9, 13, 20, 0, 0, 0]);
    }
}
