//! Summaries of a sample in which a value may represent several: survey weights.
//!
//! A weight is how many values of the population one represents (the reciprocal of its probability of being
//! sampled). Weights must be finite and above 0. With equal weights every function gives, bit for bit, what its
//! unweighted counterpart gives; with integer weights the mean, the median and the quantiles are those of the sample in
//! which every value is repeated as often as it weighs. A standard deviation is not: values that were not seen
//! add no certainty.

use crate::summary::MAD_TO_STANDARD_DEVIATION;
use crate::summary::{coefficient_of_variation, mad, mean, median_of, quantile_nearest_rank, sample_std};

/// The weights of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Weights<'a> {
    /// All weights are equal.
    Equal,
    /// One weight a value.
    Each(&'a [f64]),
}

impl<'a> Weights<'a> {
    /// The weights of a sample, one a value; equal ones are recognized.
    pub fn from_slice(weights: &'a [f64]) -> Weights<'a> {
        let is_equal = weights.windows(2).all(|pair| pair[0] == pair[1]);
        if is_equal { Weights::Equal } else { Weights::Each(weights) }
    }

    /// The weight of one value: 1 when all are equal.
    #[inline]
    pub fn at(self, index: usize) -> f64 {
        match self {
            Weights::Equal => 1.0,
            Weights::Each(weights) => weights[index],
        }
    }
}

/// Kish's effective sample size `(sum w)^2 / sum w^2`: how many values of equal weight would estimate a mean as
/// precisely (Kish, *Survey Sampling*, 1965). From 1 to the number of weights, which it is when they are
/// equal; 0 of none.
pub fn effective_sample_size(weights: &[f64]) -> f64 {
    if Weights::from_slice(weights) == Weights::Equal {
        return weights.len() as f64;
    }
    let sum: f64 = weights.iter().sum();
    sum * sum / weights.iter().map(|weight| weight * weight).sum::<f64>()
}

/// `sum w x / sum w`; 0 of an empty sample.
pub fn weighted_mean(values: &[f64], weights: Weights<'_>) -> f64 {
    let Weights::Each(weights) = weights else { return mean(values) };
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    sum / weights.iter().sum::<f64>()
}

/// Standard deviation, the square root of `sum w (x - mean)^2 / (sum w - sum w^2 / sum w)`: the unweighted
/// divisor `m - 1` with the effective sample size for `m`. 0 of fewer than two values.
pub fn weighted_sample_std(values: &[f64], weights: Weights<'_>) -> f64 {
    let Weights::Each(each) = weights else { return sample_std(values) };
    let center = weighted_mean(values, weights);
    let (mut squares, mut sum, mut sum_of_squares) = (0.0, 0.0, 0.0);
    for (value, weight) in values.iter().zip(each) {
        squares += weight * (value - center) * (value - center);
        sum += weight;
        sum_of_squares += weight * weight;
    }
    let divisor = sum - sum_of_squares / sum;
    if divisor > 0.0 { (squares / divisor).sqrt() } else { 0.0 }
}

/// [`weighted_sample_std`] over [`weighted_mean`]; 0 of fewer than two values or when the mean is 0.
pub fn weighted_coefficient_of_variation(values: &[f64], weights: Weights<'_>) -> f64 {
    if weights == Weights::Equal {
        return coefficient_of_variation(values);
    }
    let center = weighted_mean(values, weights);
    if center == 0.0 { 0.0 } else { weighted_sample_std(values, weights) / center }
}

/// The value with half of all weight on either side; the mean of the two values next to the middle when it
/// falls between them. 0 of an empty sample. `O(m log m)`, linear when the weights are equal.
pub fn weighted_median(values: &[f64], weights: Weights<'_>) -> f64 {
    let Weights::Each(weights) = weights else { return median_of(values) };
    let rows = sorted(values, weights);
    let half = rows.iter().map(|row| row.weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for (index, row) in rows.iter().enumerate() {
        below += row.weight;
        if below == half
            && let Some(next) = rows.get(index + 1)
        {
            return f64::midpoint(row.value, next.value);
        }
        if below > half {
            return row.value;
        }
    }
    rows.last().map_or(0.0, |row| row.value)
}

/// [`weighted_median`] of the distances from `median`, times 1.4826; 0 of an empty sample.
pub fn weighted_mad(values: &[f64], weights: Weights<'_>, median: f64) -> f64 {
    if weights == Weights::Equal {
        return mad(values, median);
    }
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    MAD_TO_STANDARD_DEVIATION * weighted_median(&distances, weights)
}

/// For each share `q` (0 to 1, clamped) the smallest value with at least this share of all weight at or below
/// it: [`quantile_nearest_rank`] where values are repeated. The values may be in any order. 0 of an empty
/// sample. `O(m log m)`.
pub fn weighted_quantiles<const N: usize>(values: &[f64], weights: Weights<'_>, q: [f64; N]) -> [f64; N] {
    let Weights::Each(weights) = weights else {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        return q.map(|q| quantile_nearest_rank(&sorted, q));
    };
    let rows = sorted(values, weights);
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    q.map(|q| {
        let target = q.clamp(0.0, 1.0) * total;
        let mut below = 0.0;
        let found = rows.iter().find(|row| {
            below += row.weight;
            below >= target
        });
        found.or(rows.last()).map_or(0.0, |row| row.value)
    })
}

#[derive(Clone, Copy)]
struct WeightedRow {
    value: f64,
    weight: f64,
}

fn sorted(values: &[f64], weights: &[f64]) -> Vec<WeightedRow> {
    let rows = values.iter().zip(weights).map(|(&value, &weight)| WeightedRow { value, weight });
    let mut rows: Vec<WeightedRow> = rows.collect();
    rows.sort_unstable_by(|a, b| a.value.total_cmp(&b.value).then(a.weight.total_cmp(&b.weight)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_worked_by_hand() {
        // 1, 1, 1, 5: mean 2, median 1, distances 0 0 0 4.
        let (values, weights) = ([5.0, 1.0], [1.0, 3.0]);
        let weights = Weights::from_slice(&weights);
        assert_eq!((weighted_mean(&values, weights), weighted_median(&values, weights)), (2.0, 1.0));
        assert_eq!(weighted_mad(&values, weights, 1.0), 0.0);
        assert_eq!(weighted_quantiles(&values, weights, [0.0, 0.75, 0.76, 1.0]), [1.0, 1.0, 5.0, 5.0]);
        // Squares 3 * 1 + 1 * 9 = 12 over 4 - 10 / 4.
        assert_eq!(weighted_sample_std(&values, weights), (12.0_f64 / 1.5).sqrt());
        assert_eq!(effective_sample_size(&[1.0, 3.0]), 1.6);
    }

    #[test]
    fn the_middle_between_two_values() {
        // 1, 1, 2, 4.
        assert_eq!(weighted_median(&[4.0, 1.0, 2.0], Weights::Each(&[1.0, 2.0, 1.0])), 1.5);
    }

    #[test]
    fn one_heavy_weight_leaves_a_small_effective_sample() {
        let mut weights = vec![1.0; 100];
        assert_eq!(effective_sample_size(&weights), 100.0);
        weights.push(1e6);
        assert!(effective_sample_size(&weights) < 1.001);
        assert_eq!(effective_sample_size(&[]), 0.0);
    }

    #[test]
    fn degenerate_samples() {
        for weights in [Weights::Equal, Weights::Each(&[])] {
            assert_eq!((weighted_median(&[], weights), weighted_mad(&[], weights, 0.0)), (0.0, 0.0));
            assert_eq!(weighted_quantiles(&[], weights, [0.5]), [0.0]);
        }
        assert_eq!(weighted_sample_std(&[7.0], Weights::Each(&[2.0])), 0.0);
        assert_eq!(weighted_coefficient_of_variation(&[0.0, 0.0], Weights::Each(&[1.0, 2.0])), 0.0);
    }
}
