//! Executions of runs as sequences of letters.

use crate::execution_filter::{TimeWindow, within};
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

/// Steps of all executions of a set together: what does not fit is left out.
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
    /// How executions become sequences.
    #[derive(Clone, Debug)]
    pub struct SequenceSettings {
        /// Symbols: states alone, states with whose they are, by device too, or by other threads' names too
        alphabet ("alphabet"): AlphabetChoice = AlphabetChoice::Whose, choice(), "Janecek et al. 2022: running of another worker is a wait for it";
        /// Shorter steps are added to the step before
        step_min_us ("step-min", "µs"): f64 = 0.0, within(0.0, 1e9), "ours";
        /// Executions of a set at most; the first in time
        executions_max ("executions-max", "executions"): usize = 5_000, at_least(1.0), "cost";
        /// Steps of an execution at most; what comes later is left out
        steps_max ("steps-max", "steps"): usize = 20_000, at_least(1.0), "cost";
    }
}

settings! {
    group "kernel diagnose";
    /// Settings of a diagnosis of executions.
    #[derive(Clone, Debug)]
    pub struct KernelDiagnoseSettings {}
    groups {
        /// How executions become sequences.
        sequences: SequenceSettings;
        /// How sequences are judged.
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

/// One of the two sets.
#[derive(Clone, Debug)]
pub struct KernelSet {
    /// Where it comes from, for the report.
    pub source: String,
    /// Its runs, by their place among all.
    pub runs: Vec<usize>,
    /// Only executions in this window.
    pub window: TimeWindow,
    /// Only executions whose label matches.
    pub label: Option<Glob>,
}

/// An execution of a set.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) run: usize,
    pub(crate) execution: Execution,
    pub(crate) elapsed_ns: u64,
    pub(crate) unresolved_ns: u64,
}

/// A set's executions and their sequences, the same places in both.
#[derive(Default)]
pub(crate) struct Sequenced {
    pub(crate) members: Vec<Member>,
    pub(crate) sequences: Vec<StateSequence>,
    pub(crate) left_out: u64,
}

/// Runs that have graphs, with the alphabet of both sets.
pub(crate) struct Sequencer<'a> {
    pub(crate) runs: &'a [KernelRun],
    pub(crate) alphabet: Alphabet,
    steps_max: usize,
}

/// Pieces of a path that are one step of its sequence: 0-based, the last included.
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
        for &at in &set.runs {
            let run = &self.runs[at];
            let Some(found) = &run.found else { continue };
            let inside = within(&found.executions, set.window.on_clock_of(run)?);
            let meant = inside.into_iter().filter(|one| matches(set.label.as_ref(), &one.label));
            out.extend(meant.map(|execution| (at, execution)));
        }
        let left = out.len().saturating_sub(executions_max) as u64;
        out.truncate(executions_max);
        Ok((out, left))
    }

    /// Adds the letters of executions; does nothing unless letters are split by names.
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
            let pieces = state_steps(&path, &self.alphabet, WorkerNames::from_graph(graph));
            let mut cut = 0;
            for piece in &pieces {
                if sequence.len() >= self.steps_max && sequence.states().last() != Some(&piece.state) {
                    cut += 1;
                    continue;
                }
                sequence.push(piece.state, piece.ns as f64 / 1e3);
            }
            losses.add_many(Loss::SequenceLimit, cut, || execution.label.clone());
            steps += sequence.len();
            out.sequences.push(sequence);
            out.members.push(Member {
                run,
                elapsed_ns: path.window.ns(),
                unresolved_ns: unresolved_ns(&path),
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

    /// Which pieces each step of a path's sequence consists of.
    pub(crate) fn steps(&self, graph: &ExecutionGraph, path: &CriticalPath) -> Vec<StepSegments> {
        let pieces = state_steps(path, &self.alphabet, WorkerNames::from_graph(graph));
        let mut steps: Vec<(u8, StepSegments)> = Vec::new();
        for StateStep { state, first_segment, last_segment, .. } in pieces {
            match steps.last_mut() {
                Some((same, step)) if *same == state => step.last = last_segment,
                _ => steps.push((state, StepSegments { first: first_segment, last: last_segment })),
            }
        }
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// The letters as reports tell them.
    pub(crate) fn letters(&self) -> Vec<StateName> {
        self.alphabet.symbols().iter().map(letter).collect()
    }
}

fn matches(wanted: Option<&Glob>, label: &str) -> bool {
    wanted.is_none_or(|wanted| wanted.matches(label))
}

fn path_of(graph: &ExecutionGraph, execution: &Execution) -> Option<CriticalPath> {
    let worker = graph.worker_of(execution.host, execution.end_tid, execution.window.to)?;
    let path = graph.critical_path(worker, execution.window);
    (!path.segments.is_empty()).then_some(path)
}

fn unresolved_ns(path: &CriticalPath) -> u64 {
    let unknown = |state| matches!(state, WorkerState::Blocked | WorkerState::Unknown);
    path.segments.iter().filter(|piece| unknown(piece.state)).map(|piece| piece.window.ns()).sum()
}

fn letter(one: &laggard_kernel_graph::StateSymbol) -> StateName {
    let state = state(one.state);
    let of = if one.qualifier.is_empty() { String::new() } else { format!(" {}", one.qualifier) };
    let whose = if one.owner == SymbolOwner::Other { " (another thread)" } else { "" };
    StateName { name: format!("{}{of}{whose}", state.word()), state, own: one.owner != SymbolOwner::Other }
}
