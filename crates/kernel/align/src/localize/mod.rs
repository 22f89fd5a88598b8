//! Locates the steps at which an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (fixed) ─┐
//!                              anomalous execution ────┴─► localize ─► LocalizedExecution: row, deviations, findings
//! ```

pub(crate) mod aligned;
mod cluster;
mod measure;
mod normal_limits;
mod result;
mod robust;
mod row;
mod settings;

pub use cluster::{ClusterProfile, align_cluster};
pub use measure::{DeviationMeasure, NormalMeasure};
pub use result::{
    AlignedCell, AlignedPosition, ColumnSummary, Deviation, DeviationKind, DeviationSum, Finding,
    LocalizedExecution, NormalRow, StateShare,
};
pub use settings::{LocalizeRules, LocalizeSettings};

use crate::{StateSequence, paper};
use laggard_numeric::parallel_map;

/// Aligns one execution with the reference columns and returns its deviations. Cost: one alignment of a sequence with a
/// profile.
pub fn localize(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocalizeSettings,
) -> LocalizedExecution {
    localize_all(profile, &[anomalous], settings).pop().expect("one result per execution")
}

/// The same for several anomalous executions of the kind, in order. Robust rules also pool them: three or more that
/// deviate slightly in the same state are significant even if each alone is not.
pub fn localize_all(
    profile: &ClusterProfile,
    anomalous: &[&StateSequence],
    settings: &LocalizeSettings,
) -> Vec<LocalizedExecution> {
    let aligned = parallel_map(anomalous, settings.msa.threads, |execution| {
        profile.align_execution(execution, settings)
    });
    let deviations = match settings.rules {
        LocalizeRules::Robust => robust::execution_deviations(profile, &aligned, settings),
        LocalizeRules::Paper => paper::localize::execution_deviations(profile, &aligned, settings),
    };
    let executions = aligned.iter().zip(deviations);
    executions
        .map(|(aligned, (deviations, measure))| row::localized(profile, aligned, deviations, measure))
        .collect()
}
