//! Cross-validation: how well demands predict held-out windows.

use super::design::Design;
use super::regression::{Weighted, weight_roots};
use super::response::{Discipline, Totals, block};
use crate::linear_algebra::dot;
use laggard_numeric::{mean, sample_std};
use std::cell::OnceCell;
use std::ops::Range;

/// Squared errors of held-out windows, by fold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HeldOut {
    /// Sums of weighted squared errors.
    pub(crate) folds: Vec<f64>,
    /// Number of values predicted in all folds.
    pub(crate) values: usize,
}

impl HeldOut {
    /// Sum over the folds.
    pub(crate) fn total(&self) -> f64 {
        self.folds.iter().sum()
    }

    /// The excess error over `other` in each fold, in units of the smaller mean squared error: about twice a difference of
    /// log likelihoods, so differences of several kinds of prediction can be added.
    pub(crate) fn deviances_beyond(&self, other: &HeldOut) -> Vec<f64> {
        let best = self.total().min(other.total());
        let scale = if best > 0.0 { self.values as f64 / best } else { 0.0 };
        self.folds.iter().zip(&other.folds).map(|(a, b)| (a - b) * scale).collect()
    }

    /// The mean excess error over `other` in [`standard_errors`].
    pub(crate) fn standard_errors_worse(&self, other: &HeldOut) -> f64 {
        standard_errors(&self.deviances_beyond(other))
    }
}

/// The mean of the differences over its standard error; 0 if they do not vary.
pub(crate) fn standard_errors(differences: &[f64]) -> f64 {
    let error = sample_std(differences) / (differences.len() as f64).sqrt();
    if error > 0.0 { mean(differences) / error } else { 0.0 }
}

/// The windows of a fold, and the rest.
pub(crate) struct Fold {
    held_out: Range<usize>,
    pub(crate) rest: Design,
    weighted: OnceCell<Weighted>,
}

impl Fold {
    /// The rest as a weighted regression, common to the estimators that use it.
    pub(crate) fn weighted(&self) -> &Weighted {
        self.weighted.get_or_init(|| Weighted::new(&self.rest))
    }
}

/// `count` folds of successive windows.
pub(crate) fn folds(design: &Design, count: usize) -> Vec<Fold> {
    let count = count.clamp(2, design.rows().max(2));
    let fold = |index| {
        let held_out = block(design.rows(), count, index);
        let rest: Vec<usize> = (0..design.rows()).filter(|row| !held_out.contains(row)).collect();
        Fold { held_out, rest: design.with_rows(&rest), weighted: OnceCell::new() }
    };
    (0..count).map(fold).collect()
}

/// Errors of the utilization that demands predict in held-out windows, weighted by the inverse of the expected work.
///
/// `estimate` estimates demands from the other windows. Their dilution and the constant are fitted to the other windows, too
/// (a line from expected to measured work), so only the *proportions* of demands are tested. `None` if a fold cannot be
/// estimated.
pub(crate) fn utilization_errors(
    design: &Design,
    folds: &[Fold],
    roots: &[f64],
    estimate: impl Fn(&Fold) -> Option<Vec<f64>>,
) -> Option<HeldOut> {
    let mut sums = Vec::new();
    for fold in folds {
        let demand = estimate(fold)?;
        let coefficients = Weighted::on_expected(&fold.rest, &demand).coefficients()?;
        let error = |row: usize| {
            let expected = coefficients[0] + coefficients[1] * dot(design.counts.row(row), &demand);
            (roots[row] * (design.work[row] - expected)).powi(2)
        };
        sums.push(fold.held_out.clone().map(error).sum());
    }
    Some(HeldOut { folds: sums, values: design.rows() })
}

/// Weights for [`utilization_errors`], common to all estimators.
pub(crate) fn common_roots(design: &Design, demand: &[f64]) -> Vec<f64> {
    weight_roots(&design.expected(demand))
}

/// Errors of the response times that a discipline predicts in held-out windows from their utilization, relative to
/// each type's mean and weighted by its count.
///
/// Under processor sharing all types slow down by the same factor, so a type's mean response time changes with utilization in
/// proportion to itself; under first come, first served all types wait equally long, so it changes by the same amount for
/// all. In both cases one number is fitted to the other windows.
pub(crate) fn response_errors(design: &Design, folds: &[Fold], discipline: Discipline) -> Option<HeldOut> {
    let mut sums = Vec::new();
    let mut values = 0;
    for fold in folds {
        let demand = Totals::from_design(&fold.rest).demands(discipline)?;
        let line = ResponseLine::fit(&fold.rest, discipline, &demand);
        let errors = line.squared_errors(design, fold.held_out.clone());
        values += errors.len();
        sums.push(errors.iter().sum());
    }
    (values > 0).then_some(HeldOut { folds: sums, values })
}

/// `R_it = mean_i + (own_i + slope · unit_i) · (U_t − utilization_i)`.
///
/// `own_i` is the effect of a type's own service times: large transactions take longer and increase the utilization, with or
/// without a queue. For exponential service times `Cov(R_it, U_t) = g_i D_i² / capacity`, where `g_i` is 1 under first come,
/// first served and the slowdown `R_i / D_i` under processor sharing.
struct ResponseLine {
    mean_s: Vec<f64>,
    utilization: Vec<f64>,
    own: Vec<f64>,
    slope: f64,
    discipline: Discipline,
}

impl ResponseLine {
    fn fit(design: &Design, discipline: Discipline, demand: &[f64]) -> ResponseLine {
        let (mut mean_s, mut utilization) = (Vec::new(), Vec::new());
        for j in 0..design.types() {
            let (mut counts, mut responses, mut busy) = (0.0, 0.0, 0.0);
            for t in 0..design.rows() {
                let Some(cell) = FoldCell::from_design(design, t, j) else { continue };
                counts += cell.count;
                responses += cell.count * cell.response_s;
                busy += cell.count * cell.utilization;
            }
            mean_s.push(responses / counts);
            utilization.push(busy / counts);
        }
        let variance = sample_std(&design.work).powi(2) / design.capacity_s;
        let own = |(demand, mean_s): (&f64, &f64)| match discipline {
            _ if variance <= 0.0 => 0.0,
            Discipline::ProcessorSharing => demand * mean_s / variance,
            Discipline::FirstComeFirstServed => demand * demand / variance,
        };
        let own = demand.iter().zip(&mean_s).map(own).collect();
        let mut line = ResponseLine { mean_s, utilization, own, slope: 0.0, discipline };
        let (mut products, mut squares) = (0.0, 0.0);
        for t in 0..design.rows() {
            for j in 0..design.types() {
                let Some(cell) = FoldCell::from_design(design, t, j) else { continue };
                let busier = cell.utilization - line.utilization[j];
                let lever = line.unit(j) * busier;
                let beyond_own = cell.response_s - line.mean_s[j] - line.own[j] * busier;
                products += line.weight(&cell, j) * lever * beyond_own;
                squares += line.weight(&cell, j) * lever * lever;
            }
        }
        line.slope = if squares > 0.0 { products / squares } else { 0.0 };
        line
    }

    fn unit(&self, j: usize) -> f64 {
        match self.discipline {
            Discipline::ProcessorSharing => self.mean_s[j],
            Discipline::FirstComeFirstServed => 1.0,
        }
    }

    fn weight(&self, cell: &FoldCell, j: usize) -> f64 {
        cell.count / (self.mean_s[j] * self.mean_s[j])
    }

    fn squared_errors(&self, design: &Design, rows: Range<usize>) -> Vec<f64> {
        let mut errors = Vec::new();
        for t in rows {
            for j in 0..design.types() {
                let Some(cell) = FoldCell::from_design(design, t, j) else { continue };
                let busier = cell.utilization - self.utilization[j];
                let expected = self.mean_s[j] + (self.own[j] + self.slope * self.unit(j)) * busier;
                let error = cell.response_s - expected;
                errors.push(self.weight(&cell, j) * error * error);
            }
        }
        errors
    }
}

/// One type in one window with a known response time.
struct FoldCell {
    count: f64,
    response_s: f64,
    utilization: f64,
}

impl FoldCell {
    fn from_design(design: &Design, t: usize, j: usize) -> Option<FoldCell> {
        let (count, response_s) = (design.counts.get(t, j), design.response_s.get(t, j));
        let is_known = count > 0.0 && response_s.is_finite() && response_s >= 0.0;
        is_known.then(|| FoldCell { count, response_s, utilization: design.work[t] / design.capacity_s })
    }
}
