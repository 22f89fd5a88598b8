//! Robust principal component analysis: a matrix as low rank plus sparse.

use std::num::NonZeroUsize;

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::Matrix;

/// How [`robust_pca`] and [`outlier_pursuit`] iterate.
#[derive(Clone, PartialEq, Debug)]
pub struct RobustPcaSettings {
    /// Weight of the sparse part against the nuclear norm, above 0. `None` is `1 / sqrt(max(m, n))`
    /// (Candes, Li, Ma, Wright, *J. ACM* 58, 2011) for [`robust_pca`] and 0.9 for [`outlier_pursuit`].
    pub lambda: Option<f64>,
    /// Growth of the penalty per iteration, above 1. Default 1.5 (Lin, Chen, Ma, arXiv 1009.5055).
    pub growth: f64,
    /// Stops when `|M - L - E|_F <= tolerance |M|_F`. Default 1e-7 (same source).
    pub tolerance: f64,
    /// Most iterations; after them the last iterate is returned as not converged. Default 1000.
    pub iterations_max: u32,
    /// Threads to work on; the answer is bitwise the same for any number. Default 1.
    pub threads: NonZeroUsize,
}

impl Default for RobustPcaSettings {
    fn default() -> Self {
        RobustPcaSettings {
            lambda: None,
            growth: 1.5,
            tolerance: 1e-7,
            iterations_max: 1000,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// A matrix taken apart.
#[derive(Clone, PartialEq, Debug)]
pub struct RobustPca {
    /// The low-rank part `L`, of the input's shape.
    pub low_rank: Matrix,
    /// The sparse part `E`, of the input's shape; `L + E` is the input up to `residual`.
    pub sparse: Matrix,
    /// Iterations done.
    pub iterations: u32,
    /// `|M - L - E|_F / |M|_F`; 0 of a zero matrix.
    pub residual: f64,
    /// Numerical rank of `L`: singular values above 1e-5 of the largest.
    pub rank: usize,
    /// Whether the residual met the tolerance.
    pub converged: bool,
    /// Singular values of `L` that are not zero, from the largest.
    pub singular_values: Vec<f64>,
    /// Entries of the input that were not finite and were taken as 0.
    pub non_finite: usize,
}

/// Splits a matrix into a low-rank and an entry-wise sparse part.
pub fn robust_pca(matrix: Matrix, settings: &RobustPcaSettings) -> RobustPca {
    if matrix.rows() < matrix.cols() {
        let mut flipped = robust_pca(matrix.transposed(), settings);
        flipped.low_rank = flipped.low_rank.transposed();
        flipped.sparse = flipped.sparse.transposed();
        return flipped;
    }
    let lambda = settings.lambda.unwrap_or(1.0 / (matrix.rows().max(1) as f64).sqrt());
    iterate(matrix, settings, lambda, soft_entries)
}

/// Splits a matrix into a low-rank part and a part that is zero in most columns.
pub fn outlier_pursuit(matrix: Matrix, settings: &RobustPcaSettings) -> RobustPca {
    iterate(matrix, settings, settings.lambda.unwrap_or(0.9), soft_columns)
}

fn soft_entries(matrix: &mut DMatrix<f64>, threshold: f64) {
    matrix.apply(|v| *v = v.signum() * (v.abs() - threshold).max(0.0));
}

fn soft_columns(matrix: &mut DMatrix<f64>, threshold: f64) {
    for mut column in matrix.column_iter_mut() {
        let norm = column.norm();
        column *= if norm > threshold { 1.0 - threshold / norm } else { 0.0 };
    }
}

fn iterate(
    mut matrix: Matrix,
    settings: &RobustPcaSettings,
    lambda: f64,
    shrink: fn(&mut DMatrix<f64>, f64),
) -> RobustPca {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut non_finite = 0;
    for value in matrix.data_mut() {
        if !value.is_finite() {
            *value = 0.0;
            non_finite += 1;
        }
    }
    let m = DMatrix::from_row_slice(rows, cols, matrix.data());
    let norm = m.norm();
    let mut out = RobustPca {
        low_rank: Matrix::zeros(rows, cols),
        sparse: Matrix::zeros(rows, cols),
        iterations: 0,
        residual: 0.0,
        rank: 0,
        converged: true,
        singular_values: Vec::new(),
        non_finite,
    };
    if norm == 0.0 {
        return out;
    }
    let spectral = SymmetricEigen::new(m.transpose() * &m).eigenvalues.max().sqrt();
    let largest = m.amax();
    let mut y = &m / spectral.max(largest / lambda);
    let mut mu = 1.25 / spectral;
    let mu_max = mu * 1e7;
    let mut low = DMatrix::zeros(rows, cols);
    let mut e = m.clone();
    out.converged = false;
    while out.iterations < settings.iterations_max && !out.converged {
        e = &m - &low + &y / mu;
        shrink(&mut e, lambda / mu);
        let x = &m - &e + &y / mu;
        let eigen = SymmetricEigen::new(x.transpose() * &x);
        let sigma = eigen.eigenvalues.map(|v| v.max(0.0).sqrt());
        let keep = DVector::from_iterator(cols, sigma.iter().map(|s| (1.0 - 1.0 / (mu * s)).max(0.0)));
        out.singular_values = sigma.iter().map(|s| s - 1.0 / mu).filter(|s| *s > 0.0).collect();
        low = &x * (&eigen.eigenvectors * DMatrix::from_diagonal(&keep) * eigen.eigenvectors.transpose());
        let gap = &m - &low - &e;
        out.residual = gap.norm() / norm;
        y += gap * mu;
        mu = (mu * settings.growth).min(mu_max);
        out.iterations += 1;
        out.converged = out.residual <= settings.tolerance;
    }
    out.singular_values.sort_by(|a, b| b.total_cmp(a));
    out.rank = out.singular_values.iter().filter(|s| **s > 1e-5 * out.singular_values[0]).count();
    out.low_rank = Matrix::from_row_major(rows, cols, low.transpose().as_slice().to_vec());
    out.sparse = Matrix::from_row_major(rows, cols, e.transpose().as_slice().to_vec());
    out
}
