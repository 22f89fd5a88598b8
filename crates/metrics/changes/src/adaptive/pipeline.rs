//! The pipeline of the default method; see the module's overview.

use std::num::NonZeroUsize;

use super::assemble::assemble;
use super::balanced_regions::rejoin_balanced;
use super::binary_segmentation::cuts;
use super::design::Design;
use super::evidence::ChangeEvidence;
use super::intervals::{CutInterval, CutIntervalKind, intervals};
use super::load_steps::load_steps;
use super::service_events::ServiceTimes;
use super::settings::ChangeSettings;
use super::step_search::StepSearch;
use super::timeline::timeline;
use crate::{Analysis, Observations, TooLittleDataError};

/// Fewest windows on either side of a cut: two could be a single outlier such as a process start.
const SIDE_MIN: usize = 3;

/// Finds the segments, models, and changes of one server. The noise level is estimated from the data.
///
/// Cuts are steps of the cost model that exceed noise and the relevance threshold; intervals that no model explains are anomalous; the
/// others are compared, and the signature and the regression check each other. See `docs/manual/methods/changes.md`.
/// About `O(T log T · n² + T n³)`; the result does not depend on `threads`.
///
/// # Errors
/// If there are fewer than `2 (n + 1)` usable windows for the `n` transaction types that occur, or no CPU use
/// to explain.
pub fn changes(
    observations: &Observations,
    settings: &ChangeSettings,
    threads: NonZeroUsize,
) -> Result<Analysis, TooLittleDataError> {
    let needed = windows_needed(observations);
    TooLittleDataError::check(observations, needed)?;
    let design = Design::new(observations, settings);
    let available = design.regression.rows();
    if available < needed {
        return Err(TooLittleDataError::Windows { available, needed });
    }
    let mut intervals = regression_intervals(&design, settings, threads);
    let is_normal = normal_rows(observations, &design, &intervals);
    let services = ServiceTimes::new(observations, settings, &is_normal, threads);
    cut_at_events(&design, &services, &mut intervals);
    cut_at_load_steps(observations, &design, settings, &mut intervals);
    let evidence = ChangeEvidence { observations, design: &design, services: &services, settings };
    let mut timeline = timeline(evidence, &mut intervals);
    rejoin_balanced(evidence, &mut intervals, &mut timeline);
    Ok(assemble(evidence, intervals, timeline))
}

/// `2 (n + 1)` for the `n` types that occur: twice the number of coefficients.
pub(super) fn windows_needed(observations: &Observations) -> usize {
    let occurs = |transaction: &usize| observations.counts.column(*transaction).any(|count| count > 0.0);
    2 * ((0..observations.counts.cols()).filter(occurs).count() + 1)
}

fn regression_intervals(
    design: &Design,
    settings: &ChangeSettings,
    threads: NonZeroUsize,
) -> Vec<CutInterval> {
    let search = StepSearch {
        directions: design.regression.columns(),
        side_min: SIDE_MIN,
        effect_min: settings.effect_min_percent,
    };
    let steps = cuts(&design.regression, search, settings.score_min, threads);
    let rows: Vec<usize> = steps.iter().map(|step| step.row).collect();
    intervals(design, &rows, settings)
}

/// Which observation rows are in a normal interval.
fn normal_rows(observations: &Observations, design: &Design, intervals: &[CutInterval]) -> Vec<bool> {
    let mut is_normal = vec![false; observations.utilization.len()];
    for interval in
        intervals.iter().filter(|interval| !matches!(interval.kind, CutIntervalKind::Anomalous(_)))
    {
        interval.rows.clone().for_each(|row| is_normal[design.rows[row]] = true);
    }
    is_normal
}

/// Cuts normal intervals where service times change. A nearby cut of the regression is moved there instead.
fn cut_at_events(design: &Design, services: &ServiceTimes, intervals: &mut Vec<CutInterval>) {
    for &event in &services.events {
        let row = design.rows.partition_point(|&observed| observed < event);
        let Some(index) = intervals.iter().position(|interval| interval.rows.contains(&row)) else {
            continue;
        };
        let rows = intervals[index].rows.clone();
        let from_edge = (row - rows.start).min(rows.end - row);
        if intervals[index].kind != CutIntervalKind::Normal || from_edge <= SIDE_MIN {
            continue;
        }
        let near = |edge: usize| edge != 0 && edge != design.regression.rows() && edge.abs_diff(row) <= 10;
        if near(rows.start) || near(rows.end) {
            continue;
        }
        intervals[index].rows.end = row;
        let after = CutInterval { rows: row..rows.end, kind: CutIntervalKind::Normal, is_load_step: false };
        intervals.insert(index + 1, after);
    }
}

/// Cuts normal intervals where the load or the mix changes for long, so that the costs of both sides are compared.
fn cut_at_load_steps(
    observations: &Observations,
    design: &Design,
    settings: &ChangeSettings,
    intervals: &mut Vec<CutInterval>,
) {
    let windows_min = settings.windows_min(design.demands());
    for row in load_steps(&observations.counts, &design.rows) {
        let Some(index) = intervals.iter().position(|interval| interval.rows.contains(&row)) else {
            continue;
        };
        let rows = intervals[index].rows.clone();
        let from_edge = (row - rows.start).min(rows.end - row);
        if intervals[index].kind != CutIntervalKind::Normal || from_edge < windows_min {
            continue;
        }
        intervals[index].rows.end = row;
        let after = CutInterval { rows: row..rows.end, kind: CutIntervalKind::Normal, is_load_step: true };
        intervals.insert(index + 1, after);
    }
}
