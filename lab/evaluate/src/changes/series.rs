//! The input of simple methods: one number per window.

use laggard_changes::Observations;

/// Which number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Series {
    /// CPU utilization.
    Utilization,
    /// CPU time a transaction, whatever its type.
    PerTransaction,
}

impl Series {
    /// Suffix of a method's name.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Series::Utilization => "utilization",
            Series::PerTransaction => "CPU a transaction",
        }
    }

    /// Its values by row. A window without transactions repeats the one before.
    pub(super) fn values(self, observations: &Observations) -> Vec<f64> {
        if self == Series::Utilization {
            return observations.utilization.clone();
        }
        let mut last = 0.0;
        let value = |(row, utilization): (usize, &f64)| {
            let count: f64 = observations.counts.row(row).iter().sum();
            if count > 0.0 {
                last = utilization * observations.window_s * observations.cores / count;
            }
            last
        };
        observations.utilization.iter().enumerate().map(value).collect()
    }
}

/// Mean and standard deviation; the deviation is never 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Level {
    pub(super) fn from_values(values: &[f64]) -> Level {
        let count = values.len().max(2) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Level { mean, deviation: variance.sqrt().max(1e-9) }
    }
}

/// Standard deviation of the noise around a level that jumps now and then: from the median absolute difference of
/// neighbors.
pub(super) fn noise_deviation(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    (1.4826 * median / std::f64::consts::SQRT_2).max(1e-9)
}
