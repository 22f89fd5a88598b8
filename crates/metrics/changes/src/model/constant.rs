//! The constant CPU use of a server, estimated with the dilution of regression slopes taken into account.

use super::Interval;
use super::design::Design;
use super::regression::{Weighted, plain_variance};
use laggard_numeric::{mean, normal_upper_tail, sample_std};

/// Number of points of the grid over the constant's share of the work.
const SHARES: usize = 381;
/// Number of points of the grid over the dilution.
const DILUTIONS: usize = 101;
/// Least standard error of the slope: half a step of the dilution. A smaller one would lie between the points of the grid,
/// where nothing is likely and only the prior remains.
const ERROR_MIN: f64 = 0.5 / (DILUTIONS - 1) as f64;
/// `exp` of less is 0.
const EXPONENT_MIN: f64 = -746.0;
/// Maximum factor by which steady counts increase the scale of the dilution.
const CHANCE_MAX: f64 = 4.0;
/// Maximum share of the work that is constant.
const SHARE_MAX: f64 = 0.95;

/// The posterior of the share of a server's work that is constant: weights over a grid, which add up to 1.
///
/// Mean work is `constant + Σ X D` exactly, so demands in the right proportions need only one factor, `1 − share`. The slope of
/// measured on expected work is that factor, but diluted: `slope = (1 − share)(1 − dilution) + error`. The dilution is one-sided
/// and unknown. It can be large if the load is high and counts vary randomly, but not if they vary with the workload. So its
/// scale is `½ U²/(1 − U)` times the share of the expected work's variance that Poisson counts would have. The constant has a
/// half-Cauchy prior.
#[derive(Clone, Debug)]
pub(crate) struct ConstantShare {
    weights: Vec<f64>,
    utilization: f64,
    /// Expected squared dilution over the slope's sampling variance.
    dilution_to_error: f64,
}

impl ConstantShare {
    /// `demand` accounts for all of the work; `scale_percent` is the scale of the prior in percent of the capacity.
    pub(crate) fn new(design: &Design, demand: &[f64], scale_percent: f64) -> ConstantShare {
        let utilization = (design.mean_work() / design.capacity_s).clamp(1e-6, 1.0);
        let prior: Vec<f64> = (0..SHARES)
            .map(|index| 1.0 / (1.0 + (share(index) * utilization * 100.0 / scale_percent).powi(2)))
            .collect();
        let Some(line) = ConstantLine::fit(design, demand) else {
            return ConstantShare { weights: normalized(prior), utilization, dilution_to_error: 0.0 };
        };
        let scale = 0.5 * utilization * utilization / (1.0 - utilization).max(0.02) * line.chance;
        let mut squared_dilution = 0.0;
        let mut weights = Vec::with_capacity(SHARES);
        for (index, prior) in prior.iter().enumerate() {
            let likelihood = line.likelihood(share(index), scale);
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

    /// Factor of the variance of slopes for a dilution that may differ between types: `1 + E[dilution²] / variance of the
    /// slope`. The dilution is caused by a correlation of counts and errors, which biases single slopes by as many of their
    /// standard errors.
    pub(crate) fn variance_inflation(&self) -> f64 {
        1.0 + self.dilution_to_error
    }

    /// The `p`-quantile of the share.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let mut sum = 0.0;
        let index = self.weights.iter().position(|weight| {
            sum += weight;
            sum >= p
        });
        share(index.unwrap_or(SHARES - 1))
    }

    /// An interval in percent of the capacity.
    pub(crate) fn interval_percent(&self, coverage: f64) -> Interval {
        let tail = 0.5 * (1.0 - coverage);
        let percent = |p| 100.0 * self.utilization * self.quantile(p);
        Interval { low: percent(tail), high: percent(1.0 - tail) }
    }

    /// The standard error of a demand, from its value and standard error without a constant; NaN if the latter is not finite.
    pub(crate) fn standard_error(&self, demand: f64, error: f64) -> f64 {
        if !error.is_finite() {
            return f64::NAN;
        }
        let factors = || self.weights.iter().enumerate().map(|(index, weight)| (1.0 - share(index), weight));
        let mean: f64 = factors().map(|(factor, weight)| weight * factor).sum();
        let square: f64 = factors().map(|(factor, weight)| weight * factor * factor).sum();
        ((square - mean * mean).max(0.0) * demand * demand + square * error * error).sqrt()
    }

    /// An interval of a demand, from its value and standard error without a constant: quantiles of the product. The upper end
    /// is at least that of a constant at its lower quantile, since 0 is the edge of the prior.
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
            let part = |(index, weight): (usize, &f64)| {
                let distance = limit / (1.0 - share(index)) - demand;
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
    /// Variance of the expected work if counts were Poisson distributed, over its actual variance: near 0 if the workload
    /// varies, 1 for Poisson counts, larger if waiting clients keep the counts steady, so that they vary only with the
    /// server's own speed. At most [`CHANCE_MAX`].
    chance: f64,
}

impl ConstantLine {
    fn fit(design: &Design, demand: &[f64]) -> Option<ConstantLine> {
        let weighted = Weighted::on_expected(design, demand);
        let (coefficients, covariance) = weighted.unconstrained()?;
        let standard_error = covariance.get(1, 1).max(plain_variance(&weighted, &coefficients, 1)).sqrt();
        let poisson: f64 = design.mean_counts().iter().zip(demand).map(|(count, d)| count * d * d).sum();
        let variance = sample_std(&design.expected(demand)).powi(2);
        let is_usable = standard_error.is_finite() && variance > 0.0;
        is_usable.then(|| ConstantLine {
            slope: coefficients[1],
            standard_error: standard_error.max(ERROR_MIN),
            chance: (poisson / variance).min(CHANCE_MAX),
        })
    }

    /// Likelihood of the slope when `share` of the work is constant: integrated over a half-normal dilution.
    fn likelihood(&self, share: f64, scale: f64) -> Likelihood {
        let mut likelihood = Likelihood { total: 0.0, squared_dilution: 0.0 };
        for index in 0..DILUTIONS {
            let dilution = index as f64 / (DILUTIONS - 1) as f64;
            // Slopes above 1 or below 0 count as 1 or 0.
            let error = (self.slope.clamp(0.0, 1.0) - (1.0 - share) * (1.0 - dilution)) / self.standard_error;
            let prior = dilution / scale.max(1e-4);
            let exponent = -0.5 * (error * error + prior * prior);
            // Most of the grid is so far away that the density is 0, which `exp` takes long to find out.
            if exponent < EXPONENT_MIN {
                continue;
            }
            let density = exponent.exp();
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

fn share(index: usize) -> f64 {
    SHARE_MAX * index as f64 / (SHARES - 1) as f64
}

fn normalized(mut weights: Vec<f64>) -> Vec<f64> {
    let scale = mean(&weights) * weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight /= scale);
    weights
}
