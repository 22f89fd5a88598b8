//! How much of each column the low-rank part explains.

use crate::Matrix;

/// `|<M_j, L_j>| / (|M_j| |L_j|)` for each column `j`: 1 where the low-rank part has the column's
/// direction, small where the column is mostly deviation (CloudDiag, Eq. 1, its lost operator restored).
///
/// A column of zeros in `original` gives 1 (nothing to flag); one in `low_rank` only gives 0. The
/// result has `original.cols()` entries in 0 to 1.
///
/// # Panics
/// If the shapes differ.
pub fn column_cosines(original: &Matrix, low_rank: &Matrix) -> Vec<f64> {
    assert_eq!((original.rows(), original.cols()), (low_rank.rows(), low_rank.cols()), "equal shapes");
    let mut sums = vec![ColumnSums::default(); original.cols()];
    for i in 0..original.rows() {
        for ((sum, &m), &l) in sums.iter_mut().zip(original.row(i)).zip(low_rank.row(i)) {
            sum.product += m * l;
            sum.original_square += m * m;
            sum.low_rank_square += l * l;
        }
    }
    sums.iter().map(ColumnSums::cosine).collect()
}

#[derive(Clone, Copy, Default)]
struct ColumnSums {
    product: f64,
    original_square: f64,
    low_rank_square: f64,
}

impl ColumnSums {
    fn cosine(&self) -> f64 {
        if self.original_square == 0.0 {
            return 1.0;
        }
        if self.low_rank_square == 0.0 {
            return 0.0;
        }
        let norms = self.original_square.sqrt() * self.low_rank_square.sqrt();
        (self.product.abs() / norms).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_worked_by_hand() {
        // Columns: same direction, 45 degrees, zero original, zero low rank.
        let original = Matrix::from_row_major(2, 4, vec![1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0]);
        let low_rank = Matrix::from_row_major(2, 4, vec![-2.0, 3.0, 5.0, 0.0, -4.0, 3.0, 5.0, 0.0]);
        let cosines = column_cosines(&original, &low_rank);
        let expected = [1.0, 0.5_f64.sqrt(), 1.0, 0.0];
        for (found, cosine) in cosines.iter().zip(expected) {
            assert!((found - cosine).abs() < 1e-15, "{found} is not {cosine}");
        }
    }

    #[test]
    fn no_rows_and_no_columns() {
        assert_eq!(column_cosines(&Matrix::zeros(0, 2), &Matrix::zeros(0, 2)), [1.0, 1.0]);
        assert!(column_cosines(&Matrix::zeros(3, 0), &Matrix::zeros(3, 0)).is_empty());
    }
}
