//! One span and one resource of OTLP JSON.

use super::id;
use crate::attributes_json::{self, SamplingTags, ThreadTag};
use crate::conventions::{NameQuality, OperationAttributes, OperationNamer, SpanSelection, THREAD_ATTRIBUTE};
use crate::events::json_value::read_attributes;
use crate::events::{EventFields, EventRef, RECORD_BYTES_MAX};
use crate::lax_json::{LaxText, Number};
use crate::pending::{SpanFields, inclusive_time};
use crate::sampling::{self, SamplingAttributes, SpanRef, WantedAttributes};
use laggard_model::{AttributeText, Loss, Sampling, Sink, SpanId, SpanKind, Status, Tid, Timestamp, TraceId};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A span as written; protobuf's JSON mapping allows names in both spellings.
#[derive(Deserialize)]
pub(super) struct OtlpSpanJson<'a> {
    #[serde(borrow, default, rename = "traceId", alias = "trace_id")]
    trace_id: LaxText<'a>,
    #[serde(borrow, default, rename = "spanId", alias = "span_id")]
    span_id: LaxText<'a>,
    #[serde(borrow, default, rename = "traceState", alias = "trace_state")]
    trace_state: LaxText<'a>,
    #[serde(borrow, default, rename = "parentSpanId", alias = "parent_span_id")]
    parent_span_id: LaxText<'a>,
    #[serde(borrow, default)]
    name: LaxText<'a>,
    #[serde(borrow, default)]
    kind: LaxText<'a>,
    #[serde(default, rename = "startTimeUnixNano", alias = "start_time_unix_nano")]
    start: Number,
    #[serde(default, rename = "endTimeUnixNano", alias = "end_time_unix_nano")]
    end: Number,
    /// Parsed only when the name is not usable, or when they contain sampling attributes.
    #[serde(borrow, default)]
    attributes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    /// Parsed only for a sink that wants them.
    #[serde(borrow, default)]
    events: Option<&'a RawValue>,
}

/// An event of a span as written.
#[derive(Deserialize)]
struct SpanEventJson<'a> {
    #[serde(default, rename = "timeUnixNano", alias = "time_unix_nano")]
    time: Number,
    #[serde(borrow, default)]
    name: LaxText<'a>,
    #[serde(default)]
    attributes: serde_json::Value,
}

/// Attributes of a resource and a scope.
#[derive(Deserialize)]
pub(super) struct AttributesJson<'a> {
    #[serde(borrow, default)]
    pub(super) attributes: Option<&'a RawValue>,
}

impl OtlpSpanJson<'_> {
    /// The span's fields; `None` when it lacks what a span must have, which is counted.
    pub(super) fn fields<'b>(
        &'b self,
        namer: &'b mut OperationNamer,
        attributes: &'b mut AttributeText,
        wanted: &WantedAttributes,
        sink: &mut dyn Sink,
    ) -> Option<SpanFields<'b>> {
        let trace_text = self.trace_id.as_str();
        let ids = id::trace(trace_text).zip(id::span(self.span_id.as_str()));
        let Some((trace, span_id)) = ids else {
            sink.lose(Loss::InvalidId, &|| {
                format!("trace id \"{trace_text}\", span id \"{}\"", self.span_id.as_str())
            });
            return None;
        };
        // Protobuf does not distinguish zero from absent, and JSON writers follow it.
        let time = |number: Number| number.scaled(1).filter(|&ns| ns > 0).map(Timestamp::from_unix_ns);
        let Some((start, end)) = time(self.start).zip(time(self.end)) else {
            sink.lose(Loss::MalformedRecord, &|| {
                format!("span {span_id} of trace {trace_text}: no start or end")
            });
            return None;
        };
        let kind = SpanKind::parse(self.kind.as_str()).unwrap_or_default();
        Some(SpanFields {
            trace_id: trace.id,
            trace_text: (!trace.is_canonical).then_some(trace_text),
            span_id,
            parent: id::span(self.parent_span_id.as_str()),
            operation: self.operation(kind, namer),
            kind,
            status: self.status.map_or(Status::Unset, |status| read_status(status.get())),
            start,
            inclusive: inclusive_time(span_id, start, end, sink),
            sampling: self.sampling(span_id, wanted, sink),
            attributes: self.select(attributes, wanted),
            thread: self.thread(),
        })
    }

    /// Passes on the events that a span with these fields brings with it.
    pub(super) fn emit_events(&self, trace: TraceId, span: SpanId, start: Timestamp, sink: &mut dyn Sink) {
        let Some(events) = self.events.filter(|_| sink.wants_events()) else { return };
        let Ok(events) = serde_json::from_str::<Option<Vec<&RawValue>>>(events.get()) else {
            return sink.lose(Loss::MalformedRecord, &|| format!("events of span {span} that are no list"));
        };
        for event in events.into_iter().flatten() {
            if event.get().len() > RECORD_BYTES_MAX {
                sink.lose(Loss::OversizedRecord, &|| format!("an event of span {span}"));
                continue;
            }
            match serde_json::from_str::<SpanEventJson<'_>>(event.get()) {
                Ok(event) => {
                    let time = event.time.scaled(1).filter(|&ns| ns > 0).map(Timestamp::from_unix_ns);
                    let fields = EventFields {
                        name: event.name.as_str().to_owned(),
                        attributes: read_attributes(event.attributes),
                        ..EventFields::default()
                    };
                    fields.emit(EventRef { trace, span, time: time.unwrap_or(start) }, sink);
                }
                Err(error) => {
                    sink.lose(Loss::MalformedRecord, &|| format!("an event of span {span}: {error}"))
                }
            }
        }
    }

    fn thread(&self) -> Option<Tid> {
        let json = self.attributes?.get();
        memchr::memmem::find(json.as_bytes(), THREAD_ATTRIBUTE.as_bytes())?;
        let mut tag = ThreadTag::default();
        let _ = attributes_json::read(self.attributes, &mut tag);
        tag.0
    }

    fn select<'b>(&self, text: &'b mut AttributeText, wanted: &WantedAttributes) -> &'b str {
        text.clear();
        if self.attributes.is_some_and(|json| wanted.selected.may_occur_in(json.get())) {
            let mut selection = SpanSelection { selected: &wanted.selected, text: &mut *text };
            let _ = attributes_json::read(self.attributes, &mut selection);
        }
        text.as_str()
    }

    fn sampling(&self, span: SpanId, wanted: &WantedAttributes, sink: &mut dyn Sink) -> Sampling {
        let trace_state = self.trace_state.as_str();
        if !self.attributes.is_some_and(|json| wanted.may_occur_in(json.get())) {
            return sampling::from_trace_state(trace_state, span, sink);
        }
        let mut tags = SamplingTags { wanted, sampling: SamplingAttributes::default() };
        let _ = attributes_json::read(self.attributes, &mut tags);
        tags.sampling.settle(SpanRef { trace_state, span }, sink)
    }

    fn operation<'b>(&'b self, kind: SpanKind, namer: &'b mut OperationNamer) -> &'b str {
        let name = self.name.as_str();
        let quality = namer.assess(name);
        if quality == NameQuality::Plain {
            return name;
        }
        // Attributes that cannot be read cost a better name, not the span.
        let mut attributes = OperationAttributes::default();
        let _ = attributes_json::read(self.attributes, &mut attributes);
        namer.operation(quality, name, kind, &attributes)
    }
}

/// A status object, or its code alone.
fn read_status(json: &str) -> Status {
    #[derive(Deserialize)]
    struct StatusJson<'a> {
        #[serde(borrow, default)]
        code: LaxText<'a>,
    }
    if json == "{}" {
        return Status::Unset;
    }
    let object = serde_json::from_str::<StatusJson<'_>>(json).map(|status| status.code);
    let code = object.or_else(|_| serde_json::from_str::<LaxText<'_>>(json)).unwrap_or_default();
    let code = code.as_str();
    match code.strip_prefix("STATUS_CODE_").unwrap_or(code) {
        "1" => Status::Ok,
        "2" => Status::Error,
        name if name.eq_ignore_ascii_case("ok") => Status::Ok,
        name if name.eq_ignore_ascii_case("error") => Status::Error,
        _ => Status::Unset,
    }
}
