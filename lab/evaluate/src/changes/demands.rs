//! Estimators of the cost of transactions from counts and utilization.

use crate::arm::{Arm, Arms};
use laggard_changes::{FittedModel, ModelSettings, Observations, fit_model, nnls_model};
use laggard_numeric::{NormalEquations, nnls};
use serde::{Deserialize, Serialize};

/// Windows of known demands.
#[derive(Clone, Debug)]
pub struct DemandCase {
    /// Name, unique within its group.
    pub name: String,
    /// Input of the estimators, without the truth.
    pub observations: Observations,
    /// CPU seconds a transaction of each type takes.
    pub demand_s: Vec<f64>,
}

/// A demand with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EstimatedDemand {
    /// CPU seconds.
    pub demand_s: f64,
    /// Ends of the interval, for estimators that report one.
    pub interval_s: Option<[f64; 2]>,
}

/// How near an estimate is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DemandScore {
    /// `|estimate − truth| / truth` of every type.
    pub relative_errors: Vec<f64>,
    /// Intervals reported.
    pub intervals: usize,
    /// Of these, those with the truth in them.
    pub covered: usize,
    /// Mean half width of the intervals over the truth.
    pub interval_half_widths: Vec<f64>,
}

/// Compares estimates with the truth.
pub fn score_demands(demand_s: &[f64], estimates: &[EstimatedDemand]) -> DemandScore {
    let mut score = DemandScore::default();
    for (truth, estimate) in demand_s.iter().zip(estimates) {
        score.relative_errors.push((estimate.demand_s - truth).abs() / truth);
        if let Some([low, high]) = estimate.interval_s {
            score.intervals += 1;
            score.covered += usize::from(low <= *truth && *truth <= high);
            score.interval_half_widths.push((high - low) / 2.0 / truth);
        }
    }
    score
}

/// Every estimator, Laggard's default first.
pub fn demand_estimators() -> Arms<Observations, Vec<EstimatedDemand>> {
    vec![
        Box::new(Fitted),
        Box::new(LeastSquares { constant: Constant::Fitted }),
        Box::new(LeastSquares { constant: Constant::Zero }),
        Box::new(ResponseTimes),
    ]
}

/// The product's transaction model.
struct Fitted;

impl Arm<Observations, Vec<EstimatedDemand>> for Fitted {
    fn name(&self) -> &str {
        "Laggard's model"
    }

    fn is_laggard(&self) -> bool {
        true
    }

    fn answer(&self, observations: &Observations) -> Result<Vec<EstimatedDemand>, String> {
        let rows = 0..observations.windows.len();
        let fitted: FittedModel =
            fit_model(observations, std::slice::from_ref(&rows), &ModelSettings::default())
                .map_err(|error| error.to_string())?;
        let demands = fitted.model.demand_s.iter().zip(&fitted.report.demand);
        let estimate = demands.map(|(&demand_s, interval)| EstimatedDemand {
            demand_s,
            interval_s: Some([interval.low, interval.high]),
        });
        Ok(estimate.collect())
    }
}

/// Whether the regression has an intercept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constant {
    Fitted,
    Zero,
}

/// Non-negative least squares: with a constant, as in the paper; and without.
struct LeastSquares {
    constant: Constant,
}

impl Arm<Observations, Vec<EstimatedDemand>> for LeastSquares {
    fn name(&self) -> &str {
        match self.constant {
            Constant::Fitted => "least squares with a constant (the paper's)",
            Constant::Zero => "least squares without a constant",
        }
    }

    fn answer(&self, observations: &Observations) -> Result<Vec<EstimatedDemand>, String> {
        let demands = match self.constant {
            Constant::Fitted => {
                let rows = 0..observations.windows.len();
                let model = nnls_model(observations, std::slice::from_ref(&rows))
                    .map_err(|error| error.to_string())?;
                model.demand_s
            }
            Constant::Zero => {
                let busy_s = observations.window_s * observations.cores;
                let used: Vec<f64> = observations.utilization.iter().map(|share| share * busy_s).collect();
                let mut equations = NormalEquations::zeros(observations.counts.cols());
                for (row, used_s) in used.into_iter().enumerate() {
                    equations.add_row(observations.counts.row(row), used_s);
                }
                nnls(&equations).coefficients
            }
        };
        Ok(demands.into_iter().map(|demand_s| EstimatedDemand { demand_s, interval_s: None }).collect())
    }
}

/// The mean over the windows of `R (1 − U)`: what a single shared processor's response times say.
struct ResponseTimes;

impl Arm<Observations, Vec<EstimatedDemand>> for ResponseTimes {
    fn name(&self) -> &str {
        "mean of R(1 − U)"
    }

    fn answer(&self, observations: &Observations) -> Result<Vec<EstimatedDemand>, String> {
        if observations.response_s.rows() == 0 {
            return Err("there are no response times".to_owned());
        }
        let demand = |kind: usize| {
            let rows = 0..observations.windows.len();
            let values = rows
                .map(|row| observations.response_s.row(row)[kind] * (1.0 - observations.utilization[row]));
            let known: Vec<f64> = values.filter(|value| value.is_finite()).collect();
            known.iter().sum::<f64>() / known.len().max(1) as f64
        };
        let estimate = |kind| EstimatedDemand { demand_s: demand(kind), interval_s: None };
        Ok((0..observations.counts.cols()).map(estimate).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_numeric::Matrix;

    /// Two types of 20 and 50 ms on an otherwise idle CPU, without any noise.
    fn exact() -> Observations {
        let counts: Vec<[f64; 2]> =
            (0..40).map(|row| [f64::from(row % 7 * 10), f64::from(row % 5 * 4)]).collect();
        let utilization: Vec<f64> = counts.iter().map(|[a, b]| (a * 0.02 + b * 0.05) / 10.0).collect();
        let response_s =
            utilization.iter().flat_map(|busy| [0.02 / (1.0 - busy), 0.05 / (1.0 - busy)]).collect();
        Observations {
            window_s: 10.0,
            windows: (0..40).collect(),
            counts: Matrix::from_row_major(40, 2, counts.concat()),
            utilization,
            response_s: Matrix::from_row_major(40, 2, response_s),
            cores: 1.0,
        }
    }

    #[test]
    fn every_estimator_is_right_without_noise() {
        for estimator in demand_estimators() {
            let found = estimator.answer(&exact()).unwrap();
            let score = score_demands(&[0.02, 0.05], &found);
            assert!(
                score.relative_errors.iter().all(|error| *error < 0.02),
                "{} {score:?}",
                estimator.name()
            );
        }
    }

    #[test]
    fn errors_and_intervals_by_hand() {
        let with = |demand_s, low, high| EstimatedDemand { demand_s, interval_s: Some([low, high]) };
        let score = score_demands(&[0.1, 0.2], &[with(0.11, 0.09, 0.12), with(0.15, 0.14, 0.16)]);
        assert!(
            (score.relative_errors[0] - 0.1).abs() < 1e-12 && (score.relative_errors[1] - 0.25).abs() < 1e-12
        );
        assert_eq!((score.intervals, score.covered), (2, 1));
    }
}
