//! Monitors the current model with cumulative sums: detects when successive windows deviate in the same direction.

use std::ops::Range;

use laggard_numeric::{mad, median_of};

use crate::signature::{UTILIZATION_MAX, service_time_at, signature};
use crate::{Analysis, Observations, SegmentKind};

/// Deviations by less than this, in standard deviations, are not summed (half of a shift by one; Page 1954).
const ALLOWANCE: f64 = 0.5;
/// A sum beyond this many standard deviations is a deviation: about one false detection per sum in 3,000 windows.
const DEVIATION_MIN: f64 = 7.0;
/// A window adds at most this many standard deviations.
const WINDOW_MAX: f64 = 4.0;
/// Number of windows of the current group from which the usual deviation is estimated.
const WINDOWS: usize = 300;
/// Minimum standard deviation of the utilization, in percent: its measurement is no more precise.
const NOISE_MIN_PERCENT: f64 = 0.05;
/// Minimum standard deviation of a service time, as a share of it.
const SERVICE_NOISE_MIN: f64 = 0.01;

/// The current model and the sums of deviations from it.
#[derive(Clone, Debug)]
pub(super) struct ModelMonitor {
    constant_percent: f64,
    demand_s: Vec<f64>,
    utilization: Sum,
    /// By transaction type; `None` where too few windows are known.
    services: Vec<Option<Sum>>,
}

/// A two-sided cumulative sum.
#[derive(Clone, Copy, Debug)]
struct Sum {
    center: f64,
    deviation: f64,
    up: f64,
    down: f64,
}

impl ModelMonitor {
    /// Monitors the model of the last normal segment; `None` if there is no normal segment.
    pub(super) fn new(observations: &Observations, analysis: &Analysis) -> Option<ModelMonitor> {
        let group = analysis.segments.iter().rev().find_map(|segment| match segment.kind {
            SegmentKind::Normal { group } => Some(group),
            _ => None,
        })?;
        let group = &analysis.groups[group];
        let rows: Vec<Range<usize>> = latest(analysis, &group.segments);
        let mut monitor = ModelMonitor {
            constant_percent: group.model.constant_percent,
            demand_s: group.model.demand_s.clone(),
            utilization: Sum::new(0.0, NOISE_MIN_PERCENT),
            services: Vec::new(),
        };
        let residuals: Vec<f64> =
            rows.iter().cloned().flatten().map(|row| monitor.residual(observations, row)).collect();
        let center = median_of(&residuals);
        monitor.utilization = Sum::new(center, mad(&residuals, center).max(NOISE_MIN_PERCENT));
        let sum = |time: crate::ServiceTime| {
            let deviation = time.standard_error_s * (time.windows as f64).sqrt() / 1.2533;
            Sum::new(time.seconds, deviation.max(SERVICE_NOISE_MIN * time.seconds))
        };
        monitor.services = signature(observations, &rows)
            .into_iter()
            .map(|time| time.filter(|time| time.windows >= 10 && time.seconds > 0.0).map(sum))
            .collect();
        Some(monitor)
    }

    fn residual(&self, observations: &Observations, row: usize) -> f64 {
        let counts = observations.counts.row(row);
        let work: f64 = counts.iter().zip(&self.demand_s).map(|(count, demand)| count * demand).sum();
        let capacity = observations.window_s * observations.cores;
        100.0 * observations.utilization[row] - self.constant_percent - 100.0 * work / capacity
    }

    /// Adds a window. True if a sum exceeds its limit; such a sum restarts at 0.
    pub(super) fn deviates(&mut self, observations: &Observations, row: usize) -> bool {
        let mut deviates = false;
        if observations.utilization[row] < UTILIZATION_MAX {
            let residual = self.residual(observations, row);
            deviates |= self.utilization.add(residual);
        }
        for (transaction, sum) in self.services.iter_mut().enumerate() {
            let Some(sum) = sum else { continue };
            if let Some(time) = service_time_at(observations, row, transaction) {
                deviates |= sum.add(time);
            }
        }
        deviates
    }
}

/// The last [`WINDOWS`] windows of `segments`.
fn latest(analysis: &Analysis, segments: &[usize]) -> Vec<Range<usize>> {
    let mut missing = WINDOWS;
    let mut rows = Vec::new();
    for &segment in segments.iter().rev() {
        let own = analysis.segments[segment].rows.clone();
        let count = own.len().min(missing);
        rows.push(own.end - count..own.end);
        missing -= count;
        if missing == 0 {
            break;
        }
    }
    rows
}

impl Sum {
    fn new(center: f64, deviation: f64) -> Sum {
        Sum { center, deviation, up: 0.0, down: 0.0 }
    }

    fn add(&mut self, value: f64) -> bool {
        let z = ((value - self.center) / self.deviation).clamp(-WINDOW_MAX, WINDOW_MAX);
        self.up = (self.up + z - ALLOWANCE).max(0.0);
        self.down = (self.down - z - ALLOWANCE).max(0.0);
        let deviates = self.up.max(self.down) > DEVIATION_MIN;
        if deviates {
            (self.up, self.down) = (0.0, 0.0);
        }
        deviates
    }
}
