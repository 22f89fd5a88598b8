//! Covariance of regression coefficients for errors that are heteroscedastic and autocorrelated.

use crate::linear_algebra::{gram, product};
use laggard_numeric::{Cholesky, Matrix};

/// Pivot below which a column counts as dependent, as in non-negative least squares.
const PIVOT_MIN: f64 = 1e-10;

/// The heteroscedasticity and autocorrelation consistent covariance `(XᵀX)⁻¹ S (XᵀX)⁻¹` of least squares
/// coefficients, `p x p`, with Bartlett weights (Newey, West 1987), lags up to `4 (T/100)^(2/9)` windows, and the
/// factor `T/(T − p)` for small samples.
///
/// Utilization needs both corrections: its variance grows with the work, and work that continues past the end of a window is
/// missing in one window and added to the next. `windows` are the numbers of the rows; rows next to a gap have no neighbor.
/// `None` if columns depend on each other or there are no more rows than columns.
pub(crate) fn newey_west(x: &Matrix, residuals: &[f64], windows: &[usize]) -> Option<Matrix> {
    let (rows, columns) = (x.rows(), x.cols());
    if rows <= columns {
        return None;
    }
    let bread = Cholesky::new(&gram(x), PIVOT_MIN)?.inverse();
    let mut meat = Matrix::zeros(columns, columns);
    let lags = (4.0 * (rows as f64 / 100.0).powf(2.0 / 9.0)).floor() as usize;
    for lag in 0..=lags.min(rows - 1) {
        let weight = 1.0 - lag as f64 / (lags + 1) as f64;
        add_lag(&mut meat, x, residuals, windows, lag, weight);
    }
    let factor = rows as f64 / (rows - columns) as f64;
    let mut covariance = product(&product(&bread, &meat), &bread);
    covariance.data_mut().iter_mut().for_each(|value| *value *= factor);
    Some(covariance)
}

/// Adds the products of scores `lag` windows apart, symmetrically.
fn add_lag(meat: &mut Matrix, x: &Matrix, residuals: &[f64], windows: &[usize], lag: usize, weight: f64) {
    let mut later = 0;
    for t in 0..x.rows() {
        while later < x.rows() && windows[later] < windows[t] + lag {
            later += 1;
        }
        if later == x.rows() {
            return;
        }
        if windows[later] != windows[t] + lag {
            continue;
        }
        let scale = weight * residuals[t] * residuals[later];
        for i in 0..x.cols() {
            for j in 0..x.cols() {
                let mut term = x.get(t, i) * x.get(later, j);
                if lag > 0 {
                    term += x.get(later, i) * x.get(t, j);
                }
                let sum = meat.get(i, j) + scale * term;
                meat.set(i, j, sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of four numbers: residuals 1, −1, 1, −1. With one lag at weight w the meat is 4 − 2w·3, and for
    /// T = 4 there are ⌊4·0.04^(2/9)⌋ = 1 lags, w = 1/2: meat 1, so the variance is 1/16, times 4/3.
    #[test]
    fn alternating_errors_reduce_the_variance_of_a_mean() {
        let ones = Matrix::from_row_major(4, 1, vec![1.0; 4]);
        let residuals = [1.0, -1.0, 1.0, -1.0];
        let variance = newey_west(&ones, &residuals, &[0, 1, 2, 3]).expect("enough rows").get(0, 0);
        assert!((variance - 1.0 / 12.0).abs() < 1e-15);
        // Every other window is missing: no neighbors, meat 4.
        let with_gaps = newey_west(&ones, &residuals, &[0, 2, 4, 6]).expect("enough rows").get(0, 0);
        assert!((with_gaps - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn dependent_columns_have_no_covariance() {
        let twice = Matrix::from_row_major(3, 2, vec![1.0, 2.0, 2.0, 4.0, 3.0, 6.0]);
        assert!(newey_west(&twice, &[0.1, -0.1, 0.0], &[0, 1, 2]).is_none());
        assert!(newey_west(&Matrix::zeros(1, 1), &[0.0], &[0]).is_none());
    }
}
