//! Scores of pairs of columns, row by row of the alignment table, as integers.

use super::profile::{Background, Profile};
use super::settings::{ColumnScore, MsaSettings};
use std::ops::Range;

/// Scores of a table's rows and costs of its gaps, in units of `1 / scale`.
pub(super) trait TableScores {
    /// Number of rows: columns of the first profile.
    fn rows(&self) -> usize;
    /// Number of columns: columns of the second profile.
    fn columns(&self) -> usize;
    /// Writes the scores of row `row` for `range` of the columns; `out` is as long as `range`.
    fn fill(&self, row: usize, range: Range<usize>, out: &mut [i32]);
    /// Costs of gaps opposite the first profile's columns.
    fn first_gaps(&self) -> &GapCosts;
    /// Costs of gaps opposite the second profile's columns.
    fn second_gaps(&self) -> &GapCosts;
}

/// Cost of a gap opposite each column, weighted by the column's share of rows with a state.
pub(super) struct GapCosts {
    /// As the first column of a gap.
    pub open: Vec<f32>,
    /// As a further column.
    pub extend: Vec<i32>,
    /// Share of the opening cost that applies where the gap is inserted: before each column of the profile that gets
    /// the gap, and after the last.
    pub share: Vec<f32>,
}

impl GapCosts {
    /// Gaps opposite the columns of `profile`, put into `other`.
    pub(super) fn new(
        profile: &Profile,
        other: &Profile,
        score: ColumnScore,
        settings: &MsaSettings,
        scale: f32,
    ) -> GapCosts {
        let (first, next) = (settings.gap_first_cost.max(settings.gap_next_cost), settings.gap_next_cost);
        let occupancy = profile.occupancy();
        let columns = occupancy.iter().zip(profile.gap_ended());
        let open = occupancy.iter().map(|filled| first * filled * scale).collect();
        match score {
            ColumnScore::LogExpectation => GapCosts {
                open,
                extend: occupancy.iter().map(|filled| round(next * filled * scale)).collect(),
                share: vec![1.0; other.len() + 1],
            },
            // A row whose own gap ends inside this gap pays for the first column only now; a row that has a gap at the
            // insertion extends it.
            ColumnScore::SumOfPairs => GapCosts {
                open,
                extend: columns
                    .map(|(filled, ended)| round((next * filled + (first - next) * ended) * scale))
                    .collect(),
                share: [1.0].into_iter().chain(other.occupancy()).collect(),
            },
        }
    }
}

/// Units of a score of 1, so that no path through `n x m` exceeds 29 bits and no score 21.
pub(super) fn scale(n: usize, m: usize, settings: &MsaSettings) -> f32 {
    const LARGEST_SCORE: f32 = 16.0;
    let largest = LARGEST_SCORE.max(settings.gap_first_cost);
    (2.0_f32.powi(28) / (largest * (n + m + 1) as f32)).min(4096.0)
}

/// Rounds to the nearest integer, for `|x| < 2^21`: the addition moves it to the low bits. Plain conversions saturate, which
/// costs more than the rest of the loop.
#[inline]
pub(super) fn round(x: f32) -> i32 {
    const MAGIC: f32 = 12_582_912.0;
    ((x + MAGIC).to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32)
}

/// Two profiles.
pub(super) struct ProfileScores {
    score: ColumnScore,
    theta: f32,
    scale: f32,
    /// For each state of both profiles: its shares in the first, weighted for the score, and in the second.
    joint: Vec<(Vec<f32>, Vec<f32>)>,
    filled: Vec<f32>,
    other_filled: Vec<f32>,
    /// Sum of pairs only: cost of a state opposite each column for the gaps in the column.
    gap_costs: Vec<f32>,
    other_gap_costs: Vec<f32>,
    first_gaps: GapCosts,
    second_gaps: GapCosts,
}

impl ProfileScores {
    pub(super) fn new(
        first: &Profile,
        second: &Profile,
        background: &Background,
        score: ColumnScore,
        settings: &MsaSettings,
    ) -> Self {
        let scale = scale(first.len(), second.len(), settings);
        let joint = first.states().iter().filter_map(|&state| {
            let factor = match score {
                ColumnScore::LogExpectation => settings.theta / background.frequency(state),
                ColumnScore::SumOfPairs => 2.0,
            };
            let mut weighted = first.shares(state)?;
            weighted.iter_mut().for_each(|share| *share *= factor);
            Some((weighted, second.shares(state)?))
        });
        ProfileScores {
            score,
            theta: settings.theta,
            scale,
            joint: joint.collect(),
            filled: first.occupancy(),
            other_filled: second.occupancy(),
            gap_costs: gap_costs(first, settings),
            other_gap_costs: gap_costs(second, settings),
            first_gaps: GapCosts::new(first, second, score, settings, scale),
            second_gaps: GapCosts::new(second, first, score, settings, scale),
        }
    }

    /// `constant + sum of f_x(a) * f_y(a)`, weighted, for a range of the second profile.
    fn expectations(&self, row: usize, range: Range<usize>, constant: f32, sums: &mut [f32]) {
        sums.fill(constant);
        for (first, second) in &self.joint {
            let weight = first[row];
            if weight == 0.0 {
                continue;
            }
            for (sum, share) in sums.iter_mut().zip(&second[range.clone()]) {
                *sum += weight * share;
            }
        }
    }
}

/// Cost of a state opposite each column for the gaps in that column.
fn gap_costs(profile: &Profile, settings: &MsaSettings) -> Vec<f32> {
    let (first, next) = (settings.gap_first_cost.max(settings.gap_next_cost), settings.gap_next_cost);
    let columns = profile.occupancy().into_iter().zip(profile.gap_begins());
    columns.map(|(filled, begins)| next * (1.0 - filled) + (first - next) * begins).collect()
}

/// Number of columns summed at a time; fits registers and the L1 cache.
const CHUNK: usize = 256;

impl TableScores for ProfileScores {
    fn rows(&self) -> usize {
        self.filled.len()
    }

    fn columns(&self) -> usize {
        self.other_filled.len()
    }

    fn fill(&self, row: usize, range: Range<usize>, out: &mut [i32]) {
        let factor = self.filled[row] * self.scale;
        let gap_cost = self.gap_costs[row] * self.scale;
        let mut sums = [0.0_f32; CHUNK];
        for (part, out) in out.chunks_mut(CHUNK).enumerate() {
            let start = range.start + part * CHUNK;
            let range = start..start + out.len();
            let sums = &mut sums[..out.len()];
            let filled = &self.other_filled[range.clone()];
            match self.score {
                ColumnScore::LogExpectation => {
                    self.expectations(row, range, 1.0 - self.theta, sums);
                    for ((out, sum), filled) in out.iter_mut().zip(sums).zip(filled) {
                        *out = round(factor * filled * ln(*sum));
                    }
                }
                ColumnScore::SumOfPairs => {
                    self.expectations(row, range.clone(), -1.0, sums);
                    let columns = filled.iter().zip(&self.other_gap_costs[range]);
                    for ((out, sum), (filled, other_gap_cost)) in out.iter_mut().zip(sums).zip(columns) {
                        *out = round(filled * (factor * *sum - gap_cost) - factor * other_gap_cost);
                    }
                }
            }
        }
    }

    fn first_gaps(&self) -> &GapCosts {
        &self.first_gaps
    }

    fn second_gaps(&self) -> &GapCosts {
        &self.second_gaps
    }
}

/// Natural logarithm of a positive normal number to within 2e-7, without branches so that it is done several at a
/// time: `x = 2^e * z` with `z` in `[sqrt 1/2, sqrt 2)`, and `ln z = 2 artanh((z - 1) / (z + 1))`.
#[inline]
pub(super) fn ln(x: f32) -> f32 {
    const ROOT_HALF: i32 = 0x3f35_04f3;
    let bits = x.to_bits() as i32;
    let exponent = (bits - ROOT_HALF) >> 23;
    let z = f32::from_bits((bits - (exponent << 23)) as u32);
    let s = (z - 1.0) / (z + 1.0);
    let square = s * s;
    let series = 2.0 + square * (2.0 / 3.0 + square * (0.4 + square * (2.0 / 7.0)));
    exponent as f32 * std::f32::consts::LN_2 + s * series
}
