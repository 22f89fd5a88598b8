//! Small symmetric matrices: solving, inverting, eigenvalues.

use crate::Matrix;
use crate::implicit_ql::eigen_pairs;
use nalgebra::DMatrix;

/// The Cholesky factor of a symmetric positive definite matrix, `p x p`; `O(p³)` to make, `O(p²)` to solve with.
#[derive(Clone, Debug)]
pub struct Cholesky {
    lower: Matrix,
}

impl Cholesky {
    /// Factors `matrix`, of which only the lower triangle is read. None if a pivot falls to or below
    /// `pivot_min` times its own diagonal element, which means that the column depends on those before it.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn new(matrix: &Matrix, pivot_min: f64) -> Option<Cholesky> {
        let size = matrix.rows();
        assert_eq!(size, matrix.cols(), "a square matrix");
        let mut lower = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let known = dot(&lower.row(i)[..j], &lower.row(j)[..j]);
                let rest = matrix.get(i, j) - known;
                if i != j {
                    lower.set(i, j, rest / lower.get(j, j));
                } else if rest > pivot_min * matrix.get(i, i).abs() && rest.is_finite() && rest > 0.0 {
                    lower.set(i, i, rest.sqrt());
                } else {
                    return None;
                }
            }
        }
        Some(Cholesky { lower })
    }

    /// Solves `A x = b`.
    ///
    /// # Panics
    /// If `b` does not have one number a row.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let size = self.lower.rows();
        assert_eq!(b.len(), size, "a number for every row");
        let mut x = b.to_vec();
        for i in 0..size {
            let row = self.lower.row(i);
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        // By rows of the factor, which are the columns of its transpose.
        for i in (0..size).rev() {
            let row = self.lower.row(i);
            x[i] /= row[i];
            let (before, solved) = x.split_at_mut(i);
            before.iter_mut().zip(row).for_each(|(value, factor)| *value -= factor * solved[0]);
        }
        x
    }

    /// `ln det A`.
    pub fn log_determinant(&self) -> f64 {
        (0..self.lower.rows()).map(|i| 2.0 * self.lower.get(i, i).ln()).sum()
    }

    /// The inverse `A⁻¹`, `p x p`.
    pub fn inverse(&self) -> Matrix {
        let size = self.lower.rows();
        // L⁻¹ by rows, and then A⁻¹ = L⁻ᵀ L⁻¹.
        let mut half = Matrix::zeros(size, size);
        for i in 0..size {
            let row = self.lower.row(i);
            let mut own = vec![0.0; i + 1];
            own[i] = 1.0 / row[i];
            for (k, factor) in row[..i].iter().enumerate() {
                let scale = factor / row[i];
                own.iter_mut().zip(&half.row(k)[..=k]).for_each(|(value, other)| *value -= scale * other);
            }
            half.row_mut(i)[..=i].copy_from_slice(&own);
        }
        let mut inverse = Matrix::zeros(size, size);
        for k in 0..size {
            let row = &half.row(k)[..=k];
            for (i, value) in row.iter().enumerate() {
                inverse.row_mut(i).iter_mut().zip(row).for_each(|(sum, other)| *sum += value * other);
            }
        }
        inverse
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
#[derive(Clone, PartialEq, Debug)]
pub struct Eigen {
    /// Eigenvalues, descending.
    pub values: Vec<f64>,
    /// One row an eigenvalue, in their order; rows are orthonormal, and the entry of largest magnitude (of
    /// several, the first) is positive.
    pub vectors: Matrix,
}

/// The eigenvalues of a symmetric `matrix`, `O(p³)`. None if it holds something that is not finite, or the
/// iteration does not end.
///
/// # Panics
/// If the matrix is not square.
pub fn symmetric_eigen(matrix: &Matrix) -> Option<Eigen> {
    let size = matrix.rows();
    assert_eq!(size, matrix.cols(), "a square matrix");
    if matrix.data().iter().any(|value| !value.is_finite()) {
        return None;
    }
    if size == 0 {
        return Some(Eigen { values: Vec::new(), vectors: Matrix::zeros(0, 0) });
    }
    let found = eigen_pairs(DMatrix::from_row_slice(size, size, matrix.data()))?;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| found.values[b].total_cmp(&found.values[a]).then(a.cmp(&b)));
    let mut vectors = Matrix::zeros(size, size);
    for (row, &source) in order.iter().enumerate() {
        let column = found.vectors.column(source);
        let largest = column
            .iter()
            .fold(0.0_f64, |best, &v| if v.abs() > best.abs() * (1.0 + 1e-9) { v } else { best });
        let sign = if largest < 0.0 { -1.0 } else { 1.0 };
        vectors.row_mut(row).iter_mut().zip(column.iter()).for_each(|(to, from)| *to = sign * from);
    }
    Some(Eigen { values: order.iter().map(|&source| found.values[source]).collect(), vectors })
}

/// The condition number `largest / smallest` eigenvalue of a symmetric matrix that should be positive definite;
/// infinite when it is not, or the smallest is rounding (below 1e-15 of the largest); 1 for a `0 x 0` matrix.
///
/// # Panics
/// If the matrix is not square.
pub fn condition_number(matrix: &Matrix) -> f64 {
    if matrix.rows() == 0 {
        return 1.0;
    }
    let Some(eigen) = symmetric_eigen(matrix) else { return f64::INFINITY };
    let (largest, smallest) = (eigen.values[0], eigen.values[matrix.rows() - 1]);
    if smallest <= 1e-15 * largest { f64::INFINITY } else { largest / smallest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two_by_two() -> Matrix {
        Matrix::from_row_major(2, 2, vec![4.0, 2.0, 2.0, 3.0])
    }

    /// `[4 2; 2 3]` has determinant 8, so its inverse is `[3 −2; −2 4]/8`; eigenvalues `(7 ± √17)/2`.
    #[test]
    fn two_by_two_by_hand() {
        let factor = Cholesky::new(&two_by_two(), 0.0).expect("positive definite");
        let solved = factor.solve(&[8.0, 8.0]);
        assert!((solved[0] - 1.0).abs() < 1e-15 && (solved[1] - 2.0).abs() < 1e-15);
        let expected = [0.375, -0.25, -0.25, 0.5];
        for (found, expected) in factor.inverse().data().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert!((factor.log_determinant() - 8.0_f64.ln()).abs() < 1e-15);
        let root = 17.0_f64.sqrt();
        let eigen = symmetric_eigen(&two_by_two()).expect("it ends");
        assert!((eigen.values[0] - (7.0 + root) / 2.0).abs() < 1e-13);
        assert!((condition_number(&two_by_two()) - (7.0 + root) / (7.0 - root)).abs() < 1e-12);
    }

    #[test]
    fn dependent_columns_have_no_factor_and_no_finite_condition() {
        let dependent = Matrix::from_row_major(2, 2, vec![1.0, 2.0, 2.0, 4.0]);
        assert!(Cholesky::new(&dependent, 1e-12).is_none());
        assert_eq!(condition_number(&dependent), f64::INFINITY);
        assert!(symmetric_eigen(&Matrix::from_row_major(1, 1, vec![f64::NAN])).is_none());
        assert_eq!(condition_number(&Matrix::zeros(0, 0)), 1.0);
        assert!(symmetric_eigen(&Matrix::zeros(0, 0)).expect("nothing to do").values.is_empty());
    }

    proptest! {
        #[test]
        fn inverse_times_matrix_is_one(rows in prop::collection::vec(prop::array::uniform4(-3.0..3.0f64), 6)) {
            let mut gram = Matrix::zeros(4, 4);
            for i in 0..4 {
                for j in 0..4 {
                    let product: f64 = rows.iter().map(|row| row[i] * row[j]).sum();
                    gram.set(i, j, product + if i == j { 0.1 } else { 0.0 });
                }
            }
            let inverse = Cholesky::new(&gram, 0.0).expect("positive definite").inverse();
            for i in 0..4 {
                for j in 0..4 {
                    let sum: f64 = (0..4).map(|k| inverse.get(i, k) * gram.get(k, j)).sum();
                    prop_assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9);
                }
            }
        }
    }
}
