//! Small row-major matrices laid out for vector instructions.

use nalgebra::DMatrix;

/// Widest vector of doubles of any supported processor.
pub(super) const LANES_MAX: usize = 8;

/// A row-major matrix with row stride `stride`, the gap filled with zeros.
pub(super) struct Padded {
    pub(super) cols: usize,
    pub(super) stride: usize,
    pub(super) data: Vec<f64>,
}

impl Padded {
    pub(super) fn zeros(rows: usize, cols: usize) -> Padded {
        let stride = stride_for(cols);
        Padded { cols, stride, data: vec![0.0; rows * stride] }
    }

    pub(super) fn copy_of(matrix: &DMatrix<f64>) -> Padded {
        let mut padded = Padded::zeros(matrix.nrows(), matrix.ncols());
        for (from, to) in matrix.row_iter().zip(padded.data.chunks_exact_mut(padded.stride)) {
            to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = *from);
        }
        padded
    }
}

/// The distance of rows of `cols` doubles: an odd multiple of the widest vector. Even multiples would let
/// the rows of some shapes compete for a few sets of the first-level cache.
pub(super) fn stride_for(cols: usize) -> usize {
    (cols.div_ceil(LANES_MAX) | 1) * LANES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_an_odd_number_of_vectors_apart() {
        assert_eq!([1, 8, 9, 24, 117, 128].map(stride_for), [8, 8, 24, 24, 120, 136]);
    }

    #[test]
    fn a_copy_has_the_same_rows_padded_with_zeros() {
        let padded = Padded::copy_of(&DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 4.0]));
        assert_eq!(padded.data[..8], [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(padded.data[8..], [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
