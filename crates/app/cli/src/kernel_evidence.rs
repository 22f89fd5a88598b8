//! `laggard diagnose --kernel`: what slow executions of the first suspect wait for, from kernel traces of its replicas.
//!
//! ```text
//! spans of the suspect with their threads ─┬─► since the onset, on a suspected replica ─────┐
//!                                          └─► on other replicas, else before the onset ────┴─► KernelDiagnosis
//! ```
//!
//! Where spans do not tell their threads, all threads of a suspected replica are compared with those of another.

use crate::exit::CommandError;
use crate::kernel_input::failure;
use crate::kernel_join::{NO_CALENDAR, SPANS_MAX, span_interval};
use crate::load::{LoadedTables, ParallelLoad, load_tables};
use crate::progress::Meter;
use laggard_formats::{Source, THREAD_ATTRIBUTE, expand};
use laggard_kernel_diagnose::{KernelRun, diagnose_kernel};
use laggard_kernel_graph::{Delimiter, SpanExecutionError, SpanInterval};
use laggard_model::{CallRecord, Loss, SampleRecord, Sink, SpanRecord, Timestamp};
use laggard_params::{
    FromText, Inputs, KernelDiagnoseParams, KernelReadSettings, KernelSources, TraceFile, Window, read_traces,
};
use laggard_report::{KernelDiagnosis, KernelVerdict, Report, Scope, Suspect, Verdict, rfc3339};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Replicas named in a message.
const NAMED: usize = 8;
/// The sets of executions, as the report calls them.
const SINCE: &str = "since the onset";
const PEERS: &str = "on other replicas";
const BEFORE: &str = "before the onset";

/// A kernel trace of a replica: HOST=TRACE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostTrace {
    host: String,
    path: PathBuf,
}

impl FromText for HostTrace {
    fn from_text(text: &str) -> Result<HostTrace, String> {
        match text.split_once('=') {
            Some((host, path)) if !host.is_empty() && !path.is_empty() => {
                Ok(HostTrace { host: host.to_owned(), path: PathBuf::from(path) })
            }
            _ => Err(format!(
                "{text:?} is no kernel trace of a replica; write web-1=trace.dat, with the replica's name as in the traces"
            )),
        }
    }
}

/// Inputs, and limits of threads and memory.
pub(crate) struct KernelFiles<'a> {
    pub(crate) traces: Vec<HostTrace>,
    /// Distributed traces, those of the baseline included.
    pub(crate) spans: &'a [PathBuf],
    pub(crate) inputs: &'a Inputs,
    pub(crate) memory: usize,
    pub(crate) threads: NonZeroUsize,
}

/// The comparison, if one was possible; and what limits it or made it impossible, in sentences.
#[derive(Default)]
pub(crate) struct KernelEvidence {
    pub(crate) diagnosis: Option<KernelDiagnosis>,
    pub(crate) cautions: Vec<String>,
}

impl KernelEvidence {
    fn none(why: String) -> KernelEvidence {
        KernelEvidence { diagnosis: None, cautions: vec![why] }
    }
}

/// Compares slow executions of the first suspect with normal ones.
///
/// # Errors
/// A trace that cannot be read, and a name that is no replica of the traces.
pub(crate) fn kernel_evidence(
    report: &Report,
    files: &KernelFiles<'_>,
) -> Result<KernelEvidence, CommandError> {
    let runs = files.read("marker", &files.traces)?;
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out);
    let window = report.window.map(|window| Window { since: window.since, until: window.until });
    let (Verdict::Suspects, Some(lead), Some(window)) = (report.verdict, lead, window) else {
        return Ok(KernelEvidence::none(
            "Nothing is suspected, so that kernel traces were not compared.".to_owned(),
        ));
    };
    let found = files.spans_of(lead, &runs)?;
    let is_culprit =
        |host: &str| lead.replicas.is_empty() || lead.replicas.iter().any(|replica| replica == host);
    let hosts: Vec<&str> = files.traces.iter().map(|trace| trace.host.as_str()).collect();
    let Some(culprit) = hosts.iter().copied().find(|host| is_culprit(host)) else {
        return Ok(KernelEvidence::none(format!(
            "No suspected replica ({}) has a kernel trace, so that none was compared.",
            some_of(lead.replicas.iter())
        )));
    };
    let since = lead.onset.map_or(window.since, |onset| onset.at.max(window.since));
    let slow = SlowExecutions {
        files,
        lead,
        culprit,
        slow: Window { since, ..window },
        before: lead.onset.map_or(window.since, |onset| onset.earliest),
        is_peer: hosts.iter().map(|host| lead.scope == Scope::Replicas && !is_culprit(host)).collect(),
    };
    let mut evidence = slow.run(runs, &found.spans)?;
    if found.left_out > 0 {
        let (examined, more) = (found.spans.len(), found.left_out);
        evidence
            .cautions
            .push(format!("Only {examined} calls were examined; {more} more lie within the traces."));
    }
    Ok(evidence)
}

fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named: Vec<&str> = names.take(NAMED).map(String::as_str).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

impl KernelFiles<'_> {
    /// The traces, one run each.
    fn read(&self, delimiter: &str, traces: &[HostTrace]) -> Result<Vec<KernelRun>, CommandError> {
        let reading = KernelReadSettings {
            delimiter: Some(Delimiter::parse(delimiter).map_err(CommandError::usage)?),
            compat: false,
            memory: self.memory,
            threads: self.threads,
        };
        let files: Vec<TraceFile> = traces.iter().map(|trace| TraceFile::at(&trace.path)).collect();
        let meter = Meter::without_total();
        let runs = read_traces(&files, &reading, &meter);
        meter.done();
        runs.map_err(failure)
    }

    /// The spans of a suspect that may lie within the traces. Every trace must be that of a replica.
    fn spans_of(&self, lead: &Suspect, runs: &[KernelRun]) -> Result<CallsInTraces, CommandError> {
        let sources = expand(self.spans).map_err(CommandError::unreadable)?;
        if sources.iter().any(|source| matches!(source, Source::Stdin)) {
            return Err(CommandError::usage(
                "with --kernel, traces are read twice: name files instead of standard input",
            ));
        }
        let mut settings = self.inputs.settings().map_err(CommandError::usage)?;
        settings.reader.weight_attribute = Some(THREAD_ATTRIBUTE.to_owned());
        let requested: Vec<(&str, Option<Window>)> =
            self.traces.iter().zip(runs).map(|(trace, run)| (trace.host.as_str(), calendar(run))).collect();
        let empty = || SuspectSpans::new(lead, &requested);
        let meter = Meter::new(&sources);
        let loaded = load_tables(&sources, &settings, &empty, self.threads, &meter);
        meter.done();
        let LoadedTables { tables, .. } = loaded?;
        match self.traces.iter().find(|trace| !tables.replicas.contains(&trace.host)) {
            Some(unknown) => Err(CommandError::usage(format!(
                "--kernel {}={}: no replica of the traces has this name; there is {}",
                unknown.host,
                unknown.path.display(),
                some_of(tables.replicas.iter())
            ))),
            None => Ok(CallsInTraces { spans: tables.spans, left_out: tables.left_out }),
        }
    }
}

/// The time of a trace, if its clock is related to calendar time.
fn calendar(run: &KernelRun) -> Option<Window> {
    let clock = run.calendar?;
    Some(Window { since: clock.to_unix(run.window.from), until: clock.to_unix(run.window.to) })
}

/// A suspect's executions on one of its replicas, and the executions they are compared with.
struct SlowExecutions<'a> {
    files: &'a KernelFiles<'a>,
    lead: &'a Suspect,
    /// A suspected replica with a trace.
    culprit: &'a str,
    /// When the suspect is slow.
    slow: Window,
    /// Until when it was surely normal.
    before: Timestamp,
    /// Of each trace: whether the suspect is normal on its replica.
    is_peer: Vec<bool>,
}

impl SlowExecutions<'_> {
    fn run(&self, mut runs: Vec<KernelRun>, spans: &[HostSpan]) -> Result<KernelEvidence, CommandError> {
        if let Some(why) = self.outside(&runs) {
            return Ok(KernelEvidence::none(why));
        }
        let mut why = None;
        for (trace, run) in self.files.traces.iter().zip(&mut runs) {
            let of_host = spans.iter().filter(|span| span.host == trace.host);
            let labeled: Vec<SpanInterval> = of_host.filter_map(|span| self.labeled(span)).collect();
            let (_, without) = run.select_spans(&labeled);
            why = why.max(without.filter(|_| trace.host == self.culprit));
        }
        let count = |label: &str| {
            let all =
                runs.iter().filter_map(|run| run.executions.as_ref()).flat_map(|found| &found.executions);
            all.filter(|execution| execution.label == label).count()
        };
        let normal = if count(PEERS) > 0 { PEERS } else { BEFORE };
        if count(SINCE) > 0 && count(normal) > 0 {
            let sources = KernelSources { both: self.names(|_| true), ..KernelSources::default() };
            let params = KernelDiagnoseParams {
                normal_label: Some(normal.to_owned()),
                sample_label: Some(SINCE.to_owned()),
                ..KernelDiagnoseParams::default()
            };
            return self.diagnosed(&runs, &params, &sources, Vec::new());
        }
        let why = self.without_executions(count(SINCE), why);
        // Without calendar or threads, what the threads of two replicas do can still be compared.
        if !self.is_peer.contains(&true) {
            let needed =
                "A kernel trace of a replica that is not suspected would have been compared instead.";
            return Ok(KernelEvidence::none(format!("{why} {needed}")));
        }
        drop(runs);
        self.threads(format!(
            "{why} All threads were compared with those of a replica that is not suspected."
        ))
    }

    /// Why the trace of the culprit says nothing about the slow time.
    fn outside(&self, runs: &[KernelRun]) -> Option<String> {
        let of_culprit = self.files.traces.iter().zip(runs).filter(|(trace, _)| trace.host == self.culprit);
        let times: Option<Vec<Window>> = of_culprit.map(|(_, run)| calendar(run)).collect();
        let times = times?;
        let overlaps = |time: &Window| time.since <= self.slow.until && time.until >= self.slow.since;
        if times.iter().any(overlaps) {
            return None;
        }
        let time = times.first()?;
        Some(format!(
            "The kernel trace of `{}` ({} to {}) lies outside the time in which the suspect is slow ({} to {}), so that \
             it was not compared.",
            self.culprit,
            rfc3339(time.since),
            rfc3339(time.until),
            rfc3339(self.slow.since),
            rfc3339(self.slow.until)
        ))
    }

    /// A span with the set it belongs to.
    fn labeled(&self, span: &HostSpan) -> Option<SpanInterval> {
        let (start, end) = (span.interval.start, span.interval.start.plus(span.interval.inclusive));
        let mut traces = self.files.traces.iter().zip(&self.is_peer);
        let label = if traces.any(|(trace, is_peer)| *is_peer && trace.host == span.host) {
            PEERS
        } else if span.host != self.culprit {
            return None;
        } else if start >= self.slow.since && start <= self.slow.until {
            SINCE
        } else if end <= self.before {
            BEFORE
        } else {
            return None;
        };
        Some(SpanInterval { label: label.to_owned(), ..span.interval.clone() })
    }

    /// Why there are no two sets of executions.
    fn without_executions(&self, slow: usize, why: Option<SpanExecutionError>) -> String {
        let (operation, culprit) = (&self.lead.operation, self.culprit);
        match why {
            _ if slow > 0 => format!(
                "No normal execution of `{operation}` lies within a kernel trace: it needs one of another replica, or of \
                 the time before the onset."
            ),
            Some(SpanExecutionError::NoCalendar) => {
                format!("The kernel trace of `{culprit}`: {NO_CALENDAR}.")
            }
            Some(SpanExecutionError::NoThread) => format!(
                "The spans of `{operation}` on `{culprit}` do not have the kernel's number of their thread (attribute \
                 {THREAD_ATTRIBUTE})."
            ),
            Some(SpanExecutionError::OtherThread) => format!(
                "The threads of the spans of `{operation}` on `{culprit}` do not run while these last, so that their numbers \
                 (attribute {THREAD_ATTRIBUTE}) are not the kernel's."
            ),
            Some(SpanExecutionError::OutsideTrace) | None => {
                format!("No slow execution of `{operation}` on `{culprit}` lies within its kernel trace.")
            }
        }
    }

    /// All threads of the culprit against those of the peers.
    fn threads(&self, why: String) -> Result<KernelEvidence, CommandError> {
        let traces = self.files.traces.iter().zip(&self.is_peer);
        let of_peers = traces.clone().filter(|(_, is_peer)| **is_peer).map(|(trace, _)| trace);
        let of_culprit = traces.map(|(trace, _)| trace).filter(|trace| trace.host == self.culprit);
        let chosen: Vec<HostTrace> = of_peers.chain(of_culprit).cloned().collect();
        let runs = self.files.read("thread:*", &chosen)?;
        let sources = KernelSources {
            both: Vec::new(),
            normal: self.names(|index| self.is_peer[index]),
            sample: self.names(|index| self.files.traces[index].host == self.culprit),
        };
        self.diagnosed(&runs, &KernelDiagnoseParams::default(), &sources, vec![why])
    }

    fn names(&self, is_included: impl Fn(usize) -> bool) -> Vec<String> {
        let names = self.files.traces.iter().map(|trace| name(&trace.path)).enumerate();
        names.filter(|(index, _)| is_included(*index)).map(|(_, name)| name).collect()
    }

    fn diagnosed(
        &self,
        runs: &[KernelRun],
        params: &KernelDiagnoseParams,
        sources: &KernelSources,
        mut cautions: Vec<String>,
    ) -> Result<KernelEvidence, CommandError> {
        let question = params.question(sources, self.files.threads).map_err(CommandError::usage)?;
        let diagnosis = diagnose_kernel(runs, &question).map_err(CommandError::usage)?;
        if matches!(
            diagnosis.verdict,
            KernelVerdict::NothingFound | KernelVerdict::FewSlower | KernelVerdict::InsufficientData
        ) {
            cautions.push(diagnosis.headline.clone());
        }
        cautions.extend(diagnosis.cautions.iter().cloned());
        Ok(KernelEvidence { diagnosis: Some(diagnosis), cautions })
    }
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// Spans that may lie within a kernel trace, and how many more there are.
struct CallsInTraces {
    spans: Vec<HostSpan>,
    left_out: usize,
}

/// A span with its replica.
struct HostSpan {
    host: String,
    interval: SpanInterval,
}

/// Collects a suspect's spans on some replicas, and the names of all replicas.
struct SuspectSpans<'a> {
    lead: &'a Suspect,
    /// Replicas, with the time of their kernel trace if it is known.
    wanted: &'a [(&'a str, Option<Window>)],
    replicas: BTreeSet<String>,
    spans: Vec<HostSpan>,
    /// Spans beyond the limit.
    left_out: usize,
}

impl<'a> SuspectSpans<'a> {
    fn new(lead: &'a Suspect, requested: &'a [(&'a str, Option<Window>)]) -> SuspectSpans<'a> {
        SuspectSpans { lead, wanted: requested, replicas: BTreeSet::new(), spans: Vec::new(), left_out: 0 }
    }

    fn add_replica(&mut self, name: &str) {
        if !self.replicas.contains(name) {
            self.replicas.insert(name.to_owned());
        }
    }
}

impl Sink for SuspectSpans<'_> {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.add_replica(span.replica);
        let lead = self.lead;
        let is_meant =
            span.operation == lead.operation && span.service == lead.service && span.kind.name() == lead.kind;
        let end = span.start.plus(span.inclusive);
        let is_inside = |time: &Window| span.start <= time.until && end >= time.since;
        let is_wanted = |(host, time): &(&str, Option<Window>)| {
            *host == span.replica && time.as_ref().is_none_or(is_inside)
        };
        if is_meant && self.wanted.iter().any(is_wanted) {
            if self.spans.len() >= SPANS_MAX {
                self.left_out += 1;
                return;
            }
            let interval = span_interval(span, None);
            self.spans.push(HostSpan { host: span.replica.to_owned(), interval });
        }
    }

    fn call(&mut self, call: &CallRecord<'_>) {
        self.add_replica(call.host);
    }

    fn sample(&mut self, _: &SampleRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {}
}

impl ParallelLoad for SuspectSpans<'_> {
    fn merge(&mut self, later: Self) {
        self.replicas.extend(later.replicas);
        self.spans.extend(later.spans);
        self.left_out += later.left_out + self.spans.len().saturating_sub(SPANS_MAX);
        self.spans.truncate(SPANS_MAX);
    }
}
