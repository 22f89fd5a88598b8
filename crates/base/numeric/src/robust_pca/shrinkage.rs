//! The shrinkage of singular values as a matrix to multiply with.

use crate::implicit_ql::eigen_pairs;
use crate::principal_components::SINGULAR_VALUE_MIN;
use nalgebra::{DMatrix, DVector};
use pulp::Arch;

use super::padded::Padded;
use super::products::Product;
use super::stripes::Scratch;

/// `P` with `X P = U soft(S, 1/mu) V'` for the `X = U S V'` whose Gram matrix it was made from.
pub(super) struct Shrinkage {
    matrix: ShrinkageMatrix,
    /// `sigma - 1/mu` where positive, from the largest: the singular values of `X P`.
    pub(super) singular_values: Vec<f64>,
}

enum ShrinkageMatrix {
    /// Nothing is left.
    Zero,
    /// `P` itself, `n x n` and symmetric.
    Full(Padded),
    /// `P = basis * weighted`, of `n x k` and `k x n`; cheaper while `k` is below half of `n`.
    Factored { basis: Padded, weighted: Padded },
}

impl Shrinkage {
    /// Shrinks by `cut` the singular values of a matrix whose Gram matrix is `gram`.
    pub(super) fn new(gram: DMatrix<f64>, cut: f64) -> Shrinkage {
        // That eigenvalues do not converge has never been observed; a shrinkage to zero in that case only delays the
        // iteration, which is visible in its residual.
        let Some(eigen) = eigen_pairs(gram) else { return Shrinkage::to_zero() };
        let sigma: Vec<f64> = eigen.values.iter().map(|value| value.max(0.0).sqrt()).collect();
        let mut retained: Vec<usize> = (0..sigma.len()).filter(|&k| sigma[k] > cut).collect();
        retained.sort_by(|&a, &b| sigma[b].total_cmp(&sigma[a]));
        let weights = DVector::from_iterator(retained.len(), retained.iter().map(|&k| 1.0 - cut / sigma[k]));
        let basis = eigen.vectors.select_columns(&retained);
        let singular_values = retained.iter().map(|&k| sigma[k] - cut).collect();
        Shrinkage { matrix: ShrinkageMatrix::new(basis, &weights), singular_values }
    }

    /// The largest singular value of a matrix, from its Gram matrix.
    pub(super) fn spectral_norm(gram: DMatrix<f64>) -> f64 {
        let square_sum = gram.trace();
        // The Frobenius norm is a bound, and a bound is all the start of the iteration needs.
        let largest = eigen_pairs(gram)
            .map_or(square_sum, |eigen| eigen.values.into_iter().fold(f64::NEG_INFINITY, f64::max));
        largest.max(0.0).sqrt()
    }

    /// The shrinkage that leaves nothing.
    pub(super) fn to_zero() -> Shrinkage {
        Shrinkage { matrix: ShrinkageMatrix::Zero, singular_values: Vec::new() }
    }

    /// Writes `block * P` to `scratch.low_rank`.
    pub(super) fn apply(&self, arch: Arch, block: &[f64], scratch: &mut Scratch) {
        let Padded { cols, stride, data } = &mut scratch.low_rank;
        let rows = block.len() / *cols;
        let out = &mut data[..rows * *stride];
        match &self.matrix {
            ShrinkageMatrix::Zero => out.fill(0.0),
            ShrinkageMatrix::Full(factor) => {
                arch.dispatch(Product { left: block, left_stride: *cols, factor, out })
            }
            ShrinkageMatrix::Factored { basis, weighted } => {
                let coordinates = &mut scratch.coordinates[..rows * basis.stride];
                arch.dispatch(Product { left: block, left_stride: *cols, factor: basis, out: coordinates });
                arch.dispatch(Product {
                    left: coordinates,
                    left_stride: basis.stride,
                    factor: weighted,
                    out,
                });
            }
        }
    }

    /// Singular values above 1e-5 of the largest.
    pub(super) fn numerical_rank(&self) -> usize {
        let Some(largest) = self.singular_values.first() else { return 0 };
        self.singular_values.iter().filter(|value| **value > SINGULAR_VALUE_MIN * largest).count()
    }
}

impl ShrinkageMatrix {
    fn new(basis: DMatrix<f64>, weights: &DVector<f64>) -> ShrinkageMatrix {
        if weights.is_empty() {
            return ShrinkageMatrix::Zero;
        }
        let mut weighted = basis.transpose();
        for (mut row, weight) in weighted.row_iter_mut().zip(weights) {
            row *= *weight;
        }
        if 2 * basis.ncols() < basis.nrows() {
            return ShrinkageMatrix::Factored {
                basis: Padded::copy_of(&basis),
                weighted: Padded::copy_of(&weighted),
            };
        }
        ShrinkageMatrix::Full(Padded::copy_of(&(basis * weighted)))
    }
}
