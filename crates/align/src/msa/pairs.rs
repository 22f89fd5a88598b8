//! The sum-of-pairs score, exactly: every pair of rows, with affine gaps, in words of 64 columns.

use super::profile::Row;
use crate::State;
use laggard_numeric::parallel_map;
use std::num::NonZeroUsize;

const MATCH: f64 = 1.0;
const MISMATCH: f64 = -1.0;
const GAP_FIRST: f64 = -2.0;
const GAP_NEXT: f64 = -0.5;

/// Sum over all pairs of rows: +1 for equal states, -1 for different ones, and for each gap -2 for its first column and
/// -0.5 for each further one, where columns in which both have a gap are skipped. A row of weight `w` counts `w` times,
/// also against itself. `rows^2 * columns / 64` steps.
///
/// # Panics
/// When a row names a column that is not there.
pub fn sum_of_pairs(rows: &[Row<'_>], len: usize, threads: NonZeroUsize) -> f64 {
    let sides = Side::new(rows, len);
    let within: f64 = rows.iter().map(|row| copies(row.weight) * row.states.len() as f64).sum();
    let indices: Vec<usize> = (0..rows.len()).collect();
    let runs = parallel_map(&indices, threads, |&i| {
        let weight = f64::from(rows[i].weight);
        let against = |j: usize| f64::from(rows[j].weight) * sides.runs(i, &sides, j) as f64;
        weight * (i + 1..rows.len()).map(against).sum::<f64>()
    });
    // Columns: all pairs of rows less those of a row with itself.
    let mut same = 0.0;
    let mut columns = sides.columns_against(&sides);
    for row in rows {
        let weight = f64::from(row.weight);
        same += weight * weight * row.states.len() as f64;
    }
    columns.equal = (columns.equal - same) / 2.0;
    columns.both = (columns.both - same) / 2.0;
    columns.one /= 2.0;
    within + columns.score(runs.iter().sum())
}

fn copies(weight: u32) -> f64 {
    f64::from(weight) * (f64::from(weight) - 1.0) / 2.0
}

/// The part of the sum that comes from pairs of a row of one side and a row of the other.
pub(super) fn sum_across(first: &Side<'_>, second: &Side<'_>) -> f64 {
    let mut runs = 0.0;
    for (i, row) in first.rows.iter().enumerate() {
        let against =
            |(j, other): (usize, &Row<'_>)| f64::from(other.weight) * first.runs(i, second, j) as f64;
        runs += f64::from(row.weight) * second.rows.iter().enumerate().map(against).sum::<f64>();
    }
    first.columns_against(second).score(runs)
}

/// Numbers of weighted pairs of cells.
struct PairColumns {
    equal: f64,
    both: f64,
    one: f64,
}

impl PairColumns {
    fn score(&self, runs: f64) -> f64 {
        let unequal = self.both - self.equal;
        MATCH * self.equal + MISMATCH * unequal + (GAP_FIRST - GAP_NEXT) * runs + GAP_NEXT * self.one
    }
}

/// Rows over common columns, prepared for scoring.
pub(super) struct Side<'a> {
    rows: Vec<Row<'a>>,
    words: usize,
    /// Whether each row has a state, a bit a column.
    filled: Vec<u64>,
    /// Weight of each state by column, state by state, and the states.
    weights: Vec<f64>,
    states: Vec<State>,
    len: usize,
    /// Weight of all states by column, and of all rows.
    filled_weight: Vec<f64>,
    weight: f64,
}

impl<'a> Side<'a> {
    pub(super) fn new(rows: &[Row<'a>], len: usize) -> Side<'a> {
        let words = len / 64 + 1;
        let mut states: Vec<State> = Vec::new();
        let mut slots = [usize::MAX; 256];
        let mut filled = vec![0_u64; words * rows.len()];
        let mut filled_weight = vec![0.0; len];
        let mut weights: Vec<f64> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let weight = f64::from(row.weight);
            for (&state, &column) in row.states.iter().zip(row.columns) {
                let column = column as usize;
                filled[index * words + column / 64] |= 1 << (column % 64);
                let slot = &mut slots[usize::from(state)];
                if *slot == usize::MAX {
                    *slot = states.len();
                    states.push(state);
                    weights.resize(states.len() * len, 0.0);
                }
                weights[*slot * len + column] += weight;
                filled_weight[column] += weight;
            }
        }
        let weight = rows.iter().map(|row| f64::from(row.weight)).sum();
        Side { rows: rows.to_vec(), words, filled, weights, states, len, filled_weight, weight }
    }

    fn filled(&self, row: usize) -> &[u64] {
        &self.filled[row * self.words..][..self.words]
    }

    /// Number of gaps, on either side, in the pair of a row of this side and one of another.
    fn runs(&self, row: usize, other: &Side<'_>, other_row: usize) -> u32 {
        let (a, b) = (self.filled(row), other.filled(other_row));
        hit_gaps(a, b) + hit_gaps(b, a)
    }

    fn columns_against(&self, other: &Side<'_>) -> PairColumns {
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let mut columns =
            PairColumns { equal: 0.0, both: product(&self.filled_weight, &other.filled_weight), one: 0.0 };
        for (slot, state) in self.states.iter().enumerate() {
            if let Some(other_slot) = other.states.iter().position(|other| other == state) {
                let mine = &self.weights[slot * self.len..][..self.len];
                columns.equal += product(mine, &other.weights[other_slot * other.len..][..other.len]);
            }
        }
        let (mine, theirs) =
            (self.filled_weight.iter().sum::<f64>(), other.filled_weight.iter().sum::<f64>());
        columns.one = mine * other.weight + theirs * self.weight - 2.0 * columns.both;
        columns
    }
}

/// Maximal stretches of columns where `a` has none and `b` has at least one: the gaps of `a` in the pair, because
/// columns where both have none are skipped. Adding `b`'s bits to a stretch of ones carries out of its end exactly if
/// there is one; the carry lands on a column of `a`.
fn hit_gaps(a: &[u64], b: &[u64]) -> u32 {
    let (mut carry, mut hits) = (false, 0);
    for (&a, &b) in a.iter().zip(b) {
        let gaps = !a;
        let (sum, over) = gaps.overflowing_add(gaps & b);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        carry = over | over_again;
        hits += (sum & a).count_ones();
    }
    // The last word ends in columns that are not there, where nobody has a state: the last gap carries out of it.
    hits + u32::from(carry)
}
