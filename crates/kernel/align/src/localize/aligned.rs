//! An execution aligned with the reference columns.

use super::result::AlignedPosition;
use crate::msa::Move;
use crate::{StateId, StateSequence};

/// The position of every step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AlignedSequence<'a> {
    pub sequence: &'a StateSequence,
    pub positions: Vec<AlignedPosition>,
}

impl<'a> AlignedSequence<'a> {
    pub(crate) fn along(sequence: &'a StateSequence, moves: &[Move]) -> AlignedSequence<'a> {
        let (mut column, mut positions) = (0, Vec::with_capacity(sequence.len()));
        for step in moves {
            match step {
                Move::Both => positions.push(AlignedPosition::Column(column)),
                Move::First => positions.push(AlignedPosition::Before(column)),
                Move::Second => {}
            }
            column += u32::from(*step != Move::First);
        }
        AlignedSequence { sequence, positions }
    }

    pub(crate) fn in_columns(sequence: &'a StateSequence, columns: &[u32]) -> AlignedSequence<'a> {
        AlignedSequence {
            sequence,
            positions: columns.iter().map(|&column| AlignedPosition::Column(column)).collect(),
        }
    }

    pub(crate) fn state(&self, step: usize) -> StateId {
        self.sequence.states()[step]
    }

    pub(crate) fn time_us(&self, step: usize) -> f64 {
        self.sequence.times_us()[step]
    }

    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The step in each of `columns` columns.
    pub(crate) fn steps_by_column(&self, columns: usize) -> Vec<Option<u32>> {
        let mut steps = vec![None; columns];
        for (step, position) in self.positions.iter().enumerate() {
            if let AlignedPosition::Column(column) = position {
                steps[*column as usize] = Some(step as u32);
            }
        }
        steps
    }

    /// The first step at or after a position.
    pub(crate) fn step_from(&self, position: AlignedPosition) -> usize {
        self.positions.partition_point(|&other| other < position)
    }
}

/// The steps of an execution by state and position, for sums over windows of columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StateEntryIndex {
    by_state: Vec<StateTimes>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct StateTimes {
    positions: Vec<u32>,
    times_us: Vec<f64>,
}

impl StateEntryIndex {
    /// Indexes the steps for which `counts` is true.
    pub(super) fn new(aligned: &AlignedSequence<'_>, is_included: impl Fn(usize) -> bool) -> StateEntryIndex {
        let mut by_state: Vec<StateTimes> = Vec::new();
        for step in (0..aligned.len()).filter(|&step| is_included(step)) {
            let state = usize::from(aligned.state(step));
            if state >= by_state.len() {
                by_state.resize(state + 1, StateTimes::default());
            }
            by_state[state].positions.push(aligned.positions[step].position());
            by_state[state].times_us.push(aligned.time_us(step));
        }
        StateEntryIndex { by_state }
    }

    /// Whether there is any entry into `state`.
    pub(super) fn has(&self, state: StateId) -> bool {
        self.by_state.get(usize::from(state)).is_some_and(|entries| !entries.positions.is_empty())
    }

    /// Times of the entries into `state` within a window.
    pub(super) fn times_us(&self, state: StateId, window: PositionWindow) -> &[f64] {
        let Some(entries) = self.by_state.get(usize::from(state)) else { return &[] };
        let from = entries.positions.partition_point(|&position| position < window.first);
        let to = entries.positions.partition_point(|&position| position <= window.last);
        &entries.times_us[from..to.max(from)]
    }
}

/// Positions from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PositionWindow {
    pub first: u32,
    pub last: u32,
}
