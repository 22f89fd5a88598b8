//! The span table: `trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,kind`.

use super::SpanEncoder;
use super::text::{push, push_hex, push_time, push_trace_id};
use crate::delivery::SpanRow;
use crate::simulation::Simulation;
use std::sync::Arc;

pub(super) struct SpanCsv {
    simulation: Arc<Simulation>,
}

impl SpanCsv {
    pub(super) fn new(simulation: Arc<Simulation>) -> SpanCsv {
        SpanCsv { simulation }
    }
}

impl SpanEncoder for SpanCsv {
    fn begin(&mut self, out: &mut Vec<u8>) {
        push(out, "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,kind\n");
    }

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        let operation = self.simulation.operation_of(span);
        push_trace_id(out, span.trace_id);
        out.push(b',');
        push_hex(out, span.span_id);
        out.push(b',');
        if span.parent_id != 0 {
            push_hex(out, span.parent_id);
        }
        // The names of the component table need no quotes.
        for text in [operation.service(), self.simulation.replica_of(span), &operation.name] {
            out.push(b',');
            push(out, text);
        }
        for time in [span.start_ns, span.end_ns - span.start_ns] {
            out.push(b',');
            push_time(out, time);
        }
        out.push(b',');
        push(out, operation.kind.name());
        out.push(b'\n');
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}
