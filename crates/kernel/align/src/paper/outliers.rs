//! The published outlier rule: executions that take abnormally long in some state (Janecek et al. 3.5, end).

use laggard_numeric::{Matrix, mean, sample_std};

/// Mean and standard deviation of every state's time over a kind.
#[derive(Clone, PartialEq, Debug)]
pub struct SigmaRule {
    /// Means by column, microseconds.
    pub means_us: Vec<f64>,
    /// Standard deviations (divisor `n - 1`; 0 for one execution).
    pub stds_us: Vec<f64>,
    sigmas: f64,
}

impl SigmaRule {
    /// From `rows` of `times_us` (not empty).
    pub fn new(times_us: &Matrix, rows: &[usize], sigmas: f64) -> SigmaRule {
        let values_of = |column| rows.iter().map(|&row| times_us.get(row, column)).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..times_us.cols()).map(values_of).collect();
        let std = |values: &Vec<f64>| if values.len() > 1 { sample_std(values) } else { 0.0 };
        SigmaRule {
            means_us: columns.iter().map(|values| mean(values)).collect(),
            stds_us: columns.iter().map(std).collect(),
            sigmas,
        }
    }

    /// Columns whose time exceeds `mean + sigmas * std`, ascending.
    pub fn exceeding(&self, times_us: &[f64]) -> Vec<usize> {
        let is_above =
            |&column: &usize| times_us[column] > self.means_us[column] + self.sigmas * self.stds_us[column];
        (0..times_us.len()).filter(is_above).collect()
    }
}
