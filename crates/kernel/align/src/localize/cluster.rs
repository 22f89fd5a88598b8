//! The frozen alignment of the normal executions of a kind.

use super::gate::Limits;
use super::measure::{DeviationMeasure, NormalMeasure};
use super::placed::{Entries, Placed, Window};
use super::result::{ColumnSummary, Deviation, NormalRow, Place, StateShare};
use super::robust;
use super::settings::{LocalizeRules, LocalizeSettings};
use crate::msa::{
    Background, Distances, Profile, Row, TimeFit, UsualTimes, align, align_timed, word_distance,
};
use crate::{State, StateSequence};
use laggard_numeric::parallel_map;

/// Executions among which those to align are chosen: distances of all pairs are needed.
const CANDIDATES_MAX: usize = 400;

/// Least spread of log times that is believed: 2 %.
const LEAST_SPREAD: f64 = 0.02;

/// The normal executions of a kind, aligned, and what they do in each column. Frozen: executions are compared with it
/// one by one, so their deviations can be compared with one another.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterProfile {
    pub(super) columns: Vec<ColumnSummary>,
    pub(super) rows: Vec<NormalRow>,
    pub(super) median_total_us: f64,
    pub(super) profile: Profile,
    pub(super) background: Background,
    /// By state.
    pub(super) usual: Vec<Option<UsualTimes>>,
    /// Steps of every normal execution that was laid over the columns.
    pub(super) entries: Vec<Entries>,
    /// Sum of the occupancies of the columns before each, and of all.
    pub(super) occupied: Vec<f64>,
    pub(super) limits: Limits,
    pub(super) measures: Vec<NormalMeasure>,
}

impl ClusterProfile {
    /// What normal executions do in each column.
    pub fn columns(&self) -> &[ColumnSummary] {
        &self.columns
    }

    /// The normal executions that made the alignment, the most typical first.
    pub fn rows(&self) -> &[NormalRow] {
        &self.rows
    }

    /// Median total time of the normal executions in microseconds.
    pub fn median_total_us(&self) -> f64 {
        self.median_total_us
    }

    /// Number of normal executions behind the shares and times: those aligned and those laid over the columns later.
    pub fn normals(&self) -> usize {
        self.entries.len()
    }

    /// What the normal executions deviate by altogether, each compared with the others. Robust rules only.
    pub fn normal_measures(&self) -> &[NormalMeasure] {
        &self.measures
    }

    /// The window that reaches so many usual steps beyond two positions.
    pub(super) fn window(&self, first: u32, last: u32, steps: f64) -> Window {
        let (from, to) = ((first / 2) as usize, (last / 2) as usize);
        let columns = self.columns.len();
        let low = self.occupied.partition_point(|&sum| sum < self.occupied[from.min(columns)] - steps);
        let high = self.occupied.partition_point(|&sum| sum <= self.occupied[(to + 1).min(columns)] + steps);
        Window { first: 2 * low as u32, last: 2 * (high.max(1) - 1) as u32 }
    }

    /// Lays an execution over the columns.
    pub(super) fn place<'a>(&self, execution: &'a StateSequence, settings: &LocalizeSettings) -> Placed<'a> {
        let times = TimeFit {
            log_times: execution.times_us().iter().map(|time| time.ln_1p() as f32).collect(),
            usual: &self.usual,
        };
        let times = (settings.rules == LocalizeRules::Robust).then_some(&times);
        let moves = align_timed(&self.profile, &self.background, execution.states(), times, &settings.msa);
        Placed::along(execution, &moves)
    }
}

/// Aligns the normal executions of a kind once and freezes the profile. An index that the result names is that of the
/// slice. Executions without steps are left out; without any other the profile has no columns, and every step of an
/// execution is unexpected.
///
/// At most [`LocalizeSettings::normals_max`] are aligned with one another; up to
/// [`LocalizeSettings::further_normals_max`] others are laid over the columns and count in shares and times.
pub fn align_cluster(
    normals: &[&StateSequence],
    alphabet_len: usize,
    settings: &LocalizeSettings,
) -> ClusterProfile {
    let filled: Vec<usize> = (0..normals.len()).filter(|&normal| !normals[normal].is_empty()).collect();
    let candidates = every_kth(&filled, CANDIDATES_MAX);
    let chosen = choose(normals, &candidates, settings);
    let rest: Vec<usize> = filled.iter().copied().filter(|normal| !chosen.contains(normal)).collect();
    let further = every_kth(&rest, settings.further_normals_max);
    let states: Vec<&[State]> = chosen.iter().map(|&normal| normals[normal].states()).collect();
    let aligned = align(&states, alphabet_len, &settings.msa);
    let weighted = states.iter().map(|&states| (states, 1));
    let mut frozen = ClusterProfile {
        columns: Vec::new(),
        rows: Vec::new(),
        median_total_us: median(
            &mut filled.iter().map(|&normal| normals[normal].total_us()).collect::<Vec<f64>>(),
        ),
        profile: aligned.profile(&states),
        background: Background::new(weighted, alphabet_len),
        usual: Vec::new(),
        entries: Vec::new(),
        occupied: Vec::new(),
        limits: Limits::default(),
        measures: Vec::new(),
    };
    let mut placed: Vec<Placed<'_>> = chosen
        .iter()
        .zip(&aligned.rows)
        .map(|(&normal, row)| Placed::in_columns(normals[normal], row))
        .collect();
    frozen.summarize(&placed, settings);
    placed.extend(parallel_map(&further, settings.msa.threads, |&normal| {
        frozen.place(normals[normal], settings)
    }));
    let laid = [&chosen[..], &further[..]].concat();
    frozen.rows =
        chosen.into_iter().zip(aligned.rows).map(|(normal, columns)| NormalRow { normal, columns }).collect();
    frozen.count_again(&placed);
    frozen.summarize(&placed, settings);
    frozen.entries = placed.iter().map(|placed| Entries::new(placed, |_| true)).collect();
    if settings.rules == LocalizeRules::Robust {
        let found = robust::normal_deviations(&frozen, &placed, settings);
        frozen.limits = Limits::of(&found);
        let total_us = frozen.median_total_us;
        let measure = |(&normal, found): (&usize, &Vec<Deviation>)| NormalMeasure {
            normal,
            measure: DeviationMeasure::of(found, total_us),
        };
        frozen.measures = laid.iter().zip(&found).map(measure).collect();
    }
    frozen
}

impl ClusterProfile {
    /// The profile of all that were laid over the columns; what they have between columns is left out.
    fn count_again(&mut self, placed: &[Placed<'_>]) {
        let rows: Vec<(Vec<State>, Vec<u32>)> = placed
            .iter()
            .map(|placed| {
                let steps = placed.places.iter().zip(placed.sequence.states());
                steps
                    .filter_map(|(place, &state)| match place {
                        Place::Column(column) => Some((state, *column)),
                        Place::Before(_) => None,
                    })
                    .unzip()
            })
            .collect();
        let rows: Vec<Row<'_>> =
            rows.iter().map(|(states, columns)| Row { states, columns, weight: 1 }).collect();
        self.profile = Profile::new(&rows, self.profile.len());
    }

    fn summarize(&mut self, placed: &[Placed<'_>], settings: &LocalizeSettings) {
        let len = self.profile.len();
        let mut times: Vec<Vec<(State, f64)>> = vec![Vec::new(); len];
        for placed in placed {
            for (step, place) in placed.places.iter().enumerate() {
                if let Place::Column(column) = place {
                    times[*column as usize].push((placed.state(step), placed.time_us(step)));
                }
            }
        }
        self.columns = times.into_iter().map(|times| summarize_column(times, placed.len())).collect();
        self.usual = usual_times(&self.columns, settings.values_min);
        let mut sum = 0.0;
        self.occupied = vec![0.0];
        for column in &self.columns {
            sum += 1.0 - column.gap_share;
            self.occupied.push(sum);
        }
    }
}

fn summarize_column(mut times: Vec<(State, f64)>, normals: usize) -> ColumnSummary {
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
    let count = times.len();
    let mean = times.iter().sum::<f64>() / count as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let mut logs: Vec<f64> = times.iter().map(|time| time.ln_1p()).collect();
    let log_median = median(&mut logs);
    let mut distances: Vec<f64> = logs.iter().map(|log| (log - log_median).abs()).collect();
    StateShare {
        state: 0,
        share: 0.0,
        count,
        mean_us: mean,
        std_us: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
        median_us: median(times),
        log_median,
        log_mad: 1.4826 * median(&mut distances),
    }
}

/// The mean of the two middle values of an even number; 0 of none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => 0.0,
        len if len % 2 == 1 => values[half],
        _ => (values[half - 1] + values[half]) / 2.0,
    }
}

fn usual_times(columns: &[ColumnSummary], values_min: usize) -> Vec<Option<UsualTimes>> {
    let mut usual: Vec<Option<UsualTimes>> = vec![None; 256];
    for (at, column) in columns.iter().enumerate() {
        for share in column.states.iter().filter(|share| share.count >= values_min) {
            let times = usual[usize::from(share.state)].get_or_insert_with(|| UsualTimes {
                log_median: vec![0.0; columns.len()],
                inverse_spread: vec![0.0; columns.len()],
            });
            times.log_median[at] = share.log_median as f32;
            times.inverse_spread[at] = (1.0 / share.log_mad.max(LEAST_SPREAD)) as f32;
        }
    }
    usual
}

/// The medoid, then whichever is farthest from all chosen before; by words. Ties: the first.
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
    let mut chosen = vec![candidates[medoid]];
    while chosen.len() < candidates.len().min(settings.normals_max.max(1)) {
        // The first of the farthest: the maximum takes the last of equals.
        let next = (0..candidates.len())
            .rev()
            .max_by(|&i, &j| nearest[i].total_cmp(&nearest[j]))
            .expect("one is left");
        for (j, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(distances.get(next, j));
        }
        nearest[next] = -1.0;
        chosen.push(candidates[next]);
    }
    chosen
}

/// At most `most` of the items, spread evenly, the first among them.
fn every_kth(items: &[usize], most: usize) -> Vec<usize> {
    let step = items.len().div_ceil(most.max(1)).max(1);
    items.iter().copied().step_by(step).take(most).collect()
}
