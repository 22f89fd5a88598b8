//! Settings of localization.

use crate::AlignMode;
use crate::msa::MsaSettings;

/// The rules by which a step deviates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LocalizeRules {
    /// The default: states that are usual in the neighborhood, and deviations that normal executions have among
    /// themselves, are not reported.
    #[default]
    Robust,
    /// The published rules, column by column (Janecek et al. 2022, 3.6).
    Paper,
}

impl From<AlignMode> for LocalizeRules {
    fn from(mode: AlignMode) -> LocalizeRules {
        match mode {
            AlignMode::Robust => LocalizeRules::Robust,
            AlignMode::Paper | AlignMode::PaperPrinted => LocalizeRules::Paper,
        }
    }
}

/// Settings of [`super::align_cluster`] and [`super::localize`].
#[derive(Clone, PartialEq, Debug)]
pub struct LocalizeSettings {
    /// The rules.
    pub rules: LocalizeRules,
    /// A state is unexpected if a smaller share of normal executions has it at the position. 0.05, unpublished.
    pub unexpected_share: f64,
    /// A state is missing if at least this share of normal executions has it at the position. 0.95, unpublished.
    pub missing_share: f64,
    /// Paper rules: a step is slow from this number of standard deviations above the mean. 1.5, Janecek et al. 3.6.
    pub slow_std: f64,
    /// Robust rules: a step is slow from this number of MAD of log times above the median. 2.5, measured.
    pub slow_mad: f64,
    /// Robust rules: minimum share of a finding in the execution's excess over the usual total time. 0.02.
    pub excess_share_min: f64,
    /// Minimum number of normal times of a state in a column to compare a time with. 3.
    pub values_min: usize,
    /// Maximum number of normal executions aligned with one another: the medoid, then always the execution farthest from
    /// those selected. 30.
    pub normals_max: usize,
    /// Maximum number of further normal executions aligned with the reference profile for better shares and times. 200.
    pub further_normals_max: usize,
    /// Settings of the aligner.
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
