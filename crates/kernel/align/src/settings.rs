//! Settings of the comparison.

use laggard_settings::{Choice, settings};
use std::num::NonZeroUsize;

/// The rules: robust, or as published.
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

    /// The name for `--set mode=...`.
    pub fn name(self) -> &'static str {
        self.word()
    }
}

impl Choice for AlignMode {
    const CHOICES: &'static [(&'static str, AlignMode)] = &[
        ("robust", AlignMode::Robust),
        ("paper", AlignMode::Paper),
        ("paper-printed", AlignMode::PaperPrinted),
    ];
}

settings! {
    group "alignment";
    /// Settings of [`crate::diagnose`].
    #[derive(Clone, PartialEq, Debug)]
    pub struct AlignSettings {
        /// The robust rules, the paper's as its text has them, or as its listing prints them
        mode ("mode"): AlignMode = AlignMode::Robust, choice(), "measured";
        /// Paper modes: standard deviations above the mean of the average rule (t1)
        average_factor ("average-factor", "standard deviations"): f64 = 1.5, above(0.0), "Janecek et al. 2022, 4.1.4";
        /// Paper modes: factor of the probability rule (t2)
        probability_factor ("probability-factor"): f64 = 1.5, at_least(1.0), "as average-factor";
        /// Paper modes: standard deviations above the mean of its kind from which an execution is anomalous
        outlier_sigma ("outlier-sigma", "standard deviations"): f64 = 1.5, above(0.0), "Janecek et al. 2022, 3.5";
        /// Robust: probability that a sample without any anomaly is called anomalous, for each test of it
        false_alarm ("false-alarm"): f64 = 0.01, above_to(0.0, 0.5), "ours";
        /// Robust: probability that as few executions stand out by chance, up to which the sample counts as slower
        outlier_chance ("outlier-chance"): f64 = 0.1, above_to(0.0, 1.0), "ours: 4 of 100, or 3 of 10, besides as many normal ones";
        /// Executions that make a kind, and points that make a neighborhood dense, the point itself included
        cluster_points_min ("cluster-min", "executions"): usize = 5, at_least(2.0), "Janecek et al. 2022, 4.1";
        /// Steepness at which a kind ends
        steepness ("steepness"): f64 = 0.05, between(0.0, 1.0), "default of the reference library (Ankerst et al. 1999)";
    }
    other {
        /// Number of threads; the result does not depend on it.
        threads: NonZeroUsize = NonZeroUsize::MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_settings::Settings;

    #[test]
    fn defaults_are_in_range_and_invalid_values_are_rejected() {
        assert_eq!(AlignSettings::default().check(), Ok(()));
        let invalid = AlignSettings { steepness: f64::NAN, ..AlignSettings::default() };
        assert!(invalid.check().unwrap_err().to_string().starts_with("steepness is NaN"));
        let invalid = AlignSettings { cluster_points_min: 1, ..AlignSettings::default() };
        assert!(invalid.check().unwrap_err().to_string().starts_with("cluster-min is 1; allowed"));
    }
}
