//! Non-negative fits of a model to ranges of windows.

use std::ops::Range;

use laggard_numeric::{NormalEquations, nnls};

use super::design::Design;
use crate::linear_algebra::dot;

/// Mean of `|e|` over the standard deviation in a normal sample, `√(2/π)`.
const ABSOLUTE_OVER_STANDARD: f64 = 0.7979;

/// A transaction model in the units of the design.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// The constant in percent, then for each column the percent used at its largest count; ≥ 0.
    pub(super) coefficients: Vec<f64>,
    /// Number of positive coefficients.
    pub(super) positive: usize,
}

/// A difference in background load and in the cost of all transactions: `u = constant + scale · model`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Drift {
    /// In percent of the CPU.
    pub(crate) constant: f64,
    /// 1 without drift.
    pub(crate) scale: f64,
}

impl Drift {
    pub(crate) const NONE: Drift = Drift { constant: 0.0, scale: 1.0 };
}

/// The errors of a fit over a range of windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit {
    /// `Σ |e|`, in percent.
    pub(super) absolute: f64,
    /// `Σ e² / noise variance`.
    pub(super) square: f64,
}

/// Windows of a model and their drift.
#[derive(Clone, Copy, Debug)]
pub(super) struct FitPart<'a> {
    /// Ranges of regression rows.
    pub(super) rows: &'a [Range<usize>],
    pub(super) drift: Drift,
}

impl Design {
    /// Weighted non-negative fit of all `parts`, its constant at most `constant_max` percent.
    pub(super) fn fit(&self, parts: &[FitPart<'_>], constant_max: f64) -> Fit {
        let free = self.fit_columns(parts, 0, 0.0);
        if free.coefficients[0] <= constant_max {
            return free;
        }
        let mut bound = self.fit_columns(parts, 1, constant_max);
        bound.coefficients[0] = constant_max;
        bound
    }

    /// The fit of the columns from `first`, with the constant fixed at `constant` percent.
    fn fit_columns(&self, parts: &[FitPart<'_>], first: usize, constant: f64) -> Fit {
        let mut equations = NormalEquations::zeros(self.regression.columns() - first);
        let mut x = vec![0.0; self.regression.columns() - first];
        for part in parts {
            for row in part.rows.iter().cloned().flatten() {
                let root = self.regression.weight[row].sqrt();
                let own = &self.regression.design.row(row)[first..];
                let scaled = root * part.drift.scale;
                x.iter_mut().zip(own).for_each(|(scaled_value, value)| *scaled_value = scaled * value);
                let intercept = self.regression.design.get(row, 0);
                let known = intercept * (part.drift.constant + part.drift.scale * constant);
                equations.add_row(&x, root * (self.regression.response[row] - known));
            }
        }
        let mut coefficients = vec![0.0; first];
        coefficients.extend(nnls(&equations).coefficients);
        let positive = coefficients.iter().filter(|&&value| value > 0.0).count();
        Fit { coefficients, positive }
    }

    /// The same regression with few rows: the rows of `parts[k]` become `k * q..(k + 1) * q`, where `q` is one more than
    /// the number of columns.
    pub(super) fn compressed(&self, parts: &[&[Range<usize>]]) -> Design {
        Design {
            regression: self.regression.compressed(parts),
            rows: Vec::new(),
            types: self.types.clone(),
            scale: self.scale.clone(),
        }
    }

    /// What `fit` predicts in regression row `row`, in percent.
    pub(super) fn predicted(&self, fit: &Fit, drift: Drift, row: usize) -> f64 {
        let x = self.regression.design.row(row);
        drift.constant * x[0] + drift.scale * dot(x, &fit.coefficients)
    }

    /// Response minus prediction.
    pub(super) fn residual(&self, fit: &Fit, drift: Drift, row: usize) -> f64 {
        self.regression.response[row] - self.predicted(fit, drift, row)
    }

    /// The errors that `fit` leaves in `rows`.
    pub(super) fn misfit(&self, fit: &Fit, drift: Drift, rows: &[Range<usize>]) -> Misfit {
        let mut misfit = Misfit { absolute: 0.0, square: 0.0 };
        for row in rows.iter().cloned().flatten() {
            let residual = self.residual(fit, drift, row);
            misfit.absolute += residual.abs();
            misfit.square += self.regression.weight[row] * residual * residual;
        }
        misfit
    }

    /// The expected absolute error of the best fit of `rows` on new windows: corrected for the number of coefficients,
    /// and not below the usual noise.
    pub(super) fn own_absolute(&self, fit: &Fit, rows: &[Range<usize>]) -> f64 {
        let windows = length(rows);
        let noise: f64 = rows.iter().cloned().flatten().map(|row| self.noise(row)).sum();
        let left = windows.saturating_sub(fit.positive).max(1) as f64 / windows.max(1) as f64;
        let own = if windows > 2 * fit.positive {
            self.misfit(fit, Drift::NONE, rows).absolute / left.sqrt()
        } else {
            0.0
        };
        own.max(ABSOLUTE_OVER_STANDARD * noise)
    }

    /// The drift within `bounds` with which `fit` describes `rows` best: weighted least squares of the utilization on
    /// the prediction, clipped to the bounds.
    pub(super) fn drift(&self, fit: &Fit, rows: &[Range<usize>], bounds: DriftBounds) -> Drift {
        let (mut n, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for row in rows.iter().cloned().flatten() {
            let weight = self.regression.weight[row];
            let (predicted, response) =
                (self.predicted(fit, Drift::NONE, row), self.regression.response[row]);
            // 1, except in compressed rows.
            let intercept = self.regression.design.get(row, 0);
            n += weight * intercept * intercept;
            x += weight * intercept * predicted;
            y += weight * intercept * response;
            xx += weight * predicted * predicted;
            xy += weight * predicted * response;
        }
        let spread = xx - x * x / n;
        let free = if spread > 1e-9 * xx { (xy - x * y / n) / spread } else { 1.0 };
        let scale = free.clamp((1.0 - bounds.scale).max(0.0), 1.0 + bounds.scale);
        let constant = ((y - scale * x) / n).clamp(-bounds.constant, bounds.constant);
        // The scale again, for the clipped constant.
        let best = if xx > 0.0 { (xy - constant * x) / xx } else { 1.0 };
        let scale = best.clamp((1.0 - bounds.scale).max(0.0), 1.0 + bounds.scale);
        Drift { constant, scale }
    }
}

/// Limits of a drift.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriftBounds {
    /// In percent of the CPU, in either direction; infinite if unlimited.
    pub(crate) constant: f64,
    /// As a share, in either direction; infinite if unlimited.
    pub(crate) scale: f64,
}

/// At most `most` rows of the ranges: every k-th row, starting with the first.
pub(super) fn thinned(rows: &[Range<usize>], most: usize) -> Vec<Range<usize>> {
    let every = length(rows).div_ceil(most.max(1));
    if every <= 1 {
        return rows.to_vec();
    }
    rows.iter().cloned().flatten().step_by(every).map(|row| row..row + 1).collect()
}

/// Number of rows in all ranges.
pub(super) fn length(rows: &[Range<usize>]) -> usize {
    rows.iter().map(ExactSizeIterator::len).sum()
}
