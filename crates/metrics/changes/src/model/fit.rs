//! Fits a transaction model: runs every estimator, selects one, and reports the uncertainty.

use super::candidates::{Candidates, Scores};
use super::choice::Choice;
use super::collinearity::Collinearity;
use super::constant::ConstantShare;
use super::design::Design;
use super::least_squares::{check_rows, fit_on, model_on};
use super::regression::SATURATED_MIN;
use super::{Constant, FittedModel, Interval, ModelReport, ModelSettings};
use crate::{Observations, TooLittleDataError, TransactionModel};
use std::ops::Range;

/// Fits a transaction model to the windows of `ranges`: demands with intervals, by the estimator that
/// cross-validation favors. Response times are used if there are any. A few milliseconds for hundreds of windows
/// and a few types; `O(folds · (T n² + n³))`.
///
/// # Errors
/// If there are fewer windows than types + 2.
///
/// # Panics
/// If a range goes beyond the observations.
pub fn fit_model(
    observations: &Observations,
    ranges: &[Range<usize>],
    settings: &ModelSettings,
) -> Result<FittedModel, TooLittleDataError> {
    let all = Design::new(observations, ranges);
    check_rows(&all)?;
    let occurring = occurring_types(&all);
    let design = all.with_types(&occurring);
    let fit = fit_occurring_types(&design, settings);
    Ok(fit.spread(&occurring, &all))
}

/// The demands and the constant of [`fit_model`], without what only a report needs.
///
/// # Errors
/// If there are fewer windows than types + 2.
///
/// # Panics
/// If a range goes beyond the observations.
pub(crate) fn estimate_demands(
    observations: &Observations,
    ranges: &[Range<usize>],
    settings: &ModelSettings,
) -> Result<EstimatedDemands, TooLittleDataError> {
    let all = Design::new(observations, ranges);
    check_rows(&all)?;
    let occurring = occurring_types(&all);
    let design = all.with_types(&occurring);
    let choice = Candidates::new(&design, settings, Scores::Deciding).choose(&design, settings);
    let columns: Vec<usize> = (0..design.types()).collect();
    let found = EstimatedDemands::new(&design, &choice, || model_on(&design, &columns), settings);
    Ok(EstimatedDemands {
        demand_s: spread(&found.demand_s, &occurring, all.types(), 0.0),
        demand: spread(&found.demand, &occurring, all.types(), UNKNOWN),
        ..found
    })
}

/// Of types that never completed, nothing is known.
const UNKNOWN: Interval = Interval { low: 0.0, high: f64::INFINITY };

fn occurring_types(design: &Design) -> Vec<usize> {
    (0..design.types()).filter(|&j| design.counts.column(j).any(|count| count > 0.0)).collect()
}

/// The fit to types that all occur.
fn fit_occurring_types(design: &Design, settings: &ModelSettings) -> FittedModel {
    let columns: Vec<usize> = (0..design.types()).collect();
    let least_squares = model_on(design, &columns);
    let collinearity = Collinearity::from_design(design);
    let candidates = Candidates::new(design, settings, Scores::All);
    let choice = candidates.choose(design, settings);
    let estimated = EstimatedDemands::new(design, &choice, || least_squares.clone(), settings);
    let plain = fit_on(design, &columns);
    let covariance = super::least_squares::demand_covariance(design, &plain);
    let indistinguishable = collinearity.indistinguishable(design, &plain, covariance.as_ref());
    let cautions = cautions(design, &choice, &estimated.constant);
    let report = ModelReport {
        windows: design.rows(),
        estimator: choice.estimator,
        candidates: candidates.candidate_list(design, &least_squares, choice.estimator),
        reason: choice.reason,
        constant: estimated.constant,
        demand: estimated.demand,
        least_squares,
        variance_inflation: collinearity.inflation,
        indistinguishable,
        cautions,
    };
    let model = TransactionModel {
        constant_percent: estimated.constant.percent,
        standard_error_s: estimated.standard_error_s,
        condition: report.least_squares.condition,
        error: design.relative_error(estimated.constant.seconds_per_window, &estimated.demand_s),
        demand_s: estimated.demand_s,
    };
    FittedModel { model, report }
}

/// The demands of the selected estimator minus the constant, with their intervals.
#[derive(Clone, Debug)]
pub(crate) struct EstimatedDemands {
    /// CPU seconds of a transaction of each type.
    pub(crate) demand_s: Vec<f64>,
    /// Intervals of the demands.
    pub(crate) demand: Vec<Interval>,
    pub(crate) constant: Constant,
    standard_error_s: Vec<f64>,
}

impl EstimatedDemands {
    /// `least_squares` is the plain fit, for windows to which nothing else applies.
    fn new(
        design: &Design,
        choice: &Choice,
        least_squares: impl FnOnce() -> TransactionModel,
        settings: &ModelSettings,
    ) -> EstimatedDemands {
        let Some(estimate) = &choice.estimate else {
            return EstimatedDemands::plain(design, least_squares(), settings);
        };
        let share = ConstantShare::new(design, &estimate.demand, settings.constant_scale_percent);
        let typical = share.quantile(0.5);
        let seconds_per_window = typical * design.mean_work();
        let each =
            || estimate.demand.iter().zip(&estimate.standard_error).map(|(demand, error)| (*demand, *error));
        EstimatedDemands {
            demand_s: estimate.demand.iter().map(|demand| demand * (1.0 - typical)).collect(),
            demand: each()
                .map(|(demand, error)| share.demand_interval(demand, error, settings.coverage))
                .collect(),
            constant: Constant {
                seconds_per_window,
                percent: design.percent(seconds_per_window),
                interval_percent: share.interval_percent(settings.coverage),
            },
            standard_error_s: each().map(|(demand, error)| share.standard_error(demand, error)).collect(),
        }
    }

    /// Plain least squares with its own standard errors.
    fn plain(design: &Design, model: TransactionModel, settings: &ModelSettings) -> EstimatedDemands {
        let z = laggard_numeric::normal_quantile(0.5 * (1.0 - settings.coverage));
        let interval = |center: f64, error: f64| match error.is_nan() {
            true => UNKNOWN,
            false => Interval { low: (center - z * error).max(0.0), high: center + z * error },
        };
        let pairs = model.demand_s.iter().zip(&model.standard_error_s);
        let percent = model.constant_percent;
        let error = super::least_squares::constant_error(design, &model);
        EstimatedDemands {
            demand: pairs.map(|(&demand, &error)| interval(demand, error)).collect(),
            constant: Constant {
                seconds_per_window: percent / 100.0 * design.capacity_s,
                percent,
                interval_percent: interval(percent, design.percent(error)),
            },
            demand_s: model.demand_s,
            standard_error_s: model.standard_error_s,
        }
    }
}

/// Limitations of the model.
fn cautions(design: &Design, choice: &Choice, constant: &Constant) -> Vec<String> {
    let mut cautions = choice.cautions.clone();
    let saturated = design.work.iter().filter(|&&work| work >= SATURATED_MIN * design.capacity_s).count();
    if 2 * saturated > design.rows() {
        cautions.push(format!(
            "The CPU is saturated in {saturated} of {} windows, where utilization no longer depends on what completes.",
            design.rows()
        ));
    }
    let used = design.percent(design.mean_work());
    if constant.interval_percent.high > 0.2 * used && choice.estimate.is_some() {
        cautions.push(format!(
            "The load varies too little to estimate the constant CPU use: it could be up to {:.1} % of the CPU, of \
             {used:.1} % in use, and demands would be smaller by as much.",
            constant.interval_percent.high
        ));
    }
    cautions
}

impl FittedModel {
    /// The model for all types of `all`; only the types `occurring` were fitted.
    fn spread(self, occurring: &[usize], all: &Design) -> FittedModel {
        if occurring.len() == all.types() {
            return self;
        }
        let FittedModel { model, mut report } = self;
        let unseen = all.types() - occurring.len();
        report
            .cautions
            .push(format!("{unseen} transaction types never completed: nothing is known of their demands."));
        report.demand = spread(&report.demand, occurring, all.types(), UNKNOWN);
        report.variance_inflation = spread(&report.variance_inflation, occurring, all.types(), f64::NAN);
        report.least_squares = spread_model(report.least_squares, occurring, all.types());
        for candidate in report.candidates.iter_mut().filter(|candidate| !candidate.demand_s.is_empty()) {
            candidate.demand_s = spread(&candidate.demand_s, occurring, all.types(), 0.0);
        }
        for group in &mut report.indistinguishable {
            group.transactions.iter_mut().for_each(|column| *column = occurring[*column]);
        }
        FittedModel { model: spread_model(model, occurring, all.types()), report }
    }
}

fn spread_model(model: TransactionModel, occurring: &[usize], types: usize) -> TransactionModel {
    TransactionModel {
        demand_s: spread(&model.demand_s, occurring, types, 0.0),
        standard_error_s: spread(&model.standard_error_s, occurring, types, f64::NAN),
        ..model
    }
}

fn spread<V: Copy>(values: &[V], occurring: &[usize], types: usize, not_applicable: V) -> Vec<V> {
    let mut out = vec![not_applicable; types];
    occurring.iter().zip(values).for_each(|(&column, &value)| out[column] = value);
    out
}
