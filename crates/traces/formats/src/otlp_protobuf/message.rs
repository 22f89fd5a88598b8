//! One span and one resource of OTLP protobuf.
//!
//! Field numbers: <https://github.com/open-telemetry/opentelemetry-proto>, `trace/v1/trace.proto`,
//! `common/v1/common.proto`, `resource/v1/resource.proto`.

use crate::conventions::{
    NameQuality, OperationAttributes, OperationNamer, ResourceAttributes, SelectedAttributes,
    THREAD_ATTRIBUTE, read_thread,
};
use crate::events::wire_value::read_attributes;
use crate::events::{EventFields, EventRef, RECORD_BYTES_MAX};
use crate::pending::{SpanFields, inclusive_time};
use crate::sampling::{self, SamplingAttributes, SpanRef, WantedAttributes};
use laggard_model::{
    AttributeText, Loss, Nanos, Sampling, Sink, SpanId, SpanKind, Status, TailSampler, Tid, Timestamp,
    TraceId,
};
use laggard_wire::{Fields, Value, WireError};
use std::borrow::Cow;

/// A span that has what a span must have.
#[derive(Debug)]
pub(super) struct WireSpan<'a> {
    message: &'a [u8],
    trace_id: TraceId,
    span_id: SpanId,
    parent: Option<SpanId>,
    name: &'a [u8],
    kind: SpanKind,
    status: Status,
    start: Timestamp,
    inclusive: Nanos,
    sampling: Sampling,
    has_selected: bool,
    has_events: bool,
    thread: Option<Tid>,
}

/// A span's fields as they are on the wire; absent ones are empty or zero, which is the same in protobuf.
#[derive(Default)]
struct SpanWire<'a> {
    trace_id: &'a [u8],
    span_id: &'a [u8],
    trace_state: &'a [u8],
    parent_span_id: &'a [u8],
    name: &'a [u8],
    kind: u64,
    start_time_unix_nano: u64,
    end_time_unix_nano: u64,
    status: &'a [u8],
    /// Whether an attribute is a sampling attribute.
    is_weighted: bool,
    /// Whether an attribute is one of those that are retained.
    has_selected: bool,
    has_events: bool,
    /// The attribute with the thread, as a `KeyValue`.
    thread: Option<&'a [u8]>,
}

#[inline]
fn read_wire<'a>(message: &'a [u8], wanted: &WantedAttributes) -> Result<SpanWire<'a>, WireError> {
    let mut wire = SpanWire::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(bytes)) => wire.trace_id = bytes,
            (2, Value::Bytes(bytes)) => wire.span_id = bytes,
            (3, Value::Bytes(bytes)) => wire.trace_state = bytes,
            (4, Value::Bytes(bytes)) => wire.parent_span_id = bytes,
            (5, Value::Bytes(bytes)) => wire.name = bytes,
            (6, Value::Varint(kind)) => wire.kind = kind,
            (7, Value::Fixed64(time)) => wire.start_time_unix_nano = time,
            (8, Value::Fixed64(time)) => wire.end_time_unix_nano = time,
            (9, Value::Bytes(pair)) => {
                let key = key_of(pair);
                wire.is_weighted |= key.is_none_or(|key| wanted.is_relevant(key));
                wire.has_selected |= key.is_none_or(|key| wanted.selected.is_relevant(key));
                let key = key.or_else(|| read_pair(pair).map(|(key, _)| key));
                if key == Some(THREAD_ATTRIBUTE.as_bytes()) {
                    wire.thread = Some(pair);
                }
            }
            (11, Value::Bytes(_)) => wire.has_events = true,
            (15, Value::Bytes(bytes)) => wire.status = bytes,
            _ => {}
        }
    }
    Ok(wire)
}

/// Why a message is not a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpanError {
    /// It is a metric.
    Metric,
    /// It is counted as a loss.
    Counted,
}

/// Reads a span; what makes it none is counted, unless it is a metric.
#[inline]
pub(super) fn read_span<'a>(
    message: &'a [u8],
    wanted: &WantedAttributes,
    sink: &mut dyn Sink,
) -> Result<WireSpan<'a>, SpanError> {
    let Ok(wire) = read_wire(message, wanted) else {
        sink.lose(Loss::MalformedRecord, &|| "a span that is no message".to_owned());
        return Err(SpanError::Counted);
    };
    let Some((trace_id, span_id)) = trace_id(wire.trace_id).zip(span_id(wire.span_id)) else {
        return Err(without_ids(message, &wire, sink));
    };
    let times = read_time(wire.start_time_unix_nano).zip(read_time(wire.end_time_unix_nano));
    let Some((start, end)) = times else {
        // A metric's name and description may be as long as ids.
        if like_metric(message, &wire) && wire.kind == 0 {
            return Err(SpanError::Metric);
        }
        sink.lose(Loss::MalformedRecord, &|| format!("span {span_id} of trace {trace_id}: no start or end"));
        return Err(SpanError::Counted);
    };
    Ok(WireSpan {
        message,
        trace_id,
        span_id,
        parent: self::span_id(wire.parent_span_id),
        name: wire.name,
        kind: i64::try_from(wire.kind).ok().and_then(SpanKind::from_number).unwrap_or_default(),
        status: if wire.status.is_empty() { Status::Unset } else { read_status(wire.status) },
        start,
        inclusive: inclusive_time(span_id, start, end, sink),
        sampling: read_sampling(message, &wire, span_id, wanted, sink),
        has_selected: wire.has_selected,
        has_events: wire.has_events,
        thread: wire.thread.and_then(|pair| read_thread(&read_value(read_pair(pair)?.1))),
    })
}

/// A time; protobuf does not distinguish zero from absent.
#[inline]
fn read_time(ns: u64) -> Option<Timestamp> {
    i64::try_from(ns).ok().filter(|&ns| ns > 0).map(Timestamp::from_unix_ns)
}

/// The key of a `KeyValue`. All known writers put it first; where it is not, the pair must be examined.
#[inline]
fn key_of(pair: &[u8]) -> Option<&[u8]> {
    match pair {
        [0x0A, length @ 0..0x80, rest @ ..] => Some(rest.get(..usize::from(*length)).unwrap_or_default()),
        _ => None,
    }
}

#[inline]
fn read_sampling(
    message: &[u8],
    wire: &SpanWire<'_>,
    span: SpanId,
    wanted: &WantedAttributes,
    sink: &mut dyn Sink,
) -> Sampling {
    if wire.trace_state.is_empty() && !wire.is_weighted {
        return Sampling::default();
    }
    let trace_state = &String::from_utf8_lossy(wire.trace_state);
    if !wire.is_weighted {
        return sampling::from_trace_state(trace_state, span, sink);
    }
    sampling_attributes(message, 9, wanted).settle(SpanRef { trace_state, span }, sink)
}

/// The sampling attributes of a message, in the field of this number.
fn sampling_attributes<'a>(
    message: &'a [u8],
    number: u32,
    wanted: &WantedAttributes,
) -> SamplingAttributes<'a> {
    let mut attributes = SamplingAttributes::default();
    for (field, value) in Fields::new(message).map_while(Result::ok) {
        if let Value::Bytes(pair) = value
            && field == number
            && let Some((key, value)) = read_pair(pair)
            && wanted.is_relevant(key)
        {
            attributes.add(wanted, key, read_value(value));
        }
    }
    attributes
}

/// The mark of a tail sampler on a scope; the Collector leaves its there.
pub(super) fn read_scope(message: &[u8], wanted: &WantedAttributes) -> Option<TailSampler> {
    sampling_attributes(message, 3, wanted).tail_sampler()
}

fn has(message: &[u8], is_match: fn(u32, Value<'_>) -> bool) -> bool {
    Fields::new(message).map_while(Result::ok).any(|(field, value)| is_match(field, value))
}

/// All three signals nest alike on the wire: metrics and log records come as spans without ids. Metrics have
/// messages where spans have other things, and no times. Only a gauge lies where a span has its name; it
/// starts with its first point.
fn like_metric(message: &[u8], wire: &SpanWire<'_>) -> bool {
    let has_times = wire.start_time_unix_nano != 0 || wire.end_time_unix_nano != 0;
    let is_other = has(message, |field, value| matches!((field, value), (7 | 10 | 11, Value::Bytes(_))));
    let is_gauge = has(message, |field, value| matches!((field, value), (5, Value::Bytes([0x0A, ..] | []))));
    !has_times && (is_other || is_gauge || (wire.trace_id.len() != 16 && has_histogram(message)))
}

/// A histogram lies where a span has its attributes.
fn has_histogram(message: &[u8]) -> bool {
    has(message, |field, value| matches!((field, value), (9, Value::Bytes([0x0A | 0x10, ..]))))
}

/// Detects what a message without ids is. Log records have fixed-width times where spans have messages.
#[cold]
fn without_ids(message: &[u8], wire: &SpanWire<'_>, sink: &mut dyn Sink) -> SpanError {
    if has(message, |field, value| matches!((field, value), (1 | 11, Value::Fixed64(_)))) {
        sink.lose(Loss::OtherSignal, &|| "a log record".to_owned());
        return SpanError::Counted;
    }
    if like_metric(message, wire) {
        return SpanError::Metric;
    }
    let (trace_id, span_id) = (wire.trace_id, wire.span_id);
    sink.lose(Loss::InvalidId, &|| format!("trace id {trace_id:02x?}, span id {span_id:02x?}"));
    SpanError::Counted
}

fn trace_id(bytes: &[u8]) -> Option<TraceId> {
    let id = TraceId::from_bytes(bytes.try_into().ok()?);
    (id.value() != 0).then_some(id)
}

fn span_id(bytes: &[u8]) -> Option<SpanId> {
    SpanId::from_bytes(bytes.try_into().ok()?)
}

/// A status that cannot be read is none: the span itself is valid.
fn read_status(message: &[u8]) -> Status {
    let codes = Fields::new(message).map_while(Result::ok).filter(|&(field, _)| field == 3);
    match codes.last() {
        Some((_, Value::Varint(1))) => Status::Ok,
        Some((_, Value::Varint(2))) => Status::Error,
        _ => Status::Unset,
    }
}

impl<'a> WireSpan<'a> {
    /// The span's name, as text.
    #[inline]
    pub(super) fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }

    /// The span's fields; `name` is its name as text.
    #[inline]
    pub(super) fn fields<'b>(&self, name: &'b str, namer: &'b mut OperationNamer) -> SpanFields<'b> {
        SpanFields {
            trace_id: self.trace_id,
            // Sixteen bytes: their digits are how everybody shows them.
            trace_text: None,
            span_id: self.span_id,
            parent: self.parent,
            operation: self.operation(name, namer),
            kind: self.kind,
            status: self.status,
            start: self.start,
            inclusive: self.inclusive,
            sampling: self.sampling,
            attributes: "",
            thread: self.thread,
        }
    }

    /// Writes the selected attributes into `text`.
    #[inline]
    pub(super) fn select(&self, selected: &SelectedAttributes, text: &mut AttributeText) {
        text.clear();
        if !self.has_selected {
            return;
        }
        for field in Fields::new(self.message).map_while(Result::ok) {
            let (9, Value::Bytes(pair)) = field else { continue };
            if let Some((key, value)) = read_pair(pair)
                && selected.is_relevant(key)
            {
                selected.add_of_span(key, &read_value(value), text);
            }
        }
    }

    /// Passes on the events that the span brings with it.
    #[inline]
    pub(super) fn emit_events(&self, sink: &mut dyn Sink) {
        if self.has_events && sink.wants_events() {
            for field in Fields::new(self.message).map_while(Result::ok) {
                if let (11, Value::Bytes(event)) = field {
                    self.emit_event(event, sink);
                }
            }
        }
    }

    fn emit_event(&self, message: &[u8], sink: &mut dyn Sink) {
        let span = self.span_id;
        if message.len() > RECORD_BYTES_MAX {
            return sink.lose(Loss::OversizedRecord, &|| format!("an event of span {span}"));
        }
        let mut event = EventFields::default();
        let mut event_ref = EventRef { trace: self.trace_id, span, time: self.start };
        for field in Fields::new(message).map_while(Result::ok) {
            match field {
                (1, Value::Fixed64(ns)) => event_ref.time = read_time(ns).unwrap_or(self.start),
                (2, Value::Bytes(name)) => event.name = String::from_utf8_lossy(name).into_owned(),
                _ => {}
            }
        }
        event.attributes = read_attributes(message, 3);
        event.emit(event_ref, sink);
    }

    #[inline]
    fn operation<'b>(&self, name: &'b str, namer: &'b mut OperationNamer) -> &'b str {
        let quality = namer.assess(name);
        if quality == NameQuality::Plain {
            return name;
        }
        // Names that need help are rare enough to walk the span once more for them.
        let mut attributes = OperationAttributes::default();
        for field in Fields::new(self.message).map_while(Result::ok) {
            let (9, Value::Bytes(pair)) = field else { continue };
            if let Some((key, value)) = read_pair(pair)
                && OperationAttributes::is_relevant(key)
            {
                attributes.add(key, read_value(value));
            }
        }
        namer.operation(quality, name, self.kind, &attributes)
    }
}

/// Adds a resource's attributes.
pub(super) fn read_resource(
    message: &[u8],
    attributes: &mut ResourceAttributes,
    selected: &SelectedAttributes,
) -> Result<(), WireError> {
    for field in Fields::new(message) {
        let (1, Value::Bytes(pair)) = field? else { continue };
        let (key, value) = read_pair(pair).ok_or(WireError)?;
        attributes.add(key, &read_value(value), selected.key_of_resource(key));
    }
    Ok(())
}

/// Key and value of a `KeyValue`, the value still as the bytes of an `AnyValue`.
#[inline]
pub(super) fn read_pair(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut pair: (&[u8], &[u8]) = (&[], &[]);
    for field in Fields::new(message) {
        match field.ok()? {
            (1, Value::Bytes(key)) => pair.0 = key,
            (2, Value::Bytes(value)) => pair.1 = value,
            _ => {}
        }
    }
    Some(pair)
}

/// An `AnyValue` as text; arrays, lists, bytes and damage are empty.
pub(super) fn read_value(message: &[u8]) -> Cow<'_, str> {
    match Fields::new(message).last() {
        Some(Ok((1, Value::Bytes(text)))) => String::from_utf8_lossy(text),
        Some(Ok((2, Value::Varint(value)))) => Cow::Borrowed(if value == 0 { "false" } else { "true" }),
        Some(Ok((3, Value::Varint(value)))) => Cow::Owned((value as i64).to_string()),
        Some(Ok((4, Value::Fixed64(bits)))) => Cow::Owned(f64::from_bits(bits).to_string()),
        _ => Cow::Borrowed(""),
    }
}
