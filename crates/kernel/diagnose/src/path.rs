//! What the time of a thread or of executions was spent on.

use crate::execution_filter::{cut_to, within};
use crate::intervals::PathInterval;
use crate::ledger::{Entry, Ledger, WORKERS_MAX};
use crate::names::{label, quoted, state_index, worker_name};
use crate::question::{KernelPathQuestion, PathChoice};
use crate::read::{KernelRun, input};
use crate::remarks;
use crate::timeline::{TimelineInput, timeline};
use laggard_kernel_graph::{CriticalPath, DelimiterKind, Execution, ExecutionGraph};
use laggard_model::Loss;
use laggard_report::{
    ExecutionSummary, KERNEL_PATH_SCHEMA_VERSION, KernelPathReport, PathTimeline, WaitCause,
    kernel_path_headline,
};
use std::collections::BTreeMap;

/// An execution of a run.
struct SelectedExecution<'a> {
    run_index: usize,
    run: &'a KernelRun,
    graph: &'a ExecutionGraph,
    execution: Execution,
    number: u64,
}

impl SelectedExecution<'_> {
    fn path(&self) -> Option<CriticalPath> {
        let Execution { host, end_tid, window, .. } = self.execution;
        let worker = self.graph.worker_of(host, end_tid, window.to)?;
        let path = self.graph.critical_path(worker, window);
        (!path.segments.is_empty()).then_some(path)
    }
}

/// Answers where the time of executions went.
///
/// # Errors
/// A window or a number that does not fit the runs, as a sentence.
pub fn kernel_path(runs: &[KernelRun], question: &KernelPathQuestion) -> Result<KernelPathReport, String> {
    let mut report = empty(runs, question);
    let mut selected = select_executions(runs, question)?;
    let found = selected.len();
    if let PathChoice::Number(number) = question.choice {
        selected.retain(|one| one.number == number);
        if selected.is_empty() && found > 0 {
            return Err(format!("there is no execution {number}; there are {found}"));
        }
    }
    selected.truncate(question.executions_max);
    report.executions_left_out = match question.choice {
        PathChoice::All => (found - selected.len()) as u64,
        PathChoice::Number(_) => 0,
    };
    fill(&mut report, &selected);
    report.missing = remarks::path_missing(runs, question, found, report.executions.len());
    report.cautions = remarks::path_cautions(runs, &report);
    report.headline = kernel_path_headline(&report);
    Ok(report)
}

fn empty(runs: &[KernelRun], question: &KernelPathQuestion) -> KernelPathReport {
    KernelPathReport {
        schema_version: KERNEL_PATH_SCHEMA_VERSION,
        report: "kernel-path",
        headline: String::new(),
        input: input(runs),
        question: remarks::question(runs),
        executions: Vec::new(),
        executions_left_out: 0,
        total_ns: 0,
        causes: Vec::new(),
        states: Vec::new(),
        workers: Vec::new(),
        workers_left_out: 0,
        waits: Vec::new(),
        longest: Vec::new(),
        timelines: Vec::new(),
        cautions: Vec::new(),
        missing: Vec::new(),
        settings: question.settings.clone(),
    }
}

/// Executions of all runs in order of run and time. Those of a whole thread are cut to the window, others lie in it.
fn select_executions<'a>(
    runs: &'a [KernelRun],
    question: &KernelPathQuestion,
) -> Result<Vec<SelectedExecution<'a>>, String> {
    let mut out = Vec::new();
    for (run_index, run) in runs.iter().enumerate() {
        let Some(graph) = &run.graph else { continue };
        let window = question.window.on_clock_of(run)?;
        let executions = match (&question.given, &run.found) {
            (Some(given), _) => given.clone(),
            (None, Some(found)) => match found.delimiter.kind {
                DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. } => cut_to(&found.executions, window),
                _ => within(&found.executions, window),
            },
            (None, None) => Vec::new(),
        };
        for execution in executions {
            let number = out.len() as u64 + 1;
            out.push(SelectedExecution { run_index, run, graph, execution, number });
        }
    }
    Ok(out)
}

fn fill(report: &mut KernelPathReport, selected: &[SelectedExecution<'_>]) {
    let mut ledger = Ledger::default();
    for one in selected {
        let Some(path) = one.path() else {
            report.input.losses.add(Loss::EmptyExecution, || one.execution.label.clone());
            continue;
        };
        let entry = Entry {
            run_index: one.run_index,
            run: one.run,
            graph: one.graph,
            execution: one.number,
            path: &path,
        };
        let intervals = ledger.add(entry);
        report.executions.push(summary(one, &path, &intervals));
    }
    report.total_ns = ledger.total_ns;
    report.causes = ledger.causes();
    report.states = ledger.states();
    report.workers = ledger.workers();
    report.workers_left_out = report.workers.len().saturating_sub(WORKERS_MAX) as u64;
    report.workers.truncate(WORKERS_MAX);
    report.waits = ledger.groups();
    report.longest = ledger.longest();
    report.timelines = timelines(report, selected);
}

fn summary(
    one: &SelectedExecution<'_>,
    path: &CriticalPath,
    intervals: &[PathInterval<'_>],
) -> ExecutionSummary {
    let mut states_ns = [0; 10];
    let mut causes: BTreeMap<WaitCause, u64> = BTreeMap::new();
    for interval in intervals {
        states_ns[state_index(interval.state)] += interval.ns();
        *causes.entry(interval.cause).or_default() += interval.ns();
    }
    let dominant = causes.into_iter().max_by_key(|&(cause, ns)| (ns, std::cmp::Reverse(cause)));
    let (dominant, dominant_ns) = dominant.unwrap_or((WaitCause::Unknown, 0));
    let thread = worker_name(one.graph, path.worker);
    ExecutionSummary {
        number: one.number,
        label: label(&one.execution, &thread.name),
        thread: thread.name,
        tid: thread.tid.unwrap_or(0),
        host: thread.host,
        since_ns: path.window.from.ns(),
        since: one.run.calendar_text(path.window.from),
        elapsed_ns: path.window.ns(),
        pieces: intervals.len() as u64,
        states_ns,
        dominant,
        dominant_ns,
        unresolved: path.unresolved,
    }
}

/// The slowest execution, and the median one beside it.
fn timelines(report: &KernelPathReport, selected: &[SelectedExecution<'_>]) -> Vec<PathTimeline> {
    let mut order: Vec<&ExecutionSummary> = report.executions.iter().collect();
    order.sort_by_key(|one| (std::cmp::Reverse(one.elapsed_ns), one.number));
    let mut chosen = vec![];
    chosen.extend(order.first().map(|one| (one.number, if order.len() > 1 { ", the slowest" } else { "" })));
    if order.len() > 2 {
        chosen.push((order[order.len() / 2].number, ", of median length"));
    }
    chosen.iter().filter_map(|&(number, remark)| draw(selected, number, remark)).collect()
}

fn draw(selected: &[SelectedExecution<'_>], number: u64, remark: &str) -> Option<PathTimeline> {
    let one = selected.iter().find(|one| one.number == number)?;
    let path = one.path()?;
    let thread = worker_name(one.graph, path.worker);
    let name = match label(&one.execution, &thread.name) {
        label if label.is_empty() => quoted(&thread.name),
        label => quoted(&label),
    };
    let title = match remark {
        "" => name,
        remark => format!("execution {number} ({name}){remark}"),
    };
    Some(timeline(TimelineInput { run: one.run, graph: one.graph, path: &path, execution: number, title }))
}
