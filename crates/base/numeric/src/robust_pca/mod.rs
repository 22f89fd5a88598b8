//! Robust principal component analysis: a matrix as a low-rank plus a sparse part.
//!
//! The method is the inexact augmented Lagrangian of Lin, Chen, Ma (arXiv 1009.5055): minimize
//! `|L|_* + lambda |E|` subject to `L + E = M` by alternating a shrinkage of the entries of `E` with a
//! shrinkage of the singular values of `L`.
//!
//! How it is computed. The multiplier `Y` is never stored: with `X = M - E + Y/mu`, the matrix whose
//! singular values are shrunk, the new multiplier is `Y = mu (X - L)`. So the state is the three arrays
//! `M`, `X`, `E`, and one pass over blocks of rows that stay in cache computes the block of `L = X P`
//! (`P` shrinks the singular values, from the eigenvectors of the small matrix `X'X`), the residual, the
//! next `E` and `X` in place, and the next `X'X`. The singular values lose about half their digits that
//! way, but only those close to the cut-off notice. Memory: 3 copies of the matrix, input and output
//! included, plus some matrices of `n x n`. Time `O(m n^2 + n^3)` an iteration, `m >= n` (a wide matrix
//! is transposed).

mod block;
mod entries;
mod iteration;
mod padded;
#[cfg(test)]
mod processors;
mod products;
mod shrinkage;
mod stripes;

use std::num::NonZeroUsize;

use crate::Matrix;
use iteration::Decomposition;

/// How [`robust_pca`] and [`outlier_pursuit`] iterate.
///
/// Every setting that is not in its range (NaN included) is replaced by its default.
#[derive(Clone, PartialEq, Debug)]
pub struct RobustPcaSettings {
    /// Weight of the sparse part against the nuclear norm, above 0. `None` is `1 / sqrt(max(m, n))`
    /// for [`robust_pca`] (Candes, Li, Ma, Wright, *J. ACM* 58, 2011) and 0.9 for [`outlier_pursuit`].
    pub lambda: Option<f64>,
    /// Growth of the penalty `mu` per iteration, above 1. Default 1.5 (Lin, Chen, Ma 2009). Smaller is
    /// slower and ends nearer to the optimum.
    pub growth: f64,
    /// Stops when `|M - L - E|_F <= tolerance |M|_F`; above 0. Default 1e-7 (same source).
    pub tolerance: f64,
    /// Most iterations, at least 1; after them the last iterate is returned as not converged. Default
    /// 1000.
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

/// A decomposed matrix, with the state of convergence.
#[derive(Clone, PartialEq, Debug)]
pub struct RobustPca {
    /// The low-rank part `L`, of the input's shape.
    pub low_rank: Matrix,
    /// The sparse part `E`, of the input's shape; `L + E` is the input up to `residual`.
    pub sparse: Matrix,
    /// Iterations done; 0 for a zero or empty matrix.
    pub iterations: u32,
    /// `|M - L - E|_F / |M|_F` of the parts returned; 0 of a zero or empty matrix.
    pub residual: f64,
    /// Numerical rank of `L`: singular values above 1e-5 of the largest.
    pub rank: usize,
    /// Whether the residual met the tolerance.
    pub converged: bool,
    /// The singular values of `L` that are not zero, from the largest. Their sum is the nuclear norm.
    pub singular_values: Vec<f64>,
    /// Entries of the input that were not finite and were treated as 0. Anything but 0 deserves a warning:
    /// the answer then is about another matrix.
    pub non_finite: usize,
}

/// Which entries of the sparse part vanish together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sparsity {
    /// Each on its own.
    Entries,
    /// Entire rows.
    Rows,
    /// Entire columns.
    Columns,
}

/// Splits a matrix into a low-rank part and a part most of whose weight is in few entries.
///
/// The matrix is not centered: the mean profile belongs to the low-rank part. It is consumed, so that
/// peak memory is 3 copies of it, plus `n x n` sums for each of the stripes of rows that are worked on
/// independently (together at most a quarter of a copy, or two such sums). Values that are not finite are treated as 0 and counted in
/// [`RobustPca::non_finite`]. With growth 1.5 the objective may end up to 3 % above the convex optimum
/// on tiny noisy matrices, 0.02 % on latencies of requests.
pub fn robust_pca(matrix: Matrix, settings: &RobustPcaSettings) -> RobustPca {
    let longer_side = matrix.rows().max(matrix.cols()).max(1) as f64;
    let lambda = positive_or(settings.lambda, 1.0 / longer_side.sqrt());
    if matrix.rows() < matrix.cols() {
        let flipped = into_transposed(matrix);
        return decompose(flipped, lambda, Sparsity::Entries, settings).into_transposed();
    }
    decompose(matrix, lambda, Sparsity::Entries, settings)
}

/// Splits a matrix into a low-rank part and a part that is zero in most columns.
///
/// "Outlier pursuit" (Xu, Caramanis, Sanghavi, NIPS 2010): minimizes `|L|_* + lambda` times the sum of
/// the norms of the columns of `E`. It names columns but not rows, so use it only where the rows do not
/// matter. A column is put into `E` when the others hardly explain any of it; `lambda` of 1 or more
/// leaves even an orthogonal column in `L`, and one below `sqrt(rank / n)` puts all columns into `E`,
/// hence the default of 0.9 (ours). Memory and treatment of values as for [`robust_pca`].
pub fn outlier_pursuit(matrix: Matrix, settings: &RobustPcaSettings) -> RobustPca {
    let lambda = positive_or(settings.lambda, 0.9);
    if matrix.rows() < matrix.cols() {
        let flipped = into_transposed(matrix);
        return decompose(flipped, lambda, Sparsity::Rows, settings).into_transposed();
    }
    decompose(matrix, lambda, Sparsity::Columns, settings)
}

/// Drops the input early, so that only one copy exists at a time.
fn into_transposed(matrix: Matrix) -> Matrix {
    matrix.transposed()
}

fn positive_or(value: Option<f64>, default: f64) -> f64 {
    value.filter(|value| value.is_finite() && *value > 0.0).unwrap_or(default)
}

/// Requires at least as many rows as columns.
fn decompose(mut matrix: Matrix, lambda: f64, sparsity: Sparsity, settings: &RobustPcaSettings) -> RobustPca {
    let survey = Survey::sanitize(matrix.data_mut());
    if survey.largest == 0.0 {
        return RobustPca::from_zeros(matrix, survey.non_finite);
    }
    let scale = survey.scale();
    scale_by(&mut matrix, scale);
    let mut parts = Decomposition::new(matrix, lambda, sparsity, settings).solve(survey.largest * scale);
    scale_by(&mut parts.low_rank, 1.0 / scale);
    scale_by(&mut parts.sparse, 1.0 / scale);
    parts.singular_values.iter_mut().for_each(|value| *value /= scale);
    parts.non_finite = survey.non_finite;
    parts
}

/// Extent of the entries. Large ones are scaled so that their squares do not overflow.
struct Survey {
    largest: f64,
    non_finite: usize,
}

impl Survey {
    /// Replaces non-finite entries by 0.
    fn sanitize(data: &mut [f64]) -> Survey {
        let mut survey = Survey { largest: 0.0, non_finite: 0 };
        for value in data {
            if value.is_finite() {
                survey.largest = survey.largest.max(value.abs());
            } else {
                survey.non_finite += 1;
                *value = 0.0;
            }
        }
        survey
    }

    /// 1, or a power of two that keeps the squares of the entries in range. Multiplying by a power of two
    /// is exact and the method commutes with it.
    fn scale(&self) -> f64 {
        if (1e-100..1e100).contains(&self.largest) {
            return 1.0;
        }
        // 2^1022 at most, so that its inverse is a normal number as well.
        (-self.largest.log2().floor()).clamp(-1022.0, 1022.0).exp2()
    }
}

fn scale_by(matrix: &mut Matrix, factor: f64) {
    if factor != 1.0 {
        matrix.data_mut().iter_mut().for_each(|value| *value *= factor);
    }
}

impl RobustPca {
    /// The parts of a matrix of zeros, or of one without elements.
    fn from_zeros(matrix: Matrix, non_finite: usize) -> RobustPca {
        let sparse = Matrix::zeros(matrix.rows(), matrix.cols());
        RobustPca {
            low_rank: matrix,
            sparse,
            iterations: 0,
            residual: 0.0,
            rank: 0,
            converged: true,
            singular_values: Vec::new(),
            non_finite,
        }
    }

    fn into_transposed(self) -> RobustPca {
        RobustPca { low_rank: into_transposed(self.low_rank), sparse: into_transposed(self.sparse), ..self }
    }
}
