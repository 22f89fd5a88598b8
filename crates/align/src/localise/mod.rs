//! At which step an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (frozen) ─┐
//!                              anomalous execution ────┴─► localise ─► LocalisedExecution: row, deviations, findings
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
    AlignedCell, ColumnSummary, Deviation, DeviationKind, DeviationSum, Finding, LocalisedExecution,
    NormalRow, Place, StateShare,
};
pub use settings::{LocaliseRules, LocaliseSettings};

use crate::StateSequence;

/// Lays one execution over the frozen columns and says where it deviates. One alignment of a sequence with a profile.
pub fn localise(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocaliseSettings,
) -> LocalisedExecution {
    let placed = profile.place(anomalous, settings);
    let excess_us = anomalous.total_us() - profile.median_total_us();
    let mut measure = DeviationMeasure::default();
    let deviations = match settings.rules {
        LocaliseRules::Paper => paper::deviations(profile, &placed, settings),
        LocaliseRules::Robust => {
            let found = robust::deviations(profile, &placed, None, settings);
            measure = DeviationMeasure::of(&found);
            let base_us = if excess_us > 0.0 { excess_us } else { profile.median_total_us() };
            profile.limits.keep(found, settings.excess_share_min * base_us)
        }
    };
    LocalisedExecution { measure, ..row::localised(profile, &placed, deviations, excess_us) }
}
