//! Log records of OTLP: those of a span become its events, the others are counted.
//!
//! ```text
//! request ─1─► ResourceLogs ─2─► ScopeLogs ─2─► LogRecord        numbered like spans
//! ```
//! Reference: `logs/v1/logs.proto` of <https://github.com/open-telemetry/opentelemetry-proto>.

use crate::events::{EventFields, EventRef, RECORD_BYTES_MAX, excerpt, json_value, wire_value};
use crate::lax_json::{LaxText, Number};
use crate::otlp_json::id;
use laggard_model::{Loss, Severity, Sink, SpanId, Timestamp, TraceId};
use laggard_wire::{Fields, Value, WireError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Field of the records in `ResourceLogs.ScopeLogs`, from the outside in.
const PATH: [u32; 3] = [1, 2, 2];

/// A record as it was written, in either encoding.
#[derive(Default)]
struct LogFields {
    trace: Option<TraceId>,
    span: Option<SpanId>,
    /// When it happened, and when it was observed; nanoseconds since the epoch, 0 for none.
    times_ns: [u64; 2],
    event: EventFields,
}

impl LogFields {
    /// Passes the record on, or counts it.
    fn emit(self, sink: &mut dyn Sink) {
        let (Some(trace), Some(span)) = (self.trace, self.span) else {
            return sink.lose(Loss::UntracedLog, &|| excerpt(&self.event.clone().take_body()).to_owned());
        };
        let mut times =
            self.times_ns.into_iter().filter_map(|ns| i64::try_from(ns).ok().filter(|&ns| ns > 0));
        let Some(time) = times.next().map(Timestamp::from_unix_ns) else {
            let what = || format!("a log record of span {span} without a time");
            return sink.lose(Loss::MalformedRecord, &what);
        };
        self.event.emit(EventRef { trace, span, time }, sink);
    }
}

fn lose_oversized(bytes: usize, sink: &mut dyn Sink) {
    sink.lose(Loss::OversizedRecord, &|| format!("a log record of {bytes} bytes"));
}

/// Reads `ExportLogsServiceRequest`; what is wrong with it otherwise.
pub(super) fn read_protobuf(message: &[u8], sink: &mut dyn Sink) -> Option<String> {
    let read = read_level(message, &PATH, sink);
    read.err().map(|WireError| "this is no message of log records".to_owned())
}

fn read_level(message: &[u8], path: &[u32], sink: &mut dyn Sink) -> Result<(), WireError> {
    let Some((&number, below)) = path.split_first() else {
        if message.len() > RECORD_BYTES_MAX {
            lose_oversized(message.len(), sink);
            return Ok(());
        }
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
    let mut record = LogFields::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Fixed64(ns)) => record.times_ns[0] = ns,
            (2, Value::Varint(number)) => record.event.severity = number,
            (5, Value::Bytes(value)) => record.event.body = wire_value::read_value(value),
            (9, Value::Bytes(bytes)) => record.trace = bytes.try_into().ok().map(TraceId::from_bytes),
            (10, Value::Bytes(bytes)) => record.span = bytes.try_into().ok().and_then(SpanId::from_bytes),
            (11, Value::Fixed64(ns)) => record.times_ns[1] = ns,
            (12, Value::Bytes(bytes)) => record.event.name = String::from_utf8_lossy(bytes).into_owned(),
            _ => {}
        }
    }
    record.event.attributes = wire_value::read_attributes(message, 6);
    record.trace = record.trace.filter(|id| id.value() != 0);
    Ok(record)
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
    for scope in request.resource_logs.iter().flat_map(|resource| &resource.scope_logs) {
        for record in &scope.log_records {
            if record.get().len() > RECORD_BYTES_MAX {
                lose_oversized(record.get().len(), sink);
                continue;
            }
            match serde_json::from_str::<LogRecordJson<'_>>(record.get()) {
                Ok(record) => record.fields().emit(sink),
                Err(error) => sink.lose(Loss::MalformedRecord, &|| format!("a log record: {error}")),
            }
        }
    }
    None
}

impl LogRecordJson<'_> {
    fn fields(self) -> LogFields {
        let ns = |number: Number| number.scaled(1).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        LogFields {
            trace: id::trace(self.trace_id.as_str()).map(|parsed| parsed.id),
            span: id::span(self.span_id.as_str()),
            times_ns: [ns(self.time), ns(self.observed)],
            event: EventFields {
                severity: severity_number(self.severity.as_str()),
                name: self.name.as_str().to_owned(),
                body: json_value::read_value(self.body),
                attributes: json_value::read_attributes(self.attributes),
            },
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
