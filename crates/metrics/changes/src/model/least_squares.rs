//! Non-negative least squares with a constant: the plain fit of the paper.

use super::covariance::newey_west;
use super::design::Design;
use crate::linear_algebra::{gram, without_first};
use crate::{Observations, TooLittleDataError, TransactionModel};
use laggard_numeric::{Matrix, NormalEquations, condition_number, nnls};
use std::ops::Range;

/// Coefficients of a linear model of the work in a window.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Coefficients {
    /// CPU seconds per window that do not depend on the transactions.
    pub(crate) constant: f64,
    /// CPU seconds of a transaction of each type.
    pub(crate) demand: Vec<f64>,
}

/// The plain fit to the windows of `ranges`: `constant + Σ count · demand` by non-negative least squares, as in
/// Cherkasova et al. 2009, §4.1, with Newey–West standard errors. `O(T n² + n³)`.
///
/// # Errors
/// If there are fewer windows than types + 2, or fewer than 3.
///
/// # Panics
/// If a range goes beyond the observations.
pub fn nnls_model(
    observations: &Observations,
    ranges: &[Range<usize>],
) -> Result<TransactionModel, TooLittleDataError> {
    let design = Design::new(observations, ranges);
    check_rows(&design)?;
    let columns: Vec<usize> = (0..design.types()).collect();
    Ok(model_on(&design, &columns))
}

/// Checks that there are more windows than coefficients.
pub(crate) fn check_rows(design: &Design) -> Result<(), TooLittleDataError> {
    let needed = (design.types() + 2).max(3);
    if design.rows() >= needed {
        Ok(())
    } else {
        Err(TooLittleDataError::Windows { available: design.rows(), needed })
    }
}

/// The fit on some columns; the others have demand 0 and no standard error.
pub(crate) fn model_on(design: &Design, columns: &[usize]) -> TransactionModel {
    let fit = fit_on(design, columns);
    let error = design.relative_error(fit.constant, &fit.demand);
    TransactionModel {
        constant_percent: design.percent(fit.constant),
        standard_error_s: standard_errors(design, &fit, columns),
        condition: condition(design, columns),
        error,
        demand_s: fit.demand,
    }
}

/// Non-negative least squares on a constant and some columns.
pub(crate) fn fit_on(design: &Design, columns: &[usize]) -> Coefficients {
    let mut equations = NormalEquations::zeros(columns.len() + 1);
    let mut row = vec![1.0; columns.len() + 1];
    for (t, &work) in design.work.iter().enumerate() {
        fill(design, t, columns, &mut row[1..]);
        equations.add_row(&row, work);
    }
    let coefficients = nnls(&equations).coefficients;
    let mut demand = vec![0.0; design.types()];
    columns.iter().zip(&coefficients[1..]).for_each(|(&column, &value)| demand[column] = value);
    Coefficients { constant: coefficients[0], demand }
}

/// Standard errors of the demands on `columns`; for demands at the bound of 0, as if they were free. NaN where columns depend
/// on each other.
fn standard_errors(design: &Design, fit: &Coefficients, columns: &[usize]) -> Vec<f64> {
    let residuals = design.residuals(fit.constant, &fit.demand);
    let free: Vec<usize> = columns.iter().copied().filter(|&column| fit.demand[column] > 0.0).collect();
    let has_constant = fit.constant > 0.0;
    let error_of = |set: &[usize], index: usize| {
        let x = design_matrix(design, set, has_constant);
        let covariance = newey_west(&x, &residuals, &design.windows)?;
        let index = index + usize::from(has_constant);
        Some(covariance.get(index, index).max(0.0).sqrt())
    };
    let mut errors = vec![f64::NAN; design.types()];
    let x = design_matrix(design, &free, has_constant);
    if let Some(covariance) = newey_west(&x, &residuals, &design.windows) {
        for (index, &column) in free.iter().enumerate() {
            let index = index + usize::from(has_constant);
            errors[column] = covariance.get(index, index).max(0.0).sqrt();
        }
    }
    for &column in columns.iter().filter(|&&column| fit.demand[column] == 0.0) {
        let with: Vec<usize> = free.iter().copied().chain([column]).collect();
        errors[column] = error_of(&with, free.len()).unwrap_or(f64::NAN);
    }
    errors
}

/// Covariance of the demands of all columns, whether at their bound or not; None if columns depend on each other.
pub(crate) fn demand_covariance(design: &Design, fit: &Coefficients) -> Option<Matrix> {
    let types = design.types();
    let columns: Vec<usize> = (0..types).collect();
    let x = design_matrix(design, &columns, true);
    let residuals = design.residuals(fit.constant, &fit.demand);
    newey_west(&x, &residuals, &design.windows).map(|covariance| without_first(&covariance))
}

/// Standard error of the constant of a plain fit, in CPU seconds a window; NaN if unknown.
pub(crate) fn constant_error(design: &Design, model: &TransactionModel) -> f64 {
    let columns: Vec<usize> = (0..design.types()).filter(|&j| model.demand_s[j] > 0.0).collect();
    let x = design_matrix(design, &columns, true);
    let constant = model.constant_percent / 100.0 * design.capacity_s;
    let residuals = design.residuals(constant, &model.demand_s);
    let covariance = newey_west(&x, &residuals, &design.windows);
    covariance.map_or(f64::NAN, |covariance| covariance.get(0, 0).max(0.0).sqrt())
}

/// `[1 | columns]`, or without the ones.
pub(crate) fn design_matrix(design: &Design, columns: &[usize], has_constant: bool) -> Matrix {
    let first = usize::from(has_constant);
    let mut x = Matrix::zeros(design.rows(), columns.len() + first);
    for t in 0..design.rows() {
        let row = x.row_mut(t);
        if has_constant {
            row[0] = 1.0;
        }
        fill(design, t, columns, &mut row[first..]);
    }
    x
}

fn fill(design: &Design, row: usize, columns: &[usize], into: &mut [f64]) {
    let counts = design.counts.row(row);
    into.iter_mut().zip(columns).for_each(|(to, &column)| *to = counts[column]);
}

/// Condition number of the normal equations of `[1 | columns]` with columns of unit length (Belsley, Kuh, Welsch
/// 1980); its root is their condition index. A column of zeros makes it infinite.
fn condition(design: &Design, columns: &[usize]) -> f64 {
    let x = design_matrix(design, columns, true);
    let mut gram = gram(&x);
    let lengths: Vec<f64> = (0..x.cols()).map(|i| gram.get(i, i).sqrt()).collect();
    if lengths.iter().any(|&length| length <= 0.0) {
        return f64::INFINITY;
    }
    for i in 0..x.cols() {
        for j in 0..x.cols() {
            let scaled = gram.get(i, j) / (lengths[i] * lengths[j]);
            gram.set(i, j, scaled);
        }
    }
    condition_number(&gram)
}
