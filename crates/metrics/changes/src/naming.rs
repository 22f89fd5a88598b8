//! Which transactions a change of the model concerns, from counts and utilization alone.
//!
//! Few transactions change at a time, so types are selected one by one: each time the type whose changed demand explains
//! most, with all other demands common to both sides. If counts hardly vary by themselves, this is more accurate than the
//! difference of two fits. The first type is selected only if no other type explains about as much, each with the drift of
//! the background load and of the cost of all types that fits it best; otherwise no type is named. Where times are known and
//! exclude another host, the first type is selected if it is much more probable than anything else ([`Conclusive::Probable`]).

use std::ops::Range;

use laggard_numeric::Matrix;

use crate::adaptive::{Drift, DriftBounds, LinearFit, Regression};
use crate::linear_algebra::dot;

/// Minimum reduction of `Σ e²/variance` by a type's changed demand (25: five standard errors).
const GAIN_MIN: f64 = 25.0;
/// Types whose remaining `Σ e²/variance` differs by less than this, times the overdispersion of the best, are
/// indistinguishable (9: three standard errors).
const CONFUSED_WITHIN: f64 = 9.0;
/// Minimum probability of a type among all explanations, where times exclude those that are more likely beforehand: another host,
/// or another load of it. In 30 simulated shops (seeds 301 to 330) it names the type in 24 and no other one; of 30 others it named a
/// wrong one in one.
const PROBABILITY_MIN: f64 = 0.8;
/// Least deviation of a drift, in the units of the response.
const DRIFT_MIN: f64 = 1e-3;
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

/// When counts are conclusive about the first type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Conclusive<'a> {
    /// Every other explanation is worse by [`CONFUSED_WITHIN`].
    Clear,
    /// It has a probability of [`PROBABILITY_MIN`] beside every other type, another constant, all types by one factor, and all by the
    /// same time, all equally likely beforehand. The parameter has the unit of each column, in transactions.
    Probable(&'a [f64]),
}

/// Names the columns (of `columns`) whose coefficients differ between the ranges `before` and `after`.
/// `O(NAMED_MAX · (T p² + p³))`.
pub(crate) fn type_steps(
    regression: &Regression,
    before: &[Range<usize>],
    after: &[Range<usize>],
    columns: Range<usize>,
    drift: DriftBounds,
    conclusive: Conclusive<'_>,
) -> TypeStepTest {
    let sides = SideFits { regression, before, after };
    let first = match conclusive {
        Conclusive::Clear => distinguishable(sides, columns.clone(), drift),
        Conclusive::Probable(units) => probable(sides, columns.clone(), drift, units),
    };
    let Some(first) = first else { return TypeStepTest::default() };
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

/// The most probable column, if it is at least [`PROBABILITY_MIN`] probable. Any constant and any factor of all demands may have drifted
/// between the sides, with normal priors whose deviations are half of `bounds`: a drift of a background load of a third of a percent
/// of the CPU would otherwise name another type. Explanations are as likely as `exp(−Σ e²/(2 variance))` at their best drift.
fn probable(sides: SideFits<'_>, columns: Range<usize>, bounds: DriftBounds, units: &[f64]) -> Option<usize> {
    let SideFits { regression, before, after } = sides;
    let p = regression.columns();
    let old_demands = regression.fit_all(before).coefficients;
    let drifting = DriftingSides {
        compressed: &regression.compressed(&[before, after]),
        old_demands: &old_demands,
        bounds,
    };
    let alone =
        |column: usize| -> Vec<f64> { (0..p).map(|other| f64::from(u8::from(other == column))).collect() };
    let mut remaining: Vec<f64> = (0..p).map(|column| drifting.square(&alone(column))).collect();
    let mut transactions = |weights: &[f64]| {
        let weights: Vec<f64> = std::iter::once(0.0).chain(weights[1..].iter().copied()).collect();
        remaining.push(drifting.square(&weights));
    };
    transactions(&old_demands);
    transactions(units);
    let best = columns.min_by(|&a, &b| remaining[a].total_cmp(&remaining[b]))?;
    let rows: usize = before.iter().chain(after).map(ExactSizeIterator::len).sum();
    let free = rows.saturating_sub(p + 1).max(1) as f64;
    let dispersion = 2.0 * (remaining[best] / free).max(1.0);
    let odds = |other: &f64| ((remaining[best] - other) / dispersion).exp();
    let probability = 1.0 / remaining.iter().map(odds).sum::<f64>();
    (probability >= PROBABILITY_MIN).then_some(best)
}

/// Both sides in one regression, with a drift of the side after.
struct DriftingSides<'a> {
    /// The compressed rows of the side before, then as many of the side after.
    compressed: &'a Regression,
    /// Coefficients of the side before.
    old_demands: &'a [f64],
    bounds: DriftBounds,
}

impl DriftingSides<'_> {
    /// `Σ e²/variance`, that of the drift included, after a step of all coefficients in proportion to `weights`, by column.
    fn square(&self, weights: &[f64]) -> f64 {
        let (rows, p) = (self.compressed.rows(), self.compressed.columns());
        let mut design = Matrix::zeros(rows + 2, p + 3);
        for row in 0..rows {
            let (values, own) = (design.row_mut(row), self.compressed.design.row(row));
            values[..p].copy_from_slice(own);
            if row >= rows / 2 {
                values[p] = own[0];
                values[p + 1] = dot(&own[1..], &self.old_demands[1..]) / 100.0;
                values[p + 2] = dot(own, weights) / 100.0;
            }
        }
        let (mut response, mut weight) = (self.compressed.response.clone(), self.compressed.weight.clone());
        // The last two rows are the priors of the drift.
        for (prior, bound) in [self.bounds.constant, 100.0 * self.bounds.scale].into_iter().enumerate() {
            design.set(rows + prior, p + prior, 1.0);
            response.push(0.0);
            weight.push((0.5 * bound).max(DRIFT_MIN).powi(-2));
        }
        let drifting = Regression { design, response, weight };
        let fit = drifting.fit(0..rows + 2);
        drifting.weighted_square(0..rows + 2, &fit.coefficients)
    }
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
        // The noise is divided by the scale too.
        let weight = rows.iter().enumerate().map(|(index, &row)| {
            let scale = if index >= cut { drift.scale } else { 1.0 };
            regression.weight[row] * scale * scale
        });
        let weight = weight.collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: DriftBounds = DriftBounds { constant: 0.7, scale: 0.04 };
    /// Counts of the columns are over these.
    const UNITS: [f64; 4] = [1.0, 100.0, 100.0, 100.0];

    /// Three types of 10 % each whose counts vary by `swing`, mostly together; from row 200 of 400 on they cost these percent more.
    /// Noise of variance 2/3.
    fn stepping(swing: f64, more: [f64; 3]) -> Regression {
        let mut design = Matrix::zeros(400, 4);
        let mut response = Vec::new();
        for t in 0..400 {
            let together = 0.7 + 0.3 * ((t * 7) % 11) as f64 / 10.0;
            let own = |k: usize| swing * (((t * (13 + 6 * k) + k) % 17) as f64 / 8.0 - 1.0);
            let counts: Vec<f64> = (0..3).map(|k| together + own(k)).collect();
            let row = design.row_mut(t);
            row[0] = 1.0;
            row[1..].copy_from_slice(&counts);
            let cost = |k: usize| counts[k] * (10.0 + if t < 200 { 0.0 } else { more[k] });
            response.push(2.0 + (0..3).map(cost).sum::<f64>() + ((t % 3) as f64 - 1.0));
        }
        Regression { design, response, weight: vec![1.5; 400] }
    }

    fn named(regression: &Regression, conclusive: Conclusive<'_>) -> Vec<usize> {
        let (before, after) = ([Range { start: 0, end: 200 }], [Range { start: 200, end: 400 }]);
        let test = type_steps(regression, &before, &after, 1..4, BOUNDS, conclusive);
        test.steps.iter().map(|step| step.column).collect()
    }

    #[test]
    fn a_type_with_counts_of_its_own_is_named() {
        for conclusive in [Conclusive::Clear, Conclusive::Probable(&UNITS)] {
            assert_eq!(named(&stepping(0.2, [0.0, 4.0, 0.0]), conclusive), [2]);
            assert_eq!(named(&stepping(0.2, [0.0; 3]), conclusive), [0; 0]);
        }
    }

    /// By less than three standard errors better than another explanation, and more than four times as probable.
    #[test]
    fn a_probable_type_is_named_where_times_exclude_the_rest() {
        let regression = stepping(0.14, [0.0, 3.0, 0.0]);
        assert_eq!(named(&regression, Conclusive::Clear), [0; 0]);
        assert_eq!(named(&regression, Conclusive::Probable(&UNITS)), [2]);
    }

    /// A background load that moves by half of what may drift is no reason to name another type.
    #[test]
    fn a_drift_at_the_same_time_changes_no_name() {
        let drifting = |percent: f64, more: [f64; 3]| {
            let mut regression = stepping(0.2, more);
            regression.response[200..].iter_mut().for_each(|response| *response += percent);
            regression
        };
        for percent in [-0.35, 0.35] {
            assert_eq!(named(&drifting(percent, [0.0, 4.0, 0.0]), Conclusive::Probable(&UNITS)), [2]);
            assert_eq!(named(&drifting(percent, [2.0; 3]), Conclusive::Probable(&UNITS)), [0; 0]);
        }
    }

    #[test]
    fn types_that_changed_alike_or_vary_together_are_not_named() {
        for conclusive in [Conclusive::Clear, Conclusive::Probable(&UNITS)] {
            assert_eq!(named(&stepping(0.2, [2.0; 3]), conclusive), [0; 0]);
            assert_eq!(named(&stepping(0.005, [0.0, 3.0, 0.0]), conclusive), [0; 0]);
        }
    }
}
