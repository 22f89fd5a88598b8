//! What the methods may be told.

use std::fmt;
use std::num::NonZeroUsize;

/// Which rules are followed where the publication and measurement disagree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AlignMode {
    /// The default: rules changed where the published ones fail on plausible data.
    #[default]
    Robust,
    /// The text of Janecek et al. (ICPC 2022): raw counts, mean and standard deviation, and a probability rule that
    /// counts executions above the *normal* mean.
    Paper,
    /// As [`AlignMode::Paper`], but with the probability rule as the listing of Algorithm 1 prints it: the share of
    /// sample executions above the *sample's own* mean.
    PaperPrinted,
}

impl AlignMode {
    /// All of them, the default first.
    pub const ALL: [AlignMode; 3] = [AlignMode::Robust, AlignMode::Paper, AlignMode::PaperPrinted];

    /// The word for the command line.
    pub const fn name(self) -> &'static str {
        match self {
            AlignMode::Robust => "robust",
            AlignMode::Paper => "paper",
            AlignMode::PaperPrinted => "paper-printed",
        }
    }

    /// Whether the publication's rules are followed, in either reading.
    pub const fn is_paper(self) -> bool {
        !matches!(self, AlignMode::Robust)
    }
}

/// Settings of [`crate::diagnose`]; [`AlignSettings::check`] says what is allowed.
#[derive(Clone, PartialEq, Debug)]
pub struct AlignSettings {
    /// Which rules.
    pub mode: AlignMode,
    /// `t1` of the average rule, in standard deviations; > 0. Janecek et al. 4.1.4 give 1.5. Paper modes only.
    pub average_factor: f64,
    /// `t2` of the probability rule; >= 1. 1.5 as `t1`. Paper modes only.
    pub probability_factor: f64,
    /// Standard deviations above the mean of its kind that make an execution anomalous; > 0. Janecek et al. 3.5: 1.5.
    /// Paper modes only.
    pub outlier_sigma: f64,
    /// Probability that a sample without any anomaly is called anomalous, for each of the questions asked of it; in
    /// (0, 0.5]. Ours. Robust mode only.
    pub false_alarm: f64,
    /// Points that make a neighborhood dense, the point itself included; also the smallest cluster; >= 2. Janecek et al.
    /// 4.1: 5.
    pub cluster_points_min: usize,
    /// Steepness that ends a cluster, in (0, 1). 0.05, the reference library's default (Ankerst et al. 1999).
    pub steepness: f64,
    /// Threads; the answer does not depend on them.
    pub threads: NonZeroUsize,
}

impl Default for AlignSettings {
    fn default() -> AlignSettings {
        AlignSettings {
            mode: AlignMode::Robust,
            average_factor: 1.5,
            probability_factor: 1.5,
            outlier_sigma: 1.5,
            false_alarm: 0.01,
            cluster_points_min: 5,
            steepness: 0.05,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// A setting outside of its range.
#[derive(Clone, PartialEq, Debug)]
pub struct AlignSettingsError {
    /// The setting.
    pub name: &'static str,
    /// What was given.
    pub given: f64,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for AlignSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; allowed is {}", self.name, self.given, self.allowed)
    }
}

impl std::error::Error for AlignSettingsError {}

impl AlignSettings {
    /// Whether every setting is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), AlignSettingsError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rules = [
            ("average factor", self.average_factor, positive(self.average_factor), "a number above 0"),
            (
                "probability factor",
                self.probability_factor,
                self.probability_factor.is_finite() && self.probability_factor >= 1.0,
                "a number of at least 1",
            ),
            ("outlier sigma", self.outlier_sigma, positive(self.outlier_sigma), "a number above 0"),
            (
                "false alarm",
                self.false_alarm,
                positive(self.false_alarm) && self.false_alarm <= 0.5,
                "a probability above 0, at most 0.5",
            ),
            (
                "smallest cluster",
                self.cluster_points_min as f64,
                self.cluster_points_min >= 2,
                "at least 2 executions",
            ),
            (
                "steepness",
                self.steepness,
                positive(self.steepness) && self.steepness < 1.0,
                "a number above 0 and below 1",
            ),
        ];
        match rules.into_iter().find(|(_, _, is_allowed, _)| !is_allowed) {
            Some((name, given, _, allowed)) => Err(AlignSettingsError { name, given, allowed }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_allowed_and_nonsense_is_not() {
        assert_eq!(AlignSettings::default().check(), Ok(()));
        let nonsense = AlignSettings { steepness: f64::NAN, ..AlignSettings::default() };
        assert_eq!(nonsense.check().unwrap_err().name, "steepness");
        let nonsense = AlignSettings { cluster_points_min: 1, ..AlignSettings::default() };
        assert!(nonsense.check().unwrap_err().to_string().starts_with("smallest cluster is 1; allowed is"));
    }
}
