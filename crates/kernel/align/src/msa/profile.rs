//! Aligned sequences as counts of states by column.

use crate::StateId;

/// State counts of the columns of aligned sequences. `4 * states * columns` bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    len: usize,
    /// The states that occur, ascending.
    states: Vec<StateId>,
    /// Number of rows with each state, column by column; whole numbers, exact to 2^24.
    counts: Vec<f32>,
    /// Number of rows with any state, by column.
    filled: Vec<f32>,
    /// Number of rows whose gap begins in a column, and of rows whose gap ended before it.
    gap_begins: Vec<f32>,
    gap_ended: Vec<f32>,
    rows: f32,
}

/// A sequence, the column of each of its steps, and how often it counts.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRow<'a> {
    /// The states.
    pub states: &'a [StateId],
    /// The column of each state, strictly ascending.
    pub columns: &'a [u32],
    /// Number of identical sequences it represents; >= 1.
    pub weight: u32,
}

impl Profile {
    /// Counts states by column. Columns that no row fills have occupancy 0.
    ///
    /// # Panics
    /// If a row refers to a column out of range.
    pub fn new(rows: &[ProfileRow<'_>], len: usize) -> Profile {
        let (states, slots) = slots(rows);
        let zeros = || vec![0.0; len];
        let mut profile = Profile {
            len,
            counts: vec![0.0; states.len() * len],
            states,
            filled: zeros(),
            gap_begins: zeros(),
            gap_ended: zeros(),
            rows: rows.iter().map(|row| row.weight as f32).sum(),
        };
        rows.iter().for_each(|row| profile.count(row, &slots));
        let width = profile.states.len().max(1);
        for (filled, counts) in profile.filled.iter_mut().zip(profile.counts.chunks_exact(width)) {
            *filled = counts.iter().sum();
        }
        profile
    }

    fn count(&mut self, row: &ProfileRow<'_>, slots: &[u8; 256]) {
        let (weight, width) = (row.weight as f32, self.states.len());
        let mut next = 0;
        for (&state, &column) in row.states.iter().zip(row.columns) {
            let column = column as usize;
            self.counts[column * width + usize::from(slots[usize::from(state)])] += weight;
            if column > next {
                self.gap_begins[next] += weight;
                self.gap_ended[column] += weight;
            }
            next = column + 1;
        }
        if next < self.len {
            self.gap_begins[next] += weight;
        }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows, weights counted.
    pub fn rows(&self) -> f32 {
        self.rows
    }

    /// The states that occur, ascending.
    pub fn states(&self) -> &[StateId] {
        &self.states
    }

    /// Number of rows with a state, by column.
    pub fn filled(&self) -> &[f32] {
        &self.filled
    }

    /// Number of rows with each of [`Profile::states`] in a column.
    pub fn counts(&self, column: usize) -> &[f32] {
        &self.counts[column * self.states.len()..][..self.states.len()]
    }

    /// Share of rows that have a state, by column.
    pub fn occupancy(&self) -> Vec<f32> {
        self.part_of_rows(&self.filled)
    }

    /// Share of rows whose gap begins in a column.
    pub(super) fn gap_begins(&self) -> Vec<f32> {
        self.part_of_rows(&self.gap_begins)
    }

    /// Share of rows that have a state in a column, after a gap.
    pub(super) fn gap_ended(&self) -> Vec<f32> {
        self.part_of_rows(&self.gap_ended)
    }

    fn part_of_rows(&self, counts: &[f32]) -> Vec<f32> {
        counts.iter().map(|count| count / self.rows.max(1.0)).collect()
    }

    /// `f_x(a)`: share of `state` among the rows that have one, by column; `None` when no row has it anywhere.
    pub fn shares(&self, state: StateId) -> Option<Vec<f32>> {
        let slot = self.states.binary_search(&state).ok()?;
        let counts = self.counts.iter().skip(slot).step_by(self.states.len());
        Some(counts.zip(&self.filled).map(|(count, filled)| count / filled.max(1.0)).collect())
    }
}

/// The states that occur, ascending, and the position of each.
fn slots(rows: &[ProfileRow<'_>]) -> (Vec<StateId>, [u8; 256]) {
    let mut occurs = [false; 256];
    rows.iter().flat_map(|row| row.states).for_each(|&state| occurs[usize::from(state)] = true);
    let states: Vec<StateId> = (0..=StateId::MAX).filter(|&state| occurs[usize::from(state)]).collect();
    let mut slots = [0; 256];
    states.iter().enumerate().for_each(|(slot, &state)| slots[usize::from(state)] = slot as u8);
    (states, slots)
}

/// Frequency of each state in all sequences together, one more of each so that none is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    frequencies: Vec<f32>,
}

impl Background {
    /// `alphabet_len` states, or as many as occur if that is more.
    pub fn new<'a>(sequences: impl Iterator<Item = (&'a [StateId], u32)>, alphabet_len: usize) -> Background {
        let (mut counts, mut states) = (vec![1.0_f64; 256], alphabet_len.min(256));
        for (sequence, weight) in sequences {
            for &state in sequence {
                counts[usize::from(state)] += f64::from(weight);
                states = states.max(usize::from(state) + 1);
            }
        }
        counts.truncate(states.max(1));
        let total: f64 = counts.iter().sum();
        Background { frequencies: counts.iter().map(|count| (count / total) as f32).collect() }
    }

    /// `q(a)`; that of a state outside the alphabet is the smallest there is.
    pub fn frequency(&self, state: StateId) -> f32 {
        let least = || self.frequencies.iter().copied().fold(1.0, f32::min);
        self.frequencies.get(usize::from(state)).copied().unwrap_or_else(least)
    }
}
