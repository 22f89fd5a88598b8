//! Non-negative least squares from normal equations (Lawson, Hanson 1974).

mod active_set;
mod intervals;
mod lanes;

use crate::NormalEquations;
use active_set::ActiveSet;
pub use intervals::{INTERVAL_LANES, interval_residuals, residuals_upto};

/// A column is dependent on those in the active set when its Cholesky pivot is below this share of its squared norm.
const PIVOT_MIN: f64 = 1e-10;
/// A gradient by a column of unit length counts when it is above this share of `√Σy²`, the most it could be.
const GRADIENT_MIN: f64 = 1e-11;

/// The minimum of `‖Xc − y‖₂` over `c ≥ 0`.
#[derive(Clone, PartialEq, Debug)]
pub struct NonNegativeFit {
    /// One coefficient a column, ≥ 0. Where columns depend on each other they need not be unique.
    pub coefficients: Vec<f64>,
    /// The sum of squared residuals, ≥ 0; unique. Its rounding error is about 1e-16 of `Σ y²`.
    pub sse: f64,
}

/// Minimizes `‖Xc − y‖₂` over `c ≥ 0` by the active-set method of Lawson and Hanson on the normal equations,
/// `O(p³)` a step and about as many steps as columns end up positive. Columns that are zero, or depend on
/// those already in, end with 0. No columns: the sum of squares of `y`.
pub fn nnls(equations: &NormalEquations) -> NonNegativeFit {
    let mut solver = NnlsSolver::new(equations.columns());
    let sse = solver.solve(equations);
    NonNegativeFit { coefficients: solver.coefficients().to_vec(), sse }
}

/// [`nnls`] many times without allocating, and from a guess: the columns that were positive in the last problem.
#[derive(Clone, Debug)]
pub struct NnlsSolver {
    set: ActiveSet,
    coefficients: Vec<f64>,
    /// The solution on the active set, in its order.
    candidate: Vec<f64>,
    /// Columns that cannot enter until the active set changes.
    barred: Vec<bool>,
}

impl NnlsSolver {
    /// A solver of problems with `columns` columns.
    pub fn new(columns: usize) -> NnlsSolver {
        NnlsSolver {
            set: ActiveSet::new(columns),
            coefficients: vec![0.0; columns],
            candidate: Vec::with_capacity(columns),
            barred: vec![false; columns],
        }
    }

    /// Solves from an empty active set; the sum of squared residuals, ≥ 0.
    ///
    /// # Panics
    /// If `equations` do not have the solver's number of columns.
    pub fn solve(&mut self, equations: &NormalEquations) -> f64 {
        self.set.clear();
        self.resume(equations)
    }

    /// Solves from the active set that the last problem ended with, which is quick when the problems are alike.
    /// The minimum is the same as from anywhere.
    ///
    /// # Panics
    /// If `equations` do not have the solver's number of columns.
    pub fn resume(&mut self, equations: &NormalEquations) -> f64 {
        self.resume_packed(equations.packed())
    }

    /// Makes `columns`, each at most once, the active set to resume from.
    ///
    /// # Panics
    /// The next problem panics if one of them is not below the number of columns.
    pub fn guess(&mut self, columns: impl IntoIterator<Item = usize>) {
        self.set.guess(columns.into_iter());
    }

    /// [`NnlsSolver::resume`] from a packed lower triangle.
    fn resume_packed(&mut self, packed: &[f64]) -> f64 {
        assert_eq!(
            packed.len(),
            crate::normal_equations::packed_len(self.coefficients.len()),
            "same columns"
        );
        self.start_feasible(packed);
        let gradient_min = GRADIENT_MIN * packed.last().map_or(0.0, |square| square.max(0.0).sqrt());
        // Each round lowers the residual, so no active set returns; rounding could break that, hence the limit.
        for _ in 0..3 * self.coefficients.len() + 10 {
            let Some(column) = self.set.steepest(packed, &self.coefficients, &self.barred, gradient_min)
            else {
                break;
            };
            self.admit(packed, column);
        }
        self.set.residual_square(packed)
    }

    /// The coefficients of the last problem, one a column.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The columns with a positive coefficient in the last problem, in order of entry.
    pub fn active(&self) -> &[usize] {
        self.set.columns()
    }

    /// Fits the guessed set, and drops negative columns until there are none: a starting point.
    fn start_feasible(&mut self, packed: &[f64]) {
        self.barred.fill(false);
        self.set.factor(packed);
        loop {
            self.set.solve(&mut self.candidate);
            if !self.set.retain(packed, &self.candidate) {
                break;
            }
        }
        self.take_candidate();
    }

    /// Lets `column` in and restores feasibility, or bars it.
    fn admit(&mut self, packed: &[f64], column: usize) {
        if !self.set.push(packed, column) {
            self.barred[column] = true;
            return;
        }
        self.set.solve(&mut self.candidate);
        if self.candidate.last().is_some_and(|&value| value <= 0.0) {
            // Rounding: the gradient was positive, the step is not.
            self.set.pop();
            self.barred[column] = true;
            return;
        }
        self.barred.fill(false);
        while self.step_back(packed) {
            self.set.solve(&mut self.candidate);
        }
        self.take_candidate();
    }

    /// Goes from the coefficients towards the candidate until the first would turn negative, and drops that;
    /// false when the candidate is feasible.
    fn step_back(&mut self, packed: &[f64]) -> bool {
        let pairs = || self.set.columns().iter().zip(&self.candidate);
        let blocking = pairs().enumerate().filter(|(_, (_, z))| **z <= 0.0).map(|(index, (&column, &z))| {
            let now = self.coefficients[column];
            (now / (now - z), index)
        });
        let Some((step, index)) = blocking.min_by(|a, b| a.0.total_cmp(&b.0)) else { return false };
        for (&column, &z) in self.set.columns().iter().zip(&self.candidate) {
            let now = self.coefficients[column];
            self.coefficients[column] = (now + step * (z - now)).max(0.0);
        }
        self.coefficients[self.set.columns()[index]] = 0.0;
        let coefficients = &self.coefficients;
        self.set.remove_where(packed, |column| coefficients[column] <= 0.0);
        true
    }

    fn take_candidate(&mut self) {
        self.coefficients.fill(0.0);
        for (&column, &value) in self.set.columns().iter().zip(&self.candidate) {
            self.coefficients[column] = value;
        }
    }
}

#[cfg(test)]
mod tests;
