//! Forward stepwise selection of transaction types by the F-test (Draper, Smith 1998).

use super::design::Design;
use super::least_squares::{check_rows, model_on};
use crate::linear_algebra::dot;
use crate::{Observations, TooLittleDataError, TransactionModel};
use laggard_numeric::{Matrix, f_upper_tail, mean};
use std::ops::Range;

/// Level of entry of the tool that the authors of the paper used.
pub const ENTRY_LEVEL: f64 = 0.05;

/// A candidate depends on the selected columns if less than this share of its variation is independent of them.
const PIVOT_MIN: f64 = 1e-10;

/// A round of stepwise selection: the best candidate and its test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StepwiseStep {
    /// The column.
    pub candidate: usize,
    /// Sum of squared residuals with it.
    pub sse: f64,
    /// The F statistic of adding it.
    pub f: f64,
    /// Degrees of freedom of the denominator.
    pub degrees: usize,
    /// `P(F(1, degrees) > f)`.
    pub p: f64,
    /// Whether it was added.
    pub is_accepted: bool,
}

/// Forward selection: each round adds the column of `x` (`T x n`) that lowers the sum of squares of `y` most, if the
/// F-test accepts it at `level`; the last entry of the path is the first rejected one, if there is one. The
/// intercept is always included. Columns that depend on the selected ones are skipped. `O(T n² + n³)`.
///
/// # Panics
/// If the lengths differ.
pub fn stepwise(x: &Matrix, y: &[f64], level: f64) -> Vec<StepwiseStep> {
    assert_eq!(x.rows(), y.len(), "a response for every row");
    let mut swept = SweptGram::new(x, y);
    let mut path: Vec<StepwiseStep> = Vec::new();
    // Coefficients: the selected columns, the intercept, and the candidate.
    while let (Some(degrees @ 1..), Some(candidate)) = (x.rows().checked_sub(path.len() + 2), swept.best()) {
        let sse = swept.sse_with(candidate);
        let f = (swept.sse - sse) / (sse / degrees as f64);
        let p = f_upper_tail(f, 1.0, degrees as f64);
        path.push(StepwiseStep { candidate, sse, f, degrees, p, is_accepted: p < level });
        if p >= level {
            break;
        }
        swept.add(candidate);
    }
    path
}

/// The model on the types that stepwise selection accepts, the others with demand 0: the paper's reported model.
///
/// # Errors
/// If there are fewer windows than types + 2.
///
/// # Panics
/// If a range goes beyond the observations.
pub fn stepwise_model(
    observations: &Observations,
    ranges: &[Range<usize>],
    level: f64,
) -> Result<TransactionModel, TooLittleDataError> {
    let design = Design::new(observations, ranges);
    check_rows(&design)?;
    let path = stepwise(&design.counts, &design.work, level);
    let selected: Vec<usize> =
        path.iter().filter(|step| step.is_accepted).map(|step| step.candidate).collect();
    Ok(model_on(&design, &selected))
}

/// Columns and response with the selected columns projected out.
struct SweptGram {
    /// Centered columns with the selected columns projected out; the response is the last.
    columns: Vec<Vec<f64>>,
    /// Sum of squares of each centered column before the first selection.
    totals: Vec<f64>,
    is_selected: Vec<bool>,
    sse: f64,
}

impl SweptGram {
    fn new(x: &Matrix, y: &[f64]) -> SweptGram {
        let mut columns: Vec<Vec<f64>> = (0..x.cols()).map(|j| centered(x.column(j).collect())).collect();
        let totals = columns.iter().map(|column| dot(column, column)).collect();
        columns.push(centered(y.to_vec()));
        let sse = dot(&columns[x.cols()], &columns[x.cols()]);
        SweptGram { columns, totals, is_selected: vec![false; x.cols()], sse }
    }

    fn response(&self) -> &[f64] {
        self.columns.last().expect("the response is always there")
    }

    /// The column that would lower the sum of squares most; of equals the first.
    fn best(&self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for j in 0..self.totals.len() {
            let left = dot(&self.columns[j], &self.columns[j]);
            if self.is_selected[j] || left <= PIVOT_MIN * self.totals[j] {
                continue;
            }
            let gain = dot(&self.columns[j], self.response()).powi(2) / left;
            if best.is_none_or(|(_, most)| gain > most) {
                best = Some((j, gain));
            }
        }
        best.map(|(j, _)| j)
    }

    fn sse_with(&self, column: usize) -> f64 {
        let direction = &self.columns[column];
        let slope = dot(direction, self.response()) / dot(direction, direction);
        self.response().iter().zip(direction).map(|(y, x)| (y - slope * x).powi(2)).sum()
    }

    /// Projects a column out of all others and the response (modified Gram–Schmidt).
    fn add(&mut self, column: usize) {
        let direction = self.columns[column].clone();
        let square = dot(&direction, &direction);
        self.is_selected[column] = true;
        for other in (0..self.columns.len()).filter(|&other| other != column) {
            let slope = dot(&direction, &self.columns[other]) / square;
            self.columns[other].iter_mut().zip(&direction).for_each(|(value, x)| *value -= slope * x);
        }
        self.sse = dot(self.response(), self.response());
    }
}

fn centered(mut values: Vec<f64>) -> Vec<f64> {
    let center = mean(&values);
    values.iter_mut().for_each(|value| *value -= center);
    values
}
