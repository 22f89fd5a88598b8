//! The robust rules: deviations relative to a neighborhood of columns.
//!
//! An alignment often has several equally good positions for a step and uses one of them. Whether a step is unexpected
//! is therefore decided in a neighborhood: a few usual steps to either side, extended by the range in which the step
//! could slide without changing the alignment. A step interrupted by unexpected ones continues after them. A missing
//! step next to an unexpected one was replaced by it, and only the difference is excess.

use super::aligned::{AlignedSequence, PositionWindow, StateEntryIndex};
use super::cluster::{AlignedCluster, ClusterProfile, aligned_cluster, summarize_times};
use super::measure::{DeviationMeasure, NormalMeasure};
use super::normal_limits::{NormalLimits, robust_maximum};
use super::result::{AlignedPosition, Deviation, DeviationKind, LocalizedExecution};
use super::row;
use super::settings::LocalizeSettings;
use crate::{StateId, StateSequence};
use laggard_parallel::parallel_map;

/// Size of a neighborhood, in usual steps to either side.
const NEIGHBORS: f64 = 3.0;

/// Minimum spread of log times: a step that takes 5 % longer is never slow.
const SPREAD_MIN: f64 = 0.02;

/// Spread of log times of a state with too few known times: 3.5 times the usual is slow.
const UNKNOWN_SPREAD: f64 = 0.5;

/// Share of normal executions that makes a state usual in a neighborhood.
const USUAL_SHARE: f64 = 0.1;

/// Minimum share of a missing state for it to count as replaced by the steps at its position.
const REPLACED_SHARE: f64 = 0.5;

/// The aligned normal executions, with limits from the deviations of each from the others.
pub(super) fn align_cluster(
    normals: &[&StateSequence],
    alphabet_len: usize,
    settings: &LocalizeSettings,
) -> ClusterProfile {
    let align = |profile: &ClusterProfile, normal| profile.align_timed(normal, settings);
    let AlignedCluster { mut profile, aligned, normals } =
        aligned_cluster(normals, alphabet_len, settings, align);
    let indices: Vec<usize> = (0..aligned.len()).collect();
    let deviations = parallel_map(&indices, settings.msa.threads, |&normal| {
        deviations(&profile, &aligned[normal], Some(normal), settings)
    });
    profile.limits = NormalLimits::from_deviations(&deviations);
    let total_us = profile.median_total_us;
    let measure = |(&normal, deviations): (&usize, &Vec<Deviation>)| NormalMeasure {
        normal,
        measure: DeviationMeasure::from_deviations(deviations, total_us),
    };
    profile.measures = normals.iter().zip(&deviations).map(measure).collect();
    profile
}

/// The deviations of each execution that exceed those of normal executions.
pub(super) fn localize_all(
    profile: &ClusterProfile,
    anomalous: &[&StateSequence],
    settings: &LocalizeSettings,
) -> Vec<LocalizedExecution> {
    let threads = settings.msa.threads;
    let aligned = parallel_map(anomalous, threads, |execution| profile.align_timed(execution, settings));
    let all = parallel_map(&aligned, threads, |aligned| deviations(profile, aligned, None, settings));
    let raised = profile.limits.raised(&all);
    let is_new = |state| profile.entries.iter().all(|entries| !entries.has(state));
    let usual_us = profile.median_total_us();
    let localized = |(aligned, deviations): (&AlignedSequence<'_>, Vec<Deviation>)| {
        let measure = DeviationMeasure::from_deviations(&deviations, usual_us);
        let excess_us = aligned.sequence.total_us() - usual_us;
        let base_us = if excess_us > 0.0 { excess_us } else { usual_us };
        let excess_min_us = settings.excess_share_min * base_us;
        let abnormal = profile.limits.retain_abnormal(deviations, excess_min_us, &raised, is_new);
        row::localized(profile, aligned, abnormal, measure)
    };
    aligned.iter().zip(all).map(localized).collect()
}

/// All deviations, in no particular order. `excluded` is the execution's own index among the normal ones, if it is one.
fn deviations(
    reference: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    excluded: Option<usize>,
    settings: &LocalizeSettings,
) -> Vec<Deviation> {
    DeviationScan::new(reference, aligned, excluded, settings).deviations()
}

/// How a step matches the columns.
#[derive(Clone, Copy, PartialEq, Debug)]
enum StepFit {
    /// In a column where normal executions have its state.
    Expected,
    /// At another position.
    Unexpected,
    /// At another position, as part of a step before or after it that other steps interrupt.
    Continued,
}

/// A usual step that is missing.
struct MissingStep {
    deviation: Deviation,
    is_credited: bool,
}

struct DeviationScan<'a> {
    reference: &'a ClusterProfile,
    aligned: &'a AlignedSequence<'a>,
    excluded: Option<usize>,
    settings: &'a LocalizeSettings,
    fits: Vec<StepFit>,
    /// Times of the steps, including their continuations.
    times_us: Vec<f64>,
    /// The steps that are not continuations of others.
    own: StateEntryIndex,
    by_column: Vec<Option<u32>>,
}

impl<'a> DeviationScan<'a> {
    fn new(
        reference: &'a ClusterProfile,
        aligned: &'a AlignedSequence<'a>,
        excluded: Option<usize>,
        settings: &'a LocalizeSettings,
    ) -> DeviationScan<'a> {
        let mut scan = DeviationScan {
            reference,
            aligned,
            excluded,
            settings,
            fits: Vec::with_capacity(aligned.len()),
            times_us: aligned.sequence.times_us().to_vec(),
            own: StateEntryIndex::default(),
            by_column: aligned.steps_by_column(reference.columns.len()),
        };
        for step in 0..aligned.len() {
            let is_expected = match aligned.positions[step] {
                AlignedPosition::Column(column) => {
                    scan.share(column, aligned.state(step), 1) >= settings.unexpected_share
                }
                AlignedPosition::Before(_) => false,
            };
            scan.fits.push(if is_expected { StepFit::Expected } else { StepFit::Unexpected });
        }
        scan.join_interrupted_steps();
        let fits = &scan.fits;
        scan.own = StateEntryIndex::new(aligned, |step| fits[step] != StepFit::Continued);
        scan
    }

    /// All deviations, in no particular order.
    fn deviations(&self) -> Vec<Deviation> {
        let mut missing = self.missing();
        let mut deviations = self.unexpected();
        credit_moved(&mut deviations, &mut missing);
        deviations.extend((0..self.aligned.len()).filter_map(|step| self.slow(step)));
        deviations.extend(missing.into_iter().map(|missing| missing.deviation));
        deviations
    }

    /// Share of a state among normal executions. If this is a normal execution, it and its `own` entries are excluded.
    fn share(&self, column: u32, state: StateId, own: usize) -> f64 {
        let count = self.reference.columns[column as usize].state(state).map_or(0, |share| share.count);
        let own = if self.excluded.is_some() { own } else { 0 };
        let others = self.reference.entries.len() - usize::from(self.excluded.is_some());
        count.saturating_sub(own) as f64 / others.max(1) as f64
    }

    /// The usual times in a column, if enough are known.
    fn usual_in(&self, column: u32, state: StateId) -> Option<UsualTime> {
        let share = self.reference.columns[column as usize].state(state)?;
        (share.count >= self.settings.values_min).then(|| UsualTime {
            median_us: share.median_us,
            log_low: share.log_median - self.settings.slow_mad * share.log_mad.max(SPREAD_MIN),
            log_high: share.log_median + self.settings.slow_mad * share.log_mad.max(SPREAD_MIN),
        })
    }

    /// The usual times of all entries within a window, if there are at least `least`.
    fn usual_within(&self, state: StateId, window: PositionWindow, least: usize) -> Option<UsualTime> {
        let mut times: Vec<f64> =
            self.others().flat_map(|other| other.times_us(state, window)).copied().collect();
        (times.len() >= least).then(|| {
            let share = summarize_times(&mut times);
            let is_known = times.len() >= self.settings.values_min;
            let least_spread = if is_known { SPREAD_MIN } else { UNKNOWN_SPREAD };
            let reach = self.settings.slow_mad * share.log_mad.max(least_spread);
            UsualTime {
                median_us: share.median_us,
                log_low: share.log_median - reach,
                log_high: share.log_median + reach,
            }
        })
    }

    fn others(&self) -> impl Iterator<Item = &StateEntryIndex> {
        let entries = self.reference.entries.iter().enumerate();
        entries.filter(|&(normal, _)| Some(normal) != self.excluded).map(|(_, entries)| entries)
    }

    /// Runs of unexpected steps, each as first and end.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let mut start = None;
        for step in 0..=self.fits.len() {
            let is_expected = self.fits.get(step).is_none_or(|&fit| fit == StepFit::Expected);
            match (is_expected, start) {
                (false, None) => start = Some(step),
                (true, Some(first)) => {
                    runs.push((first, step));
                    start = None;
                }
                _ => {}
            }
        }
        runs
    }

    /// Joins unexpected steps to the expected step before or after their run if the state is the same and the sum is a
    /// usual time.
    fn join_interrupted_steps(&mut self) {
        for (first, end) in self.runs() {
            for step in first..end {
                let before = first.checked_sub(1);
                let after = (end < self.fits.len()).then_some(end);
                let target = before.into_iter().chain(after).find(|&target| self.can_continue(target, step));
                if let Some(target) = target {
                    self.times_us[target] += self.times_us[step];
                    self.fits[step] = StepFit::Continued;
                }
            }
        }
    }

    fn can_continue(&self, target: usize, step: usize) -> bool {
        let (state, joined_us) = (self.aligned.state(step), self.times_us[target] + self.times_us[step]);
        let AlignedPosition::Column(column) = self.aligned.positions[target] else { return false };
        self.aligned.state(target) == state
            && self.usual_in(column, state).is_some_and(|usual| joined_us.ln_1p() <= usual.log_high)
    }

    /// Usual states that are missing in their neighborhood.
    fn missing(&self) -> Vec<MissingStep> {
        let mut missing = Vec::new();
        for (index, column) in self.reference.columns.iter().enumerate() {
            let Some(usual) = column.states.first() else { continue };
            let position = AlignedPosition::Column(index as u32);
            let share = self.share(index as u32, usual.state, 0);
            if self.by_column[index].is_some() || share < self.settings.missing_share {
                continue;
            }
            let window = self.reference.window(position.position(), position.position(), NEIGHBORS);
            if self.own.times_us(usual.state, window).len() >= self.least_entries(usual.state, window) {
                continue;
            }
            let step = self.aligned.step_from(position) as u32;
            let deviation = Deviation {
                kind: DeviationKind::Missing,
                state: usual.state,
                position,
                step,
                time_us: 0.0,
                usual_us: usual.median_us,
                excess_us: 0.0,
            };
            missing.push(MissingStep { deviation, is_credited: false });
        }
        missing
    }

    /// The usual times of a state in a window or, if it is rare there, in all columns.
    fn usual_near(&self, state: StateId, window: PositionWindow) -> Option<UsualTime> {
        let target = PositionWindow { first: 0, last: u32::MAX };
        let known = self.settings.values_min;
        let near = self.usual_within(state, window, known);
        near.or_else(|| self.usual_within(state, target, known))
            .or_else(|| self.usual_within(state, target, 1))
    }

    fn least_entries(&self, state: StateId, window: PositionWindow) -> usize {
        // The order statistic of `robust_maximum`, from the other end.
        let counts = self.others().map(|other| -(other.times_us(state, window).len() as f64)).collect();
        -robust_maximum(counts) as usize
    }

    /// The number of entries that at least [`USUAL_SHARE`] of the normal executions reach or exceed.
    fn most_entries(&self, state: StateId, window: PositionWindow) -> usize {
        let mut counts: Vec<usize> = self.others().map(|other| other.times_us(state, window).len()).collect();
        counts.sort_unstable();
        let rank = (USUAL_SHARE * counts.len() as f64).ceil().max(1.0) as usize;
        counts.len().checked_sub(rank).map_or(0, |index| counts[index])
    }

    fn unexpected(&self) -> Vec<Deviation> {
        let mut deviations = Vec::new();
        for (first, end) in self.runs() {
            let window = self.reach(first, end);
            let mut replaced_us = self.replaced_us(first, end);
            for step in (first..end).filter(|&step| self.fits[step] == StepFit::Unexpected) {
                let Some(mut deviation) = self.unexpected_step(step, window) else { continue };
                if deviation.kind == DeviationKind::Unexpected {
                    let credit = replaced_us.min(deviation.time_us);
                    replaced_us -= credit;
                    let credit = credit + self.neighbor_shortfall_us(first, end, step);
                    deviation.usual_us = credit.min(deviation.time_us);
                    deviation.excess_us = deviation.time_us - deviation.usual_us;
                }
                deviations.push(deviation);
            }
        }
        deviations
    }

    /// The neighborhood of a run: the range in which it can slide, and a few more steps.
    fn reach(&self, first: usize, end: usize) -> PositionWindow {
        let states = self.aligned.sequence.states();
        let mut remaining = 0;
        while remaining < first && states[first - 1 - remaining] == states[end - 1 - remaining] {
            remaining += 1;
        }
        let mut right = 0;
        while end + right < states.len() && states[first + right] == states[end + right] {
            right += 1;
        }
        let (from, to) = (self.aligned.positions[first - remaining], self.aligned.positions[end - 1 + right]);
        self.reference.window(from.position(), to.position(), NEIGHBORS)
    }

    /// Usual time of the states missing in the columns that a run spans.
    fn replaced_us(&self, first: usize, end: usize) -> f64 {
        let from = first.checked_sub(1).map_or(0, |before| self.aligned.positions[before].position() / 2 + 1);
        let to = self
            .aligned
            .positions
            .get(end)
            .map_or(self.reference.columns.len() as u32, |after| after.position() / 2);
        let spanned = &self.reference.columns[from as usize..(to as usize).max(from as usize)];
        let usual = spanned.iter().filter_map(|column| column.states.first());
        usual.filter(|usual| usual.share >= REPLACED_SHARE).map(|usual| usual.median_us).sum()
    }

    /// The time by which expected steps of the same state next to a run are too short.
    fn neighbor_shortfall_us(&self, first: usize, end: usize, step: usize) -> f64 {
        let neighbors = first.checked_sub(1).into_iter().chain((end < self.fits.len()).then_some(end));
        let same = neighbors.filter(|&neighbor| self.aligned.state(neighbor) == self.aligned.state(step));
        same.map(|neighbor| self.shortfall_us(neighbor)).fold(0.0, f64::max)
    }

    /// The time by which an expected step is shorter than usual, if it is unusually short.
    fn shortfall_us(&self, step: usize) -> f64 {
        let AlignedPosition::Column(column) = self.aligned.positions[step] else { return 0.0 };
        let Some(usual) = self.usual_in(column, self.aligned.state(step)) else { return 0.0 };
        let time = self.times_us[step];
        if time.ln_1p() < usual.log_low { usual.median_us - time } else { 0.0 }
    }

    fn unexpected_step(&self, step: usize, window: PositionWindow) -> Option<Deviation> {
        let (state, time_us) = (self.aligned.state(step), self.aligned.time_us(step));
        let deviation = Deviation {
            kind: DeviationKind::Unexpected,
            state,
            position: self.aligned.positions[step],
            step: step as u32,
            time_us,
            usual_us: 0.0,
            excess_us: time_us,
        };
        if self.own.times_us(state, window).len() > self.most_entries(state, window) {
            return Some(deviation);
        }
        let usual = self.usual_near(state, window)?;
        (time_us.ln_1p() > usual.log_high).then_some(Deviation {
            kind: DeviationKind::Slow,
            usual_us: usual.median_us,
            excess_us: time_us - usual.median_us,
            ..deviation
        })
    }

    /// An expected step that takes longer than usual, unless nearby steps of its state are shorter by as much.
    fn slow(&self, step: usize) -> Option<Deviation> {
        let AlignedPosition::Column(column) = self.aligned.positions[step] else { return None };
        if self.fits[step] != StepFit::Expected {
            return None;
        }
        let (state, time_us, position) =
            (self.aligned.state(step), self.times_us[step], AlignedPosition::Column(column));
        let window = self.reference.window(position.position(), position.position(), NEIGHBORS);
        let usual = self.usual_in(column, state).or_else(|| self.usual_near(state, window))?;
        if time_us.ln_1p() <= usual.log_high {
            return None;
        }
        let usual_us = usual.median_us + self.total_shortfall_us(step, state, window);
        let is_slow = (time_us - usual_us + usual.median_us).max(0.0).ln_1p() > usual.log_high;
        is_slow.then_some(Deviation {
            kind: DeviationKind::Slow,
            state,
            position,
            step: step as u32,
            time_us,
            usual_us,
            excess_us: time_us - usual_us,
        })
    }

    /// The time by which other steps of the state within a window are too short, including missing ones.
    fn total_shortfall_us(&self, step: usize, state: StateId, window: PositionWindow) -> f64 {
        let columns = (window.first / 2) as usize..window.last.div_ceil(2) as usize;
        let shortfall = |column: usize| match self.by_column[column] {
            Some(other) if other as usize == step || self.aligned.state(other as usize) != state => 0.0,
            Some(other) => self.shortfall_us(other as usize),
            None => {
                let usual = self.reference.columns[column].state(state);
                usual.filter(|usual| usual.share >= REPLACED_SHARE).map_or(0.0, |usual| usual.median_us)
            }
        };
        columns.map(shortfall).sum()
    }
}

/// Usual times of a state.
struct UsualTime {
    median_us: f64,
    log_low: f64,
    log_high: f64,
}

/// A state that is missing at one position and unexpected at another has moved: its usual time is not excess.
fn credit_moved(unexpected: &mut [Deviation], missing: &mut [MissingStep]) {
    for deviation in unexpected.iter_mut().filter(|deviation| deviation.kind == DeviationKind::Unexpected) {
        let position = deviation.position.position();
        let same = missing
            .iter_mut()
            .filter(|absent| !absent.is_credited && absent.deviation.state == deviation.state);
        let Some(absent) = same.min_by_key(|absent| absent.deviation.position.position().abs_diff(position))
        else {
            continue;
        };
        absent.is_credited = true;
        deviation.usual_us = (deviation.usual_us + absent.deviation.usual_us).min(deviation.time_us);
        deviation.excess_us = deviation.time_us - deviation.usual_us;
    }
}
