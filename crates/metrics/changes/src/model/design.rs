//! The windows that a model is fitted to, in CPU seconds.

use crate::Observations;
use laggard_numeric::Matrix;
use std::ops::Range;

/// The windows that a model is fitted to. `work[t] ≈ constant + Σ counts[t, i] · demand[i]`.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    /// Length of a window in seconds.
    pub(crate) window_s: f64,
    /// CPU seconds that a window offers: length times cores.
    pub(crate) capacity_s: f64,
    /// Number of each window, strictly increasing.
    pub(crate) windows: Vec<usize>,
    /// Completed transactions, `T x n`.
    pub(crate) counts: Matrix,
    /// CPU seconds used in each window.
    pub(crate) work: Vec<f64>,
    /// Mean response times in seconds, `T x n`, NaN where unknown; `0 x 0` if none are.
    pub(crate) response_s: Matrix,
}

impl Design {
    /// The windows of `ranges`, in order.
    ///
    /// # Panics
    /// If a range goes beyond the observations.
    pub(crate) fn new(observations: &Observations, ranges: &[Range<usize>]) -> Design {
        let capacity_s = observations.window_s * observations.cores;
        let rows = || ranges.iter().cloned().flatten();
        Design {
            window_s: observations.window_s,
            capacity_s,
            windows: rows().map(|row| observations.windows[row]).collect(),
            counts: pick(&observations.counts, rows()),
            work: rows().map(|row| observations.utilization[row] * capacity_s).collect(),
            response_s: match observations.response_s.rows() {
                0 => Matrix::default(),
                _ => pick(&observations.response_s, rows()),
            },
        }
    }

    /// The rows at these positions.
    pub(crate) fn with_rows(&self, positions: &[usize]) -> Design {
        let rows = || positions.iter().copied();
        Design {
            window_s: self.window_s,
            capacity_s: self.capacity_s,
            windows: rows().map(|row| self.windows[row]).collect(),
            counts: pick(&self.counts, rows()),
            work: rows().map(|row| self.work[row]).collect(),
            response_s: match self.response_s.rows() {
                0 => Matrix::default(),
                _ => pick(&self.response_s, rows()),
            },
        }
    }

    /// The columns of these types.
    pub(crate) fn with_types(&self, types: &[usize]) -> Design {
        let columns = |matrix: &Matrix| {
            let rows = (0..matrix.rows()).flat_map(|t| types.iter().map(move |&j| matrix.get(t, j)));
            Matrix::from_row_major(matrix.rows(), types.len(), rows.collect())
        };
        let response_s = if self.has_responses() { columns(&self.response_s) } else { Matrix::default() };
        Design { counts: columns(&self.counts), response_s, ..self.clone() }
    }

    /// Whether any response times are known.
    pub(crate) fn has_responses(&self) -> bool {
        self.response_s.rows() > 0
    }

    /// Number of windows `T`.
    pub(crate) fn rows(&self) -> usize {
        self.work.len()
    }

    /// Number of transaction types `n`.
    pub(crate) fn types(&self) -> usize {
        self.counts.cols()
    }

    /// Converts CPU seconds per window to percent of the capacity.
    pub(crate) fn percent(&self, seconds_per_window: f64) -> f64 {
        100.0 * seconds_per_window / self.capacity_s
    }

    /// Mean count of each type per window; 0 without windows.
    pub(crate) fn mean_counts(&self) -> Vec<f64> {
        let rows = self.rows().max(1) as f64;
        (0..self.types()).map(|j| self.counts.column(j).sum::<f64>() / rows).collect()
    }

    /// Mean CPU seconds per window; 0 without windows.
    pub(crate) fn mean_work(&self) -> f64 {
        laggard_numeric::mean(&self.work)
    }

    /// CPU seconds in each window that `demand` accounts for.
    pub(crate) fn expected(&self, demand: &[f64]) -> Vec<f64> {
        (0..self.rows()).map(|t| self.counts.row(t).iter().zip(demand).map(|(n, d)| n * d).sum()).collect()
    }

    /// Residual of a model in each window, in CPU seconds.
    pub(crate) fn residuals(&self, constant: f64, demand: &[f64]) -> Vec<f64> {
        self.work
            .iter()
            .zip(self.expected(demand))
            .map(|(work, expected)| work - constant - expected)
            .collect()
    }

    /// Relative absolute error `Σ|e| / Σ work`; 0 without work and prediction.
    pub(crate) fn relative_error(&self, constant: f64, demand: &[f64]) -> f64 {
        let missed: f64 = self.residuals(constant, demand).iter().map(|e| e.abs()).sum();
        let used: f64 = self.work.iter().sum();
        if missed == 0.0 { 0.0 } else { missed / used }
    }
}

fn pick(matrix: &Matrix, rows: impl Iterator<Item = usize>) -> Matrix {
    let mut data = Vec::new();
    let mut count = 0;
    for row in rows {
        data.extend_from_slice(matrix.row(row));
        count += 1;
    }
    Matrix::from_row_major(count, matrix.cols(), data)
}
