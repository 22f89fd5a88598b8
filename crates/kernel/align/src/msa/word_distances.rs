//! Distances of sequences that are not aligned: by the words they share (Edgar 2004).

use crate::StateId;
use laggard_parallel::parallel_map;
use std::num::NonZeroUsize;

/// A symmetric matrix of distances; `n * (n - 1) / 2` doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    len: usize,
    /// Row `j` holds the distances to `0..j`.
    below: Vec<f64>,
}

impl Distances {
    /// Calls `distance(i, j)` for every pair `i < j`, in parallel by row; the result does not depend on the threads.
    pub fn from_pairs(
        len: usize,
        threads: NonZeroUsize,
        distance: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Distances {
        let rows: Vec<usize> = (0..len).collect();
        let below = parallel_map(&rows, threads, |&j| (0..j).map(|i| distance(i, j)).collect::<Vec<f64>>());
        Distances { len, below: below.concat() }
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no sequence.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The distance of `i` and `j`; 0 of one to itself.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        match i.cmp(&j) {
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Less => self.below[j * (j - 1) / 2 + i],
            std::cmp::Ordering::Greater => self.below[i * (i - 1) / 2 + j],
        }
    }
}

/// `1 - sum over words of min(n_x, n_y) / (min(len) - k + 1)`, with `k` falling to the shorter length. An empty
/// sequence has distance 1 from every other and 0 from another empty one.
pub fn word_distance(x: &[StateId], y: &[StateId], word_length: usize) -> f64 {
    let shorter = x.len().min(y.len());
    if shorter == 0 {
        return if x.len() == y.len() { 0.0 } else { 1.0 };
    }
    let k = word_length.clamp(1, 8).min(shorter);
    shared_distance(&words(x, k), &words(y, k))
}

/// All pairs' [`word_distance`].
pub(crate) fn word_distances(
    sequences: &[&[StateId]],
    word_length: usize,
    threads: NonZeroUsize,
) -> Distances {
    let k = word_length.clamp(1, 8);
    let sorted = parallel_map(sequences, threads, |sequence| words(sequence, k));
    Distances::from_pairs(sequences.len(), threads, |i, j| {
        if sequences[i].len() < k || sequences[j].len() < k {
            return word_distance(sequences[i], sequences[j], k);
        }
        shared_distance(&sorted[i], &sorted[j])
    })
}

/// The words of a sequence, eight bits a state, sorted.
fn words(sequence: &[StateId], k: usize) -> Vec<u64> {
    let mut words: Vec<u64> = sequence
        .windows(k)
        .map(|window| window.iter().fold(0, |word, &state| (word << 8) | u64::from(state)))
        .collect();
    words.sort_unstable();
    words
}

fn shared_distance(x: &[u64], y: &[u64]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while i < x.len() && j < y.len() {
        match x[i].cmp(&y[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                (i, j, shared) = (i + 1, j + 1, shared + 1);
            }
        }
    }
    1.0 - shared as f64 / x.len().min(y.len()) as f64
}
