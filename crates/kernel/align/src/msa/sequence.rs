//! Aligns one sequence with a profile.

use super::anchors::guide_between;
use super::band::Move;
use super::profile::{Background, Profile, ProfileRow};
use super::progressive::half_band;
use super::scores::{GapCosts, TableScores, ln, round, scale};
use super::settings::{ColumnScore, MsaSettings};
use super::table::best_path;
use crate::StateId;
use std::ops::Range;

/// How well the times of a sequence's steps fit the columns; decides between positions that are equal by state.
pub(crate) struct TimeFit<'a> {
    /// Logarithm of the time of each step.
    pub log_times: Vec<f32>,
    /// Usual times by state; `None` if the state does not occur.
    pub usual: &'a [Option<UsualTimes>],
}

/// Usual log times of a state by column, and one over their spread (0 if unknown).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UsualTimes {
    pub log_median: Vec<f32>,
    pub inverse_spread: Vec<f32>,
}

/// Maximum cost of an unusual time, and the number of spreads from which it applies.
const TIME_COST_MAX: f32 = 0.4;
const SPREADS_MAX: f32 = 4.0;

/// Aligns a sequence with a profile: [`Move::First`] is a step that the profile has no column for, [`Move::Second`] a
/// column that the sequence has no step for.
pub fn align_to_profile(
    profile: &Profile,
    background: &Background,
    sequence: &[StateId],
    settings: &MsaSettings,
) -> Vec<Move> {
    align_timed(profile, background, sequence, None, settings)
}

pub(crate) fn align_timed(
    profile: &Profile,
    background: &Background,
    sequence: &[StateId],
    times: Option<&TimeFit<'_>>,
    settings: &MsaSettings,
) -> Vec<Move> {
    let columns: Vec<u32> = (0..sequence.len() as u32).collect();
    let own = Profile::new(&[ProfileRow { states: sequence, columns: &columns, weight: 1 }], sequence.len());
    let near = guide_between(&own, profile);
    let half = half_band(near.span.0, near.span.1, settings);
    let scale = scale(own.len(), profile.len(), settings);
    let score = ColumnScore::LogExpectation;
    let scores = SequenceScores {
        states: sequence,
        columns: profile.len(),
        by_state: state_scores(profile, background, sequence, settings, scale),
        times,
        scale,
        step_gaps: GapCosts::new(&own, profile, score, settings, scale),
        column_gaps: GapCosts::new(profile, &own, score, settings, scale),
    };
    best_path(&scores, &near.guide, half).moves
}

/// The score of each state that occurs in every column.
fn state_scores(
    profile: &Profile,
    background: &Background,
    sequence: &[StateId],
    settings: &MsaSettings,
    scale: f32,
) -> Vec<Option<Vec<i32>>> {
    let mut scores: Vec<Option<Vec<i32>>> = vec![None; 256];
    let occupancy = profile.occupancy();
    for &state in sequence {
        let row = &mut scores[usize::from(state)];
        if row.is_some() {
            continue;
        }
        let weight = settings.theta / background.frequency(state);
        let shares = profile.shares(state).unwrap_or_else(|| vec![0.0; profile.len()]);
        let columns = shares.iter().zip(&occupancy);
        let score =
            |(share, filled): (&f32, &f32)| round(scale * filled * ln(1.0 - settings.theta + weight * share));
        *row = Some(columns.map(score).collect());
    }
    scores
}

struct SequenceScores<'a> {
    states: &'a [StateId],
    columns: usize,
    by_state: Vec<Option<Vec<i32>>>,
    times: Option<&'a TimeFit<'a>>,
    scale: f32,
    step_gaps: GapCosts,
    column_gaps: GapCosts,
}

impl TableScores for SequenceScores<'_> {
    fn rows(&self) -> usize {
        self.states.len()
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn fill(&self, row: usize, range: Range<usize>, out: &mut [i32]) {
        let state = usize::from(self.states[row]);
        let scores = self.by_state[state].as_ref().expect("every state of the sequence has scores");
        out.copy_from_slice(&scores[range.clone()]);
        let Some(times) = self.times else { return };
        let Some(usual) = times.usual.get(state).and_then(Option::as_ref) else { return };
        let time = times.log_times[row];
        let factor = TIME_COST_MAX / SPREADS_MAX * self.scale;
        let columns = usual.log_median[range.clone()].iter().zip(&usual.inverse_spread[range]);
        for (out, (median, inverse)) in out.iter_mut().zip(columns) {
            let spreads = (time - median).abs() * inverse;
            *out -= round(factor * if spreads < SPREADS_MAX { spreads } else { SPREADS_MAX });
        }
    }

    fn first_gaps(&self) -> &GapCosts {
        &self.step_gaps
    }

    fn second_gaps(&self) -> &GapCosts {
        &self.column_gaps
    }
}
