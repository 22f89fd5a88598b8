//! OTLP protobuf: `ExportTraceServiceRequest` and `TracesData`, which are the same on the wire.
//!
//! ```text
//! request ─1─► ResourceSpans ─1─► Resource                 complete
//!                            └─2─► ScopeSpans ─2─► Span    complete
//! ```
//!
//! The reader descends by remaining lengths, so that a message of any size is read in chunks; only resources
//! and spans must be complete; those within one chunk are read without copying.

#[cfg(test)]
pub(crate) mod encode;
mod message;
mod metric;
pub(crate) mod sniff;
#[cfg(test)]
mod tests;

use crate::conventions::{OperationNamer, ResourceAttributes, ResourceNames};
use crate::metrics::{MetricSamples, WaitingMetrics};
use crate::pending::PendingSpans;
use crate::sampling::WantedAttributes;
use laggard_model::{AttributeText, Loss, Sink, TailSampler};
use laggard_wire::{Contents, Header};
use message::SpanError;

/// A resource or a span may have this many bytes; a larger one is a [`Loss::OversizedRecord`].
const MESSAGE_BYTES_MAX: u64 = 16 << 20;

/// Reads one message.
#[derive(Debug)]
pub(crate) struct OtlpProtobuf {
    /// The messages that are open, outermost first: at most three.
    open: Vec<OpenMessage>,
    next: ParserAction,
    /// Groups that are open; everything in them is passed over.
    groups: u64,
    /// Bytes of the message consumed.
    position: u64,
    /// The start of a header or of a message, from earlier chunks.
    held: Vec<u8>,
    /// What is wrong with the nesting itself, first of all.
    damage: Option<String>,
    records: SpanRecords,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenMessage {
    level: MessageLevel,
    /// Position of the first byte after it.
    end: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageLevel {
    Request,
    ResourceSpans,
    ScopeSpans,
}

/// The next item of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParserAction {
    Header,
    /// This many bytes of no interest.
    Skip(u64),
    /// The rest of the innermost message, which is skipped.
    Damage,
    Resource(u64),
    Scope(u64),
    WireSpan(u64),
}

/// Content of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    Traces,
    Metrics,
}

/// The current resource and scope, and what is done with spans.
#[derive(Debug, Default)]
struct SpanRecords {
    attributes: ResourceAttributes,
    /// The resource's names, once it was read.
    resource: Option<ResourceNames>,
    /// The mark of a tail sampler on the current scope.
    tail_sampler: Option<TailSampler>,
    wanted: WantedAttributes,
    pending: PendingSpans,
    namer: OperationNamer,
    /// The selected attributes of the last span.
    selected: AttributeText,
    metrics: MetricSamples,
    waiting: WaitingMetrics,
    /// `None` when each record must be examined.
    signal: Option<Signal>,
}

impl OtlpProtobuf {
    /// A reader for one message of `length` bytes, or of all bytes there are.
    pub(crate) fn new(
        length: Option<u64>,
        wanted: &WantedAttributes,
        metrics: MetricSamples,
    ) -> OtlpProtobuf {
        let request = OpenMessage { level: MessageLevel::Request, end: length.unwrap_or(u64::MAX) };
        OtlpProtobuf {
            open: vec![request],
            next: ParserAction::Header,
            groups: 0,
            position: 0,
            held: Vec::new(),
            damage: None,
            records: SpanRecords { wanted: wanted.clone(), metrics, ..SpanRecords::default() },
        }
    }

    /// Reads only spans, or only metrics, for callers that know what the message holds.
    pub(crate) fn only(mut self, signal: Signal) -> OtlpProtobuf {
        self.records.signal = Some(signal);
        self
    }

    /// What is wrong with the message itself: unreadable records are not damage.
    pub(crate) fn take_damage(&mut self) -> Option<String> {
        self.damage.take()
    }

    /// What is known of metrics, for the next message of the input.
    pub(crate) fn take_metrics(&mut self) -> MetricSamples {
        std::mem::take(&mut self.records.metrics)
    }

    /// Metrics for another part of the input; `None` once there are any.
    pub(crate) fn metrics_for_another_part(&self) -> Option<MetricSamples> {
        self.records.metrics.for_another_part()
    }

    /// Reads the next bytes of the message.
    pub(crate) fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) {
        let mut rest = chunk;
        loop {
            self.close_ended(sink);
            if rest.is_empty() {
                return;
            }
            let read = match self.next {
                ParserAction::Header if self.held.is_empty() => self.split_header(rest, sink),
                ParserAction::Header => self.split_header_byte(rest[0], sink),
                ParserAction::Skip(remaining) => self.skip(remaining, rest),
                ParserAction::Damage => self.left_in_innermost(rest).len(),
                ParserAction::Resource(length)
                | ParserAction::Scope(length)
                | ParserAction::WireSpan(length) => self.read_message(length as usize, rest, sink),
            };
            self.position += read as u64;
            rest = &rest[read..];
        }
    }

    /// The message ends here: counts it as cut off unless it may.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        self.close_ended(sink);
        let is_request = self.open.len() == 1 && self.groups == 0 && self.held.is_empty();
        if is_request && matches!(self.next, ParserAction::Header | ParserAction::Damage) {
            return;
        }
        let position = self.position;
        let what = || format!("the message ends at byte {position} inside a field");
        self.damage.get_or_insert_with(what);
        sink.lose(Loss::TruncatedInput, &what);
        self.records.pending.abandon(Loss::TruncatedInput, sink);
        self.records.waiting.abandon(Loss::TruncatedInput, sink);
    }

    #[inline]
    fn innermost(&self) -> OpenMessage {
        *self.open.last().expect("the request is never closed")
    }

    /// The part of `rest` that belongs to the innermost message.
    #[inline]
    fn left_in_innermost<'r>(&self, rest: &'r [u8]) -> &'r [u8] {
        let remaining = self.innermost().end - self.position;
        &rest[..remaining.min(rest.len() as u64) as usize]
    }

    /// Closes the messages that end at the current position.
    #[inline]
    fn close_ended(&mut self, sink: &mut dyn Sink) {
        while self.open.len() > 1 && self.innermost().end == self.position {
            if self.groups > 0 || !self.held.is_empty() {
                self.fail(self.position, "a message ends inside a field", sink);
            }
            self.next = ParserAction::Header;
            let closed = self.open.pop().expect("more than one message is open");
            match closed.level {
                MessageLevel::ResourceSpans => self.records.leave_resource_spans(sink),
                MessageLevel::ScopeSpans => self.records.tail_sampler = None,
                MessageLevel::Request => {}
            }
        }
    }

    fn skip(&mut self, remaining: u64, rest: &[u8]) -> usize {
        let read = remaining.min(rest.len() as u64);
        self.next =
            if read == remaining { ParserAction::Header } else { ParserAction::Skip(remaining - read) };
        read as usize
    }

    /// Reads a header, or a part of one; returns the bytes of `rest` that were read.
    #[inline]
    fn split_header(&mut self, rest: &[u8], sink: &mut dyn Sink) -> usize {
        let within = self.left_in_innermost(rest);
        match laggard_wire::header(within) {
            Ok(Some(header)) => {
                self.begin(header, self.position + header.bytes as u64, sink);
                header.bytes
            }
            Ok(None) => {
                self.held.extend_from_slice(within);
                within.len()
            }
            Err(laggard_wire::WireError) => {
                self.fail(self.position, "no field starts here", sink);
                0
            }
        }
    }

    /// Reads one more byte of a header that chunks cut.
    fn split_header_byte(&mut self, byte: u8, sink: &mut dyn Sink) -> usize {
        let start = self.position - self.held.len() as u64;
        self.held.push(byte);
        match laggard_wire::header(&self.held) {
            Ok(Some(header)) => {
                self.held.clear();
                self.begin(header, self.position + 1, sink);
            }
            Ok(None) => {}
            Err(laggard_wire::WireError) => self.fail(start, "no field starts here", sink),
        }
        1
    }

    /// Decides what to do with a field whose contents start at `after`.
    #[inline]
    fn begin(&mut self, header: Header, after: u64, sink: &mut dyn Sink) {
        let length = match header.contents {
            Contents::Varint(_) => 0,
            Contents::Fixed64 => 8,
            Contents::Fixed32 => 4,
            Contents::Bytes(length) => length,
            Contents::GroupStart => {
                self.groups += 1;
                return;
            }
            Contents::GroupEnd if self.groups == 0 => {
                return self.fail(after, "a group ends that has not started", sink);
            }
            Contents::GroupEnd => {
                self.groups -= 1;
                return;
            }
        };
        let OpenMessage { level, end } = self.innermost();
        if length > end - after {
            return self.fail(after, "a field is longer than its message", sink);
        }
        if !matches!(header.contents, Contents::Bytes(_)) || self.groups > 0 {
            self.next = ParserAction::Skip(length);
            return;
        }
        let end = after + length;
        match (level, header.field) {
            (MessageLevel::Request, 1) => {
                self.open.push(OpenMessage { level: MessageLevel::ResourceSpans, end });
                self.records.enter_resource_spans();
            }
            // Field 1000 held the spans by instrumentation library, before OTLP 1.0.
            (MessageLevel::ResourceSpans, 2 | 1000) => {
                self.open.push(OpenMessage { level: MessageLevel::ScopeSpans, end })
            }
            (MessageLevel::ResourceSpans, 1) => {
                self.begin_message(ParserAction::Resource(length), length, after, sink)
            }
            (MessageLevel::ScopeSpans, 1) => {
                self.begin_message(ParserAction::Scope(length), length, after, sink)
            }
            (MessageLevel::ScopeSpans, 2) => {
                self.begin_message(ParserAction::WireSpan(length), length, after, sink)
            }
            _ => self.next = ParserAction::Skip(length),
        }
    }

    #[inline]
    fn begin_message(&mut self, next: ParserAction, length: u64, after: u64, sink: &mut dyn Sink) {
        self.next = next;
        if length == 0 {
            self.message(next, &[], sink);
        } else if length > MESSAGE_BYTES_MAX {
            self.next = ParserAction::Skip(length);
            sink.lose(Loss::OversizedRecord, &|| {
                format!("the message at byte {after} is larger than {MESSAGE_BYTES_MAX} bytes")
            });
        }
    }

    #[inline]
    fn read_message(&mut self, length: usize, rest: &[u8], sink: &mut dyn Sink) -> usize {
        if self.held.is_empty() && rest.len() >= length {
            self.message(self.next, &rest[..length], sink);
            return length;
        }
        let read = rest.len().min(length - self.held.len());
        self.held.extend_from_slice(&rest[..read]);
        if self.held.len() == length {
            let mut held = std::mem::take(&mut self.held);
            self.message(self.next, &held, sink);
            held.clear();
            self.held = held;
        }
        read
    }

    #[inline]
    fn message(&mut self, which: ParserAction, message: &[u8], sink: &mut dyn Sink) {
        self.next = ParserAction::Header;
        match which {
            ParserAction::Resource(_) => self.records.resource(message, sink),
            ParserAction::Scope(_) => self.records.scope(message),
            _ => self.records.span(message, sink),
        }
    }

    /// Abandons the innermost message; its end is known, and what follows it can be read.
    #[cold]
    fn fail(&mut self, position: u64, what: &str, sink: &mut dyn Sink) {
        let what = || format!("byte {position}: {what}");
        self.damage.get_or_insert_with(what);
        sink.lose(Loss::MalformedRecord, &what);
        if self.innermost().level == MessageLevel::ResourceSpans {
            self.records.pending.abandon(Loss::MalformedRecord, sink);
            self.records.waiting.abandon(Loss::MalformedRecord, sink);
        }
        self.groups = 0;
        self.held.clear();
        self.next = ParserAction::Damage;
    }
}

impl SpanRecords {
    fn enter_resource_spans(&mut self) {
        self.attributes = ResourceAttributes::default();
        self.resource = None;
        self.tail_sampler = None;
    }

    fn leave_resource_spans(&mut self, sink: &mut dyn Sink) {
        self.emit_pending(&ResourceNames::default(), sink);
    }

    /// Reads a resource. A second one of the same spans adds to the first, as protobuf requires.
    fn resource(&mut self, message: &[u8], sink: &mut dyn Sink) {
        if message::read_resource(message, &mut self.attributes, &self.wanted.selected).is_err() {
            sink.lose(Loss::MalformedRecord, &|| "a resource that is no message".to_owned());
        }
        let names = self.attributes.names();
        self.emit_pending(&names, sink);
        self.resource = Some(names);
    }

    /// Emits the records that waited for their resource.
    fn emit_pending(&mut self, names: &ResourceNames, sink: &mut dyn Sink) {
        self.pending.flush(|_| names, sink);
        for message in self.waiting.take() {
            metric::read(&message, names, &mut self.metrics, sink);
        }
    }

    /// Handles a message that is not a span: a metric, which nests like one.
    #[cold]
    fn metric(&mut self, message: &[u8], sink: &mut dyn Sink) {
        match &self.resource {
            Some(names) => metric::read(message, names, &mut self.metrics, sink),
            None => self.waiting.push(message, sink),
        }
    }

    /// Reads a scope, which applies to the spans after it.
    fn scope(&mut self, message: &[u8]) {
        self.tail_sampler = message::read_scope(message, &self.wanted);
    }

    #[inline]
    fn span(&mut self, message: &[u8], sink: &mut dyn Sink) {
        if self.signal == Some(Signal::Metrics) {
            return self.metric(message, sink);
        }
        let span = match message::read_span(message, &self.wanted, sink) {
            Ok(span) => span,
            Err(SpanError::Metric) if self.signal == Some(Signal::Traces) => {
                return sink.lose(Loss::InvalidId, &|| "a span without ids".to_owned());
            }
            Err(SpanError::Metric) => return self.metric(message, sink),
            Err(SpanError::Counted) => return,
        };
        let name = span.name();
        span.select(&self.wanted.selected, &mut self.selected);
        let mut fields = span.fields(&name, &mut self.namer);
        fields.attributes = self.selected.as_str();
        span.emit_events(sink);
        fields.sampling.tail_sampler = fields.sampling.tail_sampler.or(self.tail_sampler);
        match &self.resource {
            Some(names) => fields.emit(names, sink),
            None => self.pending.push(&fields, "", sink),
        }
    }
}
