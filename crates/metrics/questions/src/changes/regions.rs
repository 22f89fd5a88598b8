//! Regions in which transactions do not explain the CPU use.

use super::series::predicted;
use super::server::ServerResult;
use laggard_changes::{SegmentKind, TransactionModel};
use laggard_report::AnomalousRegion;
use std::ops::Range;

/// A region, and its first row.
pub(super) struct Region {
    pub(super) first_row: usize,
    pub(super) region: AnomalousRegion,
}

impl ServerResult<'_> {
    /// Runs of anomalous segments, with the CPU use that transactions do not explain.
    pub(super) fn regions(&self, models: &[Option<&TransactionModel>]) -> Vec<Region> {
        let mut runs: Vec<(Range<usize>, Vec<&'static str>)> = Vec::new();
        for segment in &self.analysis.segments {
            let SegmentKind::Anomalous { reason } = segment.kind else { continue };
            match runs.last_mut() {
                Some((rows, reasons)) if rows.end == segment.rows.start => {
                    rows.end = segment.rows.end;
                    reasons.push(reason);
                }
                _ => runs.push((segment.rows.clone(), vec![reason])),
            }
        }
        runs.into_iter().map(|(rows, reasons)| self.region(rows, &reasons, models)).collect()
    }

    fn region(
        &self,
        rows: Range<usize>,
        reasons: &[&'static str],
        models: &[Option<&TransactionModel>],
    ) -> Region {
        let observations = &self.observed.observations;
        let residuals: Vec<f64> = rows
            .clone()
            .filter_map(|row| {
                let model = models.get(row).copied().flatten()?;
                Some(observations.utilization[row] - predicted(model, self.observed, row))
            })
            .collect();
        let sum: f64 = residuals.iter().sum();
        let known = !residuals.is_empty();
        let or_nan = |value: f64| if known { value } else { f64::NAN };
        let region = AnomalousRegion {
            time: self.clock().span(&rows),
            windows: rows.len() as u64,
            reasons: most_frequent(reasons),
            unexplained_mean: or_nan(sum / residuals.len() as f64),
            unexplained_peak: or_nan(residuals.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            unexplained_cpu_s: or_nan(sum * observations.window_s * observations.cores),
        };
        Region { first_row: rows.start, region }
    }
}

fn most_frequent(reasons: &[&'static str]) -> Vec<String> {
    let mut distinct: Vec<&str> = Vec::new();
    for reason in reasons {
        if !distinct.contains(reason) {
            distinct.push(reason);
        }
    }
    let count = |reason: &str| reasons.iter().filter(|other| **other == reason).count();
    distinct.sort_by_key(|reason| std::cmp::Reverse(count(reason)));
    distinct.into_iter().map(str::to_owned).collect()
}
