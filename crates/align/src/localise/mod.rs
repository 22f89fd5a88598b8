//! At which step an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (frozen) ─┐
//!                              anomalous execution ────┴─► localise ─► LocalisedExecution: row, deviations, findings
//! ```

mod result;
mod settings;

pub use result::{
    AlignedCell, ClusterProfile, ColumnSummary, Deviation, DeviationKind, DeviationSum, Finding,
    LocalisedExecution, NormalRow, Place, StateShare,
};
pub use settings::{LocaliseRules, LocaliseSettings};

use crate::StateSequence;

/// Aligns the normal executions of a kind once and freezes the profile. An index into `normals` that the result
/// names is that of the slice. Executions without steps are left out.
pub fn align_cluster(
    normals: &[&StateSequence],
    alphabet_len: usize,
    settings: &LocaliseSettings,
) -> ClusterProfile {
    let _ = (normals, alphabet_len, settings);
    ClusterProfile::default()
}

/// Aligns one execution with the frozen profile and says where it deviates.
pub fn localise(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocaliseSettings,
) -> LocalisedExecution {
    let _ = (profile, anomalous, settings);
    LocalisedExecution::default()
}
