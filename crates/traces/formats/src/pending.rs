//! Spans between a reader and a sink.

use crate::conventions::ResourceNames;
use laggard_model::{
    Loss, Nanos, ParsedTraceId, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Tid,
    Timestamp, TraceId,
};

// Limit: bytes of spans that wait for their resource or process | `oversized_record`
/// Spans that wait for their resource take at most this much memory.
const PENDING_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };

/// A span without its resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SpanFields<'a> {
    pub(crate) trace_id: TraceId,
    pub(crate) trace_text: Option<&'a str>,
    pub(crate) span_id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) operation: &'a str,
    pub(crate) kind: SpanKind,
    pub(crate) status: Status,
    pub(crate) start: Timestamp,
    pub(crate) inclusive: Nanos,
    pub(crate) sampling: Sampling,
    /// A text of [`AttributeText`](laggard_model::AttributeText).
    pub(crate) attributes: &'a str,
    /// The thread it ran on.
    pub(crate) thread: Option<Tid>,
}

impl SpanFields<'_> {
    /// Emits the span of a known resource.
    pub(crate) fn emit(&self, names: &ResourceNames, sink: &mut dyn Sink) {
        sink.span(&SpanRecord {
            trace_id: self.trace_id,
            trace_text: self.trace_text,
            span_id: self.span_id,
            parent: self.parent,
            service: &names.service,
            replica: &names.replica,
            replica_source: names.replica_source,
            operation: self.operation,
            kind: self.kind,
            status: self.status,
            start: self.start,
            inclusive: self.inclusive,
            sampling: self.sampling,
            attributes: SpanAttributes {
                resource: names.attributes.as_str(),
                span: self.attributes,
                thread: self.thread,
            },
        });
    }
}

/// End minus start; a negative difference is counted and treated as zero.
pub(crate) fn inclusive_time(span: SpanId, start: Timestamp, end: Timestamp, sink: &mut dyn Sink) -> Nanos {
    end.since(start).non_negative().unwrap_or_else(|| {
        let (start, end) = (start.unix_ns(), end.unix_ns());
        sink.lose(Loss::NegativeTime, &|| format!("span {span} starts at {start} ns and ends at {end} ns"));
        Nanos::ZERO
    })
}

/// A length in nanoseconds; a negative one is counted and treated as zero.
pub(crate) fn inclusive_of_length(span: SpanId, length_ns: i64, sink: &mut dyn Sink) -> Nanos {
    u64::try_from(length_ns).map_or_else(
        |_| {
            sink.lose(Loss::NegativeTime, &|| format!("span {span} lasts {length_ns} ns"));
            Nanos::ZERO
        },
        Nanos::from_ns,
    )
}

/// Reads the ids that formats with textual ids have. Zero and empty ids name nothing.
pub(crate) fn parse_trace_id(text: &str) -> Option<ParsedTraceId> {
    TraceId::parse_text(text).filter(|parsed| parsed.id.value() != 0)
}

/// Reads a span id; `None` for an empty or zero one.
pub(crate) fn parse_span_id(text: &str) -> Option<SpanId> {
    SpanId::parse_text(text).filter(|&id| id != SpanId::ZERO_TEXT)
}

/// Spans whose resource comes after them, stored in about a tenth of the space of their JSON.
#[derive(Debug, Default)]
pub(crate) struct PendingSpans {
    spans: Vec<PendingSpan>,
    text: String,
}

#[derive(Debug)]
struct PendingSpan {
    fields: SpanFields<'static>,
    /// Ends in `text` of the trace id, the operation, the attributes and the resource's key; each starts at the end before.
    trace_text_end: usize,
    operation_end: usize,
    attributes_end: usize,
    key_end: usize,
}

impl PendingSpans {
    /// Stores a span with the key of its resource, or counts it as lost at the limit.
    pub(crate) fn push(&mut self, span: &SpanFields<'_>, key: &str, sink: &mut dyn Sink) {
        let bytes = self.text.len() + self.spans.len() * size_of::<PendingSpan>();
        if bytes > PENDING_BYTES_MAX {
            let id = span.span_id;
            sink.lose(Loss::OversizedRecord, &|| {
                format!("span {id}: too many spans precede the resource with their service")
            });
            return;
        }
        self.text.push_str(span.trace_text.unwrap_or_default());
        let trace_text_end = self.text.len();
        self.text.push_str(span.operation);
        let operation_end = self.text.len();
        self.text.push_str(span.attributes);
        let attributes_end = self.text.len();
        self.text.push_str(key);
        let key_end = self.text.len();
        let fields = SpanFields {
            trace_id: span.trace_id,
            trace_text: None,
            span_id: span.span_id,
            parent: span.parent,
            operation: "",
            kind: span.kind,
            status: span.status,
            start: span.start,
            inclusive: span.inclusive,
            sampling: span.sampling,
            attributes: "",
            thread: span.thread,
        };
        self.spans.push(PendingSpan { fields, trace_text_end, operation_end, attributes_end, key_end });
    }

    /// Emits every span with the names that `resource` returns for its key, and is empty again.
    pub(crate) fn flush<'n>(
        &mut self,
        mut resource: impl FnMut(&str) -> &'n ResourceNames,
        sink: &mut dyn Sink,
    ) {
        let mut from = 0;
        for span in &self.spans {
            let trace_text = &self.text[from..span.trace_text_end];
            let fields = SpanFields {
                trace_text: (!trace_text.is_empty()).then_some(trace_text),
                operation: &self.text[span.trace_text_end..span.operation_end],
                attributes: &self.text[span.operation_end..span.attributes_end],
                ..span.fields
            };
            fields.emit(resource(&self.text[span.attributes_end..span.key_end]), sink);
            from = span.key_end;
        }
        self.clear();
    }

    /// Drops every span. Each counts as malformed when damage to the input is the cause; an input that was
    /// cut off is one loss, counted already.
    pub(crate) fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink) {
        if cause != Loss::TruncatedInput {
            for span in &self.spans {
                let id = span.fields.span_id;
                sink.lose(cause, &|| format!("span {id}: the resource with its service is damaged"));
            }
        }
        self.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Collect;

    fn span(id: u64) -> SpanFields<'static> {
        SpanFields {
            trace_id: TraceId::from_value(7),
            trace_text: Some("seven"),
            span_id: SpanId::new(id).unwrap(),
            parent: None,
            operation: "load",
            kind: SpanKind::Client,
            status: Status::Ok,
            start: Timestamp::from_unix_ns(1),
            inclusive: Nanos::from_ns(2),
            sampling: Sampling::default(),
            attributes: "tenant\u{1f}\u{1f}acme\u{1e}",
            thread: Some(Tid(4_711)),
        }
    }

    #[test]
    fn pending_spans_are_returned_unchanged() {
        let mut sink = Collect::default();
        let mut pending = PendingSpans::default();
        pending.push(&span(1), "p1", &mut sink);
        pending.push(&SpanFields { trace_text: None, operation: "", ..span(2) }, "", &mut sink);
        let names = ResourceNames { service: "cart".to_owned(), ..ResourceNames::default() };
        let mut keys = Vec::new();
        pending.flush(
            |key| {
                keys.push(key.to_owned());
                &names
            },
            &mut sink,
        );
        assert!(pending.is_empty());
        let mut expected = Collect::default();
        span(1).emit(&names, &mut expected);
        SpanFields { trace_text: None, operation: "", ..span(2) }.emit(&names, &mut expected);
        assert_eq!((sink, keys), (expected, vec!["p1".to_owned(), String::new()]));
    }

    #[test]
    fn pending_spans_are_limited_and_dropped_ones_counted() {
        let mut sink = Collect::default();
        let mut pending = PendingSpans::default();
        for id in 1..=20_000 {
            pending.push(&span(id), "p1", &mut sink);
        }
        let lost = sink.losses.count(Loss::OversizedRecord);
        assert!(lost > 0);
        let names = ResourceNames::default();
        pending.flush(|_| &names, &mut sink);
        assert_eq!(sink.spans.len() as u64 + lost, 20_000);
    }
}
