//! A dense matrix of `f64`, stored row by row.

use std::fmt;
use std::ops::Range;

/// A dense `rows x cols` matrix of `f64` in row-major order.
///
/// Either dimension may be zero. The element `(i, j)` is `data()[i * cols() + j]`.
#[derive(Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    ///
    /// # Panics
    /// If `rows * cols` overflows `usize`.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { rows, cols, data: vec![0.0; element_count(rows, cols)] }
    }

    /// A matrix over `data`, which holds the rows one after the other.
    ///
    /// # Panics
    /// If `data` does not hold exactly `rows * cols` numbers.
    pub fn from_row_major(rows: usize, cols: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), element_count(rows, cols), "a {rows} x {cols} matrix");
        Matrix { rows, cols, data }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`, of length `cols()`.
    ///
    /// # Panics
    /// If `i` is not below `rows()`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, of length `cols()`, to be changed.
    ///
    /// # Panics
    /// If `i` is not below `rows()`.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If `row` does not have `cols()` numbers.
    pub fn push_row(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.cols, "a row of {} columns", self.cols);
        self.data.extend_from_slice(row);
        self.rows += 1;
    }

    /// Removes the first row; `O(rows · cols)`.
    ///
    /// # Panics
    /// If there is none.
    pub fn drop_first_row(&mut self) {
        assert!(self.rows > 0, "there is a row to drop");
        self.data.drain(..self.cols);
        self.rows -= 1;
    }

    /// The element in row `i` and column `j`.
    ///
    /// # Panics
    /// If the position is outside the matrix.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[self.position(i, j)]
    }

    /// Replaces the element in row `i` and column `j`.
    ///
    /// # Panics
    /// If the position is outside the matrix.
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, v: f64) {
        let position = self.position(i, j);
        self.data[position] = v;
    }

    /// All elements, row by row.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// All elements, row by row, to be changed.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The elements, row by row, without a copy.
    pub fn into_data(self) -> Vec<f64> {
        self.data
    }

    /// The elements of column `j` from the first row to the last.
    ///
    /// # Panics
    /// If `j` is not below `cols()`.
    pub fn column(&self, j: usize) -> impl Iterator<Item = f64> {
        assert!(j < self.cols, "column {j} of {}", self.cols);
        self.data.iter().skip(j).step_by(self.cols).copied()
    }

    /// The Frobenius norm: the root of the sum of all squared elements.
    pub fn frobenius_norm(&self) -> f64 {
        self.data.iter().map(|value| value * value).sum::<f64>().sqrt()
    }

    #[inline]
    fn position(&self, i: usize, j: usize) -> usize {
        assert!(i < self.rows && j < self.cols, "({i}, {j}) of {} x {}", self.rows, self.cols);
        i * self.cols + j
    }

    /// The transpose, as a new matrix; works in square tiles so that both sides stay in cache.
    pub(crate) fn transposed(&self) -> Matrix {
        const TILE: usize = 32;
        let mut out = Matrix::zeros(self.cols, self.rows);
        for top in (0..self.rows).step_by(TILE) {
            for left in (0..self.cols).step_by(TILE) {
                self.transpose_tile(
                    top..(top + TILE).min(self.rows),
                    left..(left + TILE).min(self.cols),
                    &mut out,
                );
            }
        }
        out
    }

    fn transpose_tile(&self, rows: Range<usize>, cols: Range<usize>, out: &mut Matrix) {
        for i in rows {
            for j in cols.clone() {
                out.data[j * self.rows + i] = self.data[i * self.cols + j];
            }
        }
    }
}

/// Shows the shape and the first few elements only: matrices are large.
impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let more = if self.data.len() > SHOWN { ", ..." } else { "" };
        let head = &self.data[..self.data.len().min(SHOWN)];
        write!(f, "Matrix {} x {} {head:?}{more}", self.rows, self.cols)
    }
}

fn element_count(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols).expect("the number of elements fits in memory's address range")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_three() -> Matrix {
        Matrix::from_row_major(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    }

    #[test]
    fn rows_columns_and_elements_agree() {
        let mut matrix = two_by_three();
        assert_eq!(matrix.row(1), [4.0, 5.0, 6.0]);
        assert_eq!(matrix.column(2).collect::<Vec<_>>(), [3.0, 6.0]);
        matrix.set(0, 1, -2.0);
        matrix.row_mut(1)[0] = 7.0;
        assert_eq!((matrix.get(0, 1), matrix.get(1, 0)), (-2.0, 7.0));
        assert_eq!(matrix.into_data(), [1.0, -2.0, 3.0, 7.0, 5.0, 6.0]);
    }

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        let flipped = two_by_three().transposed();
        assert_eq!((flipped.rows(), flipped.cols()), (3, 2));
        assert_eq!(flipped.data(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn the_norm_of_three_and_four_is_five() {
        assert_eq!(Matrix::from_row_major(1, 2, vec![3.0, 4.0]).frobenius_norm(), 5.0);
        assert_eq!(Matrix::zeros(0, 4).frobenius_norm(), 0.0);
    }

    #[test]
    fn rows_can_be_appended_and_dropped() {
        let mut matrix = two_by_three();
        matrix.push_row(&[7.0, 8.0, 9.0]);
        matrix.drop_first_row();
        assert_eq!(matrix, Matrix::from_row_major(2, 3, vec![4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
    }

    #[test]
    #[should_panic(expected = "a 2 x 2 matrix")]
    fn a_wrong_length_panics() {
        Matrix::from_row_major(2, 2, vec![1.0; 3]);
    }
}
