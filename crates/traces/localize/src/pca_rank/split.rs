//! Normal and anomalous requests of a cluster (Mi 2012 §4.2, Eq. 1).

use super::settings::MiSettings;
use super::table::CallTable;
use crate::gate::gate;
use crate::settings::{CloudDiagSettings, Mode};
use laggard_numeric::{
    Matrix, binomial_upper_tail, hall_buckley_eagleson_limit, jackson_mudholkar_limit, mad, median_of,
    principal_components,
};

/// Robust: the components are those of requests up to this many MAD above the median latency, because a gross
/// anomaly would own the first component and so lie inside of the normal subspace.
const FIT_MAD: f64 = 3.0;
/// Robust: level at which more requests must be beyond the limit than chance puts there.
const EVIDENCE_LEVEL: f64 = 0.001;
/// The intrinsic dimension is reported as the share of the variance in so many components.
const FIRST_COMPONENTS: usize = 10;

/// Why a cluster has no anomalous requests, when it has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitDoubt {
    /// It has some.
    #[default]
    None,
    /// Fewer requests than positions (paper), or than ten (robust).
    TooFewRequests,
    /// The normal subspace explains every request.
    NoResidualSpace,
    /// No more requests are beyond the limit than chance puts there, and the latency is not unusual.
    NoEvidence,
}

/// A cluster's requests in two sets.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Split {
    /// Whether each row is anomalous; all false when there is a doubt.
    pub anomalous: Vec<bool>,
    /// Why there is none.
    pub doubt: SplitDoubt,
    /// Components of the normal subspace.
    pub components: usize,
    /// Share of the variance in the first ten components, 0..1.
    pub variance_of_first: f64,
    /// Limit of the squared prediction error, nanoseconds squared.
    pub limit: f64,
    /// Rows beyond it.
    pub beyond: u64,
    /// Paper: columns to test, by B4.
    pub principal: Vec<usize>,
}

/// Splits the rows of a cluster.
pub(crate) fn split(table: &CallTable, own: &MiSettings, shared: &CloudDiagSettings) -> Split {
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
    let kept = match shared.mode {
        Mode::Paper => components.components_holding(own.variance),
        // In a small call tree whose calls vary alike all components are needed; the least of them still
        // makes a residual space.
        Mode::Robust => {
            components.components_holding(own.variance).min(components.loadings.rows().saturating_sub(1))
        }
    };
    let residual = components.residual_variances(kept);
    let limit = match shared.mode {
        Mode::Paper => jackson_mudholkar_limit(residual, own.row_level),
        Mode::Robust => hall_buckley_eagleson_limit(residual, own.row_level),
    };
    let Some(limit) = limit else { return none(SplitDoubt::NoResidualSpace) };
    let errors = components.squared_prediction_errors(&table.times, kept);
    let anomalous: Vec<bool> = errors.iter().map(|&error| error > limit).collect();
    let beyond = anomalous.iter().filter(|&&is| is).count() as u64;
    let out = Split {
        components: kept,
        variance_of_first: components.share_of_first(FIRST_COMPONENTS),
        limit,
        beyond,
        principal: components.principal_columns(kept),
        ..none(SplitDoubt::None)
    };
    if shared.mode == Mode::Robust && !is_evidence(table, beyond, own, shared) {
        return Split { doubt: SplitDoubt::NoEvidence, ..out };
    }
    Split { anomalous, ..out }
}

fn is_evidence(table: &CallTable, beyond: u64, own: &MiSettings, shared: &CloudDiagSettings) -> bool {
    let chance = binomial_upper_tail(table.rows.len() as u64, own.row_level, beyond);
    chance < EVIDENCE_LEVEL || gate(&table.latencies, shared).anomalous
}

/// Rows whose latency is not beyond the usual.
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
