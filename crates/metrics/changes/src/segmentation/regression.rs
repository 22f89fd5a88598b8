//! The regression of utilization on transaction counts, for any range of windows.

use std::ops::Range;

use laggard_numeric::{Matrix, NnlsSolver, NormalEquations, PrefixSums};

use crate::Observations;

/// Maximum scaled value; beyond, the scales are recomputed. Far from overflow, and counts are still exact.
const SCALED_MAX: f64 = 1e6;

/// Utilization in percent and counts of every window, with their normal equations by prefix sums.
///
/// All values are scaled by powers of two, so that no input overflows and products of integer counts
/// stay exact.
#[derive(Clone, Debug)]
pub(crate) struct WindowRegression {
    counts: Matrix,
    percent: Vec<f64>,
    /// A scaled count is the count times this, by column.
    count_scale: Vec<f64>,
    /// A scaled percentage is the percentage times this.
    percent_scale: f64,
    sums: PrefixSums,
}

/// A non-negative fit of one model to ranges of windows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WindowFit {
    /// `C₀` in percent of the CPU.
    pub(crate) constant_percent: f64,
    /// Percent of the CPU capacity of one window per transaction, by type.
    pub(crate) percent_each: Vec<f64>,
    /// `Σ|e|` in percentage points.
    pub(crate) absolute: f64,
    /// `Σu` in percentage points.
    pub(crate) load: f64,
}

impl WindowFit {
    /// The relative absolute error in percent; 0 without load and error.
    pub(crate) fn error_percent(&self) -> f64 {
        error_percent(self.absolute, self.load)
    }
}

/// `100 Σ|e| / Σu`; 0 without load and error.
pub(crate) fn error_percent(absolute: f64, load: f64) -> f64 {
    if absolute > 0.0 { 100.0 * absolute / load } else { 0.0 }
}

impl WindowRegression {
    /// Prepares `observations`, `O(T n²)` in time and memory.
    pub(crate) fn new(observations: &Observations) -> WindowRegression {
        let counts = &observations.counts;
        let mut out = WindowRegression {
            counts: Matrix::zeros(0, counts.cols()),
            percent: Vec::with_capacity(counts.rows()),
            count_scale: (0..counts.cols()).map(|j| power_of_two(counts.column(j))).collect(),
            // 2⁷ above 100, so that a percentage is at most about 1 when scaled.
            percent_scale: power_of_two(observations.utilization.iter().copied()) / 128.0,
            sums: PrefixSums::with_intercept(&Matrix::zeros(0, counts.cols()), &[]),
        };
        for (i, &utilization) in observations.utilization.iter().enumerate() {
            out.push(counts.row(i), utilization);
        }
        out
    }

    /// Appends a window.
    pub(crate) fn push(&mut self, counts: &[f64], utilization: f64) {
        let scaled: Vec<f64> =
            counts.iter().zip(&self.count_scale).map(|(count, scale)| count * scale).collect();
        let percent = utilization * self.percent_scale * 100.0;
        self.sums.push(&scaled, percent);
        self.counts.push_row(&scaled);
        self.percent.push(percent);
    }

    /// Drops the first window.
    pub(crate) fn drop_first(&mut self) {
        self.sums.drop_first();
        self.counts.drop_first_row();
        self.percent.remove(0);
    }

    /// Whether a window's numbers fit the scales.
    pub(crate) fn fits_scale(&self, counts: &[f64], utilization: f64) -> bool {
        let small = |value: f64, scale: f64| value * scale < SCALED_MAX;
        small(utilization, self.percent_scale)
            && counts.iter().zip(&self.count_scale).all(|(&c, &s)| small(c, s))
    }

    /// Number of windows `T`.
    pub(crate) fn windows(&self) -> usize {
        self.percent.len()
    }

    /// Number of transaction types `n`.
    pub(crate) fn types(&self) -> usize {
        self.counts.cols()
    }

    /// The sums, of scaled counts and percentages.
    pub(crate) fn sums(&self) -> &PrefixSums {
        &self.sums
    }

    /// A residual of the scaled sums times this is in percentage points.
    pub(crate) fn residual_unit(&self) -> f64 {
        1.0 / self.percent_scale
    }

    /// Fits one model to all rows of `ranges`.
    pub(crate) fn fit(&self, ranges: &[Range<usize>]) -> WindowFit {
        let mut equations = NormalEquations::zeros(self.sums.columns());
        for range in ranges {
            equations.add(&self.sums.between(range.start, range.end));
        }
        let mut solver = NnlsSolver::new(self.sums.columns());
        solver.solve(&equations);
        self.describe(solver.coefficients(), ranges)
    }

    /// Utilization less what a fit predicts, for any rows, in percentage points.
    pub(crate) fn residuals(&self, fit: &WindowFit, rows: Range<usize>) -> Vec<f64> {
        let scaled: Vec<f64> =
            fit.percent_each.iter().zip(&self.count_scale).map(|(each, scale)| each / scale).collect();
        let residual = |i: usize| {
            self.percent[i] / self.percent_scale - self.predicted(fit.constant_percent, &scaled, i)
        };
        rows.map(residual).collect()
    }

    /// `Σu` of rows, in percentage points.
    pub(crate) fn load(&self, rows: Range<usize>) -> f64 {
        self.percent[rows].iter().sum::<f64>() / self.percent_scale
    }

    fn describe(&self, coefficients: &[f64], ranges: &[Range<usize>]) -> WindowFit {
        let (constant, each) = coefficients.split_first().expect("the first column is the intercept");
        let (mut absolute, mut load) = (0.0, 0.0);
        for i in ranges.iter().cloned().flatten() {
            absolute += (self.predicted(*constant, each, i) - self.percent[i]).abs();
            load += self.percent[i];
        }
        let unit = self.residual_unit();
        WindowFit {
            constant_percent: constant * unit,
            percent_each: each
                .iter()
                .zip(&self.count_scale)
                .map(|(each, scale)| each * scale * unit)
                .collect(),
            absolute: absolute * unit,
            load: load * unit,
        }
    }

    fn predicted(&self, constant: f64, each: &[f64], i: usize) -> f64 {
        constant + self.counts.row(i).iter().zip(each).map(|(count, each)| count * each).sum::<f64>()
    }
}

/// The power of two that brings the largest of `values` (finite, ≥ 0) to about 1; 1 when all are 0.
fn power_of_two(values: impl Iterator<Item = f64>) -> f64 {
    let largest = values.fold(0.0, f64::max);
    if largest <= 0.0 {
        return 1.0;
    }
    // Clamped to exponents whose inverse is a normal number.
    2.0_f64.powi(-(largest.log2().floor().clamp(-1000.0, 1000.0) as i32))
}
