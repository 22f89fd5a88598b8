//! Demands from utilization alone: weighted least squares, corrected for dilution.

use super::constant::ConstantShare;
use super::covariance::newey_west;
use super::design::Design;
use super::least_squares::design_matrix;
use crate::linear_algebra::{dot, gram, product, transposed, without_first};
use laggard_numeric::{Cholesky, Matrix, NormalEquations, nnls};
use std::borrow::Cow;

/// Windows with a higher utilization are saturated: completions no longer follow arrivals.
pub(crate) const SATURATED_MIN: f64 = 0.95;

/// Minimum work for the weight of a window, as a share of the mean: the variance of a window's work grows with the work, but
/// is not 0 without work.
const WORK_FLOOR: f64 = 0.1;

/// Minimum share of the work that slopes must explain: below, nearly all is dilution.
const EXPLAINED_MIN: f64 = 0.3;

/// Columns with a smaller relative pivot count as linearly dependent.
const PIVOT_MIN: f64 = 1e-10;

/// Rows of a weighted regression on `[1 | x]`: everything multiplied by the root of its weight.
#[derive(Clone, Debug)]
pub(crate) struct Weighted {
    /// Rows of `[1 | x]`.
    pub(crate) x: Matrix,
    /// Responses.
    pub(crate) y: Vec<f64>,
    /// Numbers of the windows.
    pub(crate) windows: Vec<usize>,
}

impl Weighted {
    /// The windows of `design` that are not saturated (all, if fewer than half are not), weighted
    /// by the work that plain non-negative least squares expects in them.
    pub(crate) fn new(design: &Design) -> Weighted {
        let unsaturated_design = unsaturated(design);
        let columns: Vec<usize> = (0..design.types()).collect();
        let x = design_matrix(&unsaturated_design, &columns, true);
        let plain = solve_non_negative(&x, &unsaturated_design.work);
        let expected: Vec<f64> = (0..x.rows()).map(|t| dot(x.row(t), &plain)).collect();
        Weighted::scaled(x, &unsaturated_design, &expected)
    }

    /// The same windows of a regression on one column, `expected`: work in proportion to demands.
    pub(crate) fn on_expected(design: &Design, demand: &[f64]) -> Weighted {
        let unsaturated_design = unsaturated(design);
        let expected = unsaturated_design.expected(demand);
        let mut x = Matrix::zeros(unsaturated_design.rows(), 2);
        for (t, &work) in expected.iter().enumerate() {
            x.row_mut(t).copy_from_slice(&[1.0, work]);
        }
        Weighted::scaled(x, &unsaturated_design, &expected)
    }

    fn scaled(mut x: Matrix, design: &Design, expected: &[f64]) -> Weighted {
        let mut y = design.work.clone();
        for (t, root) in weight_roots(expected).into_iter().enumerate() {
            x.row_mut(t).iter_mut().for_each(|value| *value *= root);
            y[t] *= root;
        }
        Weighted { x, y, windows: design.windows.clone() }
    }

    /// Coefficients ≥ 0, the constant first.
    pub(crate) fn non_negative(&self) -> Vec<f64> {
        solve_non_negative(&self.x, &self.y)
    }

    /// Coefficients of any sign, the constant first; None if columns depend on each other.
    pub(crate) fn coefficients(&self) -> Option<Vec<f64>> {
        let mut moments = vec![0.0; self.x.cols()];
        for (t, &y) in self.y.iter().enumerate() {
            moments.iter_mut().zip(self.x.row(t)).for_each(|(sum, x)| *sum += x * y);
        }
        Some(Cholesky::new(&gram(&self.x), PIVOT_MIN)?.solve(&moments))
    }

    /// The coefficients and their Newey–West covariance.
    pub(crate) fn unconstrained(&self) -> Option<(Vec<f64>, Matrix)> {
        let coefficients = self.coefficients()?;
        let residuals: Vec<f64> =
            (0..self.x.rows()).map(|t| self.y[t] - dot(self.x.row(t), &coefficients)).collect();
        let covariance = newey_west(&self.x, &residuals, &self.windows)?;
        Some((coefficients, covariance))
    }
}

/// The variance of coefficient `index` for independent errors of equal variance: with few windows the Newey–West variance
/// is uncertain, and more often too small than too large.
pub(crate) fn plain_variance(weighted: &Weighted, coefficients: &[f64], index: usize) -> f64 {
    let (x, y) = (&weighted.x, &weighted.y);
    let sse: f64 = (0..x.rows()).map(|t| (y[t] - dot(x.row(t), coefficients)).powi(2)).sum();
    let Some(factor) = Cholesky::new(&gram(x), PIVOT_MIN) else {
        return f64::INFINITY;
    };
    sse / (x.rows() as f64 - x.cols() as f64).max(1.0) * factor.inverse().get(index, index)
}

/// Root of the weight of each window; the weight is one over the expected work.
pub(crate) fn weight_roots(expected: &[f64]) -> Vec<f64> {
    let floor = WORK_FLOOR * laggard_numeric::mean(expected);
    expected.iter().map(|&work| if floor > 0.0 { 1.0 / work.max(floor).sqrt() } else { 1.0 }).collect()
}

fn unsaturated(design: &Design) -> Cow<'_, Design> {
    let rows: Vec<usize> =
        (0..design.rows()).filter(|&t| design.work[t] < SATURATED_MIN * design.capacity_s).collect();
    match 2 * rows.len() >= design.rows() && rows.len() < design.rows() {
        true => Cow::Owned(design.with_rows(&rows)),
        false => Cow::Borrowed(design),
    }
}

fn solve_non_negative(x: &Matrix, y: &[f64]) -> Vec<f64> {
    let mut equations = NormalEquations::zeros(x.cols());
    y.iter().enumerate().for_each(|(t, &value)| equations.add_row(x.row(t), value));
    nnls(&equations).coefficients
}

/// Demands from the slopes of a regression, scaled so that they account for all of the work.
#[derive(Clone, Debug)]
pub(crate) struct Slopes {
    /// Demands in seconds of any sign: `b · W / Σ X b`.
    pub(crate) demand: Vec<f64>,
    /// Their covariance, `n x n`, of rank `n − 1` since the sum is fixed; inflated for the possible bias by dilution.
    pub(crate) covariance: Matrix,
    /// The factor by which the covariance was inflated, ≥ 1.
    pub(crate) inflation: f64,
    /// Share of the work that the unscaled slopes explain, above 0.3; about 1 unless they are diluted at high load.
    pub(crate) explained: f64,
}

/// The slopes of weighted least squares, scaled; None if columns depend on each other or hardly anything is explained.
///
/// At high load, slopes of least squares are too small and the constant is too large: the larger transactions happen to be,
/// the fewer complete in a window (at saturation the work is the same whatever completes). So counts are regressors with
/// error, and their slopes are diluted. All types share the queue, and so the factor.
pub(crate) fn scaled_slopes(design: &Design, weighted: &Weighted, scale_percent: f64) -> Option<Slopes> {
    let (coefficients, covariance) = weighted.unconstrained()?;
    let (means, work) = (design.mean_counts(), design.mean_work());
    let slopes = &coefficients[1..];
    let sum = dot(slopes, &means);
    if work <= 0.0 || sum <= EXPLAINED_MIN * work {
        return None;
    }
    let factor = work / sum;
    let types = slopes.len();
    // The derivative of b·W/(X·b): factor · (I − b Xᵀ/(X·b)).
    let mut derivative = Matrix::zeros(types, types);
    for (i, slope) in slopes.iter().enumerate() {
        for (j, mean) in means.iter().enumerate() {
            let unit = f64::from(u8::from(i == j));
            derivative.set(i, j, factor * (unit - slope * mean / sum));
        }
    }
    let covariance = without_first(&covariance);
    let demand: Vec<f64> = slopes.iter().map(|slope| slope * factor).collect();
    let mut covariance = product(&product(&derivative, &covariance), &transposed(&derivative));
    let inflation = ConstantShare::new(design, &demand, scale_percent).variance_inflation();
    covariance.data_mut().iter_mut().for_each(|value| *value *= inflation);
    Some(Slopes { demand, covariance, inflation, explained: sum / work })
}

/// Non-negative slopes, scaled so that they account for all of the work; None when all are 0.
pub(crate) fn scaled_non_negative(design: &Design, weighted: &Weighted) -> Option<Vec<f64>> {
    let coefficients = weighted.non_negative();
    scaled_to_work(&coefficients[1..], design)
}

/// `demand` times the factor with which it accounts for all of the work; None when it accounts for none.
pub(crate) fn scaled_to_work(demand: &[f64], design: &Design) -> Option<Vec<f64>> {
    let sum = dot(demand, &design.mean_counts());
    let factor = design.mean_work() / sum;
    (sum > 0.0 && factor.is_finite()).then(|| demand.iter().map(|value| value * factor).collect())
}
