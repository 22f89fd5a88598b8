//! Destination of the records of readers.

use crate::CallFlag;
use crate::{
    CallRecord, Loss, Losses, Measure, Nanos, ReplicaSource, SampleRecord, Sampling, SpanAttributes,
    SpanEvent, SpanId, SpanKind, SpanRecord, Status, Tid, Timestamp, TraceId,
};
use std::any::Any;

/// Receives the records of one input, in the order of the input. A reader calls it for every record it could
/// read and for every loss; it does not retain the references passed to it.
///
/// ```text
/// bytes ── push ──► reader ──┬─ span / call ──► Sink
///                            └─ lose ─────────►
/// ```
pub trait Sink {
    /// Takes a span.
    fn span(&mut self, span: &SpanRecord<'_>);

    /// Takes a call-log record.
    fn call(&mut self, call: &CallRecord<'_>);

    /// Accepts a sample. Trace analyses do not use samples: by default it is counted as
    /// another signal.
    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.lose(Loss::OtherSignal, &|| format!("{:?} at {}", sample.measure, sample.time.unix_ns()));
    }

    /// Whether events are of use; a sink without use for them saves readers the work.
    fn wants_events(&self) -> bool {
        false
    }

    /// Takes an event of a span, which may come before its span or without it.
    fn event(&mut self, _event: SpanEvent) {}

    /// Counts something that could not be read. `example` is called only for the first of its kind.
    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String);

    /// A sink for a part of the input that another thread reads; `None` if this sink takes records only one by one.
    fn part(&self) -> Option<Box<dyn SinkPart>> {
        None
    }

    /// Takes what a part has received, as if it had come here one by one; the part is empty afterwards and can be used again.
    /// Parts were made by [`Sink::part`] of this sink, and come in the order of the input.
    fn add_part(&mut self, _part: &mut dyn SinkPart) {}
}

/// Receives the records of a part of an input, on another thread, for [`Sink::add_part`].
pub trait SinkPart: Sink + Send + Any {
    /// Records in it.
    fn records(&self) -> u64;
}

impl dyn SinkPart {
    /// The part as what it is.
    ///
    /// # Panics
    /// When it is another sink's part.
    pub fn of<P: SinkPart>(&mut self) -> &mut P {
        let part: &mut dyn Any = self;
        part.downcast_mut().expect("a part comes back to the sink that made it")
    }
}

/// A sink that collects everything: for tests and for small inputs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Collect {
    /// Every span.
    pub spans: Vec<OwnedSpan>,
    /// Every call-log record.
    pub calls: Vec<OwnedCall>,
    /// Every sample.
    pub samples: Vec<OwnedSample>,
    /// Every event.
    pub events: Vec<SpanEvent>,
    /// Every loss.
    pub losses: Losses,
}

/// A [`SpanRecord`] that owns its text.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of SpanRecord")]
pub struct OwnedSpan {
    pub trace_id: TraceId,
    pub trace_text: Option<String>,
    pub span_id: SpanId,
    pub parent: Option<SpanId>,
    pub service: String,
    pub replica: String,
    pub replica_source: ReplicaSource,
    pub operation: String,
    pub kind: SpanKind,
    pub status: Status,
    pub start: Timestamp,
    pub inclusive: Nanos,
    pub sampling: Sampling,
    pub resource_attributes: String,
    pub attributes: String,
    pub thread: Option<Tid>,
}

/// A [`CallRecord`] that owns its text.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of CallRecord")]
pub struct OwnedCall {
    pub host: String,
    pub time: Timestamp,
    pub request: TraceId,
    pub request_text: Option<String>,
    pub fragment: TraceId,
    pub service: String,
    pub operation: String,
    pub flag: CallFlag,
    pub callee: Option<TraceId>,
}

/// A [`SampleRecord`] that owns its text.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "the fields are those of SampleRecord")]
pub struct OwnedSample {
    pub time: Timestamp,
    pub measure: Measure,
    pub server: String,
    pub tier: String,
    pub transaction: String,
    pub callee: String,
    pub value: f64,
}

impl OwnedSpan {
    /// A copy of a record.
    pub fn from_record(span: &SpanRecord<'_>) -> OwnedSpan {
        OwnedSpan {
            trace_id: span.trace_id,
            trace_text: span.trace_text.map(str::to_owned),
            span_id: span.span_id,
            parent: span.parent,
            service: span.service.to_owned(),
            replica: span.replica.to_owned(),
            replica_source: span.replica_source,
            operation: span.operation.to_owned(),
            kind: span.kind,
            status: span.status,
            start: span.start,
            inclusive: span.inclusive,
            sampling: span.sampling,
            resource_attributes: span.attributes.resource.to_owned(),
            attributes: span.attributes.span.to_owned(),
            thread: span.attributes.thread,
        }
    }

    /// The record it is a copy of.
    pub fn record(&self) -> SpanRecord<'_> {
        SpanRecord {
            trace_id: self.trace_id,
            trace_text: self.trace_text.as_deref(),
            span_id: self.span_id,
            parent: self.parent,
            service: &self.service,
            replica: &self.replica,
            replica_source: self.replica_source,
            operation: &self.operation,
            kind: self.kind,
            status: self.status,
            start: self.start,
            inclusive: self.inclusive,
            sampling: self.sampling,
            attributes: SpanAttributes {
                resource: &self.resource_attributes,
                span: &self.attributes,
                thread: self.thread,
            },
        }
    }
}

impl Sink for Collect {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.spans.push(OwnedSpan::from_record(span));
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.calls.push(OwnedCall {
            host: call.host.to_owned(),
            time: call.time,
            request: call.request,
            request_text: call.request_text.map(str::to_owned),
            fragment: call.fragment,
            service: call.service.to_owned(),
            operation: call.operation.to_owned(),
            flag: call.flag,
            callee: call.callee,
        });
    }

    fn sample(&mut self, sample: &SampleRecord<'_>) {
        self.samples.push(OwnedSample {
            time: sample.time,
            measure: sample.measure,
            server: sample.server.to_owned(),
            tier: sample.tier.to_owned(),
            transaction: sample.transaction.to_owned(),
            callee: sample.callee.to_owned(),
            value: sample.value,
        });
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: SpanEvent) {
        self.events.push(event);
    }

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        self.losses.add(loss, example);
    }

    fn part(&self) -> Option<Box<dyn SinkPart>> {
        Some(Box::new(Collect::default()))
    }

    fn add_part(&mut self, part: &mut dyn SinkPart) {
        let part = std::mem::take(part.of::<Collect>());
        self.spans.extend(part.spans);
        self.calls.extend(part.calls);
        self.samples.extend(part.samples);
        self.events.extend(part.events);
        self.losses.merge(&part.losses);
    }
}

impl SinkPart for Collect {
    fn records(&self) -> u64 {
        (self.spans.len() + self.calls.len() + self.samples.len()) as u64
    }
}
