//! A Zipkin v2 JSON array of spans.

use super::text::{push, push_hex, push_time, push_trace_id};
use super::{SpanEncoder, SpanNames, microseconds};
use crate::delivery::SpanRow;
use laggard_model::{SpanKind, Status};
use std::sync::Arc;

pub(super) struct Zipkin {
    names: Arc<dyn SpanNames>,
    any_span: bool,
}

impl Zipkin {
    pub(super) fn new(names: Arc<dyn SpanNames>) -> Zipkin {
        Zipkin { names, any_span: false }
    }
}

impl SpanEncoder for Zipkin {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.push(b'[');
    }

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        push(out, if self.any_span { ",\n" } else { "\n" });
        self.any_span = true;
        push(out, r#"{"traceId":""#);
        push_trace_id(out, span.trace_id);
        if span.parent_id != 0 {
            push(out, r#"","parentId":""#);
            push_hex(out, span.parent_id);
        }
        push(out, r#"","id":""#);
        push_hex(out, span.span_id);
        push(out, kind_field(span.kind));
        push(out, r#"","name":""#);
        push(out, self.names.operation(span));
        push(out, r#"","timestamp":"#);
        let start = microseconds(span.start_ns);
        push_time(out, start);
        push(out, r#","duration":"#);
        push_time(out, microseconds(span.end_ns) - start);
        push(out, r#","localEndpoint":{"serviceName":""#);
        push(out, self.names.service(span));
        push(out, r#""},"tags":{"service.instance.id":""#);
        push(out, self.names.replica(span));
        if let Some(tenant) = self.names.tenant(span) {
            push(out, r#"","tenant":""#);
            push(out, tenant);
        }
        push(out, if span.status == Status::Error { r#"","error":"true"}}"# } else { r#""}}"# });
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        push(out, "\n]\n");
    }
}

/// Closes the quotes of the field before it. A span inside a service has no kind in Zipkin.
const fn kind_field(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Server => r#"","kind":"SERVER"#,
        SpanKind::Client => r#"","kind":"CLIENT"#,
        SpanKind::Consumer => r#"","kind":"CONSUMER"#,
        _ => "",
    }
}
