//! Demands at a server that transactions reach by calls: calls times what a call costs.

use super::cross_validation::{HeldOut, common_roots, folds, utilization_errors};
use super::design::Design;
use super::regression::scaled_non_negative;
use super::response::{Discipline, Totals};
use super::{Estimator, FittedModel, Interval, ModelSettings, fit_model};
use crate::{Observations, TooLittleDataError};
use laggard_numeric::Matrix;
use std::ops::Range;

/// Number of standard errors by which demands of their own must predict held-out windows better for calls to count as
/// different in cost.
const BETTER_MIN: f64 = 2.0;

/// Maximum deviation of the mean times of calls by transaction type from their mean, as a share of it, for calls to count as
/// alike. Ours.
const UNLIKE_MIN: f64 = 0.1;

/// What a call costs the CPU of the server that is called (`C^DB` of Cherkasova et al. 2009, section 7): the CPU use is
/// regressed on calls instead of transactions.
#[derive(Clone, PartialEq, Debug)]
pub struct CallCost {
    /// CPU seconds of a call.
    pub seconds: f64,
    /// Its interval at the coverage of the settings.
    pub interval: Interval,
    /// Mean number of calls of a transaction of each type, length `n`; 0 for types that never completed.
    pub calls: Vec<f64>,
    /// Whether calls of all types cost the same, as far as the windows show: then a transaction costs its calls times
    /// `seconds`. Otherwise `seconds` is the mean over all calls.
    pub is_common: bool,
}

/// Fits a transaction model to a server that is called: as [`fit_model`], except that demands are calls times the cost of a
/// call if calls of all transaction types cost the same. `calls` are the calls of each type in each window, `T x n`; NaN
/// where unknown. `response_s` of the observations are the times of a transaction's calls.
///
/// # Errors
/// If there are fewer windows than types + 2.
///
/// # Panics
/// If a range goes beyond the observations, or `calls` has another shape than the counts.
pub fn fit_model_of_calls(
    observations: &Observations,
    calls: &Matrix,
    ranges: &[Range<usize>],
    settings: &ModelSettings,
) -> Result<(FittedModel, Option<CallCost>), TooLittleDataError> {
    let by_type = fit_model(observations, ranges, settings)?;
    let Some((one, cost)) = call_cost(observations, calls, ranges, settings) else {
        return Ok((by_type, None));
    };
    let model = if cost.is_common { with_cost(by_type, one, &cost, observations, ranges) } else { by_type };
    Ok((model, Some(cost)))
}

/// The model of a single type, a call, and the cost of a call from it; `None` if calls are unknown in a window, or there are
/// none, or windows do not determine the cost.
fn call_cost(
    observations: &Observations,
    calls: &Matrix,
    ranges: &[Range<usize>],
    settings: &ModelSettings,
) -> Option<(FittedModel, CallCost)> {
    let types = observations.counts.cols();
    let rows = || ranges.iter().cloned().flatten();
    if rows().any(|row| calls.row(row).iter().any(|count| !count.is_finite())) {
        return None;
    }
    let all_calls: Vec<f64> = (0..calls.rows()).map(|row| calls.row(row).iter().sum()).collect();
    let of_calls = Observations {
        counts: Matrix::from_row_major(calls.rows(), 1, all_calls),
        response_s: Matrix::default(),
        ..observations.clone()
    };
    let one = fit_model(&of_calls, ranges, settings).ok()?;
    let seconds = one.model.demand_s[0];
    let interval = one.report.demand[0];
    let is_known = seconds > 0.0 && interval.high.is_finite();
    let ratio = |column: usize| {
        let sum = |matrix: &Matrix| rows().map(|row| matrix.get(row, column)).sum::<f64>();
        let count = sum(&observations.counts);
        if count > 0.0 { sum(calls) / count } else { 0.0 }
    };
    let per_transaction: Vec<f64> = (0..types).map(ratio).collect();
    is_known.then(|| {
        let design = Design::new(observations, ranges);
        let is_common = are_alike(&design, &per_transaction)
            && !predicts_better(&design, &Design::new(&of_calls, ranges), settings);
        (one, CallCost { seconds, interval, calls: per_transaction, is_common })
    })
}

/// Whether the mean times of calls hardly differ between types: the root mean square of their deviations, weighted by calls.
/// True if no times are known.
fn are_alike(design: &Design, calls: &[f64]) -> bool {
    let Some(times) = Totals::from_design(design).mean_response_s() else { return true };
    let counts = design.mean_counts();
    let timed: Vec<(f64, f64)> = (0..design.types())
        .filter(|&j| calls[j] > 0.0 && times[j].is_finite())
        .map(|j| (times[j] / calls[j], counts[j] * calls[j]))
        .collect();
    let weight: f64 = timed.iter().map(|(_, weight)| weight).sum();
    let mean = timed.iter().map(|(time, weight)| time * weight).sum::<f64>() / weight;
    let square =
        timed.iter().map(|(time, weight)| weight * (time / mean - 1.0).powi(2)).sum::<f64>() / weight;
    // Without any time the mean is not a number, and nothing contradicts.
    square.is_nan() || square <= UNLIKE_MIN * UNLIKE_MIN
}

/// Whether demands by type predict held-out windows better than calls do.
fn predicts_better(by_type: &Design, by_call: &Design, settings: &ModelSettings) -> bool {
    let roots = common_roots(by_call, &[1.0]);
    let calls = folds(by_call, settings.folds);
    let Some(common) = utilization_errors(by_call, &calls, &roots, |_| Some(vec![1.0])) else {
        return false;
    };
    let better = |errors: Option<HeldOut>| {
        errors.is_some_and(|errors| common.standard_errors_worse(&errors) > BETTER_MIN)
    };
    let occurring: Vec<usize> =
        (0..by_type.types()).filter(|&j| by_type.counts.column(j).any(|count| count > 0.0)).collect();
    let by_type = by_type.with_types(&occurring);
    let folds = folds(&by_type, settings.folds);
    let slopes =
        utilization_errors(&by_type, &folds, &roots, |fold| scaled_non_negative(&fold.rest, fold.weighted()));
    let times = by_type.has_responses().then(|| {
        utilization_errors(&by_type, &folds, &roots, |fold| {
            Totals::from_design(&fold.rest).demands(Discipline::ProcessorSharing)
        })
    });
    better(slopes) || better(times.flatten())
}

/// The model by type with demands from the cost of a call.
fn with_cost(
    by_type: FittedModel,
    one: FittedModel,
    cost: &CallCost,
    observations: &Observations,
    ranges: &[Range<usize>],
) -> FittedModel {
    let FittedModel { mut model, mut report } = by_type;
    let scaled = |seconds: f64| cost.calls.iter().map(|calls| calls * seconds).collect::<Vec<f64>>();
    let design = Design::new(observations, ranges);
    model.demand_s = scaled(cost.seconds);
    model.standard_error_s = scaled(one.model.standard_error_s[0]);
    model.constant_percent = one.model.constant_percent;
    model.error = design.relative_error(one.report.constant.seconds_per_window, &model.demand_s);
    model.condition = one.model.condition;
    for (interval, &calls) in report.demand.iter_mut().zip(&cost.calls) {
        // Of types that never completed, nothing is known.
        if interval.high.is_finite() || calls > 0.0 {
            *interval = Interval { low: calls * cost.interval.low, high: calls * cost.interval.high };
        }
    }
    report.estimator = Estimator::CallCost;
    report.reason =
        "Calls of all transaction types cost the same, so demands are calls times the cost of a call.".into();
    report.constant = one.report.constant;
    report.indistinguishable = Vec::new();
    report.cautions = one.report.cautions;
    FittedModel { model, report }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two types with two and five calls, always in the same proportion, so that their demands cannot be separated by count.
    /// `cost_s` is what a call of each type costs; its time is twice that.
    fn fitted(cost_s: [f64; 2], mix: impl Fn(usize) -> [f64; 2]) -> (FittedModel, CallCost) {
        let rows = 120;
        let (mut counts, mut calls, mut times, mut used) = (vec![], vec![], vec![], vec![]);
        for row in 0..rows {
            let mix = mix(row);
            // A fixed sequence of errors of up to 2 %.
            let error = 1.0 + 0.02 * (((row * 37) % 101) as f64 / 50.0 - 1.0);
            let of_calls = [2.0 * mix[0], 5.0 * mix[1]];
            let work: f64 = of_calls.iter().zip(cost_s).map(|(calls, cost)| calls * cost).sum();
            counts.extend(mix);
            calls.extend(of_calls);
            times.extend([2.0 * 2.0 * cost_s[0], 2.0 * 5.0 * cost_s[1]]);
            used.push((0.6 + work * error) / 60.0);
        }
        let matrix = |data| Matrix::from_row_major(rows, 2, data);
        let observations = Observations {
            window_s: 60.0,
            windows: (0..rows).collect(),
            counts: matrix(counts),
            utilization: used,
            response_s: matrix(times),
            cores: 1.0,
        };
        let all = 0..rows;
        let ranges = std::slice::from_ref(&all);
        let fitted = fit_model_of_calls(&observations, &matrix(calls), ranges, &ModelSettings::default());
        let (model, cost) = fitted.unwrap();
        (model, cost.unwrap())
    }

    fn load(row: usize) -> f64 {
        200.0 + 150.0 * (row as f64 / 9.0).sin()
    }

    /// 0.6 s a minute are constant: 1 %.
    #[test]
    fn calls_of_equal_cost_give_demands_that_counts_do_not_separate() {
        let (model, cost) = fitted([0.01, 0.01], |row| [3.0 * load(row), load(row)]);
        assert!(cost.is_common);
        assert!((cost.seconds / 0.01 - 1.0).abs() < 0.02, "{}", cost.seconds);
        assert!(cost.interval.low < 0.01 && cost.interval.high > 0.01, "{:?}", cost.interval);
        assert!(cost.calls.iter().zip([2.0, 5.0]).all(|(calls, truth)| (calls - truth).abs() < 1e-9));
        assert_eq!(model.report.estimator, Estimator::CallCost);
        assert!((model.model.demand_s[1] / model.model.demand_s[0] - 2.5).abs() < 1e-12);
        assert!(model.model.error < 0.02 && model.report.indistinguishable.is_empty());
    }

    #[test]
    fn calls_with_different_times_are_not_grouped() {
        let (model, cost) = fitted([0.004, 0.012], |row| [3.0 * load(row), load(row)]);
        assert!(!cost.is_common);
        assert_ne!(model.report.estimator, Estimator::CallCost);
        let [first, second] = [model.model.demand_s[0], model.model.demand_s[1]];
        assert!((first / 0.008 - 1.0).abs() < 0.1 && (second / 0.06 - 1.0).abs() < 0.1, "{first} {second}");
    }
}
