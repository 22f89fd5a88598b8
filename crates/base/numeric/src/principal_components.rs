//! Principal components of a matrix of few columns and many rows, or the other way round.

use crate::Matrix;
use crate::implicit_ql::eigen_pairs;
use nalgebra::DMatrix;

/// A variance below this share of the largest counts as 0: it is rounding.
const VARIANCE_ZERO: f64 = 1e-12;

/// The principal components of a matrix: directions in which its centered rows vary most.
#[derive(Clone, PartialEq, Debug)]
pub struct PrincipalComponents {
    /// Mean of each column.
    pub means: Vec<f64>,
    /// Eigenvalues of the covariance (divisor `m − 1`), descending, one a column; rounding errors below 0 are 0.
    pub variances: Vec<f64>,
    /// One row a component with positive variance, in the order of the variances; rows are orthonormal. The
    /// entry of largest magnitude is positive (of several, the first).
    pub loadings: Matrix,
}

/// Takes the principal components of `rows` (`m x n`): columns are centered, not scaled.
///
/// The smaller of covariance (`n x n`) and Gram matrix (`m x m`) is decomposed: `O(m n · min(m, n))` time.
/// Fewer than two rows, or rows that do not vary, give variances of 0 and no component.
pub fn principal_components(rows: &Matrix) -> PrincipalComponents {
    let (means, centered) = center(rows);
    let (m, n) = (rows.rows(), rows.cols());
    let none = |means| PrincipalComponents { means, variances: vec![0.0; n], loadings: Matrix::zeros(0, n) };
    if m < 2 || n == 0 {
        return none(means);
    }
    let tall = m >= n;
    let products = if tall { column_products(&centered) } else { column_products(&centered.transposed()) };
    let scaled = products / (m - 1) as f64;
    let Some(eigen) = eigen_pairs(scaled) else { return none(means) };
    let mut order: Vec<usize> = (0..eigen.values.len()).collect();
    order.sort_by(|&a, &b| eigen.values[b].total_cmp(&eigen.values[a]).then(a.cmp(&b)));
    let mut variances: Vec<f64> = order.iter().map(|&component| eigen.values[component].max(0.0)).collect();
    variances.resize(n, 0.0);
    let floor = VARIANCE_ZERO * variances[0];
    let retained = variances.iter().take_while(|&&variance| variance > floor).count();
    let mut loadings = Matrix::zeros(retained, n);
    for (component, &source) in order.iter().take(retained).enumerate() {
        let row = loadings.row_mut(component);
        if tall {
            row.iter_mut().zip(eigen.vectors.column(source).iter()).for_each(|(to, from)| *to = *from);
        } else {
            combine(&centered, eigen.vectors.column(source).iter().copied(), row);
        }
        normalize(row);
    }
    PrincipalComponents { means, variances, loadings }
}

/// A singular value counts for the rank above this share of the largest.
pub(crate) const SINGULAR_VALUE_MIN: f64 = 1e-5;

/// Singular values above 1e-5 of the largest, as [`RobustPca::rank`](crate::RobustPca::rank). Columns are not centered.
/// Time as for [`principal_components`]; 0 if it is empty or a value is not finite.
pub fn numerical_rank(matrix: &Matrix) -> usize {
    if matrix.data().is_empty() || matrix.data().iter().any(|value| !value.is_finite()) {
        return 0;
    }
    let tall = matrix.rows() >= matrix.cols();
    let products = if tall { column_products(matrix) } else { column_products(&matrix.transposed()) };
    let squares = products.symmetric_eigenvalues();
    let largest = squares.iter().copied().fold(0.0, f64::max);
    squares.iter().filter(|&&square| square > SINGULAR_VALUE_MIN * SINGULAR_VALUE_MIN * largest).count()
}

impl PrincipalComponents {
    /// The smallest number of components that hold at least `share` of all variance; 0 if nothing varies.
    pub fn components_holding(&self, share: f64) -> usize {
        let total: f64 = self.variances.iter().sum();
        if total <= 0.0 {
            return 0;
        }
        let mut sum = 0.0;
        let enough = self.variances.iter().position(|variance| {
            sum += variance;
            sum >= share * total
        });
        enough.map_or(self.loadings.rows(), |index| index + 1).min(self.loadings.rows())
    }

    /// Share of all variance that the first 1, 2, … components hold together, 0..1, up to all of them; empty if nothing
    /// varies.
    pub fn cumulative_shares(&self) -> Vec<f64> {
        let total: f64 = self.variances.iter().sum();
        let mut sum = 0.0;
        let next = |variance: &f64| {
            sum += variance;
            (sum / total).min(1.0)
        };
        self.variances[..self.loadings.rows()].iter().map(next).collect()
    }

    /// Variances outside of the first `retained` components, without rounding errors.
    pub fn residual_variances(&self, retained: usize) -> &[f64] {
        &self.variances[retained.min(self.loadings.rows())..self.loadings.rows()]
    }

    /// Squared distance of each row from the subspace of the first `retained` components:
    /// `‖(I − PPᵀ)(y − mean)‖²`, the squared prediction error. Time `O(m n retained)`.
    ///
    /// # Panics
    /// If `rows` has another number of columns than the components.
    pub fn squared_prediction_errors(&self, rows: &Matrix, retained: usize) -> Vec<f64> {
        assert_eq!(rows.cols(), self.means.len(), "a column a mean");
        let retained = retained.min(self.loadings.rows());
        let mut left = vec![0.0; rows.cols()];
        let mut residual_error = |row: &[f64]| {
            for ((to, value), mean) in left.iter_mut().zip(row).zip(&self.means) {
                *to = value - mean;
            }
            for component in 0..retained {
                let loading = self.loadings.row(component);
                let score = dot(&left, loading);
                left.iter_mut().zip(loading).for_each(|(to, weight)| *to -= score * weight);
            }
            dot(&left, &left)
        };
        (0..rows.rows()).map(|i| residual_error(rows.row(i))).collect()
    }

    /// Principal variables by Jolliffe's B4 (*Applied Statistics* 21, 1972): for the first `count` components
    /// in order, the column with the largest loading in magnitude that was not selected before (of several, the
    /// first). Distinct columns.
    pub fn principal_columns(&self, count: usize) -> Vec<usize> {
        let mut selected: Vec<usize> = Vec::with_capacity(count);
        for component in 0..count.min(self.loadings.rows()) {
            let loading = self.loadings.row(component);
            let free = (0..loading.len()).filter(|column| !selected.contains(column));
            let best = free.min_by(|&a, &b| loading[b].abs().total_cmp(&loading[a].abs()).then(a.cmp(&b)));
            selected.extend(best);
        }
        selected
    }
}

fn center(rows: &Matrix) -> (Vec<f64>, Matrix) {
    let mut means = vec![0.0; rows.cols()];
    for i in 0..rows.rows() {
        means.iter_mut().zip(rows.row(i)).for_each(|(sum, value)| *sum += value);
    }
    means.iter_mut().for_each(|sum| *sum /= rows.rows().max(1) as f64);
    let mut centered = rows.clone();
    for i in 0..rows.rows() {
        centered.row_mut(i).iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
    }
    (means, centered)
}

/// `AᵀA`, upper triangle summed row by row, then mirrored.
fn column_products(rows: &Matrix) -> DMatrix<f64> {
    let n = rows.cols();
    let mut sums = vec![0.0; n * n];
    for i in 0..rows.rows() {
        let row = rows.row(i);
        for (j, &left) in row.iter().enumerate() {
            let to = &mut sums[j * n + j..(j + 1) * n];
            to.iter_mut().zip(&row[j..]).for_each(|(sum, right)| *sum += left * right);
        }
    }
    DMatrix::from_fn(n, n, |i, j| sums[i.min(j) * n + i.max(j)])
}

/// `out = Σ weight_i · row_i`.
fn combine(rows: &Matrix, weights: impl Iterator<Item = f64>, out: &mut [f64]) {
    for (i, weight) in weights.enumerate() {
        out.iter_mut().zip(rows.row(i)).for_each(|(to, value)| *to += weight * value);
    }
}

/// Unit length, and the sign that makes the largest entry positive.
fn normalize(loading: &mut [f64]) {
    let largest =
        loading.iter().copied().reduce(|best, next| if next.abs() > best.abs() { next } else { best });
    let length = dot(loading, loading).sqrt().copysign(largest.unwrap_or(1.0));
    if length != 0.0 {
        loading.iter_mut().for_each(|entry| *entry /= length);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows on the line (3, 4) through (1, 2), at −2, 0 and 2; the third column is constant.
    fn line() -> Matrix {
        Matrix::from_row_major(3, 3, vec![-5.0, -6.0, 7.0, 1.0, 2.0, 7.0, 7.0, 10.0, 7.0])
    }

    #[test]
    fn a_line_has_one_component() {
        let found = principal_components(&line());
        assert_eq!(found.means, [1.0, 2.0, 7.0]);
        // Distances from the mean are −10, 0, 10: variance 200/2.
        assert!((found.variances[0] - 100.0).abs() < 1e-10 && found.variances[1].abs() < 1e-10);
        assert_eq!((found.loadings.rows(), found.components_holding(0.95)), (1, 1));
        for (entry, expected) in found.loadings.row(0).iter().zip([0.6, 0.8, 0.0]) {
            assert!((entry - expected).abs() < 1e-12);
        }
        assert!(found.residual_variances(1).is_empty());
        // (1, 2, 7) + (−4, 3, 2): 5² across the line, and 2².
        let off_line = Matrix::from_row_major(1, 3, vec![-3.0, 5.0, 9.0]);
        assert!((found.squared_prediction_errors(&off_line, 1)[0] - 29.0).abs() < 1e-10);
        assert_eq!(found.principal_columns(1), [1]);
    }

    #[test]
    fn constant_columns_have_no_component() {
        for matrix in [Matrix::zeros(5, 3), Matrix::zeros(0, 3), Matrix::zeros(1, 3), Matrix::zeros(4, 0)] {
            let found = principal_components(&matrix);
            assert_eq!((found.components_holding(0.95), found.loadings.rows()), (0, 0));
            assert_eq!(found.principal_columns(3), []);
            assert_eq!(found.cumulative_shares(), []);
            assert_eq!(numerical_rank(&matrix), 0);
            assert_eq!(found.squared_prediction_errors(&matrix, 2), vec![0.0; matrix.rows()]);
        }
    }

    #[test]
    fn ranks_of_small_matrices() {
        // The third column is the sum of the others; the last row repeats the first.
        let rows = Matrix::from_row_major(3, 3, vec![1.0, 2.0, 3.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0]);
        assert_eq!((numerical_rank(&rows), numerical_rank(&rows.transposed())), (2, 2));
        assert_eq!(numerical_rank(&Matrix::from_row_major(1, 2, vec![0.0, 5.0])), 1);
        assert_eq!(numerical_rank(&Matrix::from_row_major(1, 2, vec![f64::NAN, 5.0])), 0);
    }

    /// With fewer rows than columns the other Gram matrix is used; the result must be the same.
    #[test]
    fn both_gram_matrices_give_the_same_components() {
        let wide =
            Matrix::from_row_major(3, 4, vec![1.0, 5.0, 2.0, 0.5, 4.0, 1.0, 1.0, 3.0, 2.0, 2.0, 9.0, 1.0]);
        let mut tall = wide.clone().into_data();
        // The same rows twice: the same directions, variances times 2·2/5.
        tall.extend(wide.data());
        let tall = principal_components(&Matrix::from_row_major(6, 4, tall));
        let wide = principal_components(&wide);
        assert_eq!((wide.loadings.rows(), tall.loadings.rows()), (2, 2));
        for component in 0..2 {
            assert!((tall.variances[component] - 0.8 * wide.variances[component]).abs() < 1e-10);
            for (a, b) in tall.loadings.row(component).iter().zip(wide.loadings.row(component)) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
        }
    }
}
