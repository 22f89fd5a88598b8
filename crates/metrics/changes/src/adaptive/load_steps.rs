//! Step 4: the rows at which the load or the mix changes for long. A cost that changes there looks like a constant
//! load to one regression over both sides, so the sides are compared as two models.

use laggard_numeric::{Matrix, mad, mean, median_of};

/// Number of windows of either side that are compared.
const REACH: usize = 30;
/// Relevant change of the load, as a logarithm: a fifth.
const LOAD_MIN: f64 = 0.2;
/// Relevant change of a type's share of all transactions.
const SHARE_MIN: f64 = 0.05;
/// Minimum step of the level as a multiple of the variation of windows on one side.
const DEVIATIONS_MIN: f64 = 2.5;

/// The first row after each step of the load or the mix, ascending. `rows` are those of `counts` to search.
pub(super) fn load_steps(counts: &Matrix, rows: &[usize]) -> Vec<usize> {
    let totals: Vec<f64> = rows.iter().map(|&row| counts.row(row).iter().sum()).collect();
    let mut scores = vec![0.0_f64; rows.len()];
    let load: Vec<f64> = totals.iter().map(|total| total.max(1.0).ln()).collect();
    add_scores(&mut scores, &load, LOAD_MIN);
    for kind in 0..counts.cols() {
        let share = |(&row, total): (&usize, &f64)| counts.get(row, kind) / total.max(1.0);
        let shares: Vec<f64> = rows.iter().zip(&totals).map(share).collect();
        if shares.iter().copied().fold(0.0, f64::max) >= SHARE_MIN {
            add_scores(&mut scores, &shares, SHARE_MIN);
        }
    }
    let mut steps = Vec::new();
    while let Some(best) = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a)))
    {
        if scores[best] <= 0.0 {
            break;
        }
        steps.push(best);
        scores[best.saturating_sub(REACH)..(best + REACH).min(rows.len())].fill(0.0);
    }
    steps.sort_unstable();
    steps
}

/// Raises the score of each row at which the median level steps by a relevant amount.
fn add_scores(scores: &mut [f64], values: &[f64], least: f64) {
    for row in REACH..values.len().saturating_sub(REACH) {
        let (left, right) = (&values[row - REACH..row], &values[row..row + REACH]);
        let (old, new) = (median_of(left), median_of(right));
        let size = (new - old).abs();
        if size < least {
            continue;
        }
        let within = mad(left, old).max(mad(right, new)).max(0.01 * least);
        if size >= DEVIATIONS_MIN * within {
            // The exact row: the mean is more sensitive to windows of the other side than the median.
            scores[row] = scores[row].max((mean(right) - mean(left)).abs() / least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: impl Fn(usize) -> [f64; 2]) -> Matrix {
        Matrix::from_row_major(200, 2, (0..200).flat_map(count).collect())
    }

    #[test]
    fn lasting_steps_of_load_and_mix_are_dated_and_bursts_are_not() {
        let rows: Vec<usize> = (0..200).collect();
        let noise = |row: usize| ((row * 7) % 11) as f64;
        let load = counts(|row| [100.0 + noise(row) + if row < 80 { 0.0 } else { 60.0 }, 50.0]);
        assert_eq!(load_steps(&load, &rows), [80]);
        let mix =
            counts(|row| if row < 120 { [100.0 + noise(row), 50.0] } else { [50.0, 100.0 + noise(row)] });
        assert_eq!(load_steps(&mix, &rows), [120]);
        let bursts = counts(|row| [if row / 3 % 2 == 0 { 50.0 } else { 150.0 }, 20.0]);
        assert_eq!(load_steps(&bursts, &rows), [] as [usize; 0]);
    }
}
