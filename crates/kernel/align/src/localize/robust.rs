//! Deviations that are not usual elsewhere in the neighborhood.
//!
//! An alignment often has several places of equal worth for a step, and takes one of them. So whether a step is
//! unexpected is asked of a neighborhood: a few usual steps to either side, and as far as the step could slide without
//! changing what is aligned with what. A step interrupted by unexpected ones goes on after them. What is missing next to
//! what is unexpected was replaced by it, and only the difference is excess.

use super::cluster::{ClusterProfile, summarize_times};
use super::gate::upper;
use super::placed::{Entries, Placed, Window};
use super::result::{Deviation, DeviationKind, Place};
use super::settings::LocalizeSettings;
use crate::State;
use laggard_numeric::parallel_map;

/// Usual steps to either side that make a neighborhood.
const NEIGHBORS: f64 = 3.0;

/// Least spread of log times: nothing is slow that takes 5 % longer.
const LEAST_SPREAD: f64 = 0.02;

/// Spread of log times of a state of which too few are known to tell: 3.5 times the usual is slow.
const UNKNOWN_SPREAD: f64 = 0.5;

/// What so many normal executions have in a neighborhood is usual there.
const USUAL_SHARE: f64 = 0.1;

/// From this share on a state that is not there was replaced by what is there instead.
const REPLACED_SHARE: f64 = 0.5;

/// The deviations of each normal execution, compared with the others.
pub(super) fn normal_deviations(
    frozen: &ClusterProfile,
    normals: &[Placed<'_>],
    settings: &LocalizeSettings,
) -> Vec<Vec<Deviation>> {
    let indices: Vec<usize> = (0..normals.len()).collect();
    parallel_map(&indices, settings.msa.threads, |&normal| {
        deviations(frozen, &normals[normal], Some(normal), settings)
    })
}

/// All deviations, in no particular order. `excluded` is the execution's own index among the normal ones, if it is one.
pub(super) fn deviations(
    frozen: &ClusterProfile,
    placed: &Placed<'_>,
    excluded: Option<usize>,
    settings: &LocalizeSettings,
) -> Vec<Deviation> {
    let mut review = Review::new(frozen, placed, excluded, settings);
    review.continue_interrupted();
    review.own = Entries::new(placed, |step| review.fits[step] != Fit::Continued);
    let mut missing = review.missing();
    let mut found = review.unexpected();
    credit_moved(&mut found, &mut missing);
    found.extend((0..placed.len()).filter_map(|step| review.slow(step)));
    found.extend(missing.into_iter().map(|missing| missing.deviation));
    found
}

/// How a step stands to the columns.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fit {
    /// In a column where normal executions have its state.
    Expected,
    /// Elsewhere.
    Unexpected,
    /// Elsewhere, but part of a step before or after that others interrupt.
    Continued,
}

/// A usual step that is not there.
struct Missing {
    deviation: Deviation,
    is_credited: bool,
}

struct Review<'a> {
    frozen: &'a ClusterProfile,
    placed: &'a Placed<'a>,
    excluded: Option<usize>,
    settings: &'a LocalizeSettings,
    fits: Vec<Fit>,
    /// Times of the steps, with what continues them.
    times_us: Vec<f64>,
    /// The steps, without those that continue others.
    own: Entries,
    by_column: Vec<Option<u32>>,
}

impl<'a> Review<'a> {
    fn new(
        frozen: &'a ClusterProfile,
        placed: &'a Placed<'a>,
        excluded: Option<usize>,
        settings: &'a LocalizeSettings,
    ) -> Review<'a> {
        let mut review = Review {
            frozen,
            placed,
            excluded,
            settings,
            fits: Vec::with_capacity(placed.len()),
            times_us: placed.sequence.times_us().to_vec(),
            own: Entries::default(),
            by_column: placed.steps_by_column(frozen.columns.len()),
        };
        for step in 0..placed.len() {
            let is_expected = match placed.places[step] {
                Place::Column(column) => {
                    review.share(column, placed.state(step), 1) >= settings.unexpected_share
                }
                Place::Before(_) => false,
            };
            review.fits.push(if is_expected { Fit::Expected } else { Fit::Unexpected });
        }
        review
    }

    /// Share of a state among normal executions, this one not counted; it has `own` of them itself.
    fn share(&self, column: u32, state: State, own: usize) -> f64 {
        let count = self.frozen.columns[column as usize].state(state).map_or(0, |share| share.count);
        let own = if self.excluded.is_some() { own } else { 0 };
        let others = self.frozen.entries.len() - usize::from(self.excluded.is_some());
        count.saturating_sub(own) as f64 / others.max(1) as f64
    }

    /// The longest usual log time and the median in a column, if enough is known.
    fn usual_in(&self, column: u32, state: State) -> Option<Usual> {
        let share = self.frozen.columns[column as usize].state(state)?;
        (share.count >= self.settings.values_min).then(|| Usual {
            median_us: share.median_us,
            log_low: share.log_median - self.settings.slow_mad * share.log_mad.max(LEAST_SPREAD),
            log_high: share.log_median + self.settings.slow_mad * share.log_mad.max(LEAST_SPREAD),
        })
    }

    /// The same of all entries in a stretch, of which there must be so many.
    fn usual_within(&self, state: State, window: Window, least: usize) -> Option<Usual> {
        let mut times: Vec<f64> =
            self.others().flat_map(|other| other.times_us(state, window)).copied().collect();
        (times.len() >= least).then(|| {
            let share = summarize_times(&mut times);
            let is_known = times.len() >= self.settings.values_min;
            let least_spread = if is_known { LEAST_SPREAD } else { UNKNOWN_SPREAD };
            let reach = self.settings.slow_mad * share.log_mad.max(least_spread);
            Usual {
                median_us: share.median_us,
                log_low: share.log_median - reach,
                log_high: share.log_median + reach,
            }
        })
    }

    fn others(&self) -> impl Iterator<Item = &Entries> {
        let entries = self.frozen.entries.iter().enumerate();
        entries.filter(|&(normal, _)| Some(normal) != self.excluded).map(|(_, entries)| entries)
    }

    /// Runs of unexpected steps, each as first and end.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let mut start = None;
        for step in 0..=self.fits.len() {
            let is_expected = self.fits.get(step).is_none_or(|&fit| fit == Fit::Expected);
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

    /// A step like the expected one before or after its run is part of that one, if together they take a usual time.
    fn continue_interrupted(&mut self) {
        for (first, end) in self.runs() {
            for step in first..end {
                let before = first.checked_sub(1);
                let after = (end < self.fits.len()).then_some(end);
                let whole = before.into_iter().chain(after).find(|&whole| self.can_continue(whole, step));
                if let Some(whole) = whole {
                    self.times_us[whole] += self.times_us[step];
                    self.fits[step] = Fit::Continued;
                }
            }
        }
    }

    fn can_continue(&self, whole: usize, step: usize) -> bool {
        let (state, together) = (self.placed.state(step), self.times_us[whole] + self.times_us[step]);
        let Place::Column(column) = self.placed.places[whole] else { return false };
        self.placed.state(whole) == state
            && self.usual_in(column, state).is_some_and(|usual| together.ln_1p() <= usual.log_high)
    }

    /// Usual states that are nowhere in their neighborhood.
    fn missing(&self) -> Vec<Missing> {
        let mut missing = Vec::new();
        for (at, column) in self.frozen.columns.iter().enumerate() {
            let Some(usual) = column.states.first() else { continue };
            let place = Place::Column(at as u32);
            let share = self.share(at as u32, usual.state, 0);
            if self.by_column[at].is_some() || share < self.settings.missing_share {
                continue;
            }
            let window = self.frozen.window(place.position(), place.position(), NEIGHBORS);
            if self.own.times_us(usual.state, window).len() >= self.least_entries(usual.state, window) {
                continue;
            }
            let step = self.placed.step_from(place) as u32;
            let deviation = Deviation {
                kind: DeviationKind::Missing,
                state: usual.state,
                place,
                step,
                time_us: 0.0,
                usual_us: usual.median_us,
                excess_us: 0.0,
            };
            missing.push(Missing { deviation, is_credited: false });
        }
        missing
    }

    /// The longest time that is usual for a state near here, or anywhere if it is rare near here, however rare.
    fn usual_near(&self, state: State, window: Window) -> Option<Usual> {
        let whole = Window { first: 0, last: u32::MAX };
        let known = self.settings.values_min;
        let near = self.usual_within(state, window, known);
        near.or_else(|| self.usual_within(state, whole, known)).or_else(|| self.usual_within(state, whole, 1))
    }

    fn least_entries(&self, state: State, window: Window) -> usize {
        // The same order statistic as for the most, from the other end.
        let counts = self.others().map(|other| -(other.times_us(state, window).len() as f64)).collect();
        -upper(counts) as usize
    }

    /// As many entries as at least [`USUAL_SHARE`] of the normal executions have, or more.
    fn most_entries(&self, state: State, window: Window) -> usize {
        let mut counts: Vec<usize> = self.others().map(|other| other.times_us(state, window).len()).collect();
        counts.sort_unstable();
        let rank = (USUAL_SHARE * counts.len() as f64).ceil().max(1.0) as usize;
        counts.len().checked_sub(rank).map_or(0, |at| counts[at])
    }

    fn unexpected(&self) -> Vec<Deviation> {
        let mut found = Vec::new();
        for (first, end) in self.runs() {
            let window = self.reach(first, end);
            let mut replaced_us = self.replaced_us(first, end);
            for step in (first..end).filter(|&step| self.fits[step] == Fit::Unexpected) {
                let Some(mut deviation) = self.unexpected_step(step, window) else { continue };
                if deviation.kind == DeviationKind::Unexpected {
                    let credit = replaced_us.min(deviation.time_us);
                    replaced_us -= credit;
                    let credit = credit + self.left_over_us(first, end, step);
                    deviation.usual_us = credit.min(deviation.time_us);
                    deviation.excess_us = deviation.time_us - deviation.usual_us;
                }
                found.push(deviation);
            }
        }
        found
    }

    /// The neighborhood of a run: as far as it slides, and a few steps more.
    fn reach(&self, first: usize, end: usize) -> Window {
        let states = self.placed.sequence.states();
        let mut left = 0;
        while left < first && states[first - 1 - left] == states[end - 1 - left] {
            left += 1;
        }
        let mut right = 0;
        while end + right < states.len() && states[first + right] == states[end + right] {
            right += 1;
        }
        let (from, to) = (self.placed.places[first - left], self.placed.places[end - 1 + right]);
        self.frozen.window(from.position(), to.position(), NEIGHBORS)
    }

    /// Usual time of what is missing in the columns that a run spans.
    fn replaced_us(&self, first: usize, end: usize) -> f64 {
        let from = first.checked_sub(1).map_or(0, |before| self.placed.places[before].position() / 2 + 1);
        let to = self
            .placed
            .places
            .get(end)
            .map_or(self.frozen.columns.len() as u32, |after| after.position() / 2);
        let spanned = &self.frozen.columns[from as usize..(to as usize).max(from as usize)];
        let usual = spanned.iter().filter_map(|column| column.states.first());
        usual.filter(|usual| usual.share >= REPLACED_SHARE).map(|usual| usual.median_us).sum()
    }

    /// What the expected steps beside a run lack when the step is of their state.
    fn left_over_us(&self, first: usize, end: usize, step: usize) -> f64 {
        let beside = first.checked_sub(1).into_iter().chain((end < self.fits.len()).then_some(end));
        let same = beside.filter(|&beside| self.placed.state(beside) == self.placed.state(step));
        same.map(|beside| self.lack_us(beside)).fold(0.0, f64::max)
    }

    /// How much shorter than usual an expected step is, if it is unusually short.
    fn lack_us(&self, step: usize) -> f64 {
        let Place::Column(column) = self.placed.places[step] else { return 0.0 };
        let Some(usual) = self.usual_in(column, self.placed.state(step)) else { return 0.0 };
        let time = self.times_us[step];
        if time.ln_1p() < usual.log_low { usual.median_us - time } else { 0.0 }
    }

    fn unexpected_step(&self, step: usize, window: Window) -> Option<Deviation> {
        let (state, time_us) = (self.placed.state(step), self.placed.time_us(step));
        let deviation = Deviation {
            kind: DeviationKind::Unexpected,
            state,
            place: self.placed.places[step],
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

    /// A usual step for an unusual time, unless others of its state nearby lack as much.
    fn slow(&self, step: usize) -> Option<Deviation> {
        let Place::Column(column) = self.placed.places[step] else { return None };
        if self.fits[step] != Fit::Expected {
            return None;
        }
        let (state, time_us, place) = (self.placed.state(step), self.times_us[step], Place::Column(column));
        let window = self.frozen.window(place.position(), place.position(), NEIGHBORS);
        let usual = self.usual_in(column, state).or_else(|| self.usual_near(state, window))?;
        if time_us.ln_1p() <= usual.log_high {
            return None;
        }
        let usual_us = usual.median_us + self.lacking_us(step, state, window);
        let is_slow = (time_us - usual_us + usual.median_us).max(0.0).ln_1p() > usual.log_high;
        is_slow.then_some(Deviation {
            kind: DeviationKind::Slow,
            state,
            place,
            step: step as u32,
            time_us,
            usual_us,
            excess_us: time_us - usual_us,
        })
    }

    /// What other steps of the state lack within a window, those that are missing altogether included.
    fn lacking_us(&self, step: usize, state: State, window: Window) -> f64 {
        let columns = (window.first / 2) as usize..window.last.div_ceil(2) as usize;
        let lack = |column: usize| match self.by_column[column] {
            Some(other) if other as usize == step || self.placed.state(other as usize) != state => 0.0,
            Some(other) => self.lack_us(other as usize),
            None => {
                let usual = self.frozen.columns[column].state(state);
                usual.filter(|usual| usual.share >= REPLACED_SHARE).map_or(0.0, |usual| usual.median_us)
            }
        };
        columns.map(lack).sum()
    }
}

/// Usual times of a state.
struct Usual {
    median_us: f64,
    log_low: f64,
    log_high: f64,
}

/// A state that is missing in one place and unexpected in another has moved: its usual time is no excess.
fn credit_moved(unexpected: &mut [Deviation], missing: &mut [Missing]) {
    for deviation in unexpected.iter_mut().filter(|deviation| deviation.kind == DeviationKind::Unexpected) {
        let position = deviation.place.position();
        let same =
            missing.iter_mut().filter(|gone| !gone.is_credited && gone.deviation.state == deviation.state);
        let Some(gone) = same.min_by_key(|gone| gone.deviation.place.position().abs_diff(position)) else {
            continue;
        };
        gone.is_credited = true;
        deviation.usual_us = (deviation.usual_us + gone.deviation.usual_us).min(deviation.time_us);
        deviation.excess_us = deviation.time_us - deviation.usual_us;
    }
}
