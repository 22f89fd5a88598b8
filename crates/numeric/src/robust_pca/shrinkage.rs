//! The shrinkage of singular values as a matrix to multiply with.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::products::multiply;

/// `P` with `X P = U soft(S, 1/mu) V'` for the `X = U S V'` whose Gram matrix it was made from.
pub(super) struct Shrinkage {
    form: Form,
    /// `sigma - 1/mu` where positive, from the largest: the singular values of `X P`.
    pub(super) singular_values: Vec<f64>,
}

enum Form {
    /// Nothing is left.
    Zero,
    /// `P` itself, `n x n` and symmetric.
    Full(DMatrix<f64>),
    /// `P = basis * weighted'`, both `n x k`; cheaper while `k` is below half of `n`.
    Factored { basis_transposed: DMatrix<f64>, weighted: DMatrix<f64> },
}

impl Shrinkage {
    /// Shrinks by `cut` the singular values of a matrix whose Gram matrix is `gram`.
    pub(super) fn new(gram: DMatrix<f64>, cut: f64) -> Shrinkage {
        let eigen = SymmetricEigen::new(gram);
        let sigma = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
        let mut kept: Vec<usize> = (0..sigma.len()).filter(|&k| sigma[k] > cut).collect();
        kept.sort_by(|&a, &b| sigma[b].total_cmp(&sigma[a]));
        let weights = DVector::from_iterator(kept.len(), kept.iter().map(|&k| 1.0 - cut / sigma[k]));
        let basis = eigen.eigenvectors.select_columns(&kept);
        let singular_values = kept.iter().map(|&k| sigma[k] - cut).collect();
        Shrinkage { form: Form::new(basis, &weights), singular_values }
    }

    /// The largest singular value of a matrix, from its Gram matrix.
    pub(super) fn spectral_norm(gram: DMatrix<f64>) -> f64 {
        gram.symmetric_eigenvalues().max().max(0.0).sqrt()
    }

    /// Writes `block * P` to `out`; `scratch` may be overwritten and is at least as long as `block`.
    pub(super) fn apply(&self, block: &[f64], cols: usize, scratch: &mut [f64], out: &mut [f64]) {
        match &self.form {
            Form::Zero => out.fill(0.0),
            Form::Full(product) => multiply(block, product, out),
            Form::Factored { basis_transposed, weighted } => {
                let coordinates = &mut scratch[..block.len() / cols * weighted.ncols()];
                multiply(block, basis_transposed, coordinates);
                multiply(coordinates, weighted, out);
            }
        }
    }

    /// Singular values above 1e-5 of the largest.
    pub(super) fn numerical_rank(&self) -> usize {
        let Some(largest) = self.singular_values.first() else { return 0 };
        self.singular_values.iter().filter(|value| **value > 1e-5 * largest).count()
    }
}

impl Form {
    fn new(basis: DMatrix<f64>, weights: &DVector<f64>) -> Form {
        if weights.is_empty() {
            return Form::Zero;
        }
        let mut weighted = basis.clone();
        for (mut column, weight) in weighted.column_iter_mut().zip(weights) {
            column *= *weight;
        }
        let basis_transposed = basis.transpose();
        if 2 * basis.ncols() < basis.nrows() {
            return Form::Factored { basis_transposed, weighted };
        }
        Form::Full(weighted * basis_transposed)
    }
}
