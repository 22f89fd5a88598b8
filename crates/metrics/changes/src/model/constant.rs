//! The constant CPU use of a server, estimated with the dilution of regression slopes taken into account.

use super::Interval;
use super::design::Design;
use super::regression::{Weighted, plain_variance};
use crate::linear_algebra::dot;
use laggard_numeric::{mean, normal_upper_tail, sample_std};
use std::f64::consts::TAU;

/// Number of points of the grid over the constant's share of the work.
const SHARES: usize = 201;
/// Least standard error of the slope: smaller ones are rounding.
const ERROR_MIN: f64 = 1e-9;
/// Least scale of the dilution: at a load of 1 %.
const DILUTION_MIN: f64 = 1e-4;
/// The likelihood of what is more standard errors away is 0.
const REACH: f64 = 8.0;
/// Maximum factor by which steady counts increase the scale of the dilution.
const CHANCE_MAX: f64 = 4.0;
/// Steps after which the search of a quantile ends; it needs about five.
const QUANTILE_STEPS_MAX: usize = 50;
/// Maximum share of the work that is constant.
const SHARE_MAX: f64 = 0.95;

/// The posterior of the share of a server's work that is constant: weights over a grid, which add up to 1.
///
/// Mean work is `constant + Σ X D` exactly, so demands in the right proportions need only one factor, `1 − share`. The slope of
/// measured on expected work is that factor, but diluted: `slope = (1 − share)(1 − dilution) + error`. The dilution is one-sided
/// and unknown. It can be large if the load is high and counts vary randomly, but not if they vary with the workload. So its
/// scale is `½ U²/(1 − U)` times the share of the expected work's variance that Poisson counts would have. As with regressors
/// with error, it is at most `1 − R²` (Frisch 1934: the slope of the reverse regression is the other bound). The constant has
/// a half-Cauchy prior.
#[derive(Clone, Debug)]
pub(crate) struct ConstantShare {
    /// Shares, increasing.
    shares: Vec<f64>,
    weights: Vec<f64>,
    utilization: f64,
    /// Expected squared dilution over the slope's sampling variance.
    dilution_to_error: f64,
}

impl ConstantShare {
    /// `demand` accounts for all of the work; `scale_percent` is the scale of the prior in percent of the capacity.
    pub(crate) fn new(design: &Design, demand: &[f64], scale_percent: f64) -> ConstantShare {
        let utilization = (design.mean_work() / design.capacity_s).clamp(1e-6, 1.0);
        let line = ConstantLine::fit(design, demand, utilization);
        let shares = grid(line.as_ref().map_or([0.0, SHARE_MAX], ConstantLine::plausible_shares));
        let prior = |share: &f64| 1.0 / (1.0 + (share * utilization * 100.0 / scale_percent).powi(2));
        let mut weights: Vec<f64> = shares.iter().map(prior).collect();
        let mut dilution_to_error = 0.0;
        if let Some(line) = line {
            let likelihoods: Vec<Likelihood> = shares.iter().map(|&share| line.likelihood(share)).collect();
            let product = |of: fn(&Likelihood) -> f64| -> Vec<f64> {
                weights.iter().zip(&likelihoods).map(|(prior, likelihood)| prior * of(likelihood)).collect()
            };
            let posterior = product(|likelihood| likelihood.total);
            let sum: f64 = posterior.iter().sum();
            if sum > f64::MIN_POSITIVE {
                let squared_dilution: f64 = product(|likelihood| likelihood.squared_dilution).iter().sum();
                dilution_to_error = squared_dilution / sum / line.standard_error.powi(2);
                weights = posterior;
            }
        }
        ConstantShare { shares, weights: normalized(weights), utilization, dilution_to_error }
    }

    /// Factor of the variance of slopes for a dilution that may differ between types: `1 + E[dilution²] / variance of the
    /// slope`. The dilution is caused by a correlation of counts and errors, which biases single slopes by as many of their
    /// standard errors.
    pub(crate) fn variance_inflation(&self) -> f64 {
        1.0 + self.dilution_to_error
    }

    /// The `p`-quantile of the share, linear between the points of the grid.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let (mut sum, mut last) = (0.0, [0.0, self.shares[0]]);
        for (&share, weight) in self.shares.iter().zip(&self.weights) {
            let next = [sum + 0.5 * weight, share];
            if next[0] >= p {
                let part = (p - last[0]) / (next[0] - last[0]).max(f64::MIN_POSITIVE);
                return last[1] + part * (share - last[1]);
            }
            (sum, last) = (sum + weight, next);
        }
        last[1]
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
        let (mean, variance) = self.factor_moments();
        (variance * demand * demand + (variance + mean * mean) * error * error).sqrt()
    }

    /// Mean and variance of the factor `1 − share`.
    fn factor_moments(&self) -> (f64, f64) {
        let factors = || self.shares.iter().zip(&self.weights).map(|(share, weight)| (1.0 - share, weight));
        let mean: f64 = factors().map(|(factor, weight)| weight * factor).sum();
        let variance = factors().map(|(factor, weight)| weight * (factor - mean).powi(2)).sum();
        (mean, variance)
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

    /// The `p`-quantile of `(1 − share) · N(demand, error²)`, by Newton's method within a bracket.
    fn product_quantile(&self, demand: f64, error: f64, p: f64) -> f64 {
        let deviation = error.max(1e-9 * demand).max(f64::MIN_POSITIVE);
        let nodes: Vec<(f64, f64)> = self
            .shares
            .iter()
            .zip(&self.weights)
            .filter(|(_, weight)| **weight > 1e-12)
            .map(|(share, &weight)| (1.0 - share, weight))
            .collect();
        // Probability and density of the product at `limit`.
        let at = |limit: f64| -> (f64, f64) {
            nodes.iter().fold((0.0, 0.0), |(below, density), &(factor, weight)| {
                let z = (limit / factor - demand) / deviation;
                match z.abs() < REACH {
                    true => (
                        below + weight * normal_upper_tail(-z),
                        density + weight * normal_density(z) / (factor * deviation),
                    ),
                    false if z > 0.0 => (below + weight, density),
                    false => (below, density),
                }
            })
        };
        let (mut low, mut high) = (0.0, demand + 10.0 * deviation);
        let mut limit = self.factor_moments().0 * demand
            - laggard_numeric::normal_quantile(p) * self.standard_error(demand, deviation);
        for _ in 0..QUANTILE_STEPS_MAX {
            if !(low < limit && limit < high) {
                limit = 0.5 * (low + high);
            }
            let (below, density) = at(limit);
            if below < p {
                low = limit
            } else {
                high = limit
            }
            let next = limit - (below - p) / density;
            if (next - limit).abs() <= 1e-10 * limit || high - low <= 1e-10 * high {
                break;
            }
            limit = next;
        }
        limit
    }
}

/// The regression of measured on expected work.
struct ConstantLine {
    slope: f64,
    standard_error: f64,
    /// Scale of the half-normal prior of the dilution.
    dilution_scale: f64,
    /// `1 − R²`.
    dilution_max: f64,
}

impl ConstantLine {
    fn fit(design: &Design, demand: &[f64], utilization: f64) -> Option<ConstantLine> {
        let weighted = Weighted::on_expected(design, demand);
        let (coefficients, covariance) = weighted.unconstrained()?;
        let standard_error = covariance.get(1, 1).max(plain_variance(&weighted, &coefficients, 1)).sqrt();
        let poisson: f64 = design.mean_counts().iter().zip(demand).map(|(count, d)| count * d * d).sum();
        let variance = sample_std(&design.expected(demand)).powi(2);
        // Variance of the expected work if counts were Poisson distributed, over its actual variance: near 0 if the workload
        // varies, 1 for Poisson counts, larger if waiting clients keep the counts steady, so that they vary only with the
        // server's own speed.
        let chance = (poisson / variance).min(CHANCE_MAX);
        let scale = 0.5 * utilization * utilization / (1.0 - utilization).max(0.02) * chance;
        let is_usable = standard_error.is_finite() && variance > 0.0;
        is_usable.then(|| ConstantLine {
            // Slopes above 1 or below 0 count as 1 or 0.
            slope: coefficients[1].clamp(0.0, 1.0),
            standard_error: standard_error.max(ERROR_MIN),
            dilution_scale: scale.max(DILUTION_MIN),
            dilution_max: unexplained_share(&weighted, &coefficients),
        })
    }

    /// The ends of the shares that are not certainly wrong.
    fn plausible_shares(&self) -> [f64; 2] {
        let dilution = self.dilution_max.min(REACH * self.dilution_scale).min(1.0);
        let factor_max = (self.slope + REACH * self.standard_error) / (1.0 - dilution).max(f64::MIN_POSITIVE);
        let factor_min = self.slope - REACH * self.standard_error;
        [1.0 - factor_max, 1.0 - factor_min].map(|share| share.clamp(0.0, SHARE_MAX))
    }

    /// Likelihood of the slope when `share` of the work is constant: integrated over a half-normal dilution up to its maximum,
    /// of which the exponent is quadratic in the dilution, so that the integral is one of a normal density.
    fn likelihood(&self, share: f64) -> Likelihood {
        let factor = 1.0 - share;
        let missing = self.slope - factor;
        let (variance, prior) = (self.standard_error.powi(2), self.dilution_scale.powi(2));
        let deviation = 1.0 / (factor * factor / variance + 1.0 / prior).sqrt();
        let mean = -missing * factor / variance * deviation * deviation;
        let peak = (-0.5 * missing * missing / (variance + factor * factor * prior)).exp();
        let [low, high] = [0.0, self.dilution_max].map(|dilution| (dilution - mean) / deviation);
        let inside = normal_between(low, high);
        let (at_low, at_high) = (normal_density(low), normal_density(high));
        let first = 2.0 * mean * deviation * (at_low - at_high);
        let second = deviation * deviation * (inside + low * at_low - high * at_high);
        let scale = peak * deviation;
        Likelihood {
            total: scale * inside,
            squared_dilution: scale * (mean * mean * inside + first + second).max(0.0),
        }
    }
}

/// Integrals over dilutions.
struct Likelihood {
    total: f64,
    squared_dilution: f64,
}

/// `1 − R²` of a regression with a constant, the first column.
fn unexplained_share(weighted: &Weighted, coefficients: &[f64]) -> f64 {
    let (mut weight, mut sum, mut square, mut left) = (0.0, 0.0, 0.0, 0.0);
    for (t, &y) in weighted.y.iter().enumerate() {
        let x = weighted.x.row(t);
        weight += x[0] * x[0];
        sum += x[0] * y;
        square += y * y;
        left += (y - dot(x, coefficients)).powi(2);
    }
    let all = square - sum * sum / weight;
    if all > 0.0 { (left / all).min(1.0) } else { 1.0 }
}

/// Probability of a standard normal variable between two numbers.
fn normal_between(low: f64, high: f64) -> f64 {
    match low > 0.0 {
        true => normal_upper_tail(low) - normal_upper_tail(high),
        false => normal_upper_tail(-high) - normal_upper_tail(-low),
    }
}

fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / TAU.sqrt()
}

/// Equally spaced points from end to end.
fn grid([low, high]: [f64; 2]) -> Vec<f64> {
    (0..SHARES).map(|index| low + (high - low) * index as f64 / (SHARES - 1) as f64).collect()
}

fn normalized(mut weights: Vec<f64>) -> Vec<f64> {
    let scale = mean(&weights) * weights.len() as f64;
    weights.iter_mut().for_each(|weight| *weight /= scale);
    weights
}
