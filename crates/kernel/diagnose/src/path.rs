//! Reports what a thread or executions spent their time on.

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
    ExecutionSummary, KERNEL_PATH_SCHEMA_VERSION, KernelPathReport, KernelState, PathTimeline, WaitCause,
    kernel_path_headline,
};
use std::collections::BTreeMap;

/// An execution of a run.
pub(crate) struct SelectedExecution<'a> {
    run_index: usize,
    run: &'a KernelRun,
    pub(crate) graph: &'a ExecutionGraph,
    pub(crate) execution: Execution,
    pub(crate) number: u64,
}

impl SelectedExecution<'_> {
    pub(crate) fn path(&self) -> Option<CriticalPath> {
        let Execution { host, end_tid, window, .. } = self.execution;
        let worker = self.graph.worker_of(host, end_tid, window.to)?;
        let path = self.graph.critical_path(worker, window);
        (!path.segments.is_empty()).then_some(path)
    }
}

/// Analyzes the critical paths of executions.
///
/// # Errors
/// A window or a number that does not fit the runs, as a sentence.
pub fn kernel_path(runs: &[KernelRun], question: &KernelPathQuestion) -> Result<KernelPathReport, String> {
    let mut report = empty(runs, question);
    let mut selected = select_executions(runs, question)?;
    let found_count = selected.len();
    if let PathChoice::Number(number) = question.choice {
        selected.retain(|selected| selected.number == number);
        if selected.is_empty() && found_count > 0 {
            return Err(format!("there is no execution {number}; there are {found_count}"));
        }
    }
    selected.truncate(question.executions_max);
    report.executions_left_out = match question.choice {
        PathChoice::All => (found_count - selected.len()) as u64,
        PathChoice::Number(_) => 0,
    };
    fill(&mut report, &selected);
    report.missing = remarks::path_missing(runs, question, found_count, report.executions.len());
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
        calls: Vec::new(),
        longest: Vec::new(),
        timelines: Vec::new(),
        cautions: Vec::new(),
        missing: Vec::new(),
        settings: question.settings.clone(),
    }
}

/// Executions of all runs in order of run and time. A thread's lifetime is clipped to the window; other executions must be
/// within it.
pub(crate) fn select_executions<'a>(
    runs: &'a [KernelRun],
    question: &KernelPathQuestion,
) -> Result<Vec<SelectedExecution<'a>>, String> {
    let mut out = Vec::new();
    for (run_index, run) in runs.iter().enumerate() {
        let Some(graph) = &run.graph else { continue };
        let window = question.window.on_clock_of(run)?;
        let executions = match (&question.executions, &run.executions) {
            (Some(executions), _) => executions.clone(),
            (None, Some(delimited)) => match delimited.delimiter.kind {
                DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. } => {
                    cut_to(&delimited.executions, window)
                }
                _ => within(&delimited.executions, window),
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
    for selection in selected {
        let Some(path) = selection.path() else {
            report.input.losses.add(Loss::EmptyExecution, || selection.execution.label.clone());
            continue;
        };
        let entry = Entry {
            run_index: selection.run_index,
            run: selection.run,
            graph: selection.graph,
            execution: selection.number,
            path: &path,
        };
        let intervals = ledger.add(entry);
        report.executions.push(summary(selection, &path, &intervals));
    }
    report.total_ns = ledger.total_ns;
    report.causes = ledger.causes();
    report.states = ledger.states();
    report.workers = ledger.workers();
    report.workers_left_out = report.workers.len().saturating_sub(WORKERS_MAX) as u64;
    report.workers.truncate(WORKERS_MAX);
    report.waits = ledger.groups();
    report.calls = ledger.calls();
    report.longest = ledger.longest();
    report.timelines = timelines(report, selected);
}

fn summary(
    selection: &SelectedExecution<'_>,
    path: &CriticalPath,
    intervals: &[PathInterval<'_>],
) -> ExecutionSummary {
    let mut states_ns = [0; KernelState::ALL.len()];
    let mut causes: BTreeMap<WaitCause, u64> = BTreeMap::new();
    for interval in intervals {
        states_ns[state_index(interval.state)] += interval.ns();
        *causes.entry(interval.cause).or_default() += interval.ns();
    }
    let dominant = causes.into_iter().max_by_key(|&(cause, ns)| (ns, std::cmp::Reverse(cause)));
    let (dominant, dominant_ns) = dominant.unwrap_or((WaitCause::Unknown, 0));
    let thread = worker_name(selection.graph, path.worker);
    ExecutionSummary {
        number: selection.number,
        label: label(&selection.execution, &thread.name),
        thread: thread.name,
        tid: thread.tid.unwrap_or(0),
        host: thread.host,
        container: selection.graph.container(path.worker),
        since_ns: path.window.from.ns(),
        since: selection.run.calendar_time(path.window.from),
        elapsed_ns: path.window.ns(),
        segments: intervals.len() as u64,
        states_ns,
        dominant,
        dominant_ns,
        unresolved: path.unresolved,
    }
}

/// The timelines of the slowest execution and of the median one.
fn timelines(report: &KernelPathReport, selected: &[SelectedExecution<'_>]) -> Vec<PathTimeline> {
    let mut order: Vec<&ExecutionSummary> = report.executions.iter().collect();
    order.sort_by_key(|execution| (std::cmp::Reverse(execution.elapsed_ns), execution.number));
    let mut drawn = vec![];
    drawn.extend(
        order.first().map(|execution| (execution.number, if order.len() > 1 { ", the slowest" } else { "" })),
    );
    if order.len() > 2 {
        // The slowest is first: the same one as the median of ascending lengths.
        drawn.push((order[order.len() - 1 - order.len() / 2].number, ", of median length"));
    }
    drawn.iter().filter_map(|&(number, remark)| draw(selected, number, remark)).collect()
}

fn draw(selected: &[SelectedExecution<'_>], number: u64, remark: &str) -> Option<PathTimeline> {
    let selection = selected.iter().find(|selected| selected.number == number)?;
    let path = selection.path()?;
    let thread = worker_name(selection.graph, path.worker);
    let name = match label(&selection.execution, &thread.name) {
        label if label.is_empty() => quoted(&thread.name),
        label => quoted(&label),
    };
    let title = match remark {
        "" => name,
        remark => format!("execution {number} ({name}){remark}"),
    };
    Some(timeline(TimelineInput {
        run: selection.run,
        graph: selection.graph,
        path: &path,
        execution: number,
        title,
    }))
}
