//! Fits a transaction model.

use super::design::Design;
use super::least_squares::{check_rows, model_on};
use super::{
    Candidate, Constant, Estimator, FittedModel, Interval, ModelReport, ModelSettings, TooFewWindows,
};
use crate::Observations;
use std::ops::Range;

/// Fits a transaction model to the windows of `ranges`: demands with intervals, by the estimator that
/// cross-validation favours.
///
/// # Errors
/// If there are fewer windows than types and two more.
///
/// # Panics
/// If a range goes beyond the observations.
pub fn fit_model(
    observations: &Observations,
    ranges: &[Range<usize>],
    settings: &ModelSettings,
) -> Result<FittedModel, TooFewWindows> {
    let design = Design::new(observations, ranges);
    check_rows(&design)?;
    let columns: Vec<usize> = (0..design.types()).collect();
    let model = model_on(&design, &columns);
    let z = laggard_numeric::normal_quantile(0.5 * (1.0 - settings.coverage));
    let demand =
        model.demand_s.iter().zip(&model.standard_error_s).map(|(d, e)| interval(*d, z * e)).collect();
    let percent = model.constant_percent;
    let report = ModelReport {
        windows: design.rows(),
        estimator: Estimator::LeastSquares,
        reason: "Only least squares is implemented.".into(),
        candidates: vec![Candidate {
            estimator: Estimator::LeastSquares,
            demand_s: model.demand_s.clone(),
            utilization_error_percent: f64::NAN,
            response_error: f64::NAN,
            outcome: "chosen".into(),
        }],
        constant: Constant {
            seconds_per_window: percent / 100.0 * design.capacity_s,
            percent,
            interval_percent: Interval { low: 0.0, high: f64::INFINITY },
        },
        demand,
        least_squares: model.clone(),
        variance_inflation: vec![f64::NAN; design.types()],
        indistinguishable: Vec::new(),
        cautions: Vec::new(),
    };
    Ok(FittedModel { model, report })
}

fn interval(center: f64, half: f64) -> Interval {
    if half.is_nan() {
        return Interval { low: 0.0, high: f64::INFINITY };
    }
    Interval { low: (center - half).max(0.0), high: center + half }
}
