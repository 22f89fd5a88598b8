//! Step 6: whether the CPU that the transactions take steps at a cut, or drifts across it.

use std::ops::Range;

use laggard_numeric::Matrix;

use super::evidence::ChangeEvidence;
use super::regression::Regression;

/// Number of windows of either side that are examined.
const REACH: usize = 300;
/// A step is preferred to a slope if it lowers `Σ e²/variance` by this much more.
const PREFERENCE: f64 = 9.0;

/// Whether the cut between the adjacent ranges `before` and `after` is a step: with one demand for each type on both
/// sides, a factor of all of them that steps there fits better than one that changes at a constant rate.
pub(super) fn is_sudden(evidence: ChangeEvidence<'_>, before: &Range<usize>, after: &Range<usize>) -> bool {
    let rows: Vec<usize> = (before.start.max(before.end.saturating_sub(REACH))..before.end)
        .chain(after.start..after.end.min(after.start + REACH))
        .collect();
    let cut = after.start;
    let step = remaining(evidence, &rows, |row| if row < cut { 0.0 } else { 1.0 });
    let slope = remaining(evidence, &rows, |row| {
        (row as f64 - rows[0] as f64) / (rows[rows.len() - 1] - rows[0]).max(1) as f64
    });
    step + PREFERENCE < slope
}

/// `Σ e²/variance` of a regression with the transactions and their sum times `shape`.
fn remaining(evidence: ChangeEvidence<'_>, rows: &[usize], shape: impl Fn(usize) -> f64) -> f64 {
    let all = &evidence.design.regression;
    let p = all.columns();
    let usual = all.fit_all(&rows.iter().map(|&row| row..row + 1).collect::<Vec<_>>());
    let mut design = Matrix::zeros(rows.len(), p + 1);
    for (index, &row) in rows.iter().enumerate() {
        let (to, own) = (design.row_mut(index), all.design.row(row));
        to[..p].copy_from_slice(own);
        let transactions = crate::linear_algebra::dot(own, &usual.coefficients) - usual.coefficients[0];
        to[p] = shape(row) * transactions / 100.0;
    }
    let select = |values: &[f64]| rows.iter().map(|&row| values[row]).collect();
    let stacked = Regression { design, response: select(&all.response), weight: select(&all.weight) };
    let fit = stacked.fit(0..rows.len());
    stacked.weighted_square(0..rows.len(), &fit.coefficients)
}
