//! Reports on the waits in a stored recording or a pair of them, made by the questions about kernel traces.

use super::RecordingRequest;
use laggard_kernel_diagnose::{KernelRun, diagnose_kernel, kernel_path};
use laggard_kernel_graph::{Delimiter, SpanInterval};
use laggard_params::{
    KernelDiagnoseParams, KernelPathParams, KernelReadSettings, KernelSources, ParamsError, ReadError,
    ReadProgress, TraceFile, read_traces,
};
use laggard_report::{KernelDiagnosis, KernelPathReport, rfc3339};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// What is examined without spans and delimiter: a flight recorder sees no markers, programs, or system calls.
const ALL_THREADS: &str = "thread:*";

/// Resources of one examination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExamineLimits {
    /// For the graphs, bytes.
    pub(crate) memory: usize,
    pub(crate) threads: NonZeroUsize,
}

/// A recording to be examined.
#[derive(Clone, Debug)]
pub(crate) struct RecordedTrace {
    file: TraceFile,
    /// The executions in it, if they are known: spans of this host with their threads.
    spans: Option<Vec<SpanInterval>>,
}

impl RecordedTrace {
    /// A recording of [`super::TenantRecordings::stored`].
    pub(crate) fn new((path, request): (PathBuf, RecordingRequest)) -> RecordedTrace {
        let name = format!("{} until {}", request.host, rfc3339(request.until()));
        RecordedTrace { file: TraceFile { path, name }, spans: None }
    }

    /// Its executions are those of spans with a thread.
    pub(crate) fn with_spans(self, spans: Vec<SpanInterval>) -> RecordedTrace {
        RecordedTrace { spans: Some(spans), ..self }
    }
}

/// Reads recordings as `laggard kernel` reads traces.
fn read(
    traces: &[&RecordedTrace],
    (delimiter, compat): (Delimiter, bool),
    limits: ExamineLimits,
    watch: &dyn ReadProgress,
) -> Result<Vec<KernelRun>, ReadError> {
    let ExamineLimits { memory, threads } = limits;
    let reading = KernelReadSettings { delimiter: Some(delimiter.clone()), compat, memory, threads };
    let files: Vec<TraceFile> = traces.iter().map(|trace| trace.file.clone()).collect();
    let mut runs = read_traces(&files, &reading, watch)?;
    for (run, trace) in runs.iter_mut().zip(traces) {
        let Some(spans) = &trace.spans else { continue };
        run.select_spans(spans);
    }
    Ok(runs)
}

fn delimiter(text: &str) -> Result<Delimiter, ParamsError> {
    Delimiter::parse(if text == "auto" { ALL_THREADS } else { text }).map_err(ParamsError::new)
}

/// Waits of the executions of one recording. Blocks for seconds.
///
/// # Errors
/// A parameter that does not fit, a recording that cannot be read, or `watch` has stopped.
pub(crate) fn recorded_path(
    trace: &RecordedTrace,
    params: &KernelPathParams,
    limits: ExamineLimits,
    watch: &dyn ReadProgress,
) -> Result<KernelPathReport, ReadError> {
    let delimiter = params.delimiter_or(ALL_THREADS).map_err(ReadError::Params)?;
    let runs = read(&[trace], (delimiter, params.compat), limits, watch)?;
    kernel_path(&runs, &params.question(None)).map_err(|reason| ReadError::Params(ParamsError::new(reason)))
}

/// Which executions of a culprit's recording are slower than those of a healthy peer's, where, and what they wait for. Blocks,
/// for seconds. `traces` are the culprit's and the peer's; a culprit alone needs parameters that tell both sets apart.
///
/// # Errors
/// A parameter that does not fit, a recording that cannot be read, or `watch` has stopped.
pub(crate) fn recorded_comparison(
    (culprit, peer): (&RecordedTrace, Option<&RecordedTrace>),
    params: &KernelDiagnoseParams,
    limits: ExamineLimits,
    watch: &dyn ReadProgress,
) -> Result<KernelDiagnosis, ReadError> {
    let name = |trace: &RecordedTrace| vec![trace.file.name.clone()];
    let sources = match peer {
        Some(peer) => KernelSources { both: Vec::new(), normal: name(peer), sample: name(culprit) },
        None => KernelSources { both: name(culprit), ..KernelSources::default() },
    };
    let question = params.question(&sources, limits.threads).map_err(ReadError::Params)?;
    let delimiter = delimiter(&params.executions).map_err(ReadError::Params)?;
    // The peer is the first: that is the order of the sources.
    let traces: Vec<&RecordedTrace> = peer.into_iter().chain([culprit]).collect();
    let runs = read(&traces, (delimiter, params.compat), limits, watch)?;
    diagnose_kernel(&runs, &question).map_err(|reason| ReadError::Params(ParamsError::new(reason)))
}

#[cfg(test)]
mod tests {
    use super::super::{RecordingReason, RecordingRequest};
    use super::*;
    use laggard_kernel_graph::{HostId, SpanThread, TraceContext};
    use laggard_model::{Nanos, SpanId, Tid, Timestamp, TraceId};
    use laggard_params::{FromParams, Window};
    use laggard_report::DeclaredReport;
    use serde_json::json;
    use std::fmt::Write;

    const LIMITS: ExamineLimits = ExamineLimits { memory: 1 << 28, threads: NonZeroUsize::MIN };

    struct Unwatched;

    impl ReadProgress for Unwatched {
        fn events(&self, _: u64) {}
    }

    /// A worker that is woken every 100 ms and runs 5 ms; on a culprit it then waits for a lock that another thread holds.
    fn events(held_ms: u64) -> String {
        let mut text = String::from("# tracer: nop\n");
        let mut switch = |at_us: u64,
                          (prev, prev_tid, state): (&str, u32, char),
                          (next, tid): (&str, u32)| {
            let _ = writeln!(
                text,
                "{prev}-{prev_tid} [000] d... {}.{:06}: sched_switch: prev_comm={prev} prev_pid={prev_tid} prev_prio=120 \
                 prev_state={state} ==> next_comm={next} next_pid={tid} next_prio=120",
                at_us / 1_000_000,
                at_us % 1_000_000
            );
        };
        for number in 0..40 {
            let start = 10_000_000 + number * 100_000;
            switch(start, ("swapper/0", 0, 'R'), ("worker", 100));
            switch(start + 5_000, ("worker", 100, 'R'), ("holder", 200));
            switch(start + 5_000 + held_ms * 1_000, ("holder", 200, 'S'), ("worker", 100));
            switch(start + 6_000 + held_ms * 1_000, ("worker", 100, 'S'), ("swapper/0", 0));
        }
        text
    }

    fn trace(folder: &std::path::Path, host: &str, held_ms: u64) -> RecordedTrace {
        let path = folder.join(host);
        std::fs::write(&path, events(held_ms)).unwrap();
        let time = Timestamp::from_unix_ns(1_768_208_400_000_000_000);
        let reason = RecordingReason { incident: None, text: String::new() };
        let window = Window { since: time.minus(Nanos::from_secs(10)), until: time };
        RecordedTrace::new((path, RecordingRequest::new(host, window, &reason, time)))
    }

    #[test]
    fn a_recording_alone_shows_what_threads_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let culprit = trace(folder.path(), "web-1", 20);
        let path = |params: serde_json::Value| {
            let params = KernelPathParams::from_json(params).unwrap();
            recorded_path(&culprit, &params, LIMITS, &Unwatched)
        };
        let all = path(json!({})).unwrap();
        let names: Vec<&str> = all.executions.iter().map(|execution| execution.thread.as_str()).collect();
        assert!(names.contains(&"worker") && names.contains(&"holder"), "{names:?}");
        assert_eq!(all.input.traces[0].path, "web-1 until 2026-01-12T09:00:00.000Z");
        let worker = path(json!({"thread": "worker"})).unwrap();
        assert_eq!(worker.executions.len(), 1);
        assert!(matches!(path(json!({"from": "2026-01-12T09:00:00Z"})), Err(ReadError::Params(_))));
    }

    #[test]
    fn a_pair_is_compared_by_spans() {
        let folder = tempfile::tempdir().unwrap();
        let (culprit, peer) = (trace(folder.path(), "web-1", 20), trace(folder.path(), "web-2", 1));
        let params = KernelDiagnoseParams::default();
        let compared = |culprit: &RecordedTrace, peer: Option<&RecordedTrace>| {
            recorded_comparison((culprit, peer), &params, LIMITS, &Unwatched)
        };
        let threads = compared(&culprit, Some(&peer)).unwrap();
        assert_eq!(
            threads.input.traces[0].path, "web-2 until 2026-01-12T09:00:00.000Z",
            "the peer is normal"
        );
        assert!(matches!(compared(&culprit, None), Err(ReadError::Params(_))), "one set is no comparison");
        // Text has no calendar, so that no span can be located: then there are no executions, and no verdict.
        let span = SpanInterval {
            label: "web buy".to_owned(),
            context: TraceContext { trace: TraceId::from_value(1), span: SpanId::new(1).unwrap() },
            start: Timestamp::from_unix_ns(0),
            inclusive: Nanos::from_ms(20),
            thread: Some(SpanThread { host: HostId::default(), tid: Tid(100) }),
        };
        let of_spans =
            compared(&culprit.with_spans(vec![span.clone()]), Some(&peer.with_spans(vec![span]))).unwrap();
        assert_eq!(of_spans.verdict(), "insufficient-data");
    }
}
