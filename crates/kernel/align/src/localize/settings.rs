//! Settings of localization.

use crate::msa::MsaSettings;

/// Which rules name a deviation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LocalizeRules {
    /// The default: what is usual elsewhere in the neighborhood, and what normal executions deviate by among
    /// themselves, is no finding.
    #[default]
    Robust,
    /// Column by column (Janecek et al. 2022, 3.6).
    Paper,
}

/// Settings of [`super::align_cluster`] and [`super::localize`].
#[derive(Clone, PartialEq, Debug)]
pub struct LocalizeSettings {
    /// Which rules.
    pub rules: LocalizeRules,
    /// A state is unexpected where less than this share of normal executions have it. 0.05, ours.
    pub unexpected_share: f64,
    /// A state is missing where at least this share of normal executions have it. 0.95, ours.
    pub missing_share: f64,
    /// Paper rules: slow beyond the mean plus so many standard deviations. 1.5, Janecek et al. 3.6.
    pub slow_std: f64,
    /// Robust rules: slow beyond the median plus so many MAD of log times. 2.5, measured.
    pub slow_mad: f64,
    /// Robust rules: a finding holds at least this share of the execution's excess over the usual total time. 0.02.
    pub excess_share_min: f64,
    /// Normal times of a state in a column that are needed to judge a time there. 3.
    pub values_min: usize,
    /// Most normal executions that are aligned with one another. 30: the medoid, then those farthest from all
    /// chosen before.
    pub normals_max: usize,
    /// Most further normal executions that are aligned with the reference profile for better shares and times. 200.
    pub further_normals_max: usize,
    /// How sequences are aligned.
    pub msa: MsaSettings,
}

impl Default for LocalizeSettings {
    fn default() -> LocalizeSettings {
        LocalizeSettings {
            rules: LocalizeRules::Robust,
            unexpected_share: 0.05,
            missing_share: 0.95,
            slow_std: 1.5,
            slow_mad: 2.5,
            excess_share_min: 0.02,
            values_min: 3,
            normals_max: 30,
            further_normals_max: 200,
            msa: MsaSettings::default(),
        }
    }
}
