//! When service times change, over all types.

use std::num::NonZeroUsize;

use super::scan::{Step, StepSearch};
use super::segment::cuts;
use super::service::ServiceSeries;
use super::settings::ChangeSettings;
use super::shift::{CELLS_MIN, Shift, shifts};
use crate::Observations;

/// Steps of several types within so many windows are one event.
const NEAR: usize = 10;

/// All series, and when some of them change.
#[derive(Clone, Debug, Default)]
pub(super) struct ServiceTimes {
    pub(super) series: Vec<ServiceSeries>,
    /// First observation row after each change, ascending.
    pub(super) events: Vec<usize>,
}

impl ServiceTimes {
    /// Looks at every type with enough transactions whose response times are known, over the rows that `is_normal` lets
    /// through.
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
        let steps = |of: &ServiceSeries| -> Vec<Step> {
            let found = cuts(&of.regression, search, settings.score_min, threads);
            found.into_iter().map(|step| Step { row: of.rows[step.row], ..step }).collect()
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
    ) -> Vec<Shift> {
        shifts(&self.series, before, after, settings, score_min)
    }
}

/// One candidate where several types step at about the same time: the strongest.
fn joined(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        if kept.iter().all(|known| known.row.abs_diff(step.row) > NEAR) {
            kept.push(step);
        }
    }
    kept.sort_by_key(|step| step.row);
    kept
}

/// The weakest candidate at which no type changes between its neighbors.
fn weakest_without_change(
    series: &[ServiceSeries],
    candidates: &[Step],
    end: usize,
    settings: &ChangeSettings,
) -> Option<usize> {
    let is_change = |at: usize| {
        let start = if at == 0 { 0 } else { candidates[at - 1].row };
        let next = candidates.get(at + 1).map_or(end, |step| step.row);
        let row = candidates[at].row;
        shifts(series, &(start..row), &(row..next), settings, settings.score_min).iter().any(|s| s.is_change)
    };
    let idle = (0..candidates.len()).filter(|&at| !is_change(at));
    idle.min_by(|&a, &b| candidates[a].score.total_cmp(&candidates[b].score))
}
