//! The cost of every segment.

use std::num::NonZeroUsize;
use std::ops::Range;

use laggard_numeric::{INTERVAL_LANES, interval_residuals, parallel_map, residuals_upto};

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

/// By how much of `√Σu²` a cost may be off. A column that seems to depend on others (pivot below 1e-10) is left
/// out of a fit, though it could explain up to `√1e-10` of what there is; that it is in for a longer stretch would
/// make this one cheaper. Single precision and the rounding of sums are far below.
const ROUNDING: f64 = 2e-5;

impl CostTable {
    /// All segments between windows that are multiples of `step`, and the end. `O(K² n³)` for `K` points, but
    /// mostly `O(K² n²)`: neighboring segments have nearly the same active columns.
    pub(crate) fn new(regression: &WindowRegression, step: usize, threads: NonZeroUsize) -> CostTable {
        let windows = regression.windows();
        let points: Vec<usize> = (0..windows).step_by(step).chain([windows]).collect();
        let last = points.len() - 1;
        let blocks: Vec<Range<usize>> =
            (0..last).step_by(INTERVAL_LANES).map(|at| at..(at + INTERVAL_LANES).min(last)).collect();
        let rows = parallel_map(&blocks, threads, |block| rows_from(regression, &points, block.clone()));
        CostTable { rows: rows.into_iter().flatten().collect(), points, rounding: rounding(regression) }
    }

    /// Follows `regression`, to which a window was appended, with every window a candidate.
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

    /// Follows `regression`, which forgot its first window, with every window a candidate.
    pub(crate) fn drop_first(&mut self) {
        self.rows.remove(0);
        self.points.pop();
    }

    /// A segment costs at most so much more, in percent points, than one that contains it.
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

/// Beyond single precision is beyond any answer.
fn cost(sse: f64, unit: f64) -> f32 {
    (sse.sqrt() * unit).min(f64::from(f32::MAX)) as f32
}

/// The rows of neighboring starts.
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
