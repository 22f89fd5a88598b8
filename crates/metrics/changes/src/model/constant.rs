//! What the server uses beside its transactions, when a regression's constant cannot be taken at its word.

use super::Interval;
use super::design::Design;
use super::regression::{Weighted, plain_variance};
use laggard_numeric::{mean, normal_upper_tail, sample_std};

/// Points of the grids over the constant's share of the work and over the dilution.
const SHARES: usize = 381;
const DILUTIONS: usize = 101;
/// Most that steady counts multiply the scale of the dilution.
const CHANCE_MAX: f64 = 4.0;
/// Largest share of the work that may be constant.
const SHARE_MAX: f64 = 0.95;

/// What is believed about the share of a server's work that is constant: weights over a grid, which add up to 1.
///
/// Mean work is `constant + Σ X D` exactly, so demands in right proportions need only one factor, `1 − share`. The slope of
/// measured on expected work is that factor, but diluted: `slope = (1 − share)(1 − dilution) + error`. Dilution is one-sided and
/// unknown; it can be large where the load is high and counts move by chance only, and cannot where they move with
/// the workload. So its scale is `½ U²/(1 − U)` times the share of the expected work's variance that Poisson counts would have.
/// The constant itself has a half-Cauchy prior with the given scale: small, unless the data insist.
#[derive(Clone, Debug)]
pub(crate) struct ConstantShare {
    weights: Vec<f64>,
    utilization: f64,
    /// Squared dilution that is believed, over the slope's sampling variance.
    dilution_to_error: f64,
}

impl ConstantShare {
    /// Given demands that account for all of the work, and the prior's scale in percent of the capacity.
    pub(crate) fn new(design: &Design, demand: &[f64], scale_percent: f64) -> ConstantShare {
        let utilization = (design.mean_work() / design.capacity_s).clamp(1e-6, 1.0);
        let prior: Vec<f64> = (0..SHARES)
            .map(|at| 1.0 / (1.0 + (share(at) * utilization * 100.0 / scale_percent).powi(2)))
            .collect();
        let Some(line) = ConstantLine::fit(design, demand) else {
            return ConstantShare { weights: normalized(prior), utilization, dilution_to_error: 0.0 };
        };
        let scale = 0.5 * utilization * utilization / (1.0 - utilization).max(0.02) * line.chance;
        let mut squared_dilution = 0.0;
        let mut weights = Vec::with_capacity(SHARES);
        for (at, prior) in prior.iter().enumerate() {
            let likelihood = line.likelihood(share(at), scale);
            weights.push(prior * likelihood.total);
            squared_dilution += prior * likelihood.squared_dilution;
        }
        let sum: f64 = weights.iter().sum();
        if sum <= f64::MIN_POSITIVE {
            return ConstantShare { weights: normalized(prior), utilization, dilution_to_error: 0.0 };
        }
        let dilution_to_error = squared_dilution / sum / line.standard_error.powi(2);
        ConstantShare { weights: normalized(weights), utilization, dilution_to_error }
    }

    /// By what factor the variance of slopes is too small when dilution is taken for a bias that may differ between types:
    /// `1 + E[dilution²] / variance of the slope`. Dilution of the slope comes from a correlation of counts and errors,
    /// and the same correlation biases single slopes by as many of their standard errors.
    pub(crate) fn variance_inflation(&self) -> f64 {
        1.0 + self.dilution_to_error
    }

    /// The share below which the constant is with probability `p`.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let mut sum = 0.0;
        let at = self.weights.iter().position(|weight| {
            sum += weight;
            sum >= p
        });
        share(at.unwrap_or(SHARES - 1))
    }

    /// An interval in percent of the capacity.
    pub(crate) fn interval_percent(&self, coverage: f64) -> Interval {
        let tail = 0.5 * (1.0 - coverage);
        let percent = |p| 100.0 * self.utilization * self.quantile(p);
        Interval { low: percent(tail), high: percent(1.0 - tail) }
    }

    /// The standard error of a demand, given its value and standard error if nothing were constant; NaN if that is not finite.
    pub(crate) fn standard_error(&self, demand: f64, error: f64) -> f64 {
        if !error.is_finite() {
            return f64::NAN;
        }
        let factors = || self.weights.iter().enumerate().map(|(at, weight)| (1.0 - share(at), weight));
        let mean: f64 = factors().map(|(factor, weight)| weight * factor).sum();
        let square: f64 = factors().map(|(factor, weight)| weight * factor * factor).sum();
        ((square - mean * mean).max(0.0) * demand * demand + square * error * error).sqrt()
    }

    /// An interval of a demand, given its value and standard error if nothing were constant: quantiles of the product, the
    /// upper end not below what an absent constant allows, since 0 is the edge of the prior.
    pub(crate) fn demand_interval(&self, demand: f64, error: f64, coverage: f64) -> Interval {
        if !error.is_finite() {
            return Interval { low: 0.0, high: f64::INFINITY };
        }
        let tail = 0.5 * (1.0 - coverage);
        let z = laggard_numeric::normal_quantile(tail);
        let edge = (1.0 - self.quantile(tail)) * (demand + z * error);
        let quantile = |p| self.product_quantile(demand, error, p);
        Interval { low: quantile(tail), high: quantile(1.0 - tail).max(edge) }
    }

    fn product_quantile(&self, demand: f64, error: f64, p: f64) -> f64 {
        let below = |limit: f64| -> f64 {
            let part = |(at, weight): (usize, &f64)| {
                let distance = limit / (1.0 - share(at)) - demand;
                weight * normal_upper_tail(-distance / error.max(1e-9 * demand).max(f64::MIN_POSITIVE))
            };
            self.weights.iter().enumerate().filter(|(_, weight)| **weight > 1e-12).map(part).sum()
        };
        let (mut low, mut high) = (0.0, demand + 10.0 * error);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if below(middle) < p { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// The regression of measured on expected work.
struct ConstantLine {
    slope: f64,
    standard_error: f64,
    /// Variance that chance gives the expected work of Poisson counts, over the variance it has: near 0 when the workload
    /// moves, 1 for Poisson counts, above when waiting clients hold the counts steady, so that what is left of their
    /// variation is the server's own doing. At most 4.
    chance: f64,
}

impl ConstantLine {
    fn fit(design: &Design, demand: &[f64]) -> Option<ConstantLine> {
        let weighted = Weighted::on_expected(design, demand);
        let (coefficients, covariance) = weighted.unconstrained()?;
        let standard_error = covariance.get(1, 1).max(plain_variance(&weighted, &coefficients, 1)).sqrt();
        let poisson: f64 = design.mean_counts().iter().zip(demand).map(|(count, d)| count * d * d).sum();
        let variance = sample_std(&design.expected(demand)).powi(2);
        let is_usable = standard_error > 0.0 && standard_error.is_finite() && variance > 0.0;
        is_usable.then(|| ConstantLine {
            slope: coefficients[1],
            standard_error,
            chance: (poisson / variance).min(CHANCE_MAX),
        })
    }

    /// Likelihood of the slope when `share` of the work is constant: integrated over a half-normal dilution.
    fn likelihood(&self, share: f64, scale: f64) -> Likelihood {
        let mut likelihood = Likelihood { total: 0.0, squared_dilution: 0.0 };
        for at in 0..DILUTIONS {
            let dilution = at as f64 / (DILUTIONS - 1) as f64;
            // A slope beyond 1 or below 0 is no more than all or nothing.
            let error = (self.slope.clamp(0.0, 1.0) - (1.0 - share) * (1.0 - dilution)) / self.standard_error;
            let prior = dilution / scale.max(1e-4);
            let density = (-0.5 * (error * error + prior * prior)).exp();
            likelihood.total += density;
            likelihood.squared_dilution += density * dilution * dilution;
        }
        likelihood
    }
}

/// Sums over dilutions.
struct Likelihood {
    total: f64,
    squared_dilution: f64,
}

fn share(at: usize) -> f64 {
    SHARE_MAX * at as f64 / (SHARES - 1) as f64
}

fn normalized(mut weights: Vec<f64>) -> Vec<f64> {
    let scale = mean(&weights) * weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight /= scale);
    weights
}
