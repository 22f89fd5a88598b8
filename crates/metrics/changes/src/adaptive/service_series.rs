//! Step 4: the service times of one transaction type over time, as a regression on the utilization.

use laggard_numeric::{Matrix, median};

use super::regression::Regression;
use super::settings::ChangeSettings;
use crate::Observations;
use crate::signature::{response_at, service_time};

/// Minimum number of cells of a type to be analyzed.
const CELLS_MIN: usize = 20;
/// Block lengths, in cells, for noise that is not independent between cells.
const BLOCKS: [usize; 4] = [1, 3, 6, 12];
/// Minimum number of blocks for a noise estimate.
const BLOCKS_MIN: usize = 8;
/// Half the length of the running median that detects outlier cells.
const NEIGHBORS: usize = 15;
/// A cell is clipped to this number of standard deviations around its neighbors.
const OUTLIER_DEVIATIONS: f64 = 4.0;
/// Minimum noise of the logarithm of a service time.
const NOISE_MIN: f64 = 1e-3;
/// Shapes of the noise tried, from constant to inversely proportional to the count.
const SHAPES: usize = 6;

/// Service times of a type, in cells of one or more windows with enough transactions.
#[derive(Clone, Debug)]
pub(super) struct ServiceSeries {
    /// The type.
    pub(super) transaction: usize,
    /// First observation row of each cell, increasing.
    pub(super) rows: Vec<usize>,
    /// Number of transactions in each cell.
    pub(super) transactions: Vec<f64>,
    /// Utilization in each cell, 0..1.
    pub(super) utilization: Vec<f64>,
    /// Logarithm of the service time by `1, U, U²`: it may depend on the load if the queue differs from the formula's
    /// assumptions.
    pub(super) regression: Regression,
}

/// Sums over the windows of a cell.
#[derive(Clone, Copy, Default)]
struct ServiceCell {
    row: usize,
    transactions: f64,
    seconds: f64,
    utilization: f64,
}

impl ServiceSeries {
    /// The series of `transaction` over the rows for which `is_normal` is true; `None` if there are too few cells.
    pub(super) fn new(
        observations: &Observations,
        transaction: usize,
        settings: &ChangeSettings,
        is_normal: &[bool],
    ) -> Option<ServiceSeries> {
        let cells = cells(observations, transaction, settings, is_normal);
        if cells.len() < CELLS_MIN {
            return None;
        }
        let counts: Vec<f64> = cells.iter().map(|cell| cell.transactions).collect();
        let utilization: Vec<f64> = cells.iter().map(|cell| cell.utilization / cell.transactions).collect();
        let logs: Vec<f64> = cells.iter().map(|cell| (cell.seconds / cell.transactions).ln()).collect();
        let shape = noise_shape(&logs, &counts);
        let deviation = long_run_deviation(&logs, &utilization, &shape).max(NOISE_MIN);
        let response = without_outliers(&logs, &shape, deviation);
        let mut design = Matrix::zeros(cells.len(), 3);
        for (index, &u) in utilization.iter().enumerate() {
            design.row_mut(index).copy_from_slice(&[1.0, u, u * u]);
        }
        let weight = shape.iter().map(|shape| 1.0 / (shape * deviation * deviation)).collect();
        let rows = cells.iter().map(|cell| cell.row).collect();
        Some(ServiceSeries {
            transaction,
            rows,
            transactions: counts,
            utilization,
            regression: Regression { design, response, weight },
        })
    }
}

fn cells(
    observations: &Observations,
    transaction: usize,
    settings: &ChangeSettings,
    is_normal: &[bool],
) -> Vec<ServiceCell> {
    let mut cells = Vec::new();
    let mut open = ServiceCell::default();
    for row in (0..observations.utilization.len()).filter(|&row| is_normal[row]) {
        let Some(response) = response_at(observations, row, transaction) else { continue };
        let (count, u) = (observations.counts.get(row, transaction), observations.utilization[row]);
        let seconds = service_time(response, u, observations.cores);
        if count < 1.0 || seconds <= 0.0 {
            continue;
        }
        if open.transactions == 0.0 {
            open.row = row;
        }
        open.transactions += count;
        open.seconds += count * seconds;
        open.utilization += count * u;
        if open.transactions >= settings.cell_transactions {
            cells.push(std::mem::take(&mut open));
        }
    }
    cells
}

/// Variance of each cell up to a factor: `θ + (1 − θ) N̄/N`, with the θ under which the differences of neighbors are
/// most likely normal.
fn noise_shape(logs: &[f64], counts: &[f64]) -> Vec<f64> {
    let typical = median(&mut counts.to_vec());
    let mut best = (f64::INFINITY, vec![1.0; logs.len()]);
    for step in (0..SHAPES).rev() {
        let share = step as f64 / (SHAPES - 1) as f64;
        let shape: Vec<f64> = counts.iter().map(|count| share + (1.0 - share) * typical / count).collect();
        let deviation = difference_deviation(logs, &shape).max(NOISE_MIN);
        let spread: f64 = shape.iter().map(|shape| 0.5 * shape.ln()).sum();
        let unlikely = spread + logs.len() as f64 * deviation.ln();
        if unlikely < best.0 - 1e-9 {
            best = (unlikely, shape);
        }
    }
    best.1
}

/// Standard deviation of a cell of shape 1, from differences of neighbors: steps of the level do not disturb it.
fn difference_deviation(values: &[f64], shape: &[f64]) -> f64 {
    let differences = values.windows(2).zip(shape.windows(2));
    let mut scaled: Vec<f64> = differences
        .map(|(value, shape)| (value[1] - value[0]).abs() / (shape[0] + shape[1]).sqrt())
        .collect();
    1.4826 * median(&mut scaled)
}

/// The same from blocks of several cells, the maximum over all block lengths: relevant for the error of a mean when noise
/// lasts longer than a cell. The part that depends on the load is removed first.
fn long_run_deviation(logs: &[f64], utilization: &[f64], shape: &[f64]) -> f64 {
    let (mut along, mut spread) = (0.0, 0.0);
    for i in 1..logs.len() {
        let (u, weight) = (utilization[i] - utilization[i - 1], 1.0 / (shape[i] + shape[i - 1]));
        along += weight * u * (logs[i] - logs[i - 1]);
        spread += weight * u * u;
    }
    let slope = if spread > 0.0 { along / spread } else { 0.0 };
    let level: Vec<f64> = logs.iter().zip(utilization).map(|(log, u)| log - slope * u).collect();
    let block_deviation = |length: usize| {
        let blocks = level.len() / length;
        if length > 1 && blocks < BLOCKS_MIN {
            return 0.0;
        }
        let (means, shapes): (Vec<f64>, Vec<f64>) = (0..blocks)
            .map(|index| {
                let rows = index * length..(index + 1) * length;
                let weight: f64 = rows.clone().map(|row| 1.0 / shape[row]).sum();
                (rows.map(|row| level[row] / shape[row]).sum::<f64>() / weight, 1.0 / weight)
            })
            .unzip();
        difference_deviation(&means, &shapes)
    };
    BLOCKS.into_iter().map(block_deviation).fold(0.0, f64::max)
}

/// Clips cells far from their neighbors: a single outlier must not cause a step.
fn without_outliers(logs: &[f64], shape: &[f64], deviation: f64) -> Vec<f64> {
    (0..logs.len())
        .map(|index| {
            let near = index.saturating_sub(NEIGHBORS)..(index + NEIGHBORS + 1).min(logs.len());
            let middle = median(&mut logs[near].to_vec());
            let most = OUTLIER_DEVIATIONS * deviation * shape[index].sqrt();
            logs[index].clamp(middle - most, middle + most)
        })
        .collect()
}
