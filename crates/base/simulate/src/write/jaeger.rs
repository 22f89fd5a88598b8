//! The JSON of Jaeger's query API: `{"data":[trace, ...]}`, spans grouped by trace.

use super::text::{push, push_decimal, push_hex, push_time, push_trace_id};
use super::{SpanEncoder, SpanNames, microseconds};
use crate::delivery::SpanRow;
use laggard_model::Status;
use std::sync::Arc;

pub(super) struct Jaeger {
    names: Arc<dyn SpanNames>,
    /// The spans of the trace being collected.
    trace: Vec<SpanRow>,
    /// A span of each of its processes; `p1` is the first.
    processes: Vec<SpanRow>,
    any_trace: bool,
}

impl Jaeger {
    pub(super) fn new(names: Arc<dyn SpanNames>) -> Jaeger {
        Jaeger { names, trace: Vec::new(), processes: Vec::new(), any_trace: false }
    }

    fn end_trace(&mut self, out: &mut Vec<u8>) {
        let trace = std::mem::take(&mut self.trace);
        let Some(first) = trace.first() else { return };
        push(out, if self.any_trace { ",\n" } else { "\n" });
        self.any_trace = true;
        push(out, r#"{"traceID":""#);
        push_trace_id(out, first.trace_id);
        push(out, r#"","spans":["#);
        self.processes.clear();
        for (index, span) in trace.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            self.push_span(span, out);
        }
        push(out, r#"],"processes":{"#);
        self.push_processes(out);
        push(out, r#"},"warnings":null}"#);
        self.trace = trace;
        self.trace.clear();
    }

    fn push_span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        let process = self.process_number(span);
        push(out, r#"{"traceID":""#);
        push_trace_id(out, span.trace_id);
        push(out, r#"","spanID":""#);
        push_hex(out, span.span_id);
        push(out, r#"","operationName":""#);
        push(out, self.names.operation(span));
        push(out, r#"","references":["#);
        push_parent(span, out);
        push(out, r#"],"startTime":"#);
        let start = microseconds(span.start_ns);
        push_time(out, start);
        push(out, r#","duration":"#);
        push_time(out, microseconds(span.end_ns) - start);
        push(out, r#","tags":[{"key":"span.kind","type":"string","value":""#);
        push(out, span.kind.name());
        if let Some(tenant) = self.names.tenant(span) {
            push(out, r#""},{"key":"tenant","type":"string","value":""#);
            push(out, tenant);
        }
        if span.status == Status::Error {
            push(out, r#""},{"key":"error","type":"string","value":"true"#);
        }
        push(out, r#""}],"logs":[],"processID":"p"#);
        push_decimal(out, process as u64);
        push(out, r#"","warnings":null}"#);
    }

    fn process_number(&mut self, span: &SpanRow) -> usize {
        let known = self.processes.iter().position(|other| other.process == span.process);
        1 + known.unwrap_or_else(|| {
            self.processes.push(*span);
            self.processes.len() - 1
        })
    }

    fn push_processes(&self, out: &mut Vec<u8>) {
        for (index, span) in self.processes.iter().enumerate() {
            push(out, if index > 0 { r#","p"# } else { r#""p"# });
            push_decimal(out, index as u64 + 1);
            push(out, r#"":{"serviceName":""#);
            push(out, self.names.service(span));
            push(out, r#"","tags":[{"key":"hostname","type":"string","value":""#);
            push(out, self.names.replica(span));
            push(out, r#""}]}"#);
        }
    }
}

fn push_parent(span: &SpanRow, out: &mut Vec<u8>) {
    if span.parent_id == 0 {
        return;
    }
    push(out, r#"{"refType":"CHILD_OF","traceID":""#);
    push_trace_id(out, span.trace_id);
    push(out, r#"","spanID":""#);
    push_hex(out, span.parent_id);
    push(out, r#""}"#);
}

impl SpanEncoder for Jaeger {
    fn begin(&mut self, out: &mut Vec<u8>) {
        push(out, r#"{"data":["#);
    }

    fn span(&mut self, span: &SpanRow, out: &mut Vec<u8>) {
        if self.trace.first().is_some_and(|first| first.request != span.request) {
            self.end_trace(out);
        }
        self.trace.push(*span);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.end_trace(out);
        push(out, "\n],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}\n");
    }
}
