//! Step 4: the rows at which service times change, over all types.

use std::num::NonZeroUsize;

use super::binary_segmentation::cuts;
use super::service_series::ServiceSeries;
use super::settings::ChangeSettings;
use super::shift::{CELLS_MIN, ServiceShift, shifts};
use super::step_search::{CoefficientStep, StepSearch};
use crate::Observations;

/// Steps of several types within this number of windows are one event.
const NEAR: usize = 10;

/// All series, and when some of them change.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceTimes {
    pub(super) series: Vec<ServiceSeries>,
    /// First observation row after each change, ascending.
    pub(super) events: Vec<usize>,
}

impl ServiceTimes {
    /// Analyzes every type with enough transactions and known response times, over the rows for which `is_normal` is
    /// true.
    pub(super) fn new(
        observations: &Observations,
        settings: &ChangeSettings,
        is_normal: &[bool],
        threads: NonZeroUsize,
    ) -> ServiceTimes {
        let types = observations.counts.cols().min(observations.response_s.cols());
        let series: Vec<ServiceSeries> = (0..types)
            .filter_map(|transaction| ServiceSeries::new(observations, transaction, settings, is_normal))
            .collect();
        let search =
            StepSearch { directions: 1, side_min: CELLS_MIN, effect_min: settings.service_change_min };
        let steps = |series: &ServiceSeries| -> Vec<CoefficientStep> {
            let steps = cuts(&series.regression, search, settings.score_min, threads);
            steps.into_iter().map(|step| CoefficientStep { row: series.rows[step.row], ..step }).collect()
        };
        let mut candidates = joined(series.iter().flat_map(steps).collect());
        let end = observations.utilization.len();
        while let Some(weakest) = weakest_without_change(&series, &candidates, end, settings) {
            candidates.remove(weakest);
        }
        ServiceTimes { series, events: candidates.into_iter().map(|step| step.row).collect() }
    }

    /// The shifts between the rows `before` and `after`.
    pub(super) fn shifts(
        &self,
        before: &std::ops::Range<usize>,
        after: &std::ops::Range<usize>,
        settings: &ChangeSettings,
        score_min: f64,
    ) -> Vec<ServiceShift> {
        shifts(&self.series, before, after, settings, score_min)
    }
}

/// Reduces steps of several types at about the same time to the strongest.
fn joined(mut steps: Vec<CoefficientStep>) -> Vec<CoefficientStep> {
    steps.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    let mut retained: Vec<CoefficientStep> = Vec::new();
    for step in steps {
        if retained.iter().all(|known| known.row.abs_diff(step.row) > NEAR) {
            retained.push(step);
        }
    }
    retained.sort_by_key(|step| step.row);
    retained
}

/// The weakest candidate at which no type changes between its neighbors.
fn weakest_without_change(
    series: &[ServiceSeries],
    candidates: &[CoefficientStep],
    end: usize,
    settings: &ChangeSettings,
) -> Option<usize> {
    let is_change = |index: usize| {
        let start = if index == 0 { 0 } else { candidates[index - 1].row };
        let next = candidates.get(index + 1).map_or(end, |step| step.row);
        let row = candidates[index].row;
        shifts(series, &(start..row), &(row..next), settings, settings.score_min).iter().any(|s| s.is_change)
    };
    let idle = (0..candidates.len()).filter(|&index| !is_change(index));
    idle.min_by(|&a, &b| candidates[a].score.total_cmp(&candidates[b].score))
}
