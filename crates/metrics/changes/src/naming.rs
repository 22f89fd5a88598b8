//! Which transactions a change of the model concerns, from counts and utilization alone.
//!
//! Few transactions change at a time, so types are selected one by one: each time the type whose changed demand explains
//! most, with all other demands common to both sides. If counts hardly vary by themselves, this is more accurate than the
//! difference of two fits. The first type is selected only if no other type explains about as much, each with the drift of
//! the background load and of the cost of all types that fits it best; otherwise no type is named.

use std::ops::Range;

use laggard_numeric::Matrix;

use crate::adaptive::{Drift, DriftBounds, LinearFit, Regression};
use crate::linear_algebra::dot;

/// Minimum reduction of `Σ e²/variance` by a type's changed demand (25: five standard errors).
const GAIN_MIN: f64 = 25.0;
/// Types whose remaining `Σ e²/variance` differs by less than this, times the overdispersion of the best, are
/// indistinguishable (9: three standard errors).
const CONFUSED_WITHIN: f64 = 9.0;
/// Minimum reduction by further types, as a share of the largest reduction by one type (unpublished).
const NEXT_SHARE_MIN: f64 = 0.05;
/// Maximum number of types named.
const NAMED_MAX: usize = 3;

/// A column whose coefficient stepped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TypeStep {
    pub(crate) column: usize,
    /// Change of the coefficient, in the units of the regression.
    pub(crate) size: f64,
    pub(crate) standard_error: f64,
}

/// The coefficients that stepped, according to the counts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TypeStepTest {
    /// The steps that explain the change, the largest reduction first; empty if the counts are not conclusive.
    pub(crate) steps: Vec<TypeStep>,
    /// How much more the residuals vary than their noise with these steps, ≥ 1: more than a little means that something
    /// else uses CPU.
    pub(crate) overdispersion: f64,
}

/// Names the columns (of `columns`) whose coefficients differ between the ranges `before` and `after`.
/// `O(NAMED_MAX · (T p² + p³))`.
pub(crate) fn type_steps(
    regression: &Regression,
    before: &[Range<usize>],
    after: &[Range<usize>],
    columns: Range<usize>,
    drift: DriftBounds,
) -> TypeStepTest {
    let sides = SideFits { regression, before, after };
    let Some(first) = distinguishable(sides, columns.clone(), drift) else { return TypeStepTest::default() };
    let mut selected: Vec<usize> = Vec::new();
    let mut best_single = 0.0;
    while selected.len() < NAMED_MAX {
        let gains = StackedDesign::new(sides, &selected, Drift::NONE).gains(regression.columns());
        let rest = columns.clone().filter(|column| !selected.contains(column));
        let best_of_rest = || rest.max_by(|&a, &b| gains[a].total_cmp(&gains[b]));
        let next = if selected.is_empty() { Some(first) } else { best_of_rest() };
        let Some(next) = next.filter(|&next| gains[next] >= GAIN_MIN.max(NEXT_SHARE_MIN * best_single))
        else {
            break;
        };
        best_single = gains[next].max(best_single);
        selected.push(next);
    }
    let stacked = StackedDesign::new(sides, &selected, Drift::NONE);
    TypeStepTest {
        steps: stacked.steps(regression.columns(), &selected),
        overdispersion: stacked.overdispersion(),
    }
}

/// The column whose step explains most, each with its best drift, unless another explains about as much.
fn distinguishable(sides: SideFits<'_>, columns: Range<usize>, bounds: DriftBounds) -> Option<usize> {
    let mut remaining = vec![f64::INFINITY; sides.regression.columns()];
    let mut free = 1;
    for constant in [0.0, -bounds.constant, bounds.constant] {
        for scale in [1.0, 1.0 - bounds.scale, 1.0 + bounds.scale] {
            let stacked = StackedDesign::new(sides, &[], Drift { constant, scale });
            let square = stacked.square();
            free = stacked.regression.rows().saturating_sub(stacked.fit.rank).max(1);
            let gains = stacked.gains(remaining.len());
            remaining.iter_mut().zip(gains).for_each(|(least, gain)| *least = least.min(square - gain));
        }
    }
    let best = columns.clone().min_by(|&a, &b| remaining[a].total_cmp(&remaining[b]))?;
    let second = columns
        .filter(|&column| column != best)
        .map(|column| remaining[column])
        .fold(f64::INFINITY, f64::min);
    let overdispersion = (remaining[best] / free as f64).max(1.0);
    let margin = CONFUSED_WITHIN * overdispersion;
    // With a single type, a step of its cost is a step of all costs.
    let is_common_factor = second.is_finite() && all_types(sides) <= remaining[best] + margin;
    (second - remaining[best] >= margin && !is_common_factor).then_some(best)
}

/// Remaining `Σ e²/variance` after a step of all costs by one factor, as when the load or the server moves to another machine.
fn all_types(sides: SideFits<'_>) -> f64 {
    let SideFits { regression, before, after } = sides;
    let old = regression.fit_all(before);
    let p = regression.columns();
    let rows: Vec<usize> = before.iter().chain(after).cloned().flatten().collect();
    let cut: usize = before.iter().map(ExactSizeIterator::len).sum();
    let mut design = Matrix::zeros(rows.len(), p + 1);
    for (index, &row) in rows.iter().enumerate() {
        let (values, own) = (design.row_mut(index), regression.design.row(row));
        values[..p].copy_from_slice(own);
        let transactions = dot(own, &old.coefficients) - old.coefficients[0];
        values[p] = if index >= cut { transactions / 100.0 } else { 0.0 };
    }
    let select = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let stacked =
        Regression { design, response: select(&regression.response), weight: select(&regression.weight) };
    let fit = stacked.fit(0..rows.len());
    stacked.weighted_square(0..rows.len(), &fit.coefficients)
}

/// The ranges before and after a change.
#[derive(Clone, Copy)]
struct SideFits<'a> {
    regression: &'a Regression,
    before: &'a [Range<usize>],
    after: &'a [Range<usize>],
}

/// The windows of both sides in one regression. Each selected column is repeated after the usual columns, with zeros
/// before the change.
struct StackedDesign {
    regression: Regression,
    fit: LinearFit,
    /// First row after the change.
    cut: usize,
}

impl StackedDesign {
    /// Removes `drift` from the rows after the change.
    fn new(sides: SideFits<'_>, selected: &[usize], drift: Drift) -> StackedDesign {
        let SideFits { regression, before, after } = sides;
        let rows: Vec<usize> = before.iter().chain(after).cloned().flatten().collect();
        let cut = before.iter().map(ExactSizeIterator::len).sum();
        let p = regression.columns();
        let mut design = Matrix::zeros(rows.len(), p + selected.len());
        let mut response: Vec<f64> = rows.iter().map(|&row| regression.response[row]).collect();
        for (index, &row) in rows.iter().enumerate() {
            let (values, own) = (design.row_mut(index), regression.design.row(row));
            values[..p].copy_from_slice(own);
            if index >= cut {
                selected.iter().enumerate().for_each(|(k, &column)| values[p + k] = own[column]);
                response[index] = (response[index] - drift.constant) / drift.scale;
            }
        }
        let weight = rows.iter().map(|&row| regression.weight[row]).collect();
        let regression = Regression { design, response, weight };
        let fit = regression.fit(0..rows.len());
        StackedDesign { regression, fit, cut }
    }

    /// `Σ e²/variance` of the fit.
    fn square(&self) -> f64 {
        self.regression.weighted_square(0..self.regression.rows(), &self.fit.coefficients)
    }

    /// `Σ e²/variance` over the degrees of freedom, ≥ 1.
    fn overdispersion(&self) -> f64 {
        let free = self.regression.rows().saturating_sub(self.fit.rank).max(1);
        (self.square() / free as f64).max(1.0)
    }

    /// The reduction of `Σ e²/variance` by a step of each of the first `columns` coefficients.
    fn gains(&self, columns: usize) -> Vec<f64> {
        let after = self.cut..self.regression.rows();
        crate::adaptive::steps_at(&self.regression, &self.fit, after, columns)
            .into_iter()
            .map(|step| step.map_or(0.0, |step| (step.size / step.standard_error).powi(2)))
            .collect()
    }

    /// The steps of the selected columns; standard errors are scaled by the overdispersion of the residuals.
    fn steps(&self, columns: usize, selected: &[usize]) -> Vec<TypeStep> {
        let widened = self.overdispersion().sqrt();
        let step = |(k, &column): (usize, &usize)| {
            let index = columns + k;
            let standard_error = widened * self.fit.inverse.get(index, index).max(0.0).sqrt();
            TypeStep { column, size: self.fit.coefficients[index], standard_error }
        };
        selected.iter().enumerate().map(step).collect()
    }
}
