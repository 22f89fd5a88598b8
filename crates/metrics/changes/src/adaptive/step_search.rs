//! Finds the row at which one coefficient of a regression steps, by score tests at all rows of a range.

use std::ops::Range;

use laggard_numeric::Matrix;

use super::regression::{LinearFit, Regression};
use crate::linear_algebra::{add_outer, dot};

/// Number of rows tried before refining around the best.
const ROWS_TRIED: usize = 128;
/// Minimum share of a column's variation that is independent of the other columns for it to be tested.
const OWN_SHARE_MIN: f64 = 0.01;

/// Parameters of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepSearch {
    /// Columns `0..directions` may step.
    pub(super) directions: usize,
    /// Minimum number of rows on either side.
    pub(super) side_min: usize,
    /// Minimum relevant step: its coefficient times the mean of its column on the side where that is larger, in units
    /// of the response.
    pub(super) effect_min: f64,
}

/// The most significant step of one coefficient.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct CoefficientStep {
    /// First row after it.
    pub(super) row: usize,
    /// Number of standard errors by which its effect exceeds the minimum relevant step, ≥ 0.
    pub(super) score: f64,
}

/// One coefficient's step at one row, given everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepEstimate {
    /// Size of the step of the coefficient.
    pub(crate) size: f64,
    pub(crate) standard_error: f64,
}

/// Sums over the rows from a candidate cut to the end of the range.
struct TailSums {
    gram: Matrix,
    /// `Σ weight · residual · x`.
    scores: Vec<f64>,
}

/// The most significant step within `rows`; `None` if no row leaves enough rows on both sides. The coefficients on the
/// whole range are free; only the *step* is tested, so a changing mix has no effect. `O(len p² + 128 p³)`.
pub(super) fn strongest_step(
    regression: &Regression,
    rows: Range<usize>,
    search: StepSearch,
) -> Option<CoefficientStep> {
    if rows.len() < 2 * search.side_min.max(1) + 1 {
        return None;
    }
    let fit = regression.fit(rows.clone());
    let stride = (rows.len() / ROWS_TRIED).max(1);
    let first = rows.start + search.side_min;
    let last = rows.end - search.side_min;
    let coarse = best_of(regression, &rows, &fit, search, |row| {
        (first..=last).contains(&row) && (row - first).is_multiple_of(stride)
    });
    if stride == 1 {
        return coarse;
    }
    let center = coarse?.row;
    let near = center.saturating_sub(stride).max(first)..=(center + stride).min(last);
    best_of(regression, &rows, &fit, search, |row| near.contains(&row))
}

fn best_of(
    regression: &Regression,
    rows: &Range<usize>,
    fit: &LinearFit,
    search: StepSearch,
    is_tried: impl Fn(usize) -> bool,
) -> Option<CoefficientStep> {
    let p = regression.columns();
    let mut tail = TailSums { gram: Matrix::zeros(p, p), scores: vec![0.0; p] };
    let mut best: Option<CoefficientStep> = None;
    for row in rows.clone().rev() {
        tail.add(regression, row, &fit.coefficients);
        if !is_tried(row) {
            continue;
        }
        let score = tail.largest_score(fit, search);
        if best.is_none_or(|known| score >= known.score) {
            best = Some(CoefficientStep { row, score });
        }
    }
    best
}

/// The step of coefficient `column` from rows `before` to rows `after`, which are adjacent, with free coefficients over
/// all rows; `None` if the columns do not determine it.
pub(super) fn step_at(
    regression: &Regression,
    before: Range<usize>,
    after: Range<usize>,
    column: usize,
) -> Option<StepEstimate> {
    let fit = regression.fit_all(&[before, after.clone()]);
    TailSums::over(regression, &fit, after).estimate(&fit, column)
}

/// The steps of coefficients `0..columns` at the rows `after`, each separately, given the fit to all rows.
pub(crate) fn steps_at(
    regression: &Regression,
    fit: &LinearFit,
    after: Range<usize>,
    columns: usize,
) -> Vec<Option<StepEstimate>> {
    let tail = TailSums::over(regression, fit, after);
    (0..columns).map(|column| tail.estimate(fit, column)).collect()
}

impl TailSums {
    fn over(regression: &Regression, fit: &LinearFit, rows: Range<usize>) -> TailSums {
        let p = regression.columns();
        let mut tail = TailSums { gram: Matrix::zeros(p, p), scores: vec![0.0; p] };
        rows.for_each(|row| tail.add(regression, row, &fit.coefficients));
        tail
    }

    fn add(&mut self, regression: &Regression, row: usize, coefficients: &[f64]) {
        let (x, weight) = (regression.design.row(row), regression.weight[row]);
        add_outer(&mut self.gram, x, weight);
        let scaled = weight * regression.residual(row, coefficients);
        self.scores.iter_mut().zip(x).for_each(|(sum, value)| *sum += scaled * value);
    }

    /// Element of the symmetric Gram matrix, of which only the lower triangle is stored.
    fn gram(&self, i: usize, j: usize) -> f64 {
        self.gram.get(i.max(j), i.min(j))
    }

    /// Partialed-out estimate: `size = score / (G_kk − g_kᵀ G⁻¹ g_k)`, where `g_k` is the product of the stepping
    /// column with all columns.
    fn estimate(&self, fit: &LinearFit, column: usize) -> Option<StepEstimate> {
        let p = self.scores.len();
        let products: Vec<f64> = (0..p).map(|j| self.gram(column, j)).collect();
        let shared: f64 =
            products.iter().enumerate().map(|(i, g)| g * dot(fit.inverse.row(i), &products)).sum();
        let own = self.gram(column, column);
        let independent = own - shared;
        let smaller_side = own.min(fit.gram.get(column, column) - own);
        if !(independent > OWN_SHARE_MIN * smaller_side && independent > 0.0) {
            return None;
        }
        Some(StepEstimate {
            size: self.scores[column] / independent,
            standard_error: 1.0 / independent.sqrt(),
        })
    }

    fn largest_score(&self, fit: &LinearFit, search: StepSearch) -> f64 {
        let scores = (0..search.directions).map(|column| {
            let Some(step) = self.estimate(fit, column) else { return 0.0 };
            let after = self.gram(column, 0) / self.gram(0, 0);
            let before = (fit.gram.get(column, 0) - self.gram(column, 0))
                / (fit.gram.get(0, 0) - self.gram(0, 0)).max(f64::MIN_POSITIVE);
            let level = after.abs().max(before.abs());
            let effect = step.size.abs() * level;
            (effect - search.effect_min).max(0.0) / (step.standard_error * level).max(f64::MIN_POSITIVE)
        });
        scores.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stepping(at: usize, by: f64) -> Regression {
        let load = |t: usize| 10.0 + ((t * 7) % 11) as f64;
        let noise = |t: usize| 0.1 * (((t * 13) % 7) as f64 - 3.0);
        let rows: Vec<f64> = (0..60).flat_map(|t| [1.0, load(t)]).collect();
        let demand = |t: usize| if t >= at { 2.0 + by } else { 2.0 };
        let response = (0..60).map(|t| 5.0 + demand(t) * load(t) + noise(t)).collect();
        Regression { design: Matrix::from_row_major(60, 2, rows), response, weight: vec![25.0; 60] }
    }

    #[test]
    fn finds_where_a_demand_steps_and_by_how_much() {
        let regression = stepping(40, 0.5);
        let search = StepSearch { directions: 2, side_min: 3, effect_min: 0.5 };
        let step = strongest_step(&regression, 0..60, search).expect("long enough");
        assert_eq!(step.row, 40);
        assert!(step.score > 20.0, "{step:?}");
        let estimate = step_at(&regression, 0..40, 40..60, 1).expect("identified");
        assert!((estimate.size - 0.5).abs() < 4.0 * estimate.standard_error, "{estimate:?}");
    }

    #[test]
    fn a_changing_load_is_no_step() {
        let search = StepSearch { directions: 2, side_min: 3, effect_min: 0.0 };
        let step = strongest_step(&stepping(60, 0.5), 0..60, search).expect("long enough");
        assert!(step.score < 3.0, "{step:?}");
        assert_eq!(strongest_step(&stepping(60, 0.5), 0..6, search), None);
    }
}
