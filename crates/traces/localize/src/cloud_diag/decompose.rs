//! Splits a category's request matrix into low rank plus sparse, and derives the finding of each position
//! (CloudDiag §4.2, algorithms §3.2 to 3.4).

use super::gate::DispersionGate;
use super::settings::{CloudDiagSettings, Sparsity};
use crate::category::CategoryCalls;
use laggard_numeric::{
    Matrix, RobustPcaSettings, Weights, column_cosines, median, median_of, numerical_rank, outlier_pursuit,
    robust_pca, weighted_mad, weighted_median,
};
use std::num::NonZeroUsize;

/// The result for one position.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PositionFinding {
    /// Median time of a request at the position, nanoseconds.
    pub median_ns: f64,
    /// MAD of that time, nanoseconds.
    pub mad_ns: f64,
    /// A deviation counts above this: `max(exceed_mad·MAD, exceed_median·median)`.
    pub limit_ns: f64,
    /// Cosine between the column and its low-rank part, 0..1; small is suspicious.
    pub cosine: f64,
    /// Share of the slow requests' excess latency at this position, 0..1.
    pub share: f64,
    /// Requests whose sparse part exceeds the limit.
    pub support: u64,
    /// Requests of `support` whose time is unusual also for a request of their size.
    pub unusual: u64,
    /// Whether the position is anomalous.
    pub flagged: bool,
}

/// A decomposed category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Decomposed {
    /// One per position.
    pub positions: Vec<PositionFinding>,
    /// Per position and request (row-major by request): the sparse part, nanoseconds. Columns that were left out
    /// because the matrix was full are 0.
    pub sparse: Vec<f64>,
    /// Columns that were decomposed.
    pub columns: usize,
    /// Numerical rank of the low-rank part.
    pub low_rank: usize,
    /// Whether the decomposition converged.
    pub converged: bool,
}

/// Numerical ranks of a category's request matrix and its parts (CloudDiag, Table 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixRanks {
    /// Of the times, `M`.
    pub matrix: usize,
    /// Of the low-rank part, `L`.
    pub low_rank: usize,
    /// Of the sparse part, `E`.
    pub sparse: usize,
}

impl Decomposed {
    /// The ranks of the matrix and its parts. Time as for two iterations of the decomposition.
    pub(super) fn ranks(&self, category: &CategoryCalls) -> MatrixRanks {
        let times = category.matrix();
        let sparse = Matrix::from_row_major(times.rows(), times.cols(), self.sparse.clone());
        MatrixRanks {
            matrix: numerical_rank(&times),
            low_rank: self.low_rank,
            sparse: numerical_rank(&sparse),
        }
    }
}

/// Decomposes a category's request matrix.
///
/// Weights of requests enter medians, MADs and shares. Robust PCA itself weighs every row equally: a row with a
/// large weight would dominate the norm, and the fault is in single rows.
pub fn decompose(
    category: &CategoryCalls,
    gate: &DispersionGate,
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> Decomposed {
    let times = category.matrix();
    let each = category.weights();
    let weights = Weights::from_slice(&each);
    let mut positions = describe_columns(&times, category, weights, gate, settings);
    let columns = choose_columns(&positions, settings.columns_max);
    let steps = settings.mode.steps();
    let scales: Vec<f64> = columns.iter().map(|&j| (steps.column_scale)(&times, j, &positions[j])).collect();
    let scaled = gather(&times, &columns, &scales);
    let pca_settings = RobustPcaSettings {
        growth: settings.growth,
        tolerance: settings.tolerance,
        iterations_max: settings.iterations_max,
        threads,
        ..RobustPcaSettings::default()
    };
    let split = match settings.sparsity {
        Sparsity::Entries => robust_pca,
        Sparsity::Columns => outlier_pursuit,
    };
    let parts = split(scaled.clone(), &pca_settings);
    let cosines = column_cosines(&scaled, &parts.low_rank);
    let sizes = request_sizes(&times, &positions);
    let mut out = Decomposed {
        sparse: vec![0.0; times.rows() * times.cols()],
        columns: columns.len(),
        low_rank: parts.rank,
        converged: parts.converged,
        positions: vec![],
    };
    for (k, &j) in columns.iter().enumerate() {
        let unusual = unusual_for_size(&times, j, &sizes, weights);
        for (i, value) in parts.sparse.column(k).enumerate() {
            let sparse = value * scales[k];
            out.sparse[i * times.cols() + j] = sparse;
            let exceeds = sparse > positions[j].limit_ns;
            positions[j].support += u64::from(exceeds);
            positions[j].unusual += u64::from(exceeds && unusual[i]);
        }
        positions[j].cosine = cosines[k];
    }
    for position in &mut positions {
        position.flagged = (steps.is_flagged)(position, settings);
    }
    out.positions = positions;
    out
}

/// The default decision: besides a small cosine, the position holds enough of the excess of enough unusual requests.
pub(super) fn is_flagged(position: &PositionFinding, settings: &CloudDiagSettings) -> bool {
    position.cosine < settings.cosine_max
        && position.share > settings.share_min
        && position.unusual >= settings.support_min
}

fn describe_columns(
    times: &Matrix,
    category: &CategoryCalls,
    weights: Weights<'_>,
    gate: &DispersionGate,
    settings: &CloudDiagSettings,
) -> Vec<PositionFinding> {
    let slow: Vec<usize> = category
        .requests
        .iter()
        .enumerate()
        .filter(|(_, request)| request.latency_ns as f64 - gate.median_ns > 3.0 * gate.mad_ns)
        .map(|(i, _)| i)
        .collect();
    let beyond = |i: usize| category.requests[i].latency_ns as f64 - gate.median_ns;
    let excess: f64 = slow.iter().map(|&i| weights.at(i) * beyond(i)).sum();
    (0..times.cols())
        .map(|j| {
            let column: Vec<f64> = times.column(j).collect();
            let median_ns = weighted_median(&column, weights);
            let mad_ns = weighted_mad(&column, weights, median_ns);
            let position_excess: f64 =
                slow.iter().map(|&i| weights.at(i) * (column[i] - median_ns).max(0.0)).sum();
            PositionFinding {
                median_ns,
                mad_ns,
                limit_ns: (settings.exceed_mad * mad_ns).max(settings.exceed_median * median_ns),
                cosine: 1.0,
                share: if excess > 0.0 { position_excess / excess } else { 0.0 },
                support: 0,
                unusual: 0,
                flagged: false,
            }
        })
        .collect()
}

/// All columns, or those with the largest share of the excess when there are too many.
fn choose_columns(positions: &[PositionFinding], columns_max: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..positions.len()).collect();
    if columns.len() > columns_max {
        columns.sort_by(|&a, &b| positions[b].share.total_cmp(&positions[a].share));
        columns.truncate(columns_max);
        columns.sort_unstable();
    }
    columns
}

/// What a column is divided by: its median, so that operations with large times do not dominate the nuclear
/// norm; for a column that is mostly zero, the median of its other entries.
pub(super) fn column_scale(times: &Matrix, j: usize, position: &PositionFinding) -> f64 {
    if position.median_ns > 0.0 {
        return position.median_ns;
    }
    let positive: Vec<f64> = times.column(j).filter(|&time| time > 0.0).collect();
    if positive.is_empty() { 1.0 } else { median_of(&positive) }
}

fn gather(times: &Matrix, columns: &[usize], scales: &[f64]) -> Matrix {
    let mut out = Matrix::zeros(times.rows(), columns.len());
    for i in 0..times.rows() {
        let from = times.row(i);
        for ((to, &j), &scale) in out.row_mut(i).iter_mut().zip(columns).zip(scales) {
            *to = from[j] / scale;
        }
    }
    out
}

/// Positions needed to distinguish a request's size from a fault: with fewer, a fault moves the median itself.
const SIZE_POSITIONS_MIN: usize = 5;

/// Log size of each request: the median over its positions of `ln(time / usual time)`; 0 when there are too
/// few positions.
fn request_sizes(times: &Matrix, positions: &[PositionFinding]) -> Vec<f64> {
    if positions.iter().filter(|position| position.median_ns > 0.0).count() < SIZE_POSITIONS_MIN {
        return vec![0.0; times.rows()];
    }
    let mut ratios = Vec::with_capacity(positions.len());
    (0..times.rows())
        .map(|i| {
            ratios.clear();
            let known = times.row(i).iter().zip(positions).filter(|(_, position)| position.median_ns > 0.0);
            ratios.extend(known.map(|(&time, position)| time.max(1.0).ln() - position.median_ns.ln()));
            median(&mut ratios)
        })
        .collect()
}

/// A time is unusual above the median plus this many MADs of its column's log times. With normal logs one time in
/// 30,000 is, so that two such times among the few giant requests of one position do not occur by chance even
/// over the ten thousand positions of a large system; at 3.5 they did, in one hour of ten.
const UNUSUAL_MAD: f64 = 4.0;

/// Whether each time of a column is in the upper tail of the column once the request's size is removed.
/// A request fifty times the usual size deviates fifty times as far from the low-rank part as a usual one,
/// although nothing is wrong with it.
fn unusual_for_size(times: &Matrix, j: usize, sizes: &[f64], weights: Weights<'_>) -> Vec<bool> {
    let residuals: Vec<f64> =
        times.column(j).zip(sizes).map(|(time, size)| time.max(1.0).ln() - size).collect();
    let usual = weighted_median(&residuals, weights);
    let limit = usual + UNUSUAL_MAD * weighted_mad(&residuals, weights, usual);
    residuals.iter().map(|&residual| residual > limit).collect()
}
