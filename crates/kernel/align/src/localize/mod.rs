//! At which step an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (frozen) ─┐
//!                              anomalous execution ────┴─► localize ─► LocalizedExecution: row, deviations, findings
//! ```

mod cluster;
mod gate;
mod measure;
mod paper;
mod placed;
mod result;
mod robust;
mod row;
mod settings;

pub use cluster::{ClusterProfile, align_cluster};
pub use measure::{DeviationMeasure, NormalMeasure};
pub use result::{
    AlignedCell, ColumnSummary, Deviation, DeviationKind, DeviationSum, Finding, LocalizedExecution,
    NormalRow, Place, StateShare,
};
pub use settings::{LocalizeRules, LocalizeSettings};

use crate::StateSequence;
use laggard_numeric::parallel_map;
use std::collections::BTreeSet;

/// Lays one execution over the frozen columns and says where it deviates. One alignment of a sequence with a profile.
pub fn localize(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocalizeSettings,
) -> LocalizedExecution {
    let mut found = localize_all(profile, &[anomalous], settings);
    found.pop().expect("one for each execution")
}

/// The same for several executions of the kind that are thought anomalous, in their order. Robust rules look at them
/// together: three or more that all deviate a little in the same state are telling where each alone is not.
pub fn localize_all(
    profile: &ClusterProfile,
    anomalous: &[&StateSequence],
    settings: &LocalizeSettings,
) -> Vec<LocalizedExecution> {
    let placed =
        parallel_map(anomalous, settings.msa.threads, |execution| profile.place(execution, settings));
    let found = parallel_map(&placed, settings.msa.threads, |placed| match settings.rules {
        LocalizeRules::Paper => paper::deviations(profile, placed, settings),
        LocalizeRules::Robust => robust::deviations(profile, placed, None, settings),
    });
    let raised = match settings.rules {
        LocalizeRules::Paper => BTreeSet::new(),
        LocalizeRules::Robust => profile.limits.raised(&found),
    };
    let is_new = |state| profile.entries.iter().all(|entries| !entries.has(state));
    let executions = placed.iter().zip(found);
    executions
        .map(|(placed, mut deviations)| {
            let excess_us = placed.sequence.total_us() - profile.median_total_us();
            let mut measure = DeviationMeasure::default();
            if settings.rules == LocalizeRules::Robust {
                measure = DeviationMeasure::of(&deviations, profile.median_total_us());
                let base_us = if excess_us > 0.0 { excess_us } else { profile.median_total_us() };
                let excess_min_us = settings.excess_share_min * base_us;
                deviations = profile.limits.keep(deviations, excess_min_us, &raised, is_new);
            }
            LocalizedExecution { measure, ..row::localized(profile, placed, deviations, excess_us) }
        })
        .collect()
}
