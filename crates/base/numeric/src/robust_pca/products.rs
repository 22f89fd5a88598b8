//! Products of a block of rows with small matrices, at the speed of the processor.
//!
//! A tile of the result is kept in vector registers while the shared index runs: a vector of the right
//! factor times one number of the left. Both are read where they lie; nothing is repacked. Inlining is
//! forced because code is compiled for the wider vectors only where it ends up in
//! [`WithSimd::with_simd`].

use pulp::{Simd, WithSimd};

use super::padded::Padded;

/// Vectors a tile is wide; together with its height (8 rows of 8 lanes, 4 of fewer) it uses three
/// quarters of the registers.
const TILE_VECTORS: usize = 3;

/// `out = left * factor`.
pub(super) struct Product<'a> {
    /// Row-major with row stride `left_stride`, as many columns as `factor` has rows.
    pub(super) left: &'a [f64],
    pub(super) left_stride: usize,
    pub(super) factor: &'a Padded,
    /// One row for each of `left`, with the stride of `factor`.
    pub(super) out: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.strips::<S, 8>(simd),
            _ => self.strips::<S, 4>(simd),
        }
    }
}

impl Product<'_> {
    #[inline(always)]
    fn strips<S: Simd, const ROWS: usize>(mut self, simd: S) {
        let vectors = self.factor.cols.div_ceil(S::F64_LANES);
        for first in (0..vectors).step_by(TILE_VECTORS) {
            match vectors - first {
                1 => self.strip::<S, ROWS, 1>(simd, first),
                2 => self.strip::<S, ROWS, 2>(simd, first),
                _ => self.strip::<S, ROWS, TILE_VECTORS>(simd, first),
            }
        }
    }

    /// The vectors `first..first + WIDTH` of all rows.
    #[inline(always)]
    fn strip<S: Simd, const ROWS: usize, const WIDTH: usize>(&mut self, simd: S, first: usize) {
        let stride = self.factor.stride / S::F64_LANES;
        let (factor, _) = S::as_simd_f64s(&self.factor.data);
        let (out, _) = S::as_mut_simd_f64s(self.out);
        let whole = self.left.chunks_exact(self.left_stride * ROWS);
        let rest = whole.remainder();
        let mut to = out.chunks_exact_mut(stride);
        for group in whole {
            let rows = std::array::from_fn(|q| &group[q * self.left_stride..]);
            let sums: [[S::f64s; WIDTH]; ROWS] = product_tile(simd, rows, factor, stride, first);
            for (sums, to) in sums.iter().zip(to.by_ref()) {
                to[first..first + WIDTH].copy_from_slice(sums);
            }
        }
        for (row, to) in rest.chunks_exact(self.left_stride).zip(to) {
            let [sums]: [[S::f64s; WIDTH]; 1] = product_tile(simd, [row], factor, stride, first);
            to[first..first + WIDTH].copy_from_slice(&sums);
        }
    }
}

#[inline(always)]
fn product_tile<S: Simd, const ROWS: usize, const WIDTH: usize>(
    simd: S,
    rows: [&[f64]; ROWS],
    factor: &[S::f64s],
    stride: usize,
    first: usize,
) -> [[S::f64s; WIDTH]; ROWS] {
    let inner = factor.len() / stride;
    let rows = rows.map(|row| &row[..inner]);
    let mut sums = [[simd.splat_f64s(0.0); WIDTH]; ROWS];
    for i in 0..inner {
        let right: [S::f64s; WIDTH] = std::array::from_fn(|v| factor[i * stride + first + v]);
        for (sums, row) in sums.iter_mut().zip(rows) {
            let left = simd.splat_f64s(row[i]);
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = simd.mul_add_f64s(left, right, *sum);
            }
        }
    }
    sums
}

/// Adds `block' * block` to the upper triangle of `gram`; tiles that the diagonal crosses are complete,
/// what is below them is left as it was.
pub(super) struct AddGram<'a> {
    /// Rows laid out like those of `gram`, zeros in the gaps.
    pub(super) block: &'a [f64],
    /// As many rows as columns, rounded up to a multiple of the widest vector.
    pub(super) gram: &'a mut Padded,
}

impl WithSimd for AddGram<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F64_LANES {
            8 => self.strips::<S, 8>(simd),
            _ => self.strips::<S, 4>(simd),
        }
    }
}

impl AddGram<'_> {
    #[inline(always)]
    fn strips<S: Simd, const ROWS: usize>(mut self, simd: S) {
        let vectors = self.gram.cols.div_ceil(S::F64_LANES);
        for first in (0..vectors).step_by(TILE_VECTORS) {
            match vectors - first {
                1 => self.strip::<S, ROWS, 1>(simd, first),
                2 => self.strip::<S, ROWS, 2>(simd, first),
                _ => self.strip::<S, ROWS, TILE_VECTORS>(simd, first),
            }
        }
    }

    /// The vectors `first..first + WIDTH` of the rows down to the diagonal.
    #[inline(always)]
    fn strip<S: Simd, const ROWS: usize, const WIDTH: usize>(&mut self, simd: S, first: usize) {
        let stride = self.gram.stride / S::F64_LANES;
        let end = ((first + WIDTH) * S::F64_LANES).min(self.gram.cols);
        let (gram, _) = S::as_mut_simd_f64s(&mut self.gram.data);
        for (i, rows) in gram.chunks_exact_mut(stride * ROWS).enumerate().take(end.div_ceil(ROWS)) {
            let sums: [[S::f64s; WIDTH]; ROWS] = gram_tile(simd, self.block, stride, i * ROWS, first);
            for (row, sums) in rows.chunks_exact_mut(stride).zip(sums) {
                for (total, sum) in row[first..first + WIDTH].iter_mut().zip(sums) {
                    *total = simd.add_f64s(*total, sum);
                }
            }
        }
    }
}

#[inline(always)]
fn gram_tile<S: Simd, const ROWS: usize, const WIDTH: usize>(
    simd: S,
    block: &[f64],
    stride: usize,
    top: usize,
    first: usize,
) -> [[S::f64s; WIDTH]; ROWS] {
    let (vectors, _) = S::as_simd_f64s(block);
    let mut sums = [[simd.splat_f64s(0.0); WIDTH]; ROWS];
    for (numbers, vectors) in block.chunks_exact(stride * S::F64_LANES).zip(vectors.chunks_exact(stride)) {
        let right: [S::f64s; WIDTH] = std::array::from_fn(|v| vectors[first + v]);
        for (sums, left) in sums.iter_mut().zip(&numbers[top..top + ROWS]) {
            let left = simd.splat_f64s(*left);
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = simd.mul_add_f64s(left, right, *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust_pca::padded::{LANES_MAX, stride_for};
    use crate::robust_pca::processors::processors;
    use nalgebra::DMatrix;

    /// Integers, so that sums are exact in any order.
    fn whole_numbers(rows: usize, cols: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, cols, |i, j| ((i * 37 + j * 11) % 13) as f64 - 5.0)
    }

    fn row_major(matrix: &DMatrix<f64>) -> Vec<f64> {
        matrix.transpose().as_slice().to_vec()
    }

    fn check_product(rows: usize, inner: usize, cols: usize) {
        let (left, factor) = (whole_numbers(rows, inner), whole_numbers(inner, cols));
        let expected = Padded::copy_of(&(&left * &factor));
        let (left, factor) = (row_major(&left), Padded::copy_of(&factor));
        for processor in processors() {
            let mut out = vec![0.0; expected.data.len()];
            let product = Product { left: &left, left_stride: inner, factor: &factor, out: &mut out };
            processor.run(product);
            assert_eq!(out, expected.data, "{rows} x {inner} x {cols} on {processor:?}");
        }
    }

    #[test]
    fn products_of_all_shapes_of_tiles() {
        for cols in 1..60 {
            check_product(11, 5, cols);
        }
        for rows in 0..20 {
            check_product(rows, 1 + rows, 9);
        }
    }

    #[test]
    fn gram_matrices_of_all_shapes_of_tiles() {
        for cols in 1..60_usize {
            let matrix = whole_numbers(7, cols);
            let expected = matrix.transpose() * &matrix;
            let block = Padded::copy_of(&matrix).data;
            for processor in processors() {
                let mut gram = Padded::zeros(cols.next_multiple_of(LANES_MAX), cols);
                processor.run(AddGram { block: &block, gram: &mut gram });
                processor.run(AddGram { block: &block, gram: &mut gram });
                for (i, j) in (0..cols).flat_map(|j| (0..=j).map(move |i| (i, j))) {
                    let found = gram.data[i * stride_for(cols) + j];
                    assert_eq!(found, 2.0 * expected[(i, j)], "({i}, {j}) of {cols} on {processor:?}");
                }
            }
        }
    }
}
