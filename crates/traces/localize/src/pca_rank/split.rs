//! Normal and anomalous requests of a cluster (Mi 2012 §4.2, Eq. 1).

use super::settings::MiSettings;
use super::table::CallTable;
use crate::cloud_diag::gate::gate;
use crate::cloud_diag::settings::{CloudDiagSettings, Mode};
use laggard_numeric::{
    Matrix, binomial_upper_tail, hall_buckley_eagleson_limit, jackson_mudholkar_limit, mad, median_of,
    principal_components,
};

/// Robust: the components are fitted to requests up to this many MAD above the median latency, because a gross
/// anomaly would dominate the first component and so lie inside the normal subspace.
const FIT_MAD: f64 = 3.0;
/// Robust: level at which more requests must be beyond the limit than expected by chance.
const EVIDENCE_LEVEL: f64 = 0.001;
/// Minimum number of components for which the cumulative variance is reported.
const COMPONENTS_REPORTED: usize = 10;

/// Why a cluster has no anomalous requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitDoubt {
    /// It has anomalous requests.
    #[default]
    None,
    /// Fewer requests than positions (paper), or fewer than ten (robust).
    TooFewRequests,
    /// The normal subspace explains every request.
    NoResidualSpace,
    /// Not more requests are beyond the limit than expected by chance, and the latency is not unusual.
    NoEvidence,
}

/// A cluster's requests divided into normal and anomalous ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Split {
    /// Whether each row is anomalous; all false when `doubt` is set.
    pub anomalous: Vec<bool>,
    /// Why no row is anomalous.
    pub doubt: SplitDoubt,
    /// Number of components of the normal subspace.
    pub components: usize,
    /// Cumulative share of the variance in the first 1, 2, … components, 0..1: up to those of the normal subspace, and
    /// at least ten if there are so many.
    pub cumulative_variance: Vec<f64>,
    /// Limit of the squared prediction error, nanoseconds squared.
    pub limit: f64,
    /// Number of rows beyond the limit.
    pub beyond: u64,
    /// Paper: columns to test, by B4.
    pub principal: Vec<usize>,
}

/// Splits the rows of a cluster.
pub(crate) fn split(table: &CallTable, settings: &MiSettings, shared: &CloudDiagSettings) -> Split {
    let (m, n) = (table.times.rows(), table.times.cols());
    let none = |doubt| Split { anomalous: vec![false; m], doubt, ..Split::default() };
    let enough = match shared.mode {
        Mode::Paper => m >= n && m >= 2,
        Mode::Robust => m as u64 >= shared.requests_min,
    };
    if !enough {
        return none(SplitDoubt::TooFewRequests);
    }
    let components = match shared.mode {
        Mode::Paper => principal_components(&table.times),
        Mode::Robust => principal_components(&usual_rows(table)),
    };
    let component_count = match shared.mode {
        Mode::Paper => components.components_holding(settings.variance),
        // In a small call tree whose calls vary together all components are needed; the smallest is still left
        // for the residual space.
        Mode::Robust => {
            components.components_holding(settings.variance).min(components.loadings.rows().saturating_sub(1))
        }
    };
    let residual = components.residual_variances(component_count);
    let limit = match shared.mode {
        Mode::Paper => jackson_mudholkar_limit(residual, settings.row_level),
        Mode::Robust => hall_buckley_eagleson_limit(residual, settings.row_level),
    };
    let Some(limit) = limit else { return none(SplitDoubt::NoResidualSpace) };
    let errors = components.squared_prediction_errors(&table.times, component_count);
    let anomalous: Vec<bool> = errors.iter().map(|&error| error > limit).collect();
    let beyond = anomalous.iter().filter(|&&is| is).count() as u64;
    let mut cumulative_variance = components.cumulative_shares();
    cumulative_variance.truncate(component_count.max(COMPONENTS_REPORTED));
    let out = Split {
        components: component_count,
        cumulative_variance,
        limit,
        beyond,
        principal: components.principal_columns(component_count),
        ..none(SplitDoubt::None)
    };
    if shared.mode == Mode::Robust && !is_evidence(table, beyond, settings, shared) {
        return Split { doubt: SplitDoubt::NoEvidence, ..out };
    }
    Split { anomalous, ..out }
}

fn is_evidence(table: &CallTable, beyond: u64, settings: &MiSettings, shared: &CloudDiagSettings) -> bool {
    let chance = binomial_upper_tail(table.rows.len() as u64, settings.row_level, beyond);
    chance < EVIDENCE_LEVEL || gate(&table.latencies, shared).anomalous
}

/// Rows whose latency is not unusually high.
fn usual_rows(table: &CallTable) -> Matrix {
    let center = median_of(&table.latencies);
    let limit = center + FIT_MAD * mad(&table.latencies, center);
    let usual: Vec<usize> = (0..table.rows.len()).filter(|&row| table.latencies[row] <= limit).collect();
    let mut out = Matrix::zeros(usual.len(), table.times.cols());
    for (to, &from) in usual.iter().enumerate() {
        out.row_mut(to).copy_from_slice(table.times.row(from));
    }
    out
}
