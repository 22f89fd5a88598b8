//! The row at which one model replaces another, from the regression and the service times together.

use std::ops::Range;

use super::evidence::ChangeEvidence;
use super::fit::{Drift, Fit, FitPart, length};
use super::service_series::ServiceSeries;
use super::timeline::Boundary;
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

/// Adds the evidence of a type's cells for the level after against the level before.
fn by_service_times(
    evidence: ChangeEvidence<'_>,
    series: &ServiceSeries,
    rows: &Range<usize>,
    cut: usize,
    evidence_by_row: &mut [f64],
) {
    let observed = |row: usize| evidence.design.rows.get(row).copied().unwrap_or(usize::MAX);
    let (start, cut, end) = (observed(rows.start), observed(cut), observed(rows.end));
    let (left, right) = (series.cells(&(start..cut)), series.cells(&(cut..end)));
    if left.is_empty() || right.is_empty() {
        return;
    }
    let mean = |cells: &Range<usize>| {
        let weight: f64 = cells.clone().map(|cell| series.regression.weight[cell]).sum();
        cells
            .clone()
            .map(|cell| series.regression.weight[cell] * series.regression.response[cell])
            .sum::<f64>()
            / weight
    };
    let (old, new) = (mean(&left), mean(&right));
    for cell in left.start..right.end {
        let (value, weight) = (series.regression.response[cell], series.regression.weight[cell]);
        let row = evidence.design.rows.partition_point(|&observed| observed < series.rows[cell]);
        if let Some(sum) = row.checked_sub(rows.start).and_then(|at| evidence_by_row.get_mut(at)) {
            *sum += weight * ((value - old).powi(2) - (value - new).powi(2));
        }
    }
}
