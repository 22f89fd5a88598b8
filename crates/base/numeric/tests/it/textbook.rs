//! The decomposition as printed in the paper: every array stored, a full singular value decomposition.

use laggard_numeric::Matrix;
use nalgebra::DMatrix;

/// Whether entries or columns of the sparse part are shrunk together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shrink {
    Entries,
    Columns,
}

/// Result of the textbook method.
pub(crate) struct Textbook {
    pub(crate) low_rank: DMatrix<f64>,
    pub(crate) sparse: DMatrix<f64>,
    pub(crate) iterations: u32,
}

/// Inexact augmented Lagrangian with growth 1.5 and tolerance 1e-7.
pub(crate) fn decompose(matrix: &Matrix, lambda: f64, shrink: Shrink) -> Textbook {
    let m = to_nalgebra(matrix);
    let spectral = m.singular_values().max();
    let mut y = &m / spectral.max(m.amax() / lambda);
    let (mut mu, mu_max) = (1.25 / spectral, 1.25e7 / spectral);
    let mut low_rank = DMatrix::zeros(m.nrows(), m.ncols());
    for iterations in 1..1000 {
        let sparse = shrunk(&m - &low_rank + &y / mu, lambda / mu, shrink);
        let mut svd = (&m - &sparse + &y / mu).svd(true, true);
        svd.singular_values.apply(|sigma| *sigma = (*sigma - 1.0 / mu).max(0.0));
        low_rank = svd.recompose().expect("both sides were computed");
        let gap = &m - &low_rank - &sparse;
        if gap.norm() <= 1e-7 * m.norm() {
            return Textbook { low_rank, sparse, iterations };
        }
        y += gap * mu;
        mu = (1.5 * mu).min(mu_max);
    }
    panic!("the textbook method converges")
}

pub(crate) fn to_nalgebra(matrix: &Matrix) -> DMatrix<f64> {
    DMatrix::from_row_slice(matrix.rows(), matrix.cols(), matrix.data())
}

fn shrunk(mut v: DMatrix<f64>, cut: f64, shrink: Shrink) -> DMatrix<f64> {
    match shrink {
        Shrink::Entries => v.apply(|v| *v = v.signum() * (v.abs() - cut).max(0.0)),
        Shrink::Columns => {
            for mut column in v.column_iter_mut() {
                let norm = column.norm();
                column *= if norm > cut { 1.0 - cut / norm } else { 0.0 };
            }
        }
    }
    v
}
