//! OTLP JSON, one `TracesData` a line.

use super::resource_batches::{BatchTarget, ResourceBatches};
use super::text::{push, push_decimal, push_hex, push_time, push_trace_id};
use super::{SpanEncoder, SpanNames};
use crate::delivery::SpanRow;
use laggard_model::Status;
use std::sync::Arc;

const END_RESOURCE: &str = "]}]}";
const END_DOCUMENT: &str = "]}\n";

pub(super) struct OtlpJson {
    names: Arc<dyn SpanNames>,
    batches: ResourceBatches,
}

impl OtlpJson {
    pub(super) fn new(names: Arc<dyn SpanNames>) -> OtlpJson {
        OtlpJson { names, batches: ResourceBatches::default() }
    }

    fn begin_resource(&self, span: &SpanRow, out: &mut Vec<u8>) {
        let replica = self.names.replica(span);
        push(out, r#"{"resource":{"attributes":["#);
        push_attribute(out, "service.name", self.names.service(span));
        out.push(b',');
        push_attribute(out, "service.instance.id", replica);
        out.push(b',');
        push_attribute(out, "host.name", replica);
        push(out, r#"]},"scopeSpans":[{"scope":{"name":"laggard-simulate"},"spans":["#);
    }
}

fn push_attribute(out: &mut Vec<u8>, key: &str, value: &str) {
    push(out, r#"{"key":""#);
    push(out, key);
    push(out, r#"","value":{"stringValue":""#);
    push(out, value);
    push(out, r#""}}"#);
}

impl SpanEncoder for OtlpJson {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        let was_open = self.batches.is_open();
        match self.batches.target(span.process) {
            BatchTarget::SameResource => out.push(b','),
            BatchTarget::NewResource => {
                push(out, END_RESOURCE);
                out.push(b',');
                self.begin_resource(span, out);
            }
            BatchTarget::NewDocument => {
                if was_open {
                    push(out, END_RESOURCE);
                    push(out, END_DOCUMENT);
                }
                push(out, r#"{"resourceSpans":["#);
                self.begin_resource(span, out);
            }
        }
        self.push_span(span, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if self.batches.is_open() {
            push(out, END_RESOURCE);
            push(out, END_DOCUMENT);
        }
    }
}

impl OtlpJson {
    fn push_span(&self, span: &SpanRow, out: &mut Vec<u8>) {
        push(out, r#"{"traceId":""#);
        push_trace_id(out, span.trace_id);
        push(out, r#"","spanId":""#);
        push_hex(out, span.span_id);
        push(out, r#"","parentSpanId":""#);
        if span.parent_id != 0 {
            push_hex(out, span.parent_id);
        }
        push(out, r#"","name":""#);
        push(out, self.names.operation(span));
        push(out, r#"","kind":"#);
        push_decimal(out, span.kind as u64);
        push(out, r#","startTimeUnixNano":""#);
        push_time(out, span.start_ns);
        push(out, r#"","endTimeUnixNano":""#);
        push_time(out, span.end_ns);
        push(out, r#"","#);
        if let Some(tenant) = self.names.tenant(span) {
            push(out, r#""attributes":["#);
            push_attribute(out, "tenant", tenant);
            push(out, "],");
        }
        push(out, if span.status == Status::Error { r#""status":{"code":2}}"# } else { r#""status":{}}"# });
    }
}
