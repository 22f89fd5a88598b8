//! Converts paths to sequences of symbols.

use super::alphabet::Alphabet;
use super::names::WorkerNames;
use crate::path::CriticalPath;
use crate::worker::WorkerId;

/// A step of an execution: adjacent segments of its path with the same worker and the same symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateStep {
    /// The symbol's number in the alphabet.
    pub state: u8,
    /// The worker whose state it is.
    pub worker: WorkerId,
    /// Its duration in nanoseconds, above 0.
    pub ns: u64,
    /// 0-based index of its first segment in the path.
    pub first_segment: usize,
    /// 0-based index of its last segment, inclusive.
    pub last_segment: usize,
}

/// The steps of a path, in order. They cover the path's time and its segments without gaps.
pub fn state_steps(path: &CriticalPath, alphabet: &Alphabet, names: WorkerNames<'_>) -> Vec<StateStep> {
    let mut steps: Vec<StateStep> = Vec::new();
    for (index, segment) in path.segments.iter().enumerate() {
        let step = StateStep {
            state: alphabet.symbol_for(path, segment, names),
            worker: segment.worker,
            ns: segment.window.ns(),
            first_segment: index,
            last_segment: index,
        };
        push_or_extend(&mut steps, step);
    }
    let min_ns = alphabet.settings().min_ns.max(1);
    merge_short(steps, min_ns)
}

/// Appends a step, or extends the last one if it has the same worker and symbol.
fn push_or_extend(steps: &mut Vec<StateStep>, step: StateStep) {
    match steps.last_mut() {
        Some(last) if last.state == step.state && last.worker == step.worker => extend_step(last, &step),
        _ => steps.push(step),
    }
}

fn extend_step(into: &mut StateStep, step: &StateStep) {
    into.ns += step.ns;
    into.last_segment = step.last_segment;
}

/// Merges short steps into their predecessor; leading ones into the first that is long enough.
fn merge_short(steps: Vec<StateStep>, min_ns: u64) -> Vec<StateStep> {
    let mut merged: Vec<StateStep> = Vec::with_capacity(steps.len());
    let mut head: Option<StateStep> = None;
    for mut step in steps {
        let is_short = step.ns < min_ns;
        match merged.last_mut() {
            Some(last) if is_short => extend_step(last, &step),
            None if is_short => match &mut head {
                Some(head) => extend_step(head, &step),
                None => head = Some(step),
            },
            _ => {
                if let Some(head) = head.take() {
                    step.ns += head.ns;
                    step.first_segment = head.first_segment;
                }
                push_or_extend(&mut merged, step);
            }
        }
    }
    // No step is long enough: one step with the first one's symbol.
    merged.extend(head.filter(|head| head.ns > 0));
    merged
}
