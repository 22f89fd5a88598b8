//! The active columns of a least-squares problem, with the Cholesky factor of their Gram matrix.

use super::PIVOT_MIN;
use crate::normal_equations::position;

/// Columns in order of entry, the Cholesky factor `L Lᵀ` of their Gram matrix and `L⁻¹ Xᵀy`. The factor's diagonal is
/// stored inverted. Adding a column costs `O(k²)`, removing one `O(k³)` at most.
#[derive(Clone, Debug)]
pub(super) struct ActiveSet {
    total: usize,
    columns: Vec<usize>,
    /// Packed rows of the factor; diagonal inverted.
    factor: Vec<f64>,
    /// `L⁻¹ Xᵀy`.
    reduced: Vec<f64>,
}

impl ActiveSet {
    pub(super) fn new(total: usize) -> ActiveSet {
        ActiveSet { total, columns: Vec::new(), factor: Vec::new(), reduced: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.guess(std::iter::empty());
    }

    /// Replaces the columns; the factor is void until [`ActiveSet::factor`].
    pub(super) fn guess(&mut self, columns: impl Iterator<Item = usize>) {
        self.columns.clear();
        self.columns.extend(columns);
        self.factor.clear();
        self.reduced.clear();
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Factors again; columns that depend on earlier ones are removed.
    pub(super) fn factor(&mut self, packed: &[f64]) {
        self.refactor_from(packed, 0, |_, _| true);
    }

    /// Adds a column; returns false and changes nothing when it depends linearly on the active ones.
    pub(super) fn push(&mut self, packed: &[f64], column: usize) -> bool {
        let start = self.factor.len();
        for (i, &other) in self.columns.iter().enumerate() {
            let row = position(i, 0);
            let mut value = packed[position(column.max(other), column.min(other))];
            for j in 0..i {
                value -= self.factor[row + j] * self.factor[start + j];
            }
            self.factor.push(value * self.factor[row + i]);
        }
        let new = &self.factor[start..];
        let square = packed[position(column, column)];
        let pivot = square - new.iter().map(|value| value * value).sum::<f64>();
        // Written so that NaN is rejected, too.
        let independent = pivot > PIVOT_MIN * square && pivot.is_normal();
        if !independent {
            self.factor.truncate(start);
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        let moment = packed[position(self.total, column)];
        let known: f64 = new.iter().zip(&self.reduced).map(|(l, y)| l * y).sum();
        self.reduced.push((moment - known) * inverse);
        self.factor.push(inverse);
        self.columns.push(column);
        true
    }

    /// Removes the last column.
    pub(super) fn pop(&mut self) {
        let last = self.columns.len() - 1;
        self.truncate(last);
    }

    /// Removes the columns that `leaves` names.
    pub(super) fn remove_where(&mut self, packed: &[f64], leaves: impl Fn(usize) -> bool) {
        let Some(first) = self.columns.iter().position(|&column| leaves(column)) else { return };
        self.refactor_from(packed, first, |_, column| !leaves(column));
    }

    /// Retains the columns whose entry in `solution` is positive; true if any was removed.
    pub(super) fn retain(&mut self, packed: &[f64], solution: &[f64]) -> bool {
        let Some(first) = solution.iter().position(|&value| value.is_nan() || value <= 0.0) else {
            return false;
        };
        self.refactor_from(packed, first, |index, _| solution[index] > 0.0);
        true
    }

    /// Solves `L Lᵀ z = Xᵀy` for the columns in, in their order.
    pub(super) fn solve(&self, solution: &mut Vec<f64>) {
        solution.clear();
        solution.extend_from_slice(&self.reduced);
        for i in (0..solution.len()).rev() {
            let row = position(i, 0);
            solution[i] *= self.factor[row + i];
            let value = solution[i];
            for (before, l) in solution[..i].iter_mut().zip(&self.factor[row..]) {
                *before -= l * value;
            }
        }
    }

    /// `Σ y²` less what the columns explain, at least 0.
    pub(super) fn residual_square(&self, packed: &[f64]) -> f64 {
        let total = packed[position(self.total, self.total)];
        let rest = total - self.reduced.iter().map(|value| value * value).sum::<f64>();
        if rest > 0.0 { rest } else { 0.0 }
    }

    /// The column outside that would lower the residual fastest, by columns of unit length; none when no gradient
    /// exceeds `gradient_min`. Ties: the first.
    pub(super) fn steepest(
        &self,
        packed: &[f64],
        coefficients: &[f64],
        barred: &[bool],
        gradient_min: f64,
    ) -> Option<usize> {
        let mut best = None;
        let mut steepest = gradient_min;
        for column in 0..self.total {
            let square = packed[position(column, column)];
            if barred[column] || coefficients[column] > 0.0 || square <= 0.0 {
                continue;
            }
            let explained: f64 = self
                .columns
                .iter()
                .map(|&other| packed[position(column.max(other), column.min(other))] * coefficients[other])
                .sum();
            let gradient = (packed[position(self.total, column)] - explained) / square.sqrt();
            if gradient > steepest {
                (best, steepest) = (Some(column), gradient);
            }
        }
        best
    }

    /// Factors columns `first..` again; `stays` (position, column) selects those that remain.
    fn refactor_from(&mut self, packed: &[f64], first: usize, stays: impl Fn(usize, usize) -> bool) {
        let mut rest = [0_usize; 32];
        let count = self.columns.len() - first;
        if count <= rest.len() {
            rest[..count].copy_from_slice(&self.columns[first..]);
            self.push_all(packed, first, &rest[..count], stays);
        } else {
            let rest = self.columns[first..].to_vec();
            self.push_all(packed, first, &rest, stays);
        }
    }

    fn push_all(
        &mut self,
        packed: &[f64],
        first: usize,
        rest: &[usize],
        stays: impl Fn(usize, usize) -> bool,
    ) {
        self.truncate(first);
        for (index, &column) in (first..).zip(rest) {
            if stays(index, column) {
                self.push(packed, column);
            }
        }
    }

    fn truncate(&mut self, len: usize) {
        self.columns.truncate(len);
        self.reduced.truncate(len);
        self.factor.truncate(position(len, 0));
    }
}
