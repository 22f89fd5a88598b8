//! Whether a rate changed, when events come in bursts and rates drift.
//!
//! Given the number of events in both, those in the window follow a binomial distribution if the rates are equal
//! (Przyborowski & Wilenski, *Biometrika* 31, 1940). Events that come in bursts are fewer independent ones: counts are divided
//! by their overdispersion, as in a quasi-Poisson model (McCullagh & Nelder, *Generalized Linear Models*, 1989). Within
//! the window it is estimated from differences of consecutive blocks, which a lasting change affects once only.

use crate::sites::Blocks;
use laggard_numeric::f_upper_tail;

/// Events in one block.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct BlockCount {
    pub(crate) events: f64,
    /// How many events there would be at the rate that blocks are compared with, up to a factor.
    pub(crate) exposure: f64,
}

/// Sums over all blocks.
pub(crate) fn total(blocks: &[BlockCount]) -> BlockCount {
    blocks.iter().fold(BlockCount::default(), |sum, block| BlockCount {
        events: sum.events + block.events,
        exposure: sum.exposure + block.exposure,
    })
}

/// Fewest batches whose spread is estimated.
const BATCHES_MIN: usize = 3;

/// One-sided p-value of the hypothesis that the rate of the window is above `factor` times that of the baseline.
pub(crate) fn rise(baseline: &[BlockCount], window: &[BlockCount], blocks: &Blocks, factor: f64) -> f64 {
    let (before, now, share) = effective(baseline, window, blocks, factor);
    // P(X >= now) of X ~ Binomial(before + now, share).
    if now <= 0.0 { 1.0 } else { regularized_beta(share, now, before + 1.0) }
}

/// As [`rise`], with one overdispersion for both: the largest of the two and of batches of `batch` blocks of the baseline. For
/// events that are frequent in both.
pub(crate) fn rise_of_frequent(
    baseline: &[BlockCount],
    window: &[BlockCount],
    batch: usize,
    factor: f64,
) -> f64 {
    let batches: Vec<BlockCount> = baseline.chunks_exact(batch.max(1)).map(total).collect();
    let drift = if batches.len() >= BATCHES_MIN { spread(&batches) } else { 1.0 };
    let dispersion = consecutive(baseline).max(consecutive(window)).max(drift);
    let (earlier, later) = (total(baseline), total(window));
    let exposure = factor * later.exposure;
    let share = exposure / (exposure + earlier.exposure).max(f64::MIN_POSITIVE);
    let (before, now) = (earlier.events / dispersion, later.events / dispersion);
    if now <= 0.0 { 1.0 } else { regularized_beta(share, now, before + 1.0) }
}

/// One-sided p-value of the hypothesis that the rate of the window is below `factor` times that of the baseline.
pub(crate) fn drop(baseline: &[BlockCount], window: &[BlockCount], blocks: &Blocks, factor: f64) -> f64 {
    let (before, now, share) = effective(baseline, window, blocks, factor);
    // P(X <= now) of X ~ Binomial(before + now, share).
    if before <= 0.0 { 1.0 } else { regularized_beta(1.0 - share, before, now + 1.0) }
}

/// Independent events before and now, and the share of all that are expected now.
fn effective(
    baseline: &[BlockCount],
    window: &[BlockCount],
    blocks: &Blocks,
    factor: f64,
) -> (f64, f64, f64) {
    let batches: Vec<BlockCount> = baseline.chunks_exact(blocks.batch).map(total).collect();
    let drift = if batches.len() >= BATCHES_MIN { spread(&batches) } else { 1.0 };
    let before = consecutive(baseline).max(drift);
    let now = consecutive(window).max(before);
    let (earlier, later) = (total(baseline), total(window));
    let exposure = factor * later.exposure;
    let share = exposure / (exposure + earlier.exposure).max(f64::MIN_POSITIVE);
    (earlier.events / before, later.events / now, share)
}

/// Variance of counts over their mean, at least 1; by the differences of consecutive blocks.
pub(crate) fn consecutive(blocks: &[BlockCount]) -> f64 {
    let residuals = residuals(blocks);
    let squares: f64 = residuals.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let pairs = residuals.len().saturating_sub(1) as f64;
    over_mean(squares / (2.0 * pairs), blocks)
}

/// The same by the squares of the deviations.
fn spread(blocks: &[BlockCount]) -> f64 {
    let squares: f64 = residuals(blocks).iter().map(|residual| residual.powi(2)).sum();
    over_mean(squares / (blocks.len() as f64 - 1.0), blocks)
}

fn over_mean(variance: f64, blocks: &[BlockCount]) -> f64 {
    let mean = total(blocks).events / blocks.len() as f64;
    if mean > 0.0 && variance.is_finite() { (variance / mean).max(1.0) } else { 1.0 }
}

fn residuals(blocks: &[BlockCount]) -> Vec<f64> {
    let all = total(blocks);
    let rate = all.events / all.exposure.max(f64::MIN_POSITIVE);
    blocks.iter().map(|block| block.events - rate * block.exposure).collect()
}

/// `I_x(a, b)`, by the F distribution.
fn regularized_beta(x: f64, a: f64, b: f64) -> f64 {
    let f = a * (1.0 - x) / (b * x);
    f_upper_tail(f, 2.0 * b, 2.0 * a)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Blocks = Blocks { baseline: 64, window: 16, batch: 16 };

    fn counts(events: &[f64], exposure: f64) -> Vec<BlockCount> {
        events.iter().map(|&events| BlockCount { events, exposure }).collect()
    }

    /// `P(X >= 3)` of 5 throws of a coin is a half; of 4 throws that all succeed with 1 in 5 is 0.2 to the 4th.
    #[test]
    fn binomial_tails() {
        assert!((regularized_beta(0.5, 3.0, 3.0) - 0.5).abs() < 1e-12);
        assert!((regularized_beta(0.2, 4.0, 1.0) - 0.2_f64.powi(4)).abs() < 1e-12);
    }

    #[test]
    fn a_burst_counts_once_and_a_lasting_change_counts_in_full() {
        let before = counts(&[0.0; 64], 50.0);
        let mut burst = [0.0; 16];
        burst[9] = 40.0;
        assert!(rise(&before, &counts(&burst, 50.0), &BLOCKS, 1.0) > 0.1);
        let mut lasting = [0.0; 16];
        lasting[9..].fill(3.0);
        assert!(rise(&before, &counts(&lasting, 50.0), &BLOCKS, 1.0) < 1e-6);
    }

    #[test]
    fn a_drift_in_the_baseline_is_usual() {
        let even = counts(&[2.0; 64], 50.0);
        let mut uneven = [0.0; 64];
        uneven[16..32].fill(8.0);
        let now = counts(&[8.0; 16], 50.0);
        assert!(rise(&even, &now, &BLOCKS, 1.5) < 1e-6);
        assert!(rise(&counts(&uneven, 50.0), &now, &BLOCKS, 1.5) > 0.01);
    }

    #[test]
    fn fewer_calls_are_a_drop() {
        let before = counts(&[10.0; 64], 50.0);
        assert!(drop(&before, &counts(&[6.0; 16], 50.0), &BLOCKS, 1.0) < 1e-5);
        assert!(drop(&before, &counts(&[9.6; 16], 50.0), &BLOCKS, 1.0) > 0.1);
        assert!(rise(&before, &counts(&[6.0; 16], 50.0), &BLOCKS, 1.0) > 0.9);
    }
}
