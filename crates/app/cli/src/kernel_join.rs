//! From a slow span to its kernel path: the span's thread and time, or a marker that carries its ids.

use crate::exit::CommandError;
use crate::load::{LoadedTables, ParallelLoad, load_tables};
use crate::progress::Meter;
use clap::Args;
use laggard_formats::{InputSettings, ReaderOptions, THREAD_ATTRIBUTE, expand};
use laggard_kernel_diagnose::KernelRun;
use laggard_kernel_graph::{
    Execution, HostId, SpanExecutionError, SpanInterval, SpanThread, TraceContext, executions_of_spans,
};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanId, SpanRecord, Tid, TraceId, WeightSource};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Most spans.
pub(crate) const SPANS_MAX: usize = 10_000;

/// Why spans cannot be located in a trace.
pub(crate) const NO_CALENDAR: &str = "the kernel trace does not relate its clock to calendar time, so the span's time cannot be located in it; \
     `laggard record` stores that relation";

/// Which spans, and where they are.
#[derive(Args, Debug)]
#[command(next_help_heading = "The path of a span")]
pub(crate) struct SpanJoin {
    /// Distributed traces with the span: files, folders or patterns of any format of `laggard formats`
    #[arg(long = "traces", value_name = "PATH", num_args = 1..)]
    spans: Vec<PathBuf>,
    /// The span whose execution to show, by its id
    #[arg(long, value_name = "ID", requires = "spans", value_parser = span_id)]
    span: Option<SpanId>,
    /// All spans of this trace whose thread and time are known
    #[arg(long, value_name = "ID", requires = "spans", value_parser = trace_id)]
    trace_id: Option<TraceId>,
    /// Attribute or column of spans with the kernel's number of their thread
    #[arg(long, value_name = "NAME", default_value = THREAD_ATTRIBUTE)]
    thread_attribute: String,
}

impl SpanJoin {
    /// Whether spans are requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.span.is_some() || self.trace_id.is_some()
    }
}

fn span_id(text: &str) -> Result<SpanId, String> {
    SpanId::parse_text(text).ok_or_else(|| format!("{text:?} is no span id"))
}

fn trace_id(text: &str) -> Result<TraceId, String> {
    TraceId::parse_text(text).map(|parsed| parsed.id).ok_or_else(|| format!("{text:?} is no trace id"))
}

/// The requested spans; `None` without a request.
pub(crate) fn requested_spans(
    join: &SpanJoin,
    thread: Option<&str>,
    threads: NonZeroUsize,
) -> Result<Option<Vec<SpanInterval>>, CommandError> {
    if !join.is_requested() {
        if join.spans.is_empty() {
            return Ok(None);
        }
        return Err(CommandError::usage("--traces needs --span or --trace-id: name the span"));
    }
    let thread = match thread.map(str::parse::<u32>) {
        Some(Ok(tid)) => Some(Tid(tid)),
        Some(Err(_)) => return Err(CommandError::usage("with --span, --thread is a thread's number")),
        None => None,
    };
    let sources = expand(&join.spans).map_err(CommandError::unreadable)?;
    // Readers pass on one numeric attribute of a span, whose name is an option: here that of its thread.
    let reader =
        ReaderOptions { weight_attribute: Some(join.thread_attribute.clone()), ..ReaderOptions::default() };
    let settings = InputSettings { reader, ..InputSettings::default() };
    let empty = || SpanCollector { span: join.span, trace: join.trace_id, thread, spans: Vec::new() };
    let meter = Meter::new(&sources);
    let loaded = load_tables(&sources, &settings, &empty, threads, &meter);
    meter.done();
    let LoadedTables { tables, .. } = loaded?;
    match tables.spans.is_empty() {
        true => Err(CommandError::too_little("the traces have no such span")),
        false => Ok(Some(tables.spans)),
    }
}

/// The executions of spans in the one trace that was read.
pub(crate) fn executions(spans: &[SpanInterval], runs: &[KernelRun]) -> Result<Vec<Execution>, CommandError> {
    let [run] = runs else {
        return Err(CommandError::usage("--span and --trace-id take one kernel trace"));
    };
    let marked = run.executions.as_ref().map_or(&[][..], |found| &found.executions);
    let found = executions_of_spans(spans, marked, run.window, run.calendar);
    // The span's name means more to people than the ids in its marker.
    let named = |execution: Execution| Execution { key: None, ..execution };
    let executions: Vec<Execution> =
        found.iter().filter_map(|span| span.execution.clone().ok()).map(named).collect();
    if !executions.is_empty() {
        return Ok(executions);
    }
    let why = found.iter().filter_map(|span| span.execution.as_ref().err()).max();
    Err(CommandError::too_little(match why {
        Some(SpanExecutionError::NoThread) | None => {
            "no marker of the kernel trace carries the span's ids, and the span does not have its thread (attribute \
             thread.id, or --thread-attribute); give --thread TID"
        }
        Some(SpanExecutionError::NoCalendar) => NO_CALENDAR,
        Some(SpanExecutionError::OtherThread) => {
            "the span's thread does not run while the span lasts, so that its number is not the kernel's"
        }
        Some(SpanExecutionError::OutsideTrace) => "the span lies before or after the kernel trace",
    }))
}

/// Collects the requested spans.
struct SpanCollector {
    span: Option<SpanId>,
    trace: Option<TraceId>,
    thread: Option<Tid>,
    spans: Vec<SpanInterval>,
}

/// A span as it is looked for in a kernel trace: on `thread`, else on the one its attribute names.
pub(crate) fn span_interval(span: &SpanRecord<'_>, thread: Option<Tid>) -> SpanInterval {
    let number = span.sampling.adjusted_count.filter(|_| span.sampling.source == WeightSource::Named);
    let tid = thread.or_else(|| number.map(|count| Tid(count.get() as u32))).or(span.attributes.thread);
    SpanInterval {
        label: format!("{} {}", span.service, span.operation),
        context: TraceContext { trace: span.trace_id, span: span.span_id },
        start: span.start,
        inclusive: span.inclusive,
        thread: tid.map(|tid| SpanThread { host: HostId::default(), tid }),
    }
}

impl Sink for SpanCollector {
    fn span(&mut self, span: &SpanRecord<'_>) {
        let is_selected =
            self.span.is_none_or(|id| id == span.span_id) && self.trace.is_none_or(|id| id == span.trace_id);
        if !is_selected || self.spans.len() >= SPANS_MAX {
            return;
        }
        self.spans.push(span_interval(span, self.thread));
    }

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn sample(&mut self, _: &SampleRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}

impl ParallelLoad for SpanCollector {
    fn merge(&mut self, later: SpanCollector) {
        self.spans.extend(later.spans);
        self.spans.truncate(SPANS_MAX);
    }
}
