//! An execution: a sequence of states with times.

/// A state, by its number in the caller's alphabet; at most 256 states.
pub type StateId = u8;

/// One execution as a sequence of steps. Neighboring states may be equal (a caller that wants them merged uses
/// [`StateSequence::push`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateSequence {
    states: Vec<StateId>,
    times_us: Vec<f64>,
}

impl StateSequence {
    /// No steps yet.
    pub fn new() -> StateSequence {
        StateSequence::default()
    }

    /// Appends a step of `time_us` microseconds (> 0, finite), or lengthens the last one when the state is the same.
    pub fn push(&mut self, state: StateId, time_us: f64) {
        debug_assert!(time_us.is_finite() && time_us >= 0.0);
        match (self.states.last(), self.times_us.last_mut()) {
            (Some(&last), Some(time)) if last == state => *time += time_us,
            _ => {
                self.states.push(state);
                self.times_us.push(time_us);
            }
        }
    }

    /// The steps in other states; those that become neighbors and are equal become one.
    pub(crate) fn without(&self, state: StateId) -> StateSequence {
        let mut others = StateSequence::new();
        for (&other, &time_us) in self.states.iter().zip(&self.times_us) {
            if other != state {
                others.push(other, time_us);
            }
        }
        others
    }

    /// The states, in order.
    pub fn states(&self) -> &[StateId] {
        &self.states
    }

    /// The time of each step in microseconds; as many as states.
    pub fn times_us(&self) -> &[f64] {
        &self.times_us
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Total time in microseconds.
    pub fn total_us(&self) -> f64 {
        self.times_us.iter().sum()
    }
}
