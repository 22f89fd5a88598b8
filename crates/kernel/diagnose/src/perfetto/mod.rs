//! Paths, threads, and CPUs as a trace for Perfetto's viewer, <https://ui.perfetto.dev>.

mod arguments;
mod cpus;
mod executions;
mod packets;
#[cfg(test)]
mod tests;
mod threads;

use crate::path::{SelectedExecution, select_executions};
use crate::question::{KernelPathQuestion, PathChoice};
use crate::read::KernelRun;
use laggard_kernel_graph::{CriticalPath, ExecutionGraph, Window};
use packets::PacketWriter;
use std::io::{self, Write};

// Limit: slices of executions in a Perfetto trace, slices of threads, and slices of CPUs | the latest are left out, with their number
const SLICES_MAX: usize = 1_000_000;

// Limit: threads with a track in a Perfetto trace | those with the least time on the paths have none, with their number
const THREADS_MAX: usize = 1_000;

/// Why there is no Perfetto trace.
#[derive(Debug)]
pub enum PerfettoError {
    /// The question does not fit the traces, as a sentence.
    Question(String),
    /// It could not be written.
    Output(io::Error),
}

impl From<io::Error> for PerfettoError {
    fn from(error: io::Error) -> PerfettoError {
        PerfettoError::Output(error)
    }
}

/// What a Perfetto trace contains, and what it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerfettoSummary {
    /// Executions.
    pub executions: u64,
    /// Threads with a track of their own.
    pub threads: u64,
    /// CPUs.
    pub cpus: u64,
    /// Executions beyond the limits of slices and of the question.
    pub executions_left_out: u64,
    /// Threads beyond the limit.
    pub threads_left_out: u64,
    /// Slices of threads and CPUs beyond the limit: the latest.
    pub slices_left_out: u64,
}

impl PerfettoSummary {
    /// What was left out, as a sentence.
    pub fn remark(&self) -> Option<String> {
        if self.executions == 0 {
            return Some("No Perfetto trace was written: there are no executions.".to_owned());
        }
        let counts = [
            (self.executions_left_out, "executions"),
            (self.threads_left_out, "threads"),
            (self.slices_left_out, "slices of threads and CPUs, the latest"),
        ];
        let left_out = counts.into_iter().filter(|&(count, _)| count > 0);
        let parts: Vec<String> = left_out.map(|(count, what)| format!("{count} {what}")).collect();
        (!parts.is_empty())
            .then(|| format!("The Perfetto trace leaves out, for its size: {}.", parts.join("; ")))
    }
}

/// Numbers of slices of each group of tracks, and of threads.
#[derive(Clone, Copy, Debug)]
struct PerfettoLimits {
    slices: usize,
    threads: usize,
}

/// A graph, and the window of it that is written.
#[derive(Clone, Copy)]
struct ExportScope<'a> {
    graph: &'a ExecutionGraph,
    window: Window,
    limits: PerfettoLimits,
}

/// An execution and its path.
type ExecutionPath<'a> = (SelectedExecution<'a>, CriticalPath);

/// Writes the executions of a question as a Perfetto trace: their critical paths, the states of the threads on these with who woke
/// whom, and which thread ran on which CPU meanwhile. Nothing is written if there is no execution.
///
/// # Errors
/// A question that does not fit, traces on several clocks, and those of `out`.
pub fn write_perfetto(
    runs: &[KernelRun],
    question: &KernelPathQuestion,
    out: &mut dyn Write,
) -> Result<PerfettoSummary, PerfettoError> {
    write_limited(runs, question, PerfettoLimits { slices: SLICES_MAX, threads: THREADS_MAX }, out)
}

fn write_limited(
    runs: &[KernelRun],
    question: &KernelPathQuestion,
    limits: PerfettoLimits,
    out: &mut dyn Write,
) -> Result<PerfettoSummary, PerfettoError> {
    let mut summary = PerfettoSummary::default();
    let paths = paths(runs, question, limits, &mut summary)?;
    let (Some(run), Some(window)) = (runs.first(), window(&paths)) else { return Ok(summary) };
    let Some(graph) = &run.graph else { return Ok(summary) };
    let scope = ExportScope { graph, window, limits };
    let clock = run.traces.first().map_or("", |trace| trace.clock.as_str());
    let mut writer = PacketWriter::begin(out, clock, run.calendar, window.from)?;
    executions::write(&mut writer, &paths)?;
    let threads = threads::write(&mut writer, scope, &paths)?;
    let cpus = cpus::write(&mut writer, scope)?;
    Ok(PerfettoSummary {
        threads: threads.tracks,
        cpus: cpus.tracks,
        threads_left_out: threads.tracks_left_out,
        slices_left_out: threads.slices_left_out + cpus.slices_left_out,
        ..summary
    })
}

/// Tracks of one group.
#[derive(Clone, Copy, Default, Debug)]
struct GroupSummary {
    tracks: u64,
    tracks_left_out: u64,
    slices_left_out: u64,
}

/// The executions and their paths, up to the limits.
fn paths<'a>(
    runs: &'a [KernelRun],
    question: &KernelPathQuestion,
    limits: PerfettoLimits,
    summary: &mut PerfettoSummary,
) -> Result<Vec<ExecutionPath<'a>>, PerfettoError> {
    if runs.len() > 1 {
        let reason = "a Perfetto trace has one clock; name one trace, or traces of hosts whose packets show the offset of their \
                      clocks";
        return Err(PerfettoError::Question(reason.to_owned()));
    }
    let mut selected = select_executions(runs, question).map_err(PerfettoError::Question)?;
    if let PathChoice::Number(number) = question.choice {
        selected.retain(|selected| selected.number == number);
    }
    let count = selected.len();
    selected.truncate(question.executions_max);
    summary.executions_left_out = (count - selected.len()) as u64;
    let mut slices = 0;
    let mut paths = Vec::new();
    for selection in selected {
        // A thread that is not in the trace at that time: the report counts it.
        let Some(path) = selection.path() else { continue };
        slices += path.segments.len() + 1;
        if slices <= limits.slices {
            paths.push((selection, path));
        } else {
            summary.executions_left_out += 1;
        }
    }
    summary.executions = paths.len() as u64;
    Ok(paths)
}

/// From the first beginning to the last end of a path.
fn window(paths: &[ExecutionPath<'_>]) -> Option<Window> {
    let from = paths.iter().map(|(_, path)| path.window.from).min()?;
    let to = paths.iter().map(|(_, path)| path.window.to).max()?;
    Some(Window { from, to })
}
