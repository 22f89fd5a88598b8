//! Which transactions a change of the model concerns, from counts and utilization alone.
//!
//! Few transactions change at a time. So types are taken one by one, each time the one whose changed demand explains
//! most, given every demand on both sides together: where counts hardly move by themselves this says more than the
//! difference of two fits, and where it says nothing, it says so.

use std::ops::Range;

use laggard_numeric::Matrix;

use crate::tuned::{LinearFit, Regression};

/// A type's changed demand must explain so much of `Σ e²/variance` (25: five standard errors).
const GAIN_MIN: f64 = 25.0;
/// Another type that explains all but this much of it cannot be told apart (9: three standard errors).
const CONFUSED_WITHIN: f64 = 9.0;
/// Most types named.
const NAMED_MAX: usize = 3;

/// A column whose coefficient stepped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct NamedStep {
    pub(crate) column: usize,
    /// By how much the coefficient stepped, in the units of the regression.
    pub(crate) size: f64,
    pub(crate) standard_error: f64,
}

/// What the counts say of which coefficients stepped.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Naming {
    /// The steps that explain the change, the most telling first; empty where no single one does.
    pub(crate) steps: Vec<NamedStep>,
    /// Columns that would explain about as much as the first.
    pub(crate) confused: Vec<usize>,
    /// A step of all coefficients by one factor (less 1), where that explains more than any single one.
    pub(crate) common_factor: Option<f64>,
}

/// Names the columns (of `columns`) whose coefficients differ between the stretches `before` and `after`.
/// `O(NAMED_MAX · (T p² + p³))`.
pub(crate) fn named_steps(
    regression: &Regression,
    before: &[Range<usize>],
    after: &[Range<usize>],
    columns: Range<usize>,
) -> Naming {
    let mut naming = Naming::default();
    let mut chosen: Vec<usize> = Vec::new();
    let mut best_single = 0.0;
    while chosen.len() < NAMED_MAX {
        let stacked = Stacked::new(regression, before, after, &chosen);
        let gains = stacked.gains(regression.columns());
        let Some(best) =
            columns.clone().filter(|c| !chosen.contains(c)).max_by(|&a, &b| gains[a].total_cmp(&gains[b]))
        else {
            break;
        };
        if gains[best] < GAIN_MIN {
            break;
        }
        if chosen.is_empty() {
            best_single = gains[best];
            let is_confused = |c: &usize| *c != best && gains[*c] > gains[best] - CONFUSED_WITHIN;
            naming.confused = columns.clone().filter(is_confused).collect();
        } else if gains[best] < 0.05 * best_single {
            break;
        }
        chosen.push(best);
    }
    naming.steps = Stacked::new(regression, before, after, &chosen).steps(regression.columns(), &chosen);
    naming
}

/// The windows of both sides in one regression; behind the usual columns, those chosen once more on the side after.
struct Stacked {
    regression: Regression,
    fit: LinearFit,
    /// First row of the side after.
    cut: usize,
}

impl Stacked {
    fn new(
        regression: &Regression,
        before: &[Range<usize>],
        after: &[Range<usize>],
        chosen: &[usize],
    ) -> Stacked {
        let rows: Vec<usize> = before.iter().chain(after).cloned().flatten().collect();
        let cut = before.iter().map(ExactSizeIterator::len).sum();
        let p = regression.columns();
        let mut design = Matrix::zeros(rows.len(), p + chosen.len());
        for (at, &row) in rows.iter().enumerate() {
            let (place, own) = (design.row_mut(at), regression.design.row(row));
            place[..p].copy_from_slice(own);
            if at >= cut {
                chosen.iter().enumerate().for_each(|(k, &column)| place[p + k] = own[column]);
            }
        }
        let response = rows.iter().map(|&row| regression.response[row]).collect();
        let weight = rows.iter().map(|&row| regression.weight[row]).collect();
        let regression = Regression { design, response, weight };
        let fit = regression.fit(0..rows.len());
        Stacked { regression, fit, cut }
    }

    /// By how much a step of each of the first `columns` coefficients would lower `Σ e²/variance`.
    fn gains(&self, columns: usize) -> Vec<f64> {
        let after = self.cut..self.regression.rows();
        crate::tuned::steps_at(&self.regression, &self.fit, after, columns)
            .into_iter()
            .map(|step| step.map_or(0.0, |step| (step.size / step.standard_error).powi(2)))
            .collect()
    }

    /// The steps of the chosen columns, with errors widened by what the fit leaves beyond the noise.
    fn steps(&self, columns: usize, chosen: &[usize]) -> Vec<NamedStep> {
        let rows = self.regression.rows();
        let left = self.regression.weighted_square(0..rows, &self.fit.coefficients);
        let widened = (left / rows.saturating_sub(self.fit.rank).max(1) as f64).max(1.0).sqrt();
        let step = |(k, &column): (usize, &usize)| {
            let at = columns + k;
            let standard_error = widened * self.fit.inverse.get(at, at).max(0.0).sqrt();
            NamedStep { column, size: self.fit.coefficients[at], standard_error }
        };
        chosen.iter().enumerate().map(step).collect()
    }
}
