//! Locates the steps at which an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (fixed) ─┐
//!                              anomalous execution ────┴─► localize ─► LocalizedExecution: row, deviations, findings
//! ```

mod aligned;
mod cluster;
mod measure;
mod normal_limits;
mod paper;
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

use crate::StateSequence;
use laggard_numeric::parallel_map;
use std::collections::BTreeSet;

/// Aligns one execution with the reference columns and returns its deviations. Cost: one alignment of a sequence with a
/// profile.
pub fn localize(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocalizeSettings,
) -> LocalizedExecution {
    let mut found = localize_all(profile, &[anomalous], settings);
    found.pop().expect("one for each execution")
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
    let found = parallel_map(&aligned, settings.msa.threads, |aligned| match settings.rules {
        LocalizeRules::Paper => paper::deviations(profile, aligned, settings),
        LocalizeRules::Robust => robust::deviations(profile, aligned, None, settings),
    });
    let raised = match settings.rules {
        LocalizeRules::Paper => BTreeSet::new(),
        LocalizeRules::Robust => profile.limits.raised(&found),
    };
    let is_new = |state| profile.entries.iter().all(|entries| !entries.has(state));
    let executions = aligned.iter().zip(found);
    executions
        .map(|(aligned, mut deviations)| {
            let excess_us = aligned.sequence.total_us() - profile.median_total_us();
            let mut measure = DeviationMeasure::default();
            if settings.rules == LocalizeRules::Robust {
                measure = DeviationMeasure::from_deviations(&deviations, profile.median_total_us());
                let base_us = if excess_us > 0.0 { excess_us } else { profile.median_total_us() };
                let excess_min_us = settings.excess_share_min * base_us;
                deviations = profile.limits.retain_abnormal(deviations, excess_min_us, &raised, is_new);
            }
            LocalizedExecution { measure, ..row::localized(profile, aligned, deviations, excess_us) }
        })
        .collect()
}
