//! OTLP protobuf: `TracesData` messages, each after its length in four bytes, most significant first.
//!
//! Field numbers are those of `opentelemetry/proto/trace/v1/trace.proto`.

use super::resource_batches::{BatchTarget, ResourceBatches};
use super::{SpanEncoder, SpanNames};
use crate::delivery::SpanRow;
use laggard_model::Status;
use std::sync::Arc;

pub(super) struct OtlpProto {
    names: Arc<dyn SpanNames>,
    batches: ResourceBatches,
    /// The open document: finished `ResourceSpans`.
    document: Vec<u8>,
    /// The open resource, encoded.
    resource: Vec<u8>,
    /// Its `ScopeSpans`.
    scope_spans: Vec<u8>,
    span: Vec<u8>,
}

impl OtlpProto {
    pub(super) fn new(names: Arc<dyn SpanNames>) -> OtlpProto {
        OtlpProto {
            names,
            batches: ResourceBatches::default(),
            document: Vec::new(),
            resource: Vec::new(),
            scope_spans: Vec::new(),
            span: Vec::new(),
        }
    }

    fn begin_resource(&mut self, span: &SpanRow) {
        let replica = self.names.replica(span);
        self.resource.clear();
        push_attribute(&mut self.resource, 1, "service.name", self.names.service(span));
        push_attribute(&mut self.resource, 1, "service.instance.id", replica);
        push_attribute(&mut self.resource, 1, "host.name", replica);
        let mut scope = Vec::new();
        push_bytes(&mut scope, 1, b"laggard-simulate");
        self.scope_spans.clear();
        push_bytes(&mut self.scope_spans, 1, &scope);
    }

    fn end_resource(&mut self) {
        let mut resource_spans = Vec::with_capacity(self.resource.len() + self.scope_spans.len() + 16);
        push_bytes(&mut resource_spans, 1, &self.resource);
        push_bytes(&mut resource_spans, 2, &self.scope_spans);
        push_bytes(&mut self.document, 1, &resource_spans);
    }

    fn end_document(&mut self, out: &mut Vec<u8>) {
        self.end_resource();
        let length = u32::try_from(self.document.len()).expect("512 spans are far below 4 GiB");
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.document);
        self.document.clear();
    }

    fn push_span(&mut self, span: &SpanRow) {
        let out = &mut self.span;
        out.clear();
        push_bytes(out, 1, &span.trace_id.value().to_be_bytes());
        push_bytes(out, 2, &span.span_id.to_be_bytes());
        if span.parent_id != 0 {
            push_bytes(out, 4, &span.parent_id.to_be_bytes());
        }
        push_bytes(out, 5, self.names.operation(span).as_bytes());
        push_key(out, 6, WireType::Varint);
        push_varint(out, span.kind as u64);
        for (field, time) in [(7, span.start_ns), (8, span.end_ns)] {
            push_key(out, field, WireType::Fixed64);
            out.extend_from_slice(&time.to_le_bytes());
        }
        if let Some(tenant) = self.names.tenant(span) {
            push_attribute(out, 9, "tenant", tenant);
        }
        if span.status == Status::Error {
            // `Status { code = 3 }`, `STATUS_CODE_ERROR = 2`.
            push_bytes(out, 15, &[3 << 3, 2]);
        }
        push_bytes(&mut self.scope_spans, 2, &self.span);
    }
}

impl SpanEncoder for OtlpProto {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        let was_open = self.batches.is_open();
        match self.batches.target(span.process) {
            BatchTarget::SameResource => {}
            BatchTarget::NewResource => {
                self.end_resource();
                self.begin_resource(span);
            }
            BatchTarget::NewDocument => {
                if was_open {
                    self.end_document(out);
                }
                self.begin_resource(span);
            }
        }
        self.push_span(span);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if self.batches.is_open() {
            self.end_document(out);
        }
    }
}

/// Protobuf's wire types, as far as they occur here.
#[derive(Clone, Copy)]
enum WireType {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

fn push_key(out: &mut Vec<u8>, field: u64, wire_type: WireType) {
    push_varint(out, field << 3 | wire_type as u64);
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes, text or a message.
fn push_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    push_key(out, field, WireType::Bytes);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// `attributes`, field 1 of a resource and 9 of a span: `KeyValue { key = 1, value = 2 }`, `AnyValue { string_value = 1 }`.
fn push_attribute(out: &mut Vec<u8>, field: u64, key: &str, text: &str) {
    let (mut value, mut key_value) = (Vec::new(), Vec::new());
    push_bytes(&mut value, 1, text.as_bytes());
    push_bytes(&mut key_value, 1, key.as_bytes());
    push_bytes(&mut key_value, 2, &value);
    push_bytes(out, field, &key_value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_by_hand() {
        // The example of the protobuf encoding guide: 150 is 96 01, and field 1 of it 08 96 01.
        let mut out = Vec::new();
        push_key(&mut out, 1, WireType::Varint);
        push_varint(&mut out, 150);
        push_bytes(&mut out, 2, b"testing");
        assert_eq!(out, b"\x08\x96\x01\x12\x07testing");
    }
}
