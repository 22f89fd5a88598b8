//! The noise of the CPU use of a window, given its transactions, measured where nothing changes.
//!
//! The CPU work of a window has the variance `a + Σ N_i E[C_i²]`: part of it grows with the work done. Blocks of
//! windows are fitted separately, so that neither a change of the model nor a changing mix counts as noise; a median
//! over blocks ignores those disturbed by other processes.

use laggard_numeric::median;

use super::regression::Regression;
use crate::linear_algebra::dot;

/// Fewest windows of a block.
const BLOCK_MIN: usize = 20;
/// Minimum measurement error of the utilization, in percent.
const NOISE_MIN_PERCENT: f64 = 0.01;
/// The variance of a window is at least that of this share of the mean CPU use.
const LEVEL_MIN: f64 = 0.05;
/// Number of shapes tried, from a variance proportional to the CPU used to a constant one.
const SHAPES: usize = 11;

/// The residual noise of a block.
struct NoiseBlock {
    /// Mean CPU of its windows, in percent.
    level: f64,
    /// `SSE / (rows − rank)`.
    variance: f64,
}

/// Noise variance of every row, in squared units of the response: `k (θ m + (1 − θ) u)` with the mean `m` of the CPU
/// and its level `u` in the window.
pub(super) fn noise_variances(regression: &Regression) -> Vec<f64> {
    let rows = regression.rows();
    if rows == 0 {
        return Vec::new();
    }
    let blocks = blocks(regression);
    let mean = regression.response.iter().sum::<f64>() / rows as f64;
    let floor = NOISE_MIN_PERCENT * NOISE_MIN_PERCENT;
    let (constant_share, factor) = best_shape(&blocks, mean);
    let fit = regression.fit(0..rows);
    let level = |row: usize| dot(regression.design.row(row), &fit.coefficients).max(LEVEL_MIN * mean);
    let variance = |row| factor * (constant_share * mean + (1.0 - constant_share) * level(row));
    (0..rows).map(|row| variance(row).max(floor)).collect()
}

fn blocks(regression: &Regression) -> Vec<NoiseBlock> {
    let (rows, columns) = (regression.rows(), regression.columns());
    let length = (2 * columns).max(BLOCK_MIN).min((rows / 2).max(columns + 2)).min(rows);
    let block = |index: usize| {
        let block_rows = index * length..(index + 1) * length;
        let fit = regression.fit(block_rows.clone());
        let square = regression.weighted_square(block_rows.clone(), &fit.coefficients);
        let level = block_rows.map(|row| regression.response[row]).sum::<f64>() / length as f64;
        NoiseBlock { level, variance: square / length.saturating_sub(fit.rank).max(1) as f64 }
    };
    (0..rows / length).map(block).collect()
}

/// The constant share θ for which the blocks agree best, and the median factor k.
fn best_shape(blocks: &[NoiseBlock], mean: f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 1.0, 0.0);
    for step in (0..SHAPES).rev() {
        let share = step as f64 / (SHAPES - 1) as f64;
        let shape = |block: &NoiseBlock| share * mean + (1.0 - share) * block.level.max(LEVEL_MIN * mean);
        let mut factors: Vec<f64> = blocks
            .iter()
            .map(|block| (block.variance / shape(block).max(f64::MIN_POSITIVE)).max(1e-30).ln())
            .collect();
        let middle = median(&mut factors);
        let spread = median(&mut factors.iter().map(|factor| (factor - middle).abs()).collect::<Vec<_>>());
        if spread < best.0 {
            best = (spread, share, middle.exp());
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_numeric::Matrix;

    #[test]
    fn steps_and_disturbed_intervals_do_not_count_as_noise() {
        // Noise −1, 0, 1 in turn (variance 2/3); a step at 200; 80 of 400 rows disturbed.
        let noise = |t: usize| (t % 3) as f64 - 1.0;
        let unexplained = |t: usize| if (80..160).contains(&t) { 10.0 * ((t * 7) % 5) as f64 } else { 0.0 };
        let level = |t: usize| if t < 200 { 40.0 } else { 60.0 };
        let response = (0..400).map(|t| level(t) + noise(t) + unexplained(t)).collect();
        let design = Matrix::from_row_major(400, 1, vec![1.0; 400]);
        let variances = noise_variances(&Regression { design, response, weight: vec![1.0; 400] });
        for variance in variances {
            assert!((0.5..1.1).contains(&variance), "{variance}");
        }
    }
}
