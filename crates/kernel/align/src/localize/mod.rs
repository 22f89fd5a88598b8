//! Locates the steps at which an execution deviates from the normal executions of its kind (Janecek et al. 2022, 3.6).
//!
//! ```text
//! normals ─► align_cluster ─► ClusterProfile (fixed) ─┐
//!                              anomalous execution ────┴─► localize ─► LocalizedExecution: row, deviations, findings
//! ```

pub(crate) mod aligned;
pub(crate) mod cluster;
mod measure;
mod normal_limits;
mod result;
mod robust;
pub(crate) mod row;
mod settings;

pub use cluster::ClusterProfile;
pub use measure::{DeviationMeasure, NormalMeasure};
pub use result::{
    AlignedCell, AlignedPosition, ColumnSummary, Deviation, DeviationKind, DeviationSum, Finding,
    LocalizedExecution, NormalRow, StateShare,
};
pub use settings::{LocalizeRules, LocalizeSettings};

use crate::{StateSequence, paper};

/// Aligns the normal executions of a kind. Indices in the result refer to `normals`. Executions without steps are
/// ignored; if no others exist, the profile has no columns, and every step of an execution is unexpected.
///
/// At most [`LocalizeSettings::normals_max`] are aligned with one another; up to
/// [`LocalizeSettings::further_normals_max`] others are aligned with the columns and included in shares and times.
pub fn align_cluster(
    normals: &[&StateSequence],
    alphabet_len: usize,
    settings: &LocalizeSettings,
) -> ClusterProfile {
    match settings.rules {
        LocalizeRules::Robust => robust::align_cluster(normals, alphabet_len, settings),
        LocalizeRules::Paper => paper::localize::align_cluster(normals, alphabet_len, settings),
    }
}

/// Aligns one execution with the reference columns and returns its deviations. Cost: one alignment of a sequence with a
/// profile.
pub fn localize(
    profile: &ClusterProfile,
    anomalous: &StateSequence,
    settings: &LocalizeSettings,
) -> LocalizedExecution {
    localize_all(profile, &[anomalous], settings).pop().expect("one result per execution")
}

/// The same for several anomalous executions of the kind, in order. The robust rules also pool them: three or more that
/// deviate slightly in the same state are significant even if each alone is not.
pub fn localize_all(
    profile: &ClusterProfile,
    anomalous: &[&StateSequence],
    settings: &LocalizeSettings,
) -> Vec<LocalizedExecution> {
    match settings.rules {
        LocalizeRules::Robust => robust::localize_all(profile, anomalous, settings),
        LocalizeRules::Paper => paper::localize::localize_all(profile, anomalous, settings),
    }
}
