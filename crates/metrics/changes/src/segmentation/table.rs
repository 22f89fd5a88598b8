//! The cost of every possible segment.

use std::num::NonZeroUsize;
use std::ops::Range;

use laggard_numeric::{INTERVAL_LANES, interval_residuals, residuals_upto};
use laggard_parallel::parallel_map;

use super::WindowRegression;

/// `w1(a, b) = √(Σ residual²)` of the non-negative fit to windows `a..b`, in percent points, for all pairs of
/// candidate cuts. Single precision: it steers the search; what is reported is fitted again.
#[derive(Clone, Debug)]
pub(crate) struct CostTable {
    /// Candidate cuts in windows, increasing, from 0 to `T`.
    points: Vec<usize>,
    /// Row `j` holds the cost from point `j` to point `j + 1`, `j + 2`, …
    rows: Vec<Vec<f32>>,
    rounding: f64,
}

/// Maximum error of a cost, as a share of `√Σu²`. A column that seems to depend on others (pivot below 1e-10) is left
/// out of a fit, though it could explain up to `√1e-10` of the response; if it is included for a longer range, that range may
/// be cheaper. Single precision and the rounding of sums cause much smaller errors.
const ROUNDING: f64 = 2e-5;

impl CostTable {
    /// All segments between multiples of `step` and the end. `O(K² n³)` for `K` points, but mostly `O(K² n²)`: neighboring
    /// segments have nearly the same active columns.
    pub(crate) fn new(regression: &WindowRegression, step: usize, threads: NonZeroUsize) -> CostTable {
        let windows = regression.windows();
        let points: Vec<usize> = (0..windows).step_by(step).chain([windows]).collect();
        let last = points.len() - 1;
        let blocks: Vec<Range<usize>> = (0..last)
            .step_by(INTERVAL_LANES)
            .map(|start| start..(start + INTERVAL_LANES).min(last))
            .collect();
        let rows = parallel_map(&blocks, threads, |block| rows_from(regression, &points, block.clone()));
        CostTable { rows: rows.into_iter().flatten().collect(), points, rounding: rounding(regression) }
    }

    /// Adds the window appended to `regression`. Every window must be a candidate.
    pub(crate) fn push(&mut self, regression: &WindowRegression) {
        let windows = regression.windows();
        self.rows.push(Vec::new());
        let (unit, rows) = (regression.residual_unit(), &mut self.rows);
        residuals_upto(regression.sums(), &self.points, windows, |start, sse| {
            rows[start].push(cost(sse, unit))
        });
        self.points.push(windows);
        self.rounding = rounding(regression);
    }

    /// Drops the first window. Every window must be a candidate.
    pub(crate) fn drop_first(&mut self) {
        self.rows.remove(0);
        self.points.pop();
    }

    /// Maximum excess cost of a segment over one that contains it, by rounding, in percentage points.
    pub(crate) fn rounding(&self) -> f64 {
        self.rounding
    }

    /// The candidate cuts, in windows.
    pub(crate) fn points(&self) -> &[usize] {
        &self.points
    }

    /// Costs from point `j` to every later one, in order.
    pub(crate) fn row(&self, j: usize) -> &[f32] {
        &self.rows[j]
    }
}

fn rounding(regression: &WindowRegression) -> f64 {
    let sums = regression.sums().prefix(regression.windows());
    ROUNDING * sums.last().expect("the square of the response").sqrt() * regression.residual_unit()
}

/// The cost in percentage points, limited to the range of single precision.
fn cost(sse: f64, unit: f64) -> f32 {
    (sse.sqrt() * unit).min(f64::from(f32::MAX)) as f32
}

/// The rows of the table for neighboring starts.
fn rows_from(regression: &WindowRegression, points: &[usize], starts: Range<usize>) -> Vec<Vec<f32>> {
    let unit = regression.residual_unit();
    let ends = &points[starts.start + 1..];
    let mut rows: Vec<Vec<f32>> =
        starts.clone().map(|start| Vec::with_capacity(points.len() - 1 - start)).collect();
    interval_residuals(regression.sums(), &points[starts], ends, |lane, sse| {
        rows[lane].push(cost(sse, unit));
    });
    rows
}
