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
    let lags = (4.0 * (rows as f64 / 100.0).powf(2.0 / 9.0)).floor() as usize;
    let meat = meat(x, residuals, windows, lags);
    let factor = rows as f64 / (rows - columns) as f64;
    let mut covariance = product(&product(&bread, &meat), &bread);
    covariance.data_mut().iter_mut().for_each(|value| *value *= factor);
    Some(covariance)
}

/// The weighted sum of the products of the scores `x · residual` of windows up to `lags` apart. Each window's score is
/// multiplied once, by half of itself plus the weighted scores of the windows after it; the transpose is the other half.
fn meat(x: &Matrix, residuals: &[f64], windows: &[usize], lags: usize) -> Matrix {
    let columns = x.cols();
    let mut half = Matrix::zeros(columns, columns);
    let mut following = vec![0.0; columns];
    for t in 0..x.rows() {
        following.iter_mut().zip(x.row(t)).for_each(|(sum, value)| *sum = 0.5 * residuals[t] * value);
        for later in (t + 1..x.rows()).take_while(|&later| windows[later] - windows[t] <= lags) {
            let lag = windows[later] - windows[t];
            let scale = (1.0 - lag as f64 / (lags + 1) as f64) * residuals[later];
            following.iter_mut().zip(x.row(later)).for_each(|(sum, value)| *sum += scale * value);
        }
        for (i, &value) in x.row(t).iter().enumerate() {
            let scale = residuals[t] * value;
            half.row_mut(i).iter_mut().zip(&following).for_each(|(sum, other)| *sum += scale * other);
        }
    }
    sum_with_transposed(&half)
}

fn sum_with_transposed(half: &Matrix) -> Matrix {
    let mut sum = Matrix::zeros(half.rows(), half.cols());
    for i in 0..half.rows() {
        for j in 0..half.cols() {
            sum.set(i, j, half.get(i, j) + half.get(j, i));
        }
    }
    sum
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
