//! The reference alignment of the normal executions of a kind.

use super::aligned::{AlignedSequence, PositionWindow, StateEntryIndex};
use super::measure::NormalMeasure;
use super::normal_limits::NormalLimits;
use super::result::{AlignedPosition, ColumnSummary, NormalRow, StateShare};
use super::settings::LocalizeSettings;
use crate::msa::{
    Background, Distances, Profile, ProfileRow, TimeFit, UsualTimes, align, align_timed, word_distance,
};
use crate::{StateId, StateSequence};
use laggard_numeric::{mad, mean, median, median_of, sample_std};
use laggard_parallel::parallel_map;

/// Maximum number of candidates for the alignment; distances of all pairs are computed.
const CANDIDATES_MAX: usize = 400;

/// Minimum spread of log times: 2 %.
const SPREAD_MIN: f64 = 0.02;

/// The aligned normal executions of a kind, and the states in each column. It does not change after construction:
/// executions are compared with it one by one, so their deviations are comparable.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterProfile {
    pub(crate) columns: Vec<ColumnSummary>,
    pub(super) rows: Vec<NormalRow>,
    pub(super) median_total_us: f64,
    pub(super) profile: Profile,
    pub(super) background: Background,
    /// By state.
    pub(super) usual: Vec<Option<UsualTimes>>,
    /// Steps of every normal execution that was aligned with the columns.
    pub(super) entries: Vec<StateEntryIndex>,
    /// Sum of the occupancies of the columns before each, and of all.
    pub(super) occupied: Vec<f64>,
    pub(super) limits: NormalLimits,
    pub(super) measures: Vec<NormalMeasure>,
}

impl ClusterProfile {
    /// The states of normal executions in each column.
    pub fn columns(&self) -> &[ColumnSummary] {
        &self.columns
    }

    /// The normal executions of the alignment, the most typical first.
    pub fn rows(&self) -> &[NormalRow] {
        &self.rows
    }

    /// Median total time of the normal executions in microseconds.
    pub fn median_total_us(&self) -> f64 {
        self.median_total_us
    }

    /// Number of normal executions behind the shares and times: those aligned with one another and those aligned with
    /// the columns later.
    pub fn normals(&self) -> usize {
        self.entries.len()
    }

    /// Total deviations of the normal executions, each compared with the others. Robust rules only.
    pub fn normal_measures(&self) -> &[NormalMeasure] {
        &self.measures
    }

    /// The window that extends `steps` usual steps beyond two positions.
    pub(super) fn window(&self, first: u32, last: u32, steps: f64) -> PositionWindow {
        let (from, to) = ((first / 2) as usize, (last / 2) as usize);
        let columns = self.columns.len();
        let low = self.occupied.partition_point(|&sum| sum < self.occupied[from.min(columns)] - steps);
        let high = self.occupied.partition_point(|&sum| sum <= self.occupied[(to + 1).min(columns)] + steps);
        PositionWindow { first: 2 * low as u32, last: 2 * (high.max(1) - 1) as u32 }
    }

    /// Aligns an execution with the columns by its states and times.
    pub(super) fn align_timed<'a>(
        &self,
        execution: &'a StateSequence,
        settings: &LocalizeSettings,
    ) -> AlignedSequence<'a> {
        let times = TimeFit {
            log_times: execution.times_us().iter().map(|time| time.ln_1p() as f32).collect(),
            usual: &self.usual,
        };
        self.align_with(execution, Some(&times), settings)
    }

    /// Aligns an execution with the columns by its states only.
    pub(crate) fn align_states<'a>(
        &self,
        execution: &'a StateSequence,
        settings: &LocalizeSettings,
    ) -> AlignedSequence<'a> {
        self.align_with(execution, None, settings)
    }

    fn align_with<'a>(
        &self,
        execution: &'a StateSequence,
        times: Option<&TimeFit<'_>>,
        settings: &LocalizeSettings,
    ) -> AlignedSequence<'a> {
        let moves = align_timed(&self.profile, &self.background, execution.states(), times, &settings.msa);
        AlignedSequence::along(execution, &moves)
    }
}

/// A reference alignment with the normal executions behind it.
pub(crate) struct AlignedCluster<'a> {
    /// Without limits and measures.
    pub(crate) profile: ClusterProfile,
    pub(super) aligned: Vec<AlignedSequence<'a>>,
    /// Index of each among the normal executions.
    pub(super) normals: Vec<usize>,
}

/// Aligns a selection of the normal executions with one another, and further ones with the columns by `align_further`.
pub(crate) fn aligned_cluster<'a>(
    normals: &[&'a StateSequence],
    alphabet_len: usize,
    settings: &LocalizeSettings,
    align_further: impl Fn(&ClusterProfile, &'a StateSequence) -> AlignedSequence<'a> + Sync,
) -> AlignedCluster<'a> {
    let filled: Vec<usize> = (0..normals.len()).filter(|&normal| !normals[normal].is_empty()).collect();
    let candidates = evenly_spaced(&filled, CANDIDATES_MAX);
    let selected = choose(normals, &candidates, settings);
    let rest: Vec<usize> = filled.iter().copied().filter(|normal| !selected.contains(normal)).collect();
    let further = evenly_spaced(&rest, settings.further_normals_max);
    let states: Vec<&[StateId]> = selected.iter().map(|&normal| normals[normal].states()).collect();
    let alignment = align(&states, alphabet_len, &settings.msa);
    let weighted = states.iter().map(|&states| (states, 1));
    let mut reference = ClusterProfile {
        columns: Vec::new(),
        rows: Vec::new(),
        median_total_us: median(
            &mut filled.iter().map(|&normal| normals[normal].total_us()).collect::<Vec<f64>>(),
        ),
        profile: alignment.profile(&states),
        background: Background::new(weighted, alphabet_len),
        usual: Vec::new(),
        entries: Vec::new(),
        occupied: Vec::new(),
        limits: NormalLimits::default(),
        measures: Vec::new(),
    };
    let mut aligned: Vec<AlignedSequence<'_>> = selected
        .iter()
        .zip(&alignment.rows)
        .map(|(&normal, row)| AlignedSequence::in_columns(normals[normal], row))
        .collect();
    reference.summarize(&aligned, settings);
    aligned.extend(parallel_map(&further, settings.msa.threads, |&normal| {
        align_further(&reference, normals[normal])
    }));
    let aligned_normals = [&selected[..], &further[..]].concat();
    reference.rows = selected
        .into_iter()
        .zip(alignment.rows)
        .map(|(normal, columns)| NormalRow { normal, columns })
        .collect();
    reference.recount(&aligned);
    reference.summarize(&aligned, settings);
    reference.entries = aligned.iter().map(|aligned| StateEntryIndex::new(aligned, |_| true)).collect();
    AlignedCluster { profile: reference, aligned, normals: aligned_normals }
}

impl ClusterProfile {
    /// Recomputes the profile from all aligned executions, without steps between columns.
    fn recount(&mut self, aligned: &[AlignedSequence<'_>]) {
        let rows: Vec<(Vec<StateId>, Vec<u32>)> = aligned
            .iter()
            .map(|aligned| {
                let steps = aligned.positions.iter().zip(aligned.sequence.states());
                steps
                    .filter_map(|(position, &state)| match position {
                        AlignedPosition::Column(column) => Some((state, *column)),
                        AlignedPosition::Before(_) => None,
                    })
                    .unzip()
            })
            .collect();
        let rows: Vec<ProfileRow<'_>> =
            rows.iter().map(|(states, columns)| ProfileRow { states, columns, weight: 1 }).collect();
        self.profile = Profile::new(&rows, self.profile.len());
    }

    fn summarize(&mut self, aligned: &[AlignedSequence<'_>], settings: &LocalizeSettings) {
        let len = self.profile.len();
        let mut times: Vec<Vec<(StateId, f64)>> = vec![Vec::new(); len];
        for aligned in aligned {
            for (step, position) in aligned.positions.iter().enumerate() {
                if let AlignedPosition::Column(column) = position {
                    times[*column as usize].push((aligned.state(step), aligned.time_us(step)));
                }
            }
        }
        self.columns = times.into_iter().map(|times| summarize_column(times, aligned.len())).collect();
        self.usual = usual_times(&self.columns, settings.values_min);
        let mut sum = 0.0;
        self.occupied = vec![0.0];
        for column in &self.columns {
            sum += 1.0 - column.gap_share;
            self.occupied.push(sum);
        }
    }
}

fn summarize_column(mut times: Vec<(StateId, f64)>, normals: usize) -> ColumnSummary {
    times.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let share = |count: usize| count as f64 / normals.max(1) as f64;
    let mut states: Vec<StateShare> = times
        .chunk_by(|a, b| a.0 == b.0)
        .map(|times| {
            let mut values: Vec<f64> = times.iter().map(|&(_, time)| time).collect();
            StateShare { state: times[0].0, share: share(times.len()), ..summarize_times(&mut values) }
        })
        .collect();
    states.sort_by(|a, b| b.count.cmp(&a.count).then(a.state.cmp(&b.state)));
    ColumnSummary { states, gap_share: share(normals - times.len()) }
}

/// Mean, median and spreads of at least one time.
pub(super) fn summarize_times(times: &mut [f64]) -> StateShare {
    let (mean_us, std_us) = (mean(times), sample_std(times));
    let logs: Vec<f64> = times.iter().map(|time| time.ln_1p()).collect();
    let log_median = median_of(&logs);
    StateShare {
        state: 0,
        share: 0.0,
        count: times.len(),
        mean_us,
        std_us,
        median_us: median(times),
        log_median,
        log_mad: mad(&logs, log_median),
    }
}

fn usual_times(columns: &[ColumnSummary], values_min: usize) -> Vec<Option<UsualTimes>> {
    let mut usual: Vec<Option<UsualTimes>> = vec![None; 256];
    for (index, column) in columns.iter().enumerate() {
        for share in column.states.iter().filter(|share| share.count >= values_min) {
            let times = usual[usize::from(share.state)].get_or_insert_with(|| UsualTimes {
                log_median: vec![0.0; columns.len()],
                inverse_spread: vec![0.0; columns.len()],
            });
            times.log_median[index] = share.log_median as f32;
            times.inverse_spread[index] = (1.0 / share.log_mad.max(SPREAD_MIN)) as f32;
        }
    }
    usual
}

/// Selects the medoid, then repeatedly the execution farthest from all selected ones, by word distance. Ties: the
/// first.
fn choose(normals: &[&StateSequence], candidates: &[usize], settings: &LocalizeSettings) -> Vec<usize> {
    if candidates.len() <= 1 {
        return candidates.to_vec();
    }
    let word_length = settings.msa.word_length;
    let distances = Distances::from_pairs(candidates.len(), settings.msa.threads, |i, j| {
        word_distance(normals[candidates[i]].states(), normals[candidates[j]].states(), word_length)
    });
    let sum = |i: usize| (0..candidates.len()).map(|j| distances.get(i, j)).sum::<f64>();
    let sums: Vec<f64> = (0..candidates.len()).map(sum).collect();
    let medoid = (0..candidates.len()).min_by(|&i, &j| sums[i].total_cmp(&sums[j])).expect("there are two");
    let mut nearest: Vec<f64> = (0..candidates.len()).map(|j| distances.get(medoid, j)).collect();
    nearest[medoid] = -1.0;
    let mut selected = vec![candidates[medoid]];
    while selected.len() < candidates.len().min(settings.normals_max.max(1)) {
        // The first of the farthest: the maximum takes the last of equals.
        let next = (0..candidates.len())
            .rev()
            .max_by(|&i, &j| nearest[i].total_cmp(&nearest[j]))
            .expect("one is left");
        for (j, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(distances.get(next, j));
        }
        nearest[next] = -1.0;
        selected.push(candidates[next]);
    }
    selected
}

/// At most `most` of the items, evenly spaced, including the first.
fn evenly_spaced(items: &[usize], most: usize) -> Vec<usize> {
    let step = items.len().div_ceil(most.max(1)).max(1);
    items.iter().copied().step_by(step).take(most).collect()
}
