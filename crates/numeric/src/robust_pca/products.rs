//! Products of row-major blocks with small matrices.
//!
//! A row-major block of `rows x cols` is, to the linear algebra library, its own transpose: a
//! column-major matrix of `cols x rows`. All views below are of that kind, with rows next to each other:
//! nalgebra 0.35 reads beyond the end of views with any other row stride (its issue 1616), except in the
//! right factor.

use nalgebra::{DMatrix, Dyn, MatrixView, MatrixViewMut, U1};

/// Number of panels into which the columns of a Gram matrix are cut: a panel needs only the rows above
/// its own end, so with 3 a third of the work is saved; with more the panels get too narrow.
const GRAM_PANELS: usize = 3;

/// `out = block * factor`, where `block` is row-major `rows x k`, `out` row-major `rows x cols`, and the
/// factor is given transposed, as `cols x k`.
pub(super) fn multiply(block: &[f64], factor_transposed: &DMatrix<f64>, out: &mut [f64]) {
    let (cols, inner) = factor_transposed.shape();
    let rows = block.len() / inner;
    let right = MatrixView::from_slice_generic(block, Dyn(inner), Dyn(rows));
    let mut product = MatrixViewMut::from_slice_generic(out, Dyn(cols), Dyn(rows));
    product.gemm(1.0, factor_transposed, &right, 0.0);
}

/// Adds `block' * block` to the upper triangle of the column-major `cols x cols` matrix `gram`; what is
/// below the diagonal is left undefined.
pub(super) fn add_gram(block: &[f64], cols: usize, gram: &mut [f64]) {
    let rows = Dyn(block.len() / cols);
    let panel = cols.div_ceil(GRAM_PANELS).next_multiple_of(8);
    for first in (0..cols).step_by(panel) {
        let end = (first + panel).min(cols);
        let (height, width) = (Dyn(end), Dyn(end - first));
        let left = MatrixView::from_slice_with_strides_generic(block, height, rows, U1, Dyn(cols));
        let right = MatrixView::from_slice_with_strides_generic(&block[first..], rows, width, Dyn(cols), U1);
        let sum = &mut gram[first * cols..];
        MatrixViewMut::from_slice_with_strides_generic(sum, height, width, U1, Dyn(cols))
            .gemm(1.0, &left, &right, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: usize, cols: usize) -> Vec<f64> {
        (0..rows * cols).map(|i| ((i * 37) % 11) as f64 - 4.0).collect()
    }

    #[test]
    fn gram_is_the_sum_of_products_of_columns() {
        for cols in [1, 2, 7, 26, 40] {
            let x = block(9, cols);
            let mut gram = vec![1.0; cols * cols];
            add_gram(&x, cols, &mut gram);
            for i in 0..cols {
                for j in i..cols {
                    let product: f64 = (0..9).map(|r| x[r * cols + i] * x[r * cols + j]).sum();
                    assert_eq!(gram[i + j * cols], 1.0 + product, "({i}, {j}) of {cols}");
                }
            }
        }
    }

    #[test]
    fn a_block_times_a_matrix() {
        let factor = DMatrix::from_row_slice(2, 3, &[1.0, 0.0, 2.0, 0.0, 1.0, 3.0]).transpose();
        let mut out = [f64::NAN; 6];
        multiply(&[1.0, 2.0, 3.0, 4.0], &factor, &mut out);
        assert_eq!(out, [1.0, 2.0, 8.0, 3.0, 4.0, 18.0]);
    }
}
