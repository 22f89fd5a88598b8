//! Normal equations of a linear regression as sums that can be added and subtracted.

use crate::Matrix;

/// Sums of products over the rows `(x_0, …, x_{p−1}, y)` of a regression of `y` on `p` columns: all that least
/// squares needs to know of them, in `O(p²)` memory however many rows there are.
///
/// An intercept is a column of ones like any other. Sums of integers below 2⁵³ are exact, so differences of
/// prefix sums lose nothing for counts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NormalEquations {
    columns: usize,
    rows: usize,
    /// Lower triangle of the Gram matrix of `(x, y)`, row by row: element `(i, j)`, `j ≤ i`, is at
    /// `i(i+1)/2 + j`; row `columns` is the response's.
    packed: Vec<f64>,
}

impl NormalEquations {
    /// No rows yet, `columns` columns.
    pub fn zeros(columns: usize) -> NormalEquations {
        NormalEquations { columns, rows: 0, packed: vec![0.0; packed_len(columns)] }
    }

    /// The equations of all rows of `x`, `T x n`, with response `y`; column 0 is an intercept, column `1 + j`
    /// is column `j` of `x`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn with_intercept(x: &Matrix, y: &[f64]) -> NormalEquations {
        assert_eq!(x.rows(), y.len(), "a response for every row");
        let mut equations = NormalEquations::zeros(x.cols() + 1);
        let mut row = vec![1.0; x.cols() + 1];
        for (i, &response) in y.iter().enumerate() {
            row[1..].copy_from_slice(x.row(i));
            equations.add_row(&row, response);
        }
        equations
    }

    /// Number of columns `p`, without the response.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows summed.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds one row.
    ///
    /// # Panics
    /// If `x` does not have `columns()` numbers.
    pub fn add_row(&mut self, x: &[f64], y: f64) {
        assert_eq!(x.len(), self.columns, "a number for every column");
        let mut packed = self.packed.iter_mut();
        for (i, &left) in x.iter().chain(std::iter::once(&y)).enumerate() {
            for &right in &x[..(i + 1).min(x.len())] {
                *packed.next().expect("the triangle has a slot for every pair") += left * right;
            }
        }
        *packed.next().expect("the last slot is the response's square") += y * y;
        self.rows += 1;
    }

    /// Adds the rows of `other`.
    ///
    /// # Panics
    /// If the numbers of columns differ.
    pub fn add(&mut self, other: &NormalEquations) {
        assert_eq!(self.columns, other.columns, "equations of the same columns");
        self.rows += other.rows;
        self.packed.iter_mut().zip(&other.packed).for_each(|(sum, more)| *sum += more);
    }

    /// Removes the rows of `other`, which must have been added before.
    ///
    /// # Panics
    /// If the numbers of columns differ, or `other` has more rows.
    pub fn subtract(&mut self, other: &NormalEquations) {
        assert_eq!(self.columns, other.columns, "equations of the same columns");
        self.rows = self.rows.checked_sub(other.rows).expect("only rows that were added are subtracted");
        self.packed.iter_mut().zip(&other.packed).for_each(|(sum, less)| *sum -= less);
    }

    /// `Σ x_i x_j` over the rows.
    pub fn gram(&self, i: usize, j: usize) -> f64 {
        assert!(i.max(j) < self.columns, "columns ({i}, {j}) of {}", self.columns);
        self.packed[position(i.max(j), i.min(j))]
    }

    /// `Σ x_i y` over the rows.
    pub fn moment(&self, i: usize) -> f64 {
        assert!(i < self.columns, "column {i} of {}", self.columns);
        self.packed[position(self.columns, i)]
    }

    /// `Σ y²` over the rows.
    pub fn response_square(&self) -> f64 {
        self.packed[packed_len(self.columns) - 1]
    }

    /// The lower triangle: element `(i, j)`, `j ≤ i`, at `i(i+1)/2 + j`; the last row is the response's.
    pub fn packed(&self) -> &[f64] {
        &self.packed
    }
}

/// Normal equations of every prefix of the rows of a regression with intercept, and so of every interval of rows
/// by one subtraction. `T + 1` triangles of `O(n²)` numbers.
#[derive(Clone, Debug)]
pub struct PrefixSums {
    columns: usize,
    sums: Vec<f64>,
}

impl PrefixSums {
    /// Sums over the rows of `x`, `T x n`, with response `y`; column 0 is an intercept.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn with_intercept(x: &Matrix, y: &[f64]) -> PrefixSums {
        assert_eq!(x.rows(), y.len(), "a response for every row");
        let columns = x.cols() + 1;
        let mut sums = Vec::with_capacity((y.len() + 1) * packed_len(columns));
        sums.resize(packed_len(columns), 0.0);
        let mut out = PrefixSums { columns, sums };
        y.iter().enumerate().for_each(|(i, &response)| out.push(x.row(i), response));
        out
    }

    /// Appends a row; the intercept is not in `x`.
    ///
    /// # Panics
    /// If `x` does not have `columns() - 1` numbers.
    pub fn push(&mut self, x: &[f64], y: f64) {
        assert_eq!(x.len() + 1, self.columns, "a number for every column but the intercept");
        let row = std::iter::once(1.0).chain(x.iter().copied()).chain([y]);
        let before = self.sums.len() - packed_len(self.columns);
        let mut offset = before;
        for (i, left) in row.clone().enumerate() {
            for right in row.clone().take(i + 1) {
                self.sums.push(self.sums[offset] + left * right);
                offset += 1;
            }
        }
    }

    /// Drops the first row. The prefix sums do not change, so the sums of intervals remain bit-identical.
    ///
    /// # Panics
    /// If there is none.
    pub fn drop_first(&mut self) {
        assert!(self.rows() > 0, "there is a row to drop");
        self.sums.drain(..packed_len(self.columns));
    }

    /// Number of columns `p = n + 1`.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows `T`.
    pub fn rows(&self) -> usize {
        self.sums.len() / packed_len(self.columns) - 1
    }

    /// The packed triangle over the first `rows` rows, and those dropped.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn prefix(&self, rows: usize) -> &[f64] {
        let len = packed_len(self.columns);
        &self.sums[rows * len..(rows + 1) * len]
    }

    /// Makes `equations` those of rows `from..to`, without allocating when it has the right shape.
    ///
    /// # Panics
    /// If `from > to` or `to > rows()`.
    pub fn between_into(&self, from: usize, to: usize, equations: &mut NormalEquations) {
        assert!(from <= to && to <= self.rows(), "rows {from}..{to} of {}", self.rows());
        equations.columns = self.columns;
        equations.rows = to - from;
        equations.packed.clear();
        equations.packed.extend(self.prefix(to).iter().zip(self.prefix(from)).map(|(to, from)| to - from));
    }

    /// The equations of rows `from..to`.
    ///
    /// # Panics
    /// If `from > to` or `to > rows()`.
    pub fn between(&self, from: usize, to: usize) -> NormalEquations {
        let mut equations = NormalEquations::default();
        self.between_into(from, to, &mut equations);
        equations
    }
}

/// Numbers in the lower triangle over `columns` columns and the response.
pub(crate) fn packed_len(columns: usize) -> usize {
    (columns + 1) * (columns + 2) / 2
}

/// Where element `(i, j)`, `j ≤ i`, is in a packed lower triangle.
pub(crate) fn position(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_rows() -> (Matrix, Vec<f64>) {
        (Matrix::from_row_major(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), vec![10.0, 20.0, 40.0])
    }

    #[test]
    fn sums_of_products_are_those_by_hand() {
        let (x, y) = three_rows();
        let equations = NormalEquations::with_intercept(&x, &y);
        assert_eq!((equations.columns(), equations.rows()), (3, 3));
        assert_eq!(equations.gram(0, 0), 3.0);
        assert_eq!(equations.gram(0, 2), 12.0);
        assert_eq!(equations.gram(2, 1), 44.0);
        assert_eq!(equations.gram(1, 1), 35.0);
        assert_eq!(equations.moment(0), 70.0);
        assert_eq!(equations.moment(2), 340.0);
        assert_eq!(equations.response_square(), 2100.0);
    }

    #[test]
    fn an_interval_is_the_difference_of_two_prefixes() {
        let (x, y) = three_rows();
        let sums = PrefixSums::with_intercept(&x, &y);
        let mut last = NormalEquations::with_intercept(&x, &y);
        last.subtract(&sums.between(0, 1));
        assert_eq!((sums.rows(), sums.columns()), (3, 3));
        assert_eq!(sums.between(1, 3), last);
        assert_eq!(last.moment(1), 260.0);
        let mut all = sums.between(1, 3);
        all.add(&sums.between(0, 1));
        assert_eq!(all, sums.between(0, 3));
        assert_eq!(sums.between(2, 2), NormalEquations::zeros(3));
    }

    #[test]
    fn rows_can_be_appended_and_dropped() {
        let (x, y) = three_rows();
        let mut sums = PrefixSums::with_intercept(&x, &y);
        sums.push(&[7.0, 8.0], 50.0);
        let pair = sums.between(2, 4);
        sums.drop_first();
        assert_eq!((sums.rows(), sums.between(1, 3)), (3, pair));
        assert_eq!(sums.between(2, 3).gram(1, 2), 56.0);
    }

    #[test]
    #[should_panic(expected = "only rows that were added")]
    fn subtracting_more_rows_than_were_added_fails() {
        let (x, y) = three_rows();
        NormalEquations::zeros(3).subtract(&NormalEquations::with_intercept(&x, &y));
    }
}
