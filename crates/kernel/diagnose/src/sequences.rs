//! Converts executions of runs to sequences of state symbols.

use crate::execution_filter::{TimeWindow, within};
use crate::foreign_load::foreign_ns;
use crate::names::state;
use crate::read::KernelRun;
use laggard_align::{AlignSettings, StateSequence};
use laggard_kernel_graph::{
    Alphabet, AlphabetSettings, CriticalPath, Encoding, Execution, ExecutionGraph, Glob, SplitBy, StateStep,
    SymbolOwner, WorkerNames, WorkerState, state_steps,
};
use laggard_model::{Loss, Losses};
use laggard_report::StateName;
use laggard_settings::{Choice, settings};

/// Maximum number of steps of all executions of a set; further executions are left out.
const SET_STEPS_MAX: usize = 20_000_000;

/// Which states have a symbol of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AlphabetChoice {
    /// A symbol is a state.
    State,
    /// A state of the execution's own thread has another symbol than that of another thread.
    #[default]
    Whose,
    /// As `Whose`, and waits by device or interrupt.
    Device,
    /// As `Whose`, and other threads by their names.
    Thread,
}

impl Choice for AlphabetChoice {
    const CHOICES: &'static [(&'static str, AlphabetChoice)] = &[
        ("whose", AlphabetChoice::Whose),
        ("state", AlphabetChoice::State),
        ("device", AlphabetChoice::Device),
        ("thread", AlphabetChoice::Thread),
    ];
}

settings! {
    group "sequences";
    /// How executions are converted to sequences.
    #[derive(Clone, Debug)]
    pub struct SequenceSettings {
        /// Symbols: states alone, states with whose they are, by device too, or by other threads' names too
        alphabet ("alphabet"): AlphabetChoice = AlphabetChoice::Whose, choice(), "Janecek et al. 2022: running of another worker is a wait for it";
        /// Shorter steps are added to the step before
        step_min_us ("step-min", "µs"): f64 = 0.0, within(0.0, 1e9), "ours";
        /// Maximum number of executions of a set; the first in time are used
        executions_max ("executions-max", "executions"): usize = 5_000, at_least(1.0), "cost";
        /// Maximum number of steps of an execution; later steps are left out
        steps_max ("steps-max", "steps"): usize = 20_000, at_least(1.0), "cost";
    }
}

settings! {
    group "kernel diagnose";
    /// Settings of a diagnosis of executions.
    #[derive(Clone, Debug)]
    pub struct KernelDiagnoseSettings {}
    groups {
        /// How executions are converted to sequences.
        sequences: SequenceSettings;
        /// How sequences are compared.
        align: AlignSettings;
    }
}

impl SequenceSettings {
    /// The symbols of steps.
    fn alphabet(&self) -> AlphabetSettings {
        let (encoding, split_by) = match self.alphabet {
            AlphabetChoice::State => (Encoding::State, SplitBy::Nothing),
            AlphabetChoice::Whose => (Encoding::StateAndWorker, SplitBy::Nothing),
            AlphabetChoice::Device => (Encoding::StateAndWorker, SplitBy::Device),
            AlphabetChoice::Thread => (Encoding::StateAndWorker, SplitBy::Worker),
        };
        AlphabetSettings { encoding, split_by, min_ns: (self.step_min_us * 1e3) as u64 }
    }
}

/// One of the two sets of executions.
#[derive(Clone, Debug)]
pub struct KernelSet {
    /// Its source, for the report.
    pub source: String,
    /// Indices of its runs.
    pub runs: Vec<usize>,
    /// Only executions in this window.
    pub window: TimeWindow,
    /// Only executions whose label matches.
    pub label: Option<Glob>,
    /// Only executions whose thread is in a container of a matching name.
    pub container: Option<Glob>,
}

/// An execution of a set.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) run: usize,
    pub(crate) execution: Execution,
    pub(crate) elapsed_ns: u64,
    pub(crate) unresolved_ns: u64,
    /// Time in which it waited for CPUs that other processes used.
    pub(crate) foreign_ns: u64,
}

/// A set's executions and their sequences, by the same index.
#[derive(Default)]
pub(crate) struct Sequenced {
    pub(crate) members: Vec<Member>,
    pub(crate) sequences: Vec<StateSequence>,
    pub(crate) left_out: u64,
}

/// Runs with graphs, and the alphabet of both sets.
pub(crate) struct Sequencer<'a> {
    pub(crate) runs: &'a [KernelRun],
    pub(crate) alphabet: Alphabet,
    steps_max: usize,
}

/// The segments of a path that are one step of its sequence: 0-based, inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StepSegments {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl<'a> Sequencer<'a> {
    pub(crate) fn new(runs: &'a [KernelRun], settings: &SequenceSettings) -> Sequencer<'a> {
        let alphabet = Alphabet::new(settings.alphabet());
        Sequencer { runs, alphabet, steps_max: settings.steps_max }
    }

    /// Executions of a set in order of run and time, and how many are beyond the limit.
    ///
    /// # Errors
    /// A window that does not fit a run, as a sentence.
    pub(crate) fn executions(
        &self,
        set: &KernelSet,
        executions_max: usize,
    ) -> Result<(Vec<(usize, Execution)>, u64), String> {
        let mut out = Vec::new();
        for &run_index in &set.runs {
            let run = &self.runs[run_index];
            let Some(delimited) = &run.executions else { continue };
            let in_window = within(&delimited.executions, set.window.on_clock_of(run)?);
            let matching = in_window.into_iter().filter(|execution| {
                let in_container =
                    |pattern: &Glob| container_of(run, execution).is_some_and(|name| pattern.matches(&name));
                matches(set.label.as_ref(), &execution.label)
                    && set.container.as_ref().is_none_or(in_container)
            });
            out.extend(matching.map(|execution| (run_index, execution)));
        }
        let left_out = out.len().saturating_sub(executions_max) as u64;
        out.truncate(executions_max);
        Ok((out, left_out))
    }

    /// Adds the symbols of executions; does nothing unless symbols are split by names.
    pub(crate) fn learn(&mut self, executions: &[(usize, Execution)]) {
        if self.alphabet.settings().split_by == SplitBy::Nothing {
            return;
        }
        for (run, execution) in executions {
            let Some(graph) = &self.runs[*run].graph else { continue };
            if let Some(path) = path_of(graph, execution) {
                self.alphabet.learn(&path, WorkerNames::from_graph(graph));
            }
        }
    }

    /// The sequences; executions without a path are a loss.
    pub(crate) fn sequences(
        &self,
        executions: Vec<(usize, Execution)>,
        left_out: u64,
        losses: &mut Losses,
    ) -> Sequenced {
        let mut out = Sequenced { left_out, ..Sequenced::default() };
        let mut steps = 0;
        for (run, execution) in executions {
            if steps >= SET_STEPS_MAX {
                out.left_out += 1;
                continue;
            }
            let Some((graph, path)) = self.path(run, &execution) else {
                losses.add(Loss::EmptyExecution, || execution.label.clone());
                continue;
            };
            let mut sequence = StateSequence::new();
            let steps_of_path = state_steps(&path, &self.alphabet, WorkerNames::from_graph(graph));
            let mut cut = 0;
            for step in &steps_of_path {
                if sequence.len() >= self.steps_max && sequence.states().last() != Some(&step.state) {
                    cut += 1;
                    continue;
                }
                sequence.push(step.state, step.ns as f64 / 1e3);
            }
            losses.add_many(Loss::SequenceLimit, cut, || execution.label.clone());
            steps += sequence.len();
            out.sequences.push(sequence);
            out.members.push(Member {
                run,
                elapsed_ns: path.window.ns(),
                unresolved_ns: unresolved_ns(&path),
                foreign_ns: foreign_ns(graph, &path),
                execution,
            });
        }
        out
    }

    /// The path of an execution, with the graph it is in.
    pub(crate) fn path(
        &self,
        run: usize,
        execution: &Execution,
    ) -> Option<(&'a ExecutionGraph, CriticalPath)> {
        let graph = self.runs[run].graph.as_ref()?;
        Some((graph, path_of(graph, execution)?))
    }

    /// The segments of each step of a path's sequence.
    pub(crate) fn steps(&self, graph: &ExecutionGraph, path: &CriticalPath) -> Vec<StepSegments> {
        let steps_of_path = state_steps(path, &self.alphabet, WorkerNames::from_graph(graph));
        let mut steps: Vec<(u8, StepSegments)> = Vec::new();
        for StateStep { state, first_segment, last_segment, .. } in steps_of_path {
            match steps.last_mut() {
                Some((same, step)) if *same == state => step.last = last_segment,
                _ => steps.push((state, StepSegments { first: first_segment, last: last_segment })),
            }
        }
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// The names of the symbols for reports.
    pub(crate) fn symbol_names(&self) -> Vec<StateName> {
        self.alphabet.symbols().iter().map(symbol).collect()
    }
}

fn matches(pattern: Option<&Glob>, label: &str) -> bool {
    pattern.is_none_or(|pattern| pattern.matches(label))
}

/// The container of the thread whose path is that of an execution.
fn container_of(run: &KernelRun, execution: &Execution) -> Option<String> {
    let graph = run.graph.as_ref()?;
    graph.container(graph.worker_of(execution.host, execution.end_tid, execution.window.to)?)
}

fn path_of(graph: &ExecutionGraph, execution: &Execution) -> Option<CriticalPath> {
    let worker = graph.worker_of(execution.host, execution.end_tid, execution.window.to)?;
    let path = graph.critical_path(worker, execution.window);
    (!path.segments.is_empty()).then_some(path)
}

fn unresolved_ns(path: &CriticalPath) -> u64 {
    let unknown = |state| matches!(state, WorkerState::Blocked | WorkerState::Unknown);
    path.segments.iter().filter(|segment| unknown(segment.state)).map(|segment| segment.window.ns()).sum()
}

fn symbol(execution: &laggard_kernel_graph::StateSymbol) -> StateName {
    let state = state(execution.state);
    let qualifier =
        if execution.qualifier.is_empty() { String::new() } else { format!(" {}", execution.qualifier) };
    let owner = if execution.owner == SymbolOwner::Other { " (another thread)" } else { "" };
    StateName {
        name: format!("{}{qualifier}{owner}", state.word()),
        state,
        own: execution.owner != SymbolOwner::Other,
    }
}
