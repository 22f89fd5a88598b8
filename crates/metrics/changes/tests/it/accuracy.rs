//! Errors of demands against a known truth, for tests and the example.

use laggard_changes::{EstimatorChoice, FittedModel, ModelSettings, Observations, fit_model};
use std::ops::Range;

/// Errors of demands.
#[derive(Clone, Default, Debug)]
pub(crate) struct Errors {
    /// `|estimate / truth − 1|` in percent, of the selected estimator.
    pub(crate) selected: Vec<f64>,
    /// The same for plain non-negative least squares with a constant.
    pub(crate) least_squares: Vec<f64>,
    /// The same without a constant.
    pub(crate) without_constant: Vec<f64>,
    /// Demands whose interval covers the truth.
    pub(crate) covered: usize,
    /// Half widths of the intervals in percent of the truth.
    pub(crate) half_width: Vec<f64>,
}

impl Errors {
    /// Fits `rows` and adds the errors.
    pub(crate) fn add(
        &mut self,
        observations: &Observations,
        rows: Range<usize>,
        truth: &[f64],
    ) -> FittedModel {
        let plain = without_constant(observations, rows.clone());
        let fit = fit_model(observations, std::slice::from_ref(&rows), &ModelSettings::default())
            .expect("enough windows");
        for (j, &truth) in truth.iter().enumerate() {
            let interval = fit.report.demand[j];
            self.selected.push(percent_off(fit.model.demand_s[j], truth));
            self.least_squares.push(percent_off(fit.report.least_squares.demand_s[j], truth));
            self.without_constant.push(percent_off(plain[j], truth));
            self.covered += usize::from((interval.low..=interval.high).contains(&truth));
            self.half_width.push(50.0 * (interval.high - interval.low) / truth);
        }
        fit
    }

    /// Share of the intervals that cover the truth.
    pub(crate) fn coverage(&self) -> f64 {
        self.covered as f64 / self.selected.len() as f64
    }
}

/// Settings that select one estimator.
pub(crate) fn only(estimator: laggard_changes::Estimator) -> ModelSettings {
    ModelSettings { choice: EstimatorChoice::Only(estimator), ..ModelSettings::default() }
}

pub(crate) fn percent_off(estimate: f64, truth: f64) -> f64 {
    100.0 * (estimate / truth - 1.0).abs()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Non-negative least squares without a constant, the baseline of the data set's authors.
fn without_constant(observations: &Observations, rows: Range<usize>) -> Vec<f64> {
    let mut equations = laggard_numeric::NormalEquations::zeros(observations.counts.cols());
    for row in rows {
        let work = observations.utilization[row] * observations.window_s * observations.cores;
        equations.add_row(observations.counts.row(row), work);
    }
    laggard_numeric::nnls(&equations).coefficients
}
