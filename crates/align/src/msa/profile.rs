//! Aligned sequences as shares of states by column.

use crate::State;

/// What the columns of aligned sequences hold. `4 * states * columns` bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    len: usize,
    /// Position of each state in `shares`; `u16::MAX` where it occurs in no sequence.
    slots: Vec<u16>,
    /// `f_x(a)`: share of each state among the rows that have one, state by state.
    shares: Vec<f32>,
    /// Share of rows with a state, by column.
    occupancy: Vec<f32>,
}

/// A sequence, the column of each of its steps, and how often it counts.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The states.
    pub states: &'a [State],
    /// The column of each state, strictly ascending.
    pub columns: &'a [u32],
    /// How many identical sequences it stands for; >= 1.
    pub weight: u32,
}

impl Profile {
    /// Counts states by column. Columns that no row fills have occupancy 0.
    ///
    /// # Panics
    /// When a row names a column that is not there.
    pub fn new(rows: &[Row<'_>], len: usize) -> Profile {
        let mut slots = vec![u16::MAX; 256];
        let mut states = 0;
        for &state in rows.iter().flat_map(|row| row.states) {
            let slot = &mut slots[usize::from(state)];
            if *slot == u16::MAX {
                *slot = states;
                states += 1;
            }
        }
        let mut profile =
            Profile { len, slots, shares: vec![0.0; usize::from(states) * len], occupancy: vec![0.0; len] };
        profile.count(rows);
        profile.normalise(rows.iter().map(|row| row.weight).sum());
        profile
    }

    fn count(&mut self, rows: &[Row<'_>]) {
        for row in rows {
            let weight = row.weight as f32;
            for (&state, &column) in row.states.iter().zip(row.columns) {
                let column = column as usize;
                self.shares[usize::from(self.slots[usize::from(state)]) * self.len + column] += weight;
                self.occupancy[column] += weight;
            }
        }
    }

    fn normalise(&mut self, weight: u32) {
        for shares in self.shares.chunks_exact_mut(self.len.max(1)) {
            for (share, &filled) in shares.iter_mut().zip(&self.occupancy) {
                *share /= filled.max(1.0);
            }
        }
        let weight = weight.max(1) as f32;
        self.occupancy.iter_mut().for_each(|filled| *filled /= weight);
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Share of rows that have a state, by column.
    pub fn occupancy(&self) -> &[f32] {
        &self.occupancy
    }

    /// Share of `state` among the rows that have one, by column; `None` when no row has it anywhere.
    pub fn shares(&self, state: State) -> Option<&[f32]> {
        let slot = self.slots[usize::from(state)];
        (slot != u16::MAX).then(|| &self.shares[usize::from(slot) * self.len..][..self.len])
    }

    /// The states that occur, ascending.
    pub fn states(&self) -> impl Iterator<Item = State> + '_ {
        (0..=State::MAX).filter(|&state| self.slots[usize::from(state)] != u16::MAX)
    }
}

/// Frequency of each state in all sequences together, one more of each so that none is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    frequencies: Vec<f32>,
}

impl Background {
    /// `alphabet_len` states, or as many as occur if that is more.
    pub fn new<'a>(sequences: impl Iterator<Item = (&'a [State], u32)>, alphabet_len: usize) -> Background {
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
    pub fn frequency(&self, state: State) -> f32 {
        let least = || self.frequencies.iter().copied().fold(1.0, f32::min);
        self.frequencies.get(usize::from(state)).copied().unwrap_or_else(least)
    }
}
