//! A weighted linear regression over windows in order of time, and the generalized inverse for its score tests.

use std::ops::Range;

use laggard_numeric::Matrix;

use crate::linear_algebra::{add_outer, dot, mirror};

/// A column whose Cholesky pivot is below this share of its square depends on earlier ones and is skipped.
const PIVOT_MIN: f64 = 1e-9;
/// A remainder below this share of a column's square is rounding.
const COMPRESSED_PIVOT_MIN: f64 = 1e-13;

/// The regression of a response on the columns of a design matrix, `T x p`; the weight of a row is one over its noise
/// variance.
#[derive(Clone, Debug)]
pub(crate) struct Regression {
    /// `T x p`; column 0 is 1.
    pub(crate) design: Matrix,
    /// Length `T`.
    pub(crate) response: Vec<f64>,
    /// Length `T`, > 0.
    pub(crate) weight: Vec<f64>,
}

/// The unconstrained least-squares fit of a range of rows.
#[derive(Clone, Debug)]
pub(crate) struct LinearFit {
    /// A generalized inverse of the normal equations, `p x p`: zero for columns that depend on others.
    pub(crate) inverse: Matrix,
    /// Coefficients, length `p`.
    pub(crate) coefficients: Vec<f64>,
    /// Gram matrix `XᵀWX`.
    pub(crate) gram: Matrix,
    /// Number of columns that do not depend on others.
    pub(crate) rank: usize,
}

impl Regression {
    pub(crate) fn rows(&self) -> usize {
        self.response.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.design.cols()
    }

    /// Fits `rows`; `O(len p² + p³)`.
    pub(crate) fn fit(&self, rows: Range<usize>) -> LinearFit {
        self.fit_all(&[rows])
    }

    /// Fits all `ranges` together.
    pub(crate) fn fit_all(&self, ranges: &[Range<usize>]) -> LinearFit {
        let p = self.columns();
        let mut gram = Matrix::zeros(p, p);
        let mut moments = vec![0.0; p];
        for row in ranges.iter().cloned().flatten() {
            let (x, weight) = (self.design.row(row), self.weight[row]);
            add_outer(&mut gram, x, weight);
            moments.iter_mut().zip(x).for_each(|(sum, value)| *sum += weight * value * self.response[row]);
        }
        mirror(&mut gram);
        let (inverse, rank) = generalized_inverse(&gram);
        let coefficients = (0..p).map(|i| dot(inverse.row(i), &moments)).collect();
        LinearFit { inverse, coefficients, gram, rank }
    }

    /// A regression of `p + 1` rows for each of `parts` that has the same normal equations part by part, and so the
    /// same fits: the columns of the Cholesky factor of each part's products. They include the weights; column 0 is no
    /// longer 1.
    pub(crate) fn compressed(&self, parts: &[&[Range<usize>]]) -> Regression {
        let p = self.columns();
        let mut design = Matrix::zeros(parts.len() * (p + 1), p);
        let mut response = vec![0.0; parts.len() * (p + 1)];
        for (part, ranges) in parts.iter().enumerate() {
            let mut products = Matrix::zeros(p + 1, p + 1);
            for row in ranges.iter().cloned().flatten() {
                let products_row: Vec<f64> =
                    self.design.row(row).iter().copied().chain([self.response[row]]).collect();
                add_outer(&mut products, &products_row, self.weight[row]);
            }
            let (lower, _) = cholesky(&products, COMPRESSED_PIVOT_MIN);
            for k in 0..=p {
                let row = part * (p + 1) + k;
                (0..p).for_each(|j| design.set(row, j, lower.get(j, k)));
                response[row] = lower.get(p, k);
            }
        }
        let weight = vec![1.0; response.len()];
        Regression { design, response, weight }
    }

    /// Response minus fit.
    pub(crate) fn residual(&self, row: usize, coefficients: &[f64]) -> f64 {
        self.response[row] - dot(self.design.row(row), coefficients)
    }

    /// `Σ weight · residual²` over `rows`.
    pub(crate) fn weighted_square(&self, rows: Range<usize>, coefficients: &[f64]) -> f64 {
        rows.map(|row| self.weight[row] * self.residual(row, coefficients).powi(2)).sum()
    }
}

/// The inverse of the largest leading set of independent columns, by Cholesky with dependent columns skipped.
fn generalized_inverse(gram: &Matrix) -> (Matrix, usize) {
    let (lower, independent) = cholesky(gram, PIVOT_MIN);
    let rank = independent.iter().filter(|&&is_independent| is_independent).count();
    (inverse_of_factor(&lower, &independent), rank)
}

/// The lower factor `L` of `L Lᵀ = gram`, of which only the lower triangle is read, and which columns have a pivot of more
/// than `pivot_min` of their own square; the others are 0.
fn cholesky(gram: &Matrix, pivot_min: f64) -> (Matrix, Vec<bool>) {
    let p = gram.rows();
    let mut lower = Matrix::zeros(p, p);
    let mut independent = vec![false; p];
    for (j, is_independent) in independent.iter_mut().enumerate() {
        let own = gram.get(j, j);
        let pivot = own - (0..j).map(|k| lower.get(j, k).powi(2)).sum::<f64>();
        if !(pivot > pivot_min * own && pivot > 0.0 && pivot.is_finite()) {
            continue;
        }
        *is_independent = true;
        lower.set(j, j, pivot.sqrt());
        for i in j + 1..p {
            let known = dot(&lower.row(i)[..j], &lower.row(j)[..j]);
            lower.set(i, j, (gram.get(i, j) - known) / pivot.sqrt());
        }
    }
    (lower, independent)
}

/// `(L Lᵀ)⁻¹` over the independent columns, 0 elsewhere.
fn inverse_of_factor(lower: &Matrix, independent: &[bool]) -> Matrix {
    let p = independent.len();
    let mut half = Matrix::zeros(p, p);
    for j in (0..p).filter(|&j| independent[j]) {
        half.set(j, j, 1.0 / lower.get(j, j));
        for i in (j + 1..p).filter(|&i| independent[i]) {
            let known: f64 =
                (j..i).filter(|&k| independent[k]).map(|k| lower.get(i, k) * half.get(k, j)).sum();
            half.set(i, j, -known / lower.get(i, i));
        }
    }
    let mut inverse = Matrix::zeros(p, p);
    for i in 0..p {
        for j in 0..=i {
            let value: f64 = (i..p).map(|k| half.get(k, i) * half.get(k, j)).sum();
            inverse.set(i, j, value);
            inverse.set(j, i, value);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependent_column_has_coefficient_zero() {
        // Column 2 is twice column 1; y = 1 + 3 x.
        let rows: Vec<f64> = (0..6).flat_map(|t| [1.0, f64::from(t), 2.0 * f64::from(t)]).collect();
        let regression = Regression {
            design: Matrix::from_row_major(6, 3, rows),
            response: (0..6).map(|t| 1.0 + 3.0 * f64::from(t)).collect(),
            weight: vec![2.0; 6],
        };
        let fit = regression.fit(0..6);
        assert_eq!(fit.rank, 2);
        for (coefficient, expected) in fit.coefficients.iter().zip([1.0, 3.0, 0.0]) {
            assert!((coefficient - expected).abs() < 1e-9, "{:?}", fit.coefficients);
        }
        assert!(regression.weighted_square(0..6, &fit.coefficients) < 1e-12);
    }

    #[test]
    fn a_compressed_regression_has_the_same_fit() {
        let rows: Vec<f64> =
            (0..40).flat_map(|t| [1.0, f64::from((t * 7) % 11), f64::from((t * 5) % 13)]).collect();
        let regression = Regression {
            design: Matrix::from_row_major(40, 3, rows),
            response: (0..40).map(|t| f64::from((t * 3) % 17)).collect(),
            weight: (0..40).map(|t| 1.0 + f64::from(t % 4)).collect(),
        };
        let parts = [Range { start: 0, end: 25 }, Range { start: 25, end: 40 }];
        let small = regression.compressed(&[&parts[..1], &parts[1..]]);
        assert_eq!(small.rows(), 8);
        for (own, all) in [(0..4, 0..25), (4..8, 25..40), (0..8, 0..40)] {
            let (small_fit, fit) = (small.fit(own.clone()), regression.fit(all.clone()));
            for (a, b) in small_fit.coefficients.iter().zip(&fit.coefficients) {
                assert!((a - b).abs() < 1e-9, "{a} for {b}");
            }
            let (a, b) = (
                small.weighted_square(own, &fit.coefficients),
                regression.weighted_square(all, &fit.coefficients),
            );
            assert!((a / b - 1.0).abs() < 1e-9, "{a} for {b}");
        }
    }
}
