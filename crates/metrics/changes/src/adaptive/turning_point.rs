//! The row at which one model replaces another, from the regression and the service times together.

use std::ops::Range;

use super::evidence::ChangeEvidence;
use super::fit::{Drift, Fit, FitPart, length};
use super::service_series::ServiceSeries;
use super::timeline::Boundary;
use crate::signature::{response_at, service_time};
use crate::{ChangeKind, Onset, onset::onset};

/// Number of windows used on either side.
const REACH: usize = 200;

/// The onset of a change between two adjacent ranges, in regression rows.
pub(super) fn turning_point(
    evidence: ChangeEvidence<'_>,
    before: &Range<usize>,
    after: &Range<usize>,
    boundary: &Boundary,
) -> Onset {
    let rows = before.start.max(before.end.saturating_sub(REACH))..after.end.min(after.start + REACH);
    let mut evidence_by_row = vec![0.0; rows.len()];
    let overdispersion = by_regression(evidence, before, after, &rows, &mut evidence_by_row);
    evidence_by_row.iter_mut().for_each(|value| *value /= overdispersion);
    if boundary.kind != Some(ChangeKind::Unexplained) {
        let named = |series: &&ServiceSeries| {
            boundary.transactions.iter().any(|t| t.transaction == series.transaction)
        };
        for series in evidence.services.series.iter().filter(named) {
            by_service_times(evidence, series, &rows, after.start, &mut evidence_by_row);
        }
    }
    onset(&evidence_by_row, rows, 1.0)
}

/// Adds each row's evidence from utilization for the model after against the model before. Returns how much more the
/// residuals vary than their noise, ≥ 1.
fn by_regression(
    evidence: ChangeEvidence<'_>,
    before: &Range<usize>,
    after: &Range<usize>,
    rows: &Range<usize>,
    evidence_by_row: &mut [f64],
) -> f64 {
    let design = evidence.design;
    let fit = |rows: &Range<usize>| -> Fit {
        design.fit(&[FitPart { rows: std::slice::from_ref(rows), drift: Drift::NONE }], f64::INFINITY)
    };
    let (old, new) = (fit(before), fit(after));
    for (sum, row) in evidence_by_row.iter_mut().zip(rows.clone()) {
        let weight = design.regression.weight[row];
        let square = |fit: &Fit| weight * design.residual(fit, Drift::NONE, row).powi(2);
        *sum += square(&old) - square(&new);
    }
    let left = design.misfit(&old, Drift::NONE, std::slice::from_ref(before)).square
        + design.misfit(&new, Drift::NONE, std::slice::from_ref(after)).square;
    let free = length(&[before.clone(), after.clone()]).saturating_sub(old.positive + new.positive).max(1);
    (left / free as f64).max(1.0)
}

/// Adds the evidence of a type's service times for the level after against the level before, window by window: a cell of a
/// rare type spans many windows, and the change is in one of them.
///
/// With the mean `s` of `n` times of which one carries the information `κ`, a level `μ` has `−2 ln L = 2 n κ (ln μ + s / μ)`,
/// the likelihood of a gamma distribution. It is additive, so that it does not matter how windows are joined, and right for
/// single transactions, whose logarithms are far from normal.
fn by_service_times(
    evidence: ChangeEvidence<'_>,
    series: &ServiceSeries,
    rows: &Range<usize>,
    cut: usize,
    evidence_by_row: &mut [f64],
) {
    let times: Vec<WindowTimes> =
        rows.clone().filter_map(|row| WindowTimes::new(evidence, series, row)).collect();
    let (left, right) = times.split_at(times.partition_point(|window| window.row < cut));
    let mean_s = |windows: &[WindowTimes]| {
        let sum = |value: fn(&WindowTimes) -> f64| windows.iter().map(value).sum::<f64>();
        sum(|window| window.information * window.seconds) / sum(|window| window.information)
    };
    let (old_s, new_s) = (mean_s(left), mean_s(right));
    if !(old_s > 0.0 && new_s > 0.0) {
        return;
    }
    for window in &times {
        let deviance = (old_s / new_s).ln() + window.seconds / old_s - window.seconds / new_s;
        evidence_by_row[window.row - rows.start] += 2.0 * window.information * deviance;
    }
}

/// The service times of a type in a window.
struct WindowTimes {
    /// Regression row.
    row: usize,
    /// Their mean.
    seconds: f64,
    /// One over the variance of its logarithm.
    information: f64,
}

impl WindowTimes {
    /// `None` if the window has no transaction of the type with a known time.
    fn new(evidence: ChangeEvidence<'_>, series: &ServiceSeries, row: usize) -> Option<WindowTimes> {
        let (observations, observed) = (evidence.observations, evidence.design.rows[row]);
        let count = observations.counts.get(observed, series.transaction);
        let response_s = response_at(observations, observed, series.transaction).filter(|_| count > 0.0)?;
        let seconds = service_time(response_s, observations.utilization[observed], observations.cores);
        let cell = series.rows.partition_point(|&first| first <= observed).checked_sub(1)?;
        let share = count / series.transactions[cell];
        (seconds > 0.0).then_some(WindowTimes {
            row,
            seconds,
            information: series.regression.weight[cell] * share,
        })
    }
}
