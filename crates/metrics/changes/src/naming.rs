//! Which transactions a change of the model concerns, from counts and utilization alone.
//!
//! Few transactions change at a time. So types are taken one by one, each time the one whose changed demand explains
//! most, given every demand on both sides together: where counts hardly move by themselves this says more than the
//! difference of two fits. A first name counts only if no other type explains about as much, each beside the drift of
//! the background and of the cost of everything that suits it best; else counts do not tell, and nothing is named.

use std::ops::Range;

use laggard_numeric::Matrix;

use crate::adaptive::{Drift, DriftBounds, LinearFit, Regression, dot};

/// A type's changed demand must explain so much of `Σ e²/variance` (25: five standard errors).
const GAIN_MIN: f64 = 25.0;
/// Another type that leaves no more than this beyond, times what the best leaves over its noise, cannot be told apart
/// (9: three standard errors).
const CONFUSED_WITHIN: f64 = 9.0;
/// … and each after the first at least this share of what the first does (0.05; ours).
const NEXT_SHARE_MIN: f64 = 0.05;
/// Most types named.
const NAMED_MAX: usize = 3;

/// A column whose coefficient stepped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TypeStep {
    pub(crate) column: usize,
    /// By how much the coefficient stepped, in the units of the regression.
    pub(crate) size: f64,
    pub(crate) standard_error: f64,
}

/// What the counts say of which coefficients stepped.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TypeStepTest {
    /// The steps that explain the change, the most telling first; empty where counts do not tell.
    pub(crate) steps: Vec<TypeStep>,
}

/// Names the columns (of `columns`) whose coefficients differ between the stretches `before` and `after`.
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
    let mut chosen: Vec<usize> = Vec::new();
    let mut best_single = 0.0;
    while chosen.len() < NAMED_MAX {
        let gains = StackedDesign::new(sides, &chosen, Drift::NONE).gains(regression.columns());
        let rest = columns.clone().filter(|column| !chosen.contains(column));
        let best_of_rest = || rest.max_by(|&a, &b| gains[a].total_cmp(&gains[b]));
        let next = if chosen.is_empty() { Some(first) } else { best_of_rest() };
        let Some(next) = next.filter(|&next| gains[next] >= GAIN_MIN.max(NEXT_SHARE_MIN * best_single))
        else {
            break;
        };
        best_single = gains[next].max(best_single);
        chosen.push(next);
    }
    TypeStepTest {
        steps: StackedDesign::new(sides, &chosen, Drift::NONE).steps(regression.columns(), &chosen),
    }
}

/// The column whose step leaves least, each seen through its best drift, if no other leaves about as little.
fn distinguishable(sides: SideFits<'_>, columns: Range<usize>, bounds: DriftBounds) -> Option<usize> {
    let mut left = vec![f64::INFINITY; sides.regression.columns()];
    let mut free = 1;
    for constant in [0.0, -bounds.constant, bounds.constant] {
        for scale in [1.0, 1.0 - bounds.scale, 1.0 + bounds.scale] {
            let stacked = StackedDesign::new(sides, &[], Drift { constant, scale });
            let square = stacked.square();
            free = stacked.regression.rows().saturating_sub(stacked.fit.rank).max(1);
            let gains = stacked.gains(left.len());
            left.iter_mut().zip(gains).for_each(|(least, gain)| *least = least.min(square - gain));
        }
    }
    let best = columns.clone().min_by(|&a, &b| left[a].total_cmp(&left[b]))?;
    let second =
        columns.filter(|&column| column != best).map(|column| left[column]).fold(f64::INFINITY, f64::min);
    let overdispersion = (left[best] / free as f64).max(1.0);
    let margin = CONFUSED_WITHIN * overdispersion;
    // With one type, its cost is the cost of everything.
    let is_everything = second.is_finite() && all_types(sides) <= left[best] + margin;
    (second - left[best] >= margin && !is_everything).then_some(best)
}

/// What a step of all costs by one factor leaves: half the load went to another machine, or the machine is another.
fn all_types(sides: SideFits<'_>) -> f64 {
    let SideFits { regression, before, after } = sides;
    let old = regression.fit_all(before);
    let p = regression.columns();
    let rows: Vec<usize> = before.iter().chain(after).cloned().flatten().collect();
    let cut: usize = before.iter().map(ExactSizeIterator::len).sum();
    let mut design = Matrix::zeros(rows.len(), p + 1);
    for (at, &row) in rows.iter().enumerate() {
        let (place, own) = (design.row_mut(at), regression.design.row(row));
        place[..p].copy_from_slice(own);
        let transactions = dot(own, &old.coefficients) - old.coefficients[0];
        place[p] = if at >= cut { transactions / 100.0 } else { 0.0 };
    }
    let of = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let stacked = Regression { design, response: of(&regression.response), weight: of(&regression.weight) };
    let fit = stacked.fit(0..rows.len());
    stacked.weighted_square(0..rows.len(), &fit.coefficients)
}

/// What is compared.
#[derive(Clone, Copy)]
struct SideFits<'a> {
    regression: &'a Regression,
    before: &'a [Range<usize>],
    after: &'a [Range<usize>],
}

/// The windows of both sides in one regression; behind the usual columns, those chosen once more on the side after.
struct StackedDesign {
    regression: Regression,
    fit: LinearFit,
    /// First row of the side after.
    cut: usize,
}

impl StackedDesign {
    /// `drift` is taken out of the side after.
    fn new(sides: SideFits<'_>, chosen: &[usize], drift: Drift) -> StackedDesign {
        let SideFits { regression, before, after } = sides;
        let rows: Vec<usize> = before.iter().chain(after).cloned().flatten().collect();
        let cut = before.iter().map(ExactSizeIterator::len).sum();
        let p = regression.columns();
        let mut design = Matrix::zeros(rows.len(), p + chosen.len());
        let mut response: Vec<f64> = rows.iter().map(|&row| regression.response[row]).collect();
        for (at, &row) in rows.iter().enumerate() {
            let (place, own) = (design.row_mut(at), regression.design.row(row));
            place[..p].copy_from_slice(own);
            if at >= cut {
                chosen.iter().enumerate().for_each(|(k, &column)| place[p + k] = own[column]);
                response[at] = (response[at] - drift.constant) / drift.scale;
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

    /// By how much a step of each of the first `columns` coefficients would lower `Σ e²/variance`.
    fn gains(&self, columns: usize) -> Vec<f64> {
        let after = self.cut..self.regression.rows();
        crate::adaptive::steps_at(&self.regression, &self.fit, after, columns)
            .into_iter()
            .map(|step| step.map_or(0.0, |step| (step.size / step.standard_error).powi(2)))
            .collect()
    }

    /// The steps of the chosen columns, with errors widened by what the fit leaves beyond the noise.
    fn steps(&self, columns: usize, chosen: &[usize]) -> Vec<TypeStep> {
        let rows = self.regression.rows();
        let widened = (self.square() / rows.saturating_sub(self.fit.rank).max(1) as f64).max(1.0).sqrt();
        let step = |(k, &column): (usize, &usize)| {
            let at = columns + k;
            let standard_error = widened * self.fit.inverse.get(at, at).max(0.0).sqrt();
            TypeStep { column, size: self.fit.coefficients[at], standard_error }
        };
        chosen.iter().enumerate().map(step).collect()
    }
}
