//! The span table: `trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,kind`, and
//! `status,tenant` where spans may fail.

use super::text::{push, push_hex, push_time, push_trace_id};
use super::{SpanEncoder, SpanNames};
use crate::delivery::SpanRow;
use laggard_model::Status;
use std::sync::Arc;

pub(super) struct SpanCsv {
    names: Arc<dyn SpanNames>,
}

impl SpanCsv {
    pub(super) fn new(names: Arc<dyn SpanNames>) -> SpanCsv {
        SpanCsv { names }
    }
}

impl SpanEncoder for SpanCsv {
    fn begin(&mut self, out: &mut Vec<u8>) {
        push(out, "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,kind");
        push(out, if self.names.has_outcomes() { ",status,tenant\n" } else { "\n" });
    }

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        push_trace_id(out, span.trace_id);
        out.push(b',');
        push_hex(out, span.span_id);
        out.push(b',');
        if span.parent_id != 0 {
            push_hex(out, span.parent_id);
        }
        // The names of the component table need no quotes.
        for text in [self.names.service(span), self.names.replica(span), self.names.operation(span)] {
            out.push(b',');
            push(out, text);
        }
        for time in [span.start_ns, span.end_ns - span.start_ns] {
            out.push(b',');
            push_time(out, time);
        }
        out.push(b',');
        push(out, span.kind.name());
        if self.names.has_outcomes() {
            push(out, if span.status == Status::Error { ",error," } else { ",unset," });
            push(out, self.names.tenant(span).unwrap_or_default());
        }
        out.push(b'\n');
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}
