//! Executions as vectors: entries into each state and time in it (Janecek et al. 3.3).

use crate::{StateId, StateSequence};
use laggard_numeric::Matrix;

/// The vectors of one set: rows are executions, columns the states of [`states_of`].
#[derive(Clone, PartialEq, Debug)]
pub struct StateVectors {
    /// Entries into each state; equal neighboring steps are one entry.
    pub counts: Matrix,
    /// Time in each state, microseconds.
    pub times_us: Matrix,
}

/// The states that occur in either set, ascending. All states must be below `alphabet_len`.
pub fn states_of(normal: &[&StateSequence], sample: &[&StateSequence], alphabet_len: usize) -> Vec<StateId> {
    let mut occurs = [false; 256];
    for sequence in normal.iter().chain(sample) {
        for &state in sequence.states() {
            debug_assert!(usize::from(state) < alphabet_len, "state {state} of {alphabet_len}");
            occurs[usize::from(state)] = true;
        }
    }
    (0..=StateId::MAX).filter(|&state| occurs[usize::from(state)]).collect()
}

/// Counts and times of every execution in `states` (ascending, all that occur). `O(steps)`.
pub fn state_vectors(set: &[&StateSequence], states: &[StateId]) -> StateVectors {
    let mut column = [0; 256];
    for (index, &state) in states.iter().enumerate() {
        column[usize::from(state)] = index;
    }
    let mut counts = Matrix::zeros(set.len(), states.len());
    let mut times_us = Matrix::zeros(set.len(), states.len());
    for (row, sequence) in set.iter().enumerate() {
        let mut last = None;
        for (&state, &time_us) in sequence.states().iter().zip(sequence.times_us()) {
            let index = column[usize::from(state)];
            times_us.row_mut(row)[index] += time_us;
            if last != Some(state) {
                counts.row_mut(row)[index] += 1.0;
            }
            last = Some(state);
        }
    }
    StateVectors { counts, times_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_and_times_added() {
        let mut sequence = StateSequence::new();
        for (state, time_us) in [(3, 1.0), (3, 2.0), (0, 4.0), (3, 8.0)] {
            sequence.push(state, time_us);
        }
        let set = [&sequence, &StateSequence::new()];
        let states = states_of(&set, &[], 4);
        assert_eq!(states, [0, 3]);
        let vectors = state_vectors(&set, &states);
        assert_eq!(vectors.counts.data(), [1.0, 2.0, 0.0, 0.0]);
        assert_eq!(vectors.times_us.data(), [4.0, 11.0, 0.0, 0.0]);
    }
}
