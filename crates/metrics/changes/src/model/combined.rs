//! Combines utilization and response times, weighted by their errors.

use super::design::Design;
use super::regression::{Slopes, scaled_to_work};
use crate::linear_algebra::{dot, product};
use laggard_numeric::{Cholesky, Matrix};

/// Relative error that a real scheduler's deviation from its ideal (time slices, priorities, few clients) causes where all
/// of a response time is queueing; at utilization `U` a share of about `U` is. Measured; not published.
const DEPARTURE: f64 = 0.08;

/// Scale of the prior of the relative disagreement between response times and demands. Ours.
const DISAGREEMENT_SCALE: f64 = 0.1;
/// Number of points of the grid of disagreements.
const DISAGREEMENTS: usize = 17;

/// Demands and their uncertainty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Demands in seconds that account for all of the work.
    pub(crate) demand: Vec<f64>,
    /// Their standard errors in seconds, assuming no constant; infinite if unknown.
    pub(crate) standard_error: Vec<f64>,
    /// Expected relative disagreement between response times and demands, beyond the errors of both.
    pub(crate) disagreement: f64,
}

/// Demands from response times alone: `covariance` is relative and of sampling; the discipline's departure is added.
pub(crate) fn from_response(demand: &[f64], covariance: &Matrix, utilization: f64) -> Estimate {
    let covariance = with_diagonal(covariance, departure(utilization));
    Estimate { demand: demand.to_vec(), standard_error: errors(demand, &covariance), disagreement: 0.0 }
}

/// Demands from slopes alone, non-negative: the errors are those of the slopes.
pub(crate) fn from_slopes(demand: &[f64], slopes: Option<&Slopes>) -> Estimate {
    let error = |j: usize| slopes.map_or(f64::INFINITY, |slopes| slopes.covariance.get(j, j).max(0.0).sqrt());
    Estimate {
        demand: demand.to_vec(),
        standard_error: (0..demand.len()).map(error).collect(),
        disagreement: 0.0,
    }
}

fn errors(demand: &[f64], relative: &Matrix) -> Vec<f64> {
    demand.iter().enumerate().map(|(j, demand)| demand * relative.get(j, j).max(0.0).sqrt()).collect()
}

/// Demands from response times and slopes. True demands are `shape · (1 + δ)`, with `δ` of mean 0 and covariance
/// `sampling + (departure² + τ²) I`; the slopes are the demands plus errors of known covariance. The disagreement `τ` between
/// response times and demands (time spent elsewhere, another discipline) is unknown, with a half-Cauchy prior, and is
/// estimated from the distance of the slopes from the shape (a random-effects model, Gelman 2006); the result is the mean
/// over `τ`. So response times that include much other time get little weight. `None` if a matrix is singular.
pub(crate) fn combine(
    design: &Design,
    shape: &[f64],
    covariance: &Matrix,
    slopes: &Slopes,
    utilization: f64,
) -> Option<Estimate> {
    let types = shape.len();
    let distance: Vec<f64> =
        slopes.demand.iter().zip(shape).map(|(slope, shape)| slope / shape - 1.0).collect();
    let mut error = Matrix::zeros(types, types);
    for i in 0..types {
        for j in 0..types {
            error.set(i, j, slopes.covariance.get(i, j) / (shape[i] * shape[j]));
        }
    }
    let sampling = with_diagonal(covariance, departure(utilization));
    let posteriors: Vec<DemandPosterior> = (0..DISAGREEMENTS)
        .map(|index| {
            DemandPosterior::new(
                &with_diagonal(&sampling, disagreement(index).powi(2)),
                &error,
                &distance,
                index,
            )
        })
        .collect::<Option<_>>()?;
    let best = posteriors.iter().map(|posterior| posterior.log_weight).fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = posteriors.iter().map(|posterior| (posterior.log_weight - best).exp()).collect();
    let all: f64 = weights.iter().sum();
    let average = |value: &dyn Fn(usize) -> f64| -> f64 {
        weights.iter().enumerate().map(|(index, weight)| weight * value(index)).sum::<f64>() / all
    };
    let mut demand = Vec::new();
    let mut standard_error = Vec::new();
    for (j, shape) in shape.iter().enumerate() {
        let mean = average(&|index| posteriors[index].mean[j]);
        let square = average(&|index| posteriors[index].variance[j] + posteriors[index].mean[j].powi(2));
        demand.push((shape * (1.0 + mean)).max(0.0));
        standard_error.push(shape * (square - mean * mean).max(0.0).sqrt());
    }
    Some(Estimate {
        demand: scaled_to_work(&demand, design)?,
        standard_error,
        disagreement: average(&disagreement),
    })
}

/// The posterior of `δ` for one `τ`.
struct DemandPosterior {
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Logarithm of prior density and likelihood, up to a constant.
    log_weight: f64,
}

impl DemandPosterior {
    fn new(prior: &Matrix, error: &Matrix, distance: &[f64], index: usize) -> Option<DemandPosterior> {
        let types = distance.len();
        let mut sum = prior.clone();
        sum.data_mut().iter_mut().zip(error.data()).for_each(|(to, from)| *to += from);
        let factor = Cholesky::new(&sum, 1e-12)?;
        // Gain = prior (prior + error)⁻¹: the share of the distance that is attributed to the demands.
        let gain = product(prior, &factor.inverse());
        let retained = product(&gain, prior);
        let explained = dot(distance, &factor.solve(distance));
        // Log-spaced points represent intervals of τ whose length is proportional to τ.
        let density = 1.0 / (1.0 + (disagreement(index) / DISAGREEMENT_SCALE).powi(2)) * disagreement(index);
        Some(DemandPosterior {
            mean: (0..types).map(|i| dot(gain.row(i), distance)).collect(),
            variance: (0..types).map(|i| (prior.get(i, i) - retained.get(i, i)).max(0.0)).collect(),
            log_weight: density.ln() - 0.5 * (factor.log_determinant() + explained),
        })
    }
}

/// The grid of `τ`: from 0.005 to 1.28 in steps of √2.
fn disagreement(index: usize) -> f64 {
    0.005 * (0.5 * index as f64).exp2()
}

fn departure(utilization: f64) -> f64 {
    (DEPARTURE * utilization.min(1.0)).powi(2)
}

fn with_diagonal(matrix: &Matrix, more: f64) -> Matrix {
    let mut out = matrix.clone();
    for i in 0..matrix.rows() {
        out.set(i, i, matrix.get(i, i) + more);
    }
    out
}
