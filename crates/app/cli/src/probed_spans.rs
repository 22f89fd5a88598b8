//! Kernel traces as traces: calls of probed functions become spans.
//!
//! ```text
//! trace.dat, perf.data ─► events of uprobes ─► calls with callers by thread ─► a trace for each outermost call
//! any other input      ─► its format's reader
//! ```

use laggard_formats::{
    FormatError, InputError, InputSettings, Outcome, Progress, SkippedInput, Source, SourceOrigin, read,
};
use laggard_kernel_formats::{KernelTrace, OpenOptions, format_of, open_with};
use laggard_kernel_graph::{ProbedCalls, ProbedRequest, ProbedTotals};
use laggard_model::{
    ClockMap, FingerprintBuilder, KernelTexts, Nanos, ProbedFunction, ReplicaSource, Sampling, Sink,
    SpanAttributes, SpanId, SpanKind, SpanRecord, Status, TextId, Tid, TraceId, mix64,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Formats of kernel traces that may have probes at calls and returns. Of other programs' formats, LTTng has probes at calls only.
const PROBED_FORMATS: [&str; 2] = ["trace.dat", "perf.data"];

/// Reads one source: a kernel trace with probes, or any format of traces.
pub(crate) fn read_input(
    source: &Source,
    settings: &InputSettings,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
) -> Result<Outcome, InputError> {
    // A pipe cannot be looked at before it is read.
    let Source::File { path, size: Some(size), origin } = source else {
        return read(source, settings, sink, progress);
    };
    let format = settings.format.is_none().then(|| format_of(path)).and_then(|format| format.ok().flatten());
    let Some(format) = format.filter(|format| PROBED_FORMATS.contains(&format.name)) else {
        return read(source, settings, sink, progress);
    };
    let mut outcome = Outcome { bytes: *size, decompressed: *size, ..Outcome::default() };
    progress.bytes(*size);
    match (read_trace(path, sink), origin) {
        (Ok(()), _) => drop(outcome.formats.insert(format.name, 1)),
        (Err(reason), SourceOrigin::Named) => {
            return Err(InputError::Format { name: source.name(), error: FormatError::new(reason) });
        }
        (Err(reason), SourceOrigin::Discovered) => {
            outcome.skipped.push(SkippedInput { name: source.name(), reason });
            outcome.skipped_count = 1;
        }
    }
    Ok(outcome)
}

/// Passes the calls of a kernel trace on as spans; the error is the reason why there are none.
fn read_trace(path: &Path, sink: &mut dyn Sink) -> Result<(), String> {
    let options = OpenOptions { probes: true, ..OpenOptions::default() };
    let trace = open_with(path, &options).map_err(|error| error.to_string())?;
    let mut spans = ProbedSpans::new(&trace);
    let mut calls = ProbedCalls::new(trace.facts.snapshot.clone());
    let read = trace.read(|event, texts| {
        calls.push(event, texts, &mut |request| spans.write(request, texts, sink));
    });
    let ProbedTotals { requests, mut losses } = calls.finish();
    if requests == 0 && losses.is_empty() {
        return Err(NO_PROBES.to_owned());
    }
    losses.merge(&read.losses);
    for (loss, found) in losses.iter() {
        // A sink counts one at a time; damage can state any number.
        for _ in 0..found.count.min(COUNTED_MAX) {
            sink.lose(loss, &|| format!("{}: {}", path.display(), found.example));
        }
    }
    Ok(())
}

/// Most occurrences of one loss that are passed on.
const COUNTED_MAX: u64 = 1 << 20;

const NO_PROBES: &str = "this kernel trace has no calls of functions. `laggard kernel` reads it; to diagnose calls, record them: \
                         `laggard record --uprobe PROGRAM:FUNCTION`";

/// Turns requests of one kernel trace into spans.
struct ProbedSpans {
    host: String,
    clock: ClockMap,
    /// Functions by the name of their event.
    functions: BTreeMap<String, ProbedFunction>,
    /// Processes in the order of their first requests, from 1.
    processes: BTreeMap<Tid, usize>,
    /// The service and operation of events met so far.
    names: BTreeMap<TextId, SpanName>,
}

#[derive(Clone)]
struct SpanName {
    service: String,
    operation: String,
}

impl ProbedSpans {
    fn new(trace: &KernelTrace) -> ProbedSpans {
        let facts = &trace.facts;
        let probes = facts.snapshot.iter().flat_map(|snapshot| &snapshot.probes);
        ProbedSpans {
            host: facts.host.clone().unwrap_or_default(),
            clock: facts.calendar.unwrap_or(ClockMap::from_offset_ns(0)),
            functions: probes.map(|probe| (probe.event.clone(), probe.clone())).collect(),
            processes: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    fn write(&mut self, request: &ProbedRequest<'_>, texts: &KernelTexts, sink: &mut dyn Sink) {
        let Some(outermost) = request.calls.first() else { return };
        let mut builder = FingerprintBuilder::new();
        builder.bytes(self.host.as_bytes());
        builder.word(u64::from(request.tid.0));
        builder.word(self.clock.to_unix(outermost.begin).unix_ns() as u64);
        let trace_id = TraceId::from_value(builder.finish().value());
        let id = |index: u32| {
            let id = mix64((trace_id.value() as u64).wrapping_add(u64::from(index)));
            SpanId::new(id).unwrap_or(SpanId::ZERO_TEXT)
        };
        let replica = self.replica(request.process);
        for (call, index) in request.calls.iter().zip(0..) {
            let names = &self.functions;
            let name =
                self.names.entry(call.event).or_insert_with(|| span_name(texts.text(call.event), names));
            sink.span(&SpanRecord {
                trace_id,
                trace_text: None,
                span_id: id(index),
                parent: call.caller.map(id),
                service: &name.service,
                replica: &replica,
                replica_source: ReplicaSource::Host,
                operation: &name.operation,
                kind: if index == 0 { SpanKind::Server } else { SpanKind::Internal },
                status: Status::Unset,
                start: self.clock.to_unix(call.begin),
                inclusive: Nanos::from_ns(call.end.since(call.begin)),
                sampling: Sampling::default(),
                attributes: SpanAttributes { thread: Some(request.tid), ..SpanAttributes::default() },
            });
        }
    }
}

impl ProbedSpans {
    /// A process as a replica: the host, with a number from the second process on. The process's own number is another one in each
    /// recording, so that a process and its successor could not be compared.
    fn replica(&mut self, process: Tid) -> String {
        let next = self.processes.len() + 1;
        match *self.processes.entry(process).or_insert(next) {
            1 => self.host.clone(),
            number => format!("{}#{number}", self.host),
        }
    }
}

/// The program and function of an event; perf's files do not have the program.
fn span_name(event: &str, functions: &BTreeMap<String, ProbedFunction>) -> SpanName {
    match functions.get(event) {
        Some(probe) => SpanName { service: probe.program.clone(), operation: probe.function.clone() },
        None => SpanName { service: "unknown".to_owned(), operation: event.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_kernel_formats::TraceFacts;
    use laggard_kernel_graph::ProbedCall;
    use laggard_model::{Collect, HostSnapshot, KernelTime, Losses};

    #[test]
    fn calls_become_spans_with_their_callers_as_parents() {
        let probe = |event: &str, function: &str| ProbedFunction {
            event: event.to_owned(),
            program: "shop".to_owned(),
            function: function.to_owned(),
        };
        let snapshot =
            HostSnapshot { probes: vec![probe("ns__handle", "ns::handle")], ..HostSnapshot::default() };
        let facts = TraceFacts {
            host: Some("web-1".to_owned()),
            calendar: Some(ClockMap::from_offset_ns(1_000)),
            snapshot: Some(snapshot),
            ..TraceFacts::default()
        };
        let mut spans = ProbedSpans::new(&KernelTrace { facts, losses: Losses::none(), streams: Vec::new() });
        let (mut texts, mut sink) = (KernelTexts::default(), Collect::default());
        let (handle, query) = (texts.intern("ns__handle"), texts.intern("query"));
        let call = |event, caller, from, to| {
            let (begin, end) = (KernelTime::from_ns(from), KernelTime::from_ns(to));
            ProbedCall { event, caller, begin, end }
        };
        let calls = [call(handle, None, 10, 50), call(query, Some(0), 20, 30)];
        for process in [7, 9, 7] {
            let request = ProbedRequest { tid: Tid(process + 1), process: Tid(process), calls: &calls };
            spans.write(&request, &texts, &mut sink);
        }
        let [outer, inner, other, _, again, _] = &sink.spans[..] else { panic!("{:?}", sink.spans) };
        assert_eq!((outer.service.as_str(), outer.operation.as_str()), ("shop", "ns::handle"));
        assert_eq!((inner.service.as_str(), inner.operation.as_str()), ("unknown", "query"));
        assert_eq!((outer.parent, inner.parent, inner.trace_id), (None, Some(outer.span_id), outer.trace_id));
        assert_eq!((outer.start.unix_ns(), outer.inclusive.ns(), outer.thread), (1_010, 40, Some(Tid(8))));
        let replicas = [outer, other, again].map(|span| span.replica.as_str());
        assert_eq!(replicas, ["web-1", "web-1#2", "web-1"]);
        // Two threads at one instant are two requests; the same call read twice is one.
        assert!(other.trace_id != outer.trace_id && again.trace_id == outer.trace_id);
    }
}
