//! Utilization and response times together, each weighted by what is known of its error.

use super::covariance::product;
use super::design::Design;
use super::regression::{Slopes, scaled_to_work};
use laggard_numeric::{Cholesky, Matrix};

/// Relative error that a real scheduler's departure from its ideal causes where all of a response time is queueing; at
/// utilization `U` a share of about `U` is. Measured: ours. Time slices, priorities and few clients all count.
const DEPARTURE: f64 = 0.08;

/// Demands and how certain they are.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Demands in seconds that account for all of the work.
    pub(crate) demand: Vec<f64>,
    /// Their standard errors in seconds, as if nothing were constant; infinite where nothing is known.
    pub(crate) standard_error: Vec<f64>,
    /// Standard deviation, over types, of what response times miss relative to utilization beyond the errors of both.
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

/// Both kinds of evidence. True demands are `shape · (1 + δ)`, with `δ` of mean 0 and covariance
/// `sampling + (departure² + τ²) I`; the slopes are the demands plus errors of known covariance. `τ²` is what the
/// slopes' distance from the shape has beyond their errors (method of moments), so response times that hold much
/// else than CPU lose their weight by themselves. None if a matrix is singular.
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
    let excess = excess_variance(&distance, &error);
    let prior = with_diagonal(covariance, departure(utilization) + excess);
    let mut sum = prior.clone();
    sum.data_mut().iter_mut().zip(error.data()).for_each(|(to, from)| *to += from);
    // Gain = prior (prior + error)⁻¹: what of the distance is believed.
    let gain = product(&prior, &Cholesky::new(&sum, 1e-12)?.inverse());
    let believed = product(&gain, &Matrix::from_row_major(types, 1, distance));
    let demand: Vec<f64> = shape.iter().zip(believed.data()).map(|(s, d)| (s * (1.0 + d)).max(0.0)).collect();
    let mut posterior = product(&gain, &prior);
    posterior.data_mut().iter_mut().zip(prior.data()).for_each(|(less, all)| *less = all - *less);
    Some(Estimate {
        demand: scaled_to_work(&demand, design)?,
        standard_error: errors(shape, &posterior),
        disagreement: excess.sqrt(),
    })
}

/// What squared distances, weighted by their inverse variances, have beyond their expectation.
fn excess_variance(distance: &[f64], error: &Matrix) -> f64 {
    let weights: Vec<f64> = (0..distance.len()).map(|i| 1.0 / error.get(i, i).max(1e-12)).collect();
    let sum: f64 = distance.iter().zip(&weights).map(|(d, w)| w * d * d).sum();
    ((sum - distance.len() as f64) / weights.iter().sum::<f64>()).max(0.0)
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
