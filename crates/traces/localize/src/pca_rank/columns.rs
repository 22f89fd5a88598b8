//! Which positions of a cluster differ between anomalous and normal requests (Mi 2012 §4.3).

use super::settings::MiSettings;
use super::split::Split;
use super::table::CallTable;
use crate::cloud_diag::settings::{CloudDiagSettings, Mode};
use laggard_numeric::{Alternative, benjamini_hochberg, mad, mann_whitney, mean, median_of};

/// The result for one position of a cluster.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ColumnFinding {
    /// Whether it is suspicious.
    pub flagged: bool,
    /// Median time of normal requests there, nanoseconds.
    pub usual_ns: f64,
    /// A request is slow there above this, nanoseconds.
    pub slow_ns: f64,
    /// Number of anomalous requests that are slow there.
    pub slow_requests: u64,
    /// Their excess over the usual time there, relative to the excess of all requests' latency over its median.
    pub cost_share: f64,
    /// Mean of the anomalous minus mean of the normal requests, nanoseconds.
    pub excess_ns: f64,
    /// Share of the positive excesses of all positions, 0..1.
    pub excess_share: f64,
    /// Mann–Whitney p-value; in robust mode one-sided and adjusted over the positions.
    pub p_value: f64,
}

/// Tests the columns of a split table: one finding per column. Nothing is flagged when a set is empty.
///
/// Paper: the principal columns (B4), two-sided. Robust: all columns, one-sided (anomalous requests are
/// slower), Benjamini–Hochberg over the columns, a minimum share of the excess, and a minimum cost: anomalous
/// requests are those that are extreme in some column, so columns differ in healthy clusters, too.
pub(crate) fn test_columns(
    table: &CallTable,
    split: &Split,
    settings: &MiSettings,
    shared: &CloudDiagSettings,
) -> Vec<ColumnFinding> {
    let wanted: Vec<usize> = match shared.mode {
        Mode::Paper => split.principal.clone(),
        Mode::Robust => (0..table.columns.len()).collect(),
    };
    let alternative = match shared.mode {
        Mode::Paper => Alternative::TwoSided,
        Mode::Robust => Alternative::Greater,
    };
    let samples: Vec<Samples> =
        (0..table.columns.len()).map(|column| Samples::new(table, split, column)).collect();
    let mut p_values: Vec<f64> = wanted
        .iter()
        .map(|&column| mann_whitney(&samples[column].anomalous, &samples[column].normal, alternative).p_value)
        .collect();
    if shared.mode == Mode::Robust {
        p_values = benjamini_hochberg(&p_values);
    }
    let mut out: Vec<ColumnFinding> = samples.iter().map(|sample| sample.describe(shared)).collect();
    let usual_latency = median_of(&table.latencies);
    let late: f64 = table.latencies.iter().map(|latency| (latency - usual_latency).max(0.0)).sum();
    let total: f64 = out.iter().map(|finding| finding.excess_ns.max(0.0)).sum();
    for finding in &mut out {
        finding.cost_share = if late > 0.0 { finding.cost_share / late } else { 0.0 };
        finding.excess_share = if total > 0.0 { finding.excess_ns.max(0.0) / total } else { 0.0 };
    }
    for (&column, p_value) in wanted.iter().zip(p_values) {
        out[column].p_value = p_value;
        out[column].flagged = p_value < settings.column_level
            && (shared.mode == Mode::Paper || matters(&out[column], settings, shared));
    }
    out
}

/// Whether a position holds enough of the excess.
fn matters(finding: &ColumnFinding, settings: &MiSettings, shared: &CloudDiagSettings) -> bool {
    finding.excess_share >= settings.excess_share_min
        && finding.cost_share >= shared.share_min
        && finding.slow_requests >= shared.support_min
}

/// Genuine values of one column.
struct Samples {
    anomalous: Vec<f64>,
    normal: Vec<f64>,
}

impl Samples {
    fn new(table: &CallTable, split: &Split, column: usize) -> Samples {
        let mut out = Samples { anomalous: vec![], normal: vec![] };
        for row in (0..table.rows.len()).filter(|&row| table.is_genuine(row, column)) {
            let to = if split.anomalous[row] { &mut out.anomalous } else { &mut out.normal };
            to.push(table.times.get(row, column));
        }
        out
    }

    fn describe(&self, shared: &CloudDiagSettings) -> ColumnFinding {
        let usual_ns = median_of(&self.normal);
        let spread = mad(&self.normal, usual_ns);
        let slow_ns = usual_ns + (shared.exceed_mad * spread).max(shared.exceed_median * usual_ns);
        let slow = || self.anomalous.iter().filter(|&&time| time > slow_ns);
        let empty = self.anomalous.is_empty() || self.normal.is_empty();
        ColumnFinding {
            usual_ns,
            slow_ns,
            cost_share: slow().map(|time| time - usual_ns).sum(),
            slow_requests: slow().count() as u64,
            excess_ns: if empty { 0.0 } else { mean(&self.anomalous) - mean(&self.normal) },
            p_value: 1.0,
            ..ColumnFinding::default()
        }
    }
}
