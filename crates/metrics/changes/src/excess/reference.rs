//! The model of the reference period: what a transaction of each type costs, and how certain that is.

use crate::Observations;
use crate::linear_algebra::{add_outer, dot, mirror};
use crate::signature::service_time_at;
use laggard_numeric::{Cholesky, Matrix, mad, median_of};

/// Windows of a block that is left out of the fit at a time.
const BLOCK: usize = 30;
/// Utilization at which the noise of measurement is as large as that of the work.
const NOISE_FLOOR: f64 = 0.02;
/// Relative deviation of a demand from the proportions of the response times: time that is not CPU, work that is not
/// in the response time.
const DEMAND_SPREAD_TIMES: f64 = 0.3;
/// The same without response times, from equal demands.
const DEMAND_SPREAD: f64 = 1.0;
/// Expected CPU without any transaction, and its deviation.
const CONSTANT: f64 = 0.02;
const CONSTANT_SPREAD: f64 = 0.05;
/// Residuals beyond this many deviations have less weight.
const OUTLIER: f64 = 4.0;

/// A linear model of the utilization: a constant, and a demand for each type.
pub(super) struct Reference<'a> {
    pub(super) observations: &'a Observations,
    /// Constant, then demands in seconds of CPU.
    coefficients: Vec<f64>,
    /// Covariance of the coefficients.
    covariance: Matrix,
    /// Residuals of the reference rows in order, divided by their spread, in blocks that the fit did not know.
    pub(super) held_out: Vec<f64>,
    /// The same as shares of the capacity.
    pub(super) held_out_shares: Vec<f64>,
    /// Largest utilization that the model predicts in the reference.
    largest: f64,
}

/// The prior of the coefficients.
struct Prior {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl<'a> Reference<'a> {
    /// `None` when no transaction ever occurs.
    pub(super) fn fit(observations: &'a Observations, rows: &[usize]) -> Option<Reference<'a>> {
        let prior = Prior::new(observations, rows)?;
        let mut weights: Vec<f64> =
            rows.iter().map(|&row| 1.0 / spread_at(observations, row).powi(2)).collect();
        let mut noise = 0.02;
        let mut fitted = None;
        for _ in 0..3 {
            let posterior = Posterior::new(observations, rows, &weights, noise, &prior)?;
            let residuals: Vec<f64> = rows
                .iter()
                .map(|&row| {
                    residual(observations, row, &posterior.coefficients) / spread_at(observations, row)
                })
                .collect();
            noise = mad(&residuals, median_of(&residuals)).max(1e-4);
            for ((weight, residual), &row) in weights.iter_mut().zip(&residuals).zip(rows) {
                let outlying = (OUTLIER * noise / residual.abs()).min(1.0);
                *weight = outlying / spread_at(observations, row).powi(2);
            }
            fitted = Some(posterior);
        }
        let posterior = fitted?;
        let held_out = held_out(observations, rows, &weights, noise, &prior)?;
        let mut reference = Reference {
            observations,
            coefficients: posterior.coefficients,
            covariance: posterior.factor.inverse(),
            held_out_shares: held_out
                .iter()
                .zip(rows)
                .map(|(residual, &row)| residual * spread_at(observations, row))
                .collect(),
            held_out,
            largest: 0.0,
        };
        reference.largest = rows.iter().map(|&row| reference.predicted(row)).fold(0.0, f64::max);
        Some(reference)
    }

    /// Predicted use of a window's transactions, as a share of the capacity.
    pub(super) fn predicted(&self, row: usize) -> f64 {
        dot(&design(self.observations, row), &self.coefficients)
    }

    /// Use of a window beyond the prediction.
    pub(super) fn residual(&self, row: usize) -> f64 {
        residual(self.observations, row, &self.coefficients)
    }

    /// Unit of the noise of a window.
    pub(super) fn spread(&self, row: usize) -> f64 {
        (self.predicted(row).max(0.0) + NOISE_FLOOR).sqrt()
    }

    /// Seconds of CPU of a transaction.
    pub(super) fn demand_s(&self, transaction: usize) -> f64 {
        self.coefficients[1 + transaction]
    }

    /// Standard error of the mean prediction of some windows: of the demands, where the mix is another one, and of the
    /// straight line, where the load is higher than it ever was.
    pub(super) fn prediction_error(&self, rows: &[usize]) -> f64 {
        let mut mean = vec![0.0; self.coefficients.len()];
        for &row in rows {
            let design = design(self.observations, row);
            mean.iter_mut().zip(design).for_each(|(sum, value)| *sum += value / rows.len() as f64);
        }
        let variance: f64 = (0..mean.len()).map(|i| mean[i] * dot(self.covariance.row(i), &mean)).sum();
        let beyond = (dot(&mean, &self.coefficients) - self.largest).max(0.0);
        variance.max(0.0).sqrt().hypot(BEYOND * beyond)
    }
}

/// Relative error of the prediction for load beyond that of the reference.
const BEYOND: f64 = 0.1;

impl Prior {
    fn new(observations: &Observations, rows: &[usize]) -> Option<Prior> {
        let types = observations.counts.cols();
        let times: Vec<Option<f64>> = (0..types).map(|kind| service_time(observations, rows, kind)).collect();
        let total = |kind: usize| rows.iter().map(|&row| observations.counts.get(row, kind)).sum::<f64>();
        let totals: Vec<f64> = (0..types).map(total).collect();
        let counted: f64 = totals.iter().sum();
        let timed: f64 =
            totals.iter().zip(&times).filter(|(_, time)| time.is_some()).map(|(sum, _)| sum).sum();
        let has_times = timed > 0.8 * counted;
        // Of types without a time, the mean of the others.
        let mean =
            totals.iter().zip(&times).filter_map(|(sum, time)| Some(sum * (*time)?)).sum::<f64>() / timed;
        let shape: Vec<f64> =
            times.iter().map(|time| if has_times { time.unwrap_or(mean) } else { 1.0 }).collect();
        let work = dot(&totals, &shape);
        let capacity = observations.window_s * observations.cores;
        let used: f64 = rows.iter().map(|&row| observations.utilization[row]).sum::<f64>() * capacity;
        let scale = used / work;
        if !scale.is_finite() || scale <= 0.0 {
            return None;
        }
        let relative = |time: &Option<f64>| {
            if has_times && time.is_some() { DEMAND_SPREAD_TIMES } else { DEMAND_SPREAD }
        };
        let mut prior = Prior { mean: vec![CONSTANT], deviation: vec![CONSTANT_SPREAD] };
        prior.mean.extend(shape.iter().map(|shape| shape * scale));
        prior.deviation.extend(shape.iter().zip(&times).map(|(shape, time)| relative(time) * shape * scale));
        Some(prior)
    }
}

/// Median service time of a type.
fn service_time(observations: &Observations, rows: &[usize], kind: usize) -> Option<f64> {
    let times: Vec<f64> = rows.iter().filter_map(|&row| service_time_at(observations, row, kind)).collect();
    (times.len() >= 3).then(|| median_of(&times)).filter(|&time| time > 0.0)
}

/// The coefficients after the data.
struct Posterior {
    coefficients: Vec<f64>,
    factor: Cholesky,
}

impl Posterior {
    fn new(
        observations: &Observations,
        rows: &[usize],
        weights: &[f64],
        noise: f64,
        prior: &Prior,
    ) -> Option<Posterior> {
        let sums = Sums::new(observations, rows, weights);
        Posterior::from_sums(&sums, None, noise, prior)
    }

    fn from_sums(all: &Sums, without: Option<&Sums>, noise: f64, prior: &Prior) -> Option<Posterior> {
        let columns = prior.mean.len();
        let mut precision = Matrix::zeros(columns, columns);
        let mut moment = vec![0.0; columns];
        for (i, moment) in moment.iter_mut().enumerate() {
            for j in 0..=i {
                let less = without.map_or(0.0, |part| part.gram.get(i, j));
                precision.set(i, j, (all.gram.get(i, j) - less) / noise.powi(2));
            }
            let own = prior.deviation[i].powi(-2);
            precision.set(i, i, precision.get(i, i) + own);
            let less = without.map_or(0.0, |part| part.moment[i]);
            *moment = (all.moment[i] - less) / noise.powi(2) + own * prior.mean[i];
        }
        let factor = Cholesky::new(&precision, 1e-13)?;
        Some(Posterior { coefficients: factor.solve(&moment), factor })
    }
}

/// Weighted sums of products.
struct Sums {
    gram: Matrix,
    moment: Vec<f64>,
}

impl Sums {
    fn new(observations: &Observations, rows: &[usize], weights: &[f64]) -> Sums {
        let columns = observations.counts.cols() + 1;
        let mut sums = Sums { gram: Matrix::zeros(columns, columns), moment: vec![0.0; columns] };
        for (&row, &weight) in rows.iter().zip(weights) {
            let design = design(observations, row);
            add_outer(&mut sums.gram, &design, weight);
            let value = weight * observations.utilization[row];
            sums.moment.iter_mut().zip(&design).for_each(|(sum, x)| *sum += value * x);
        }
        mirror(&mut sums.gram);
        sums
    }
}

/// Residuals over their spread; the model of each block is fitted to the other blocks.
fn held_out(
    observations: &Observations,
    rows: &[usize],
    weights: &[f64],
    noise: f64,
    prior: &Prior,
) -> Option<Vec<f64>> {
    let all = Sums::new(observations, rows, weights);
    let mut out = Vec::with_capacity(rows.len());
    for (rows, weights) in rows.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
        let part = Sums::new(observations, rows, weights);
        let posterior = Posterior::from_sums(&all, Some(&part), noise, prior)?;
        out.extend(
            rows.iter().map(|&row| {
                residual(observations, row, &posterior.coefficients) / spread_at(observations, row)
            }),
        );
    }
    Some(out)
}

/// `1`, and the transactions of each type a second of CPU capacity.
fn design(observations: &Observations, row: usize) -> Vec<f64> {
    let capacity = observations.window_s * observations.cores;
    let counts = observations.counts.row(row).iter().map(|count| count / capacity);
    std::iter::once(1.0).chain(counts).collect()
}

fn residual(observations: &Observations, row: usize, coefficients: &[f64]) -> f64 {
    observations.utilization[row] - dot(&design(observations, row), coefficients)
}

fn spread_at(observations: &Observations, row: usize) -> f64 {
    (observations.utilization[row] + NOISE_FLOOR).sqrt()
}
