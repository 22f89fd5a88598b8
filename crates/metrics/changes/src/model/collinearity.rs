//! Demands that utilization cannot distinguish.

use super::IndistinguishableGroup;
use super::design::Design;
use super::least_squares::Coefficients;
use laggard_numeric::{Matrix, mean, symmetric_eigen};

/// Condition index from which a dependency between columns harms estimates (Belsley, Kuh, Welsch 1980: "moderate to
/// strong" from 30, weak up to 10).
const INDEX_MIN: f64 = 10.0;

/// A column is part of a dependency if the dependency accounts for this share of its variance (ibid.).
const PROPORTION_MIN: f64 = 0.5;

/// An eigenvalue of a correlation matrix below this is 0 and rounding.
const EIGENVALUE_ZERO: f64 = 1e-12;

/// A demand is distinguishable if its standard error is below this share of its group's mean.
const RELATIVE_ERROR_MAX: f64 = 0.25;

/// How the counts of the types depend on each other.
#[derive(Clone, Debug)]
pub(crate) struct Collinearity {
    /// Variance inflation factor of each type.
    pub(crate) inflation: Vec<f64>,
    /// Types that are part of a near dependency, by dependency group: disjoint, increasing.
    dependent: Vec<Vec<usize>>,
}

impl Collinearity {
    /// The collinearity of the counts of a design; types with constant counts are ignored.
    pub(crate) fn from_design(design: &Design) -> Collinearity {
        let (moving, correlation) = correlations(design);
        let mut inflation = vec![f64::NAN; design.types()];
        let Some(eigen) = symmetric_eigen(&correlation) else {
            return Collinearity { inflation, dependent: Vec::new() };
        };
        let largest = eigen.values.first().copied().unwrap_or(0.0);
        let parts = |position: usize| -> Vec<f64> {
            (0..moving.len())
                .map(|k| {
                    let square = eigen.vectors.get(k, position).powi(2);
                    // Loadings of rounding size on a zero eigenvalue are not a dependency.
                    if square < 1e-9 { 0.0 } else { square / eigen.values[k].max(EIGENVALUE_ZERO) }
                })
                .collect()
        };
        let is_near = |k: usize| eigen.values[k].max(EIGENVALUE_ZERO) * INDEX_MIN * INDEX_MIN < largest;
        let mut members = Vec::new();
        for (position, &column) in moving.iter().enumerate() {
            let parts = parts(position);
            let sum: f64 = parts.iter().sum();
            inflation[column] = if sum > 1e9 { f64::INFINITY } else { sum.max(1.0) };
            let near: f64 = (0..moving.len()).filter(|&k| is_near(k)).map(|k| parts[k]).sum();
            if near >= PROPORTION_MIN * sum {
                members.push(position);
            }
        }
        let near: Vec<usize> = (0..moving.len()).filter(|&k| is_near(k)).collect();
        let dependent = connected(&members, |a, b| {
            // Two members depend on each other if near dependencies make them vary together or inversely.
            let shared: f64 = near
                .iter()
                .map(|&k| {
                    eigen.vectors.get(k, a) * eigen.vectors.get(k, b) / eigen.values[k].max(EIGENVALUE_ZERO)
                })
                .sum();
            let scale = (parts(a).iter().sum::<f64>() * parts(b).iter().sum::<f64>()).sqrt();
            shared.abs() >= 0.25 * scale
        });
        let dependent = dependent
            .into_iter()
            .map(|group| group.into_iter().map(|position| moving[position]).collect())
            .collect();
        Collinearity { inflation, dependent }
    }

    /// The groups in which least squares cannot determine single demands, with their determined sum; `covariance` is
    /// that of the demands, if known.
    pub(crate) fn indistinguishable(
        &self,
        design: &Design,
        fit: &Coefficients,
        covariance: Option<&Matrix>,
    ) -> Vec<IndistinguishableGroup> {
        let describe = |types: &Vec<usize>| group(design, fit, covariance, types);
        let is_uncertain = |group: &IndistinguishableGroup| {
            let Some(covariance) = covariance else { return true };
            let limit = RELATIVE_ERROR_MAX * group.mean_demand_s;
            group.transactions.iter().any(|&j| covariance.get(j, j).sqrt() > limit)
        };
        self.dependent.iter().filter(|types| types.len() >= 2).map(describe).filter(is_uncertain).collect()
    }
}

fn group(
    design: &Design,
    fit: &Coefficients,
    covariance: Option<&Matrix>,
    types: &[usize],
) -> IndistinguishableGroup {
    let counts: Vec<f64> = types.iter().map(|&j| design.counts.column(j).sum()).collect();
    let all: f64 = counts.iter().sum();
    let share: Vec<f64> = counts.iter().map(|count| count / all).collect();
    let mut variance = 0.0;
    for (a, &i) in types.iter().enumerate() {
        for (b, &j) in types.iter().enumerate() {
            variance += covariance.map_or(f64::NAN, |covariance| share[a] * share[b] * covariance.get(i, j));
        }
    }
    IndistinguishableGroup {
        transactions: types.to_vec(),
        mean_demand_s: types.iter().zip(&share).map(|(&j, share)| fit.demand[j] * share).sum(),
        standard_error_s: if variance.is_nan() { f64::NAN } else { variance.max(0.0).sqrt() },
        share,
    }
}

/// The types with varying counts, and the correlations of the counts.
fn correlations(design: &Design) -> (Vec<usize>, Matrix) {
    let mut moving = Vec::new();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..design.types() {
        let mut column: Vec<f64> = design.counts.column(j).collect();
        let center = mean(&column);
        column.iter_mut().for_each(|value| *value -= center);
        let length = column.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length > 1e-9 * center.abs().max(f64::MIN_POSITIVE) {
            column.iter_mut().for_each(|value| *value /= length);
            moving.push(j);
            columns.push(column);
        }
    }
    let mut correlation = Matrix::zeros(moving.len(), moving.len());
    for i in 0..moving.len() {
        for j in 0..moving.len() {
            correlation.set(i, j, columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum());
        }
    }
    (moving, correlation)
}

/// Connected components of `members`, each in their order.
fn connected(members: &[usize], linked: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut remaining = members.to_vec();
    let mut groups = Vec::new();
    while !remaining.is_empty() {
        let mut group = vec![remaining.remove(0)];
        let mut next = 0;
        while next < group.len() {
            let (neighbors, rest): (Vec<usize>, _) =
                remaining.iter().partition(|&&other| linked(group[next], other));
            remaining = rest;
            group.extend(neighbors);
            next += 1;
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(columns: &[&[f64]]) -> Design {
        let rows = columns[0].len();
        let data = (0..rows).flat_map(|t| columns.iter().map(move |column| column[t])).collect();
        Design {
            window_s: 1.0,
            capacity_s: 1.0,
            windows: (0..rows).collect(),
            counts: Matrix::from_row_major(rows, columns.len(), data),
            work: vec![1.0; rows],
            response_s: Matrix::default(),
        }
    }

    const A: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    const B: [f64; 8] = [5.0, 1.0, 4.0, 2.0, 8.0, 3.0, 7.0, 6.0];

    /// Two columns with correlation r have the variance inflation 1/(1 − r²).
    #[test]
    fn inflation_of_two_columns_by_hand() {
        // Deviations of A and B from 4.5: products add up to 20, squares to 42 each: r = 20/42.
        let r: f64 = 20.0 / 42.0;
        let inflation = Collinearity::from_design(&design(&[&A, &B])).inflation;
        assert!(inflation.iter().all(|value| (value - 1.0 / (1.0 - r * r)).abs() < 1e-12), "{inflation:?}");
    }

    /// The third column is the sum of the first two; the fourth is independent; the fifth is constant.
    #[test]
    fn a_sum_of_columns_is_a_group() {
        let sum: Vec<f64> = A.iter().zip(&B).map(|(a, b)| a + b).collect();
        let own = [3.0, 9.0, 1.0, 2.0, 6.0, 5.0, 1.0, 4.0];
        let design = design(&[&A, &B, &sum, &own, &[2.0; 8]]);
        let collinearity = Collinearity::from_design(&design);
        assert!(collinearity.inflation[..3].iter().all(|value| value.is_infinite()));
        assert!(collinearity.inflation[3] < 3.0 && collinearity.inflation[4].is_nan());
        let fit = Coefficients { constant: 0.0, demand: vec![1.0, 2.0, 0.0, 1.0, 1.0] };
        let groups = collinearity.indistinguishable(&design, &fit, None);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].transactions, [0, 1, 2]);
        // Counts 36, 36 and 72: shares ¼, ¼, ½, and ¼·1 + ¼·2 + ½·0.
        assert_eq!(groups[0].share, [0.25, 0.25, 0.5]);
        assert_eq!(groups[0].mean_demand_s, 0.75);
    }

    #[test]
    fn two_pairs_are_two_groups() {
        let twice = |column: &[f64]| -> Vec<f64> { column.iter().map(|value| 2.0 * value).collect() };
        let design = design(&[&A, &B, &twice(&A), &twice(&B)]);
        let fit = Coefficients { constant: 0.0, demand: vec![1.0; 4] };
        let groups = Collinearity::from_design(&design).indistinguishable(&design, &fit, None);
        let types: Vec<&[usize]> = groups.iter().map(|group| &group.transactions[..]).collect();
        assert_eq!(types, [&[0, 2][..], &[1, 3]]);
    }
}
