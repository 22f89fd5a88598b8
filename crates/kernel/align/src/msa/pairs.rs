//! The sum-of-pairs score, exactly: every pair of rows, with affine gaps, in words of 64 columns.

use super::band::Move;
use super::profile::{Profile, ProfileRow};
use laggard_parallel::parallel_map;
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
/// If a row refers to a column out of range.
pub fn sum_of_pairs(rows: &[ProfileRow<'_>], len: usize, threads: NonZeroUsize) -> f64 {
    let bits = OccupancyBits::new(rows.iter().map(|row| row.columns), len);
    let indices: Vec<usize> = (0..rows.len()).collect();
    let gaps = parallel_map(&indices, threads, |&i| {
        let weight = f64::from(rows[i].weight);
        weight * (i + 1..rows.len()).map(|j| f64::from(rows[j].weight) * bits.gaps(i, &bits, j)).sum::<f64>()
    });
    let profile = Profile::new(rows, len);
    let mut cells = CellPairs::default();
    for column in 0..len {
        cells.add(&profile, column, &profile, column);
    }
    // All ordered pairs of rows less those of a row with itself, then each pair once.
    let steps = rows.iter().map(|row| (f64::from(row.weight), row.states.len() as f64));
    let itself: f64 = steps.clone().map(|(weight, steps)| weight * weight * steps).sum();
    let copies: f64 = steps.map(|(weight, steps)| weight * (weight - 1.0) / 2.0 * steps).sum();
    cells.one_side(&profile, &profile);
    let pairs = CellPairs {
        equal: (cells.equal - itself) / 2.0,
        both: (cells.both - itself) / 2.0,
        one: cells.one / 2.0,
    };
    MATCH * copies + pairs.score(gaps.iter().sum())
}

/// The contribution of all pairs of a row of one side and a row of the other, aligned by `moves`.
pub(super) fn sum_across(sides: (&Profile, &Profile), moves: &[Move], gaps: f64) -> f64 {
    let (first, second) = sides;
    let (mut x, mut y, mut cells) = (0, 0, CellPairs::default());
    for step in moves {
        if *step == Move::Both {
            cells.add(first, x, second, y);
        }
        x += usize::from(*step != Move::Second);
        y += usize::from(*step != Move::First);
    }
    cells.one_side(first, second);
    cells.score(gaps)
}

/// Numbers of weighted pairs of cells.
#[derive(Default)]
struct CellPairs {
    equal: f64,
    both: f64,
    one: f64,
}

impl CellPairs {
    fn add(&mut self, first: &Profile, x: usize, second: &Profile, y: usize) {
        self.both += f64::from(first.filled()[x]) * f64::from(second.filled()[y]);
        let (first_counts, second_counts) = (first.counts(x), second.counts(y));
        if first.states() == second.states() {
            self.equal += first_counts.iter().zip(second_counts).map(|(x, y)| f64::from(x * y)).sum::<f64>();
            return;
        }
        for (state, count) in first.states().iter().zip(first_counts) {
            if let Ok(slot) = second.states().binary_search(state) {
                self.equal += f64::from(count * second_counts[slot]);
            }
        }
    }

    /// Adds the states that are not opposite a state, that is, opposite a gap.
    fn one_side(&mut self, first: &Profile, second: &Profile) {
        let steps = |profile: &Profile| profile.filled().iter().map(|&filled| f64::from(filled)).sum::<f64>();
        let (rows, other_rows) = (f64::from(first.rows()), f64::from(second.rows()));
        self.one = steps(first) * other_rows + steps(second) * rows - 2.0 * self.both;
    }

    fn score(&self, gaps: f64) -> f64 {
        let unequal = self.both - self.equal;
        MATCH * self.equal + MISMATCH * unequal + (GAP_FIRST - GAP_NEXT) * gaps + GAP_NEXT * self.one
    }
}

/// Whether each row has a state in each column.
pub(super) struct OccupancyBits {
    words: usize,
    filled: Vec<u64>,
}

impl OccupancyBits {
    pub(super) fn new<'a>(rows: impl ExactSizeIterator<Item = &'a [u32]>, len: usize) -> OccupancyBits {
        // At least one bit beyond the last column: a gap that ends there carries into it.
        let words = len / 64 + 1;
        let mut filled = vec![0_u64; words * rows.len()];
        for (row, columns) in filled.chunks_exact_mut(words).zip(rows) {
            for &column in columns {
                row[column as usize / 64] |= 1 << (column % 64);
            }
        }
        OccupancyBits { words, filled }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.filled[row * self.words..][..self.words]
    }

    /// Number of gaps, on either side, in the pair of a row of `self` and a row of `other`.
    pub(super) fn gaps(&self, row: usize, other: &OccupancyBits, other_row: usize) -> f64 {
        f64::from(count_gaps(self.row(row), other.row(other_row)))
    }
}

/// Counts maximal runs of columns where one has no state and the other at least one: the gaps of the pair, because
/// columns where both have none are skipped. Adding the other's bits to a run of ones carries out of its end exactly if
/// there is one; the carry lands on a column that is filled.
fn count_gaps(a: &[u64], b: &[u64]) -> u32 {
    let (mut carry_a, mut carry_b, mut hits) = (false, false, 0);
    for (&a, &b) in a.iter().zip(b) {
        let (sum_a, over_a) = add(!a, b & !a, carry_a);
        let (sum_b, over_b) = add(!b, a & !b, carry_b);
        (carry_a, carry_b) = (over_a, over_b);
        hits += (sum_a & a).count_ones() + (sum_b & b).count_ones();
    }
    hits + u32::from(carry_a) + u32::from(carry_b)
}

fn add(x: u64, y: u64, carry: bool) -> (u64, bool) {
    let (sum, over) = x.overflowing_add(y);
    let (sum, over_again) = sum.overflowing_add(u64::from(carry));
    (sum, over | over_again)
}
