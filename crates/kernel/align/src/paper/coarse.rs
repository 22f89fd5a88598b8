//! Tests whether the sample spends more time in a state than the normal set (Janecek et al., Algorithm 1).

use crate::{AlignMode, AlignSettings, TimeComparison};
use laggard_numeric::{mean, sample_std};

/// Compares one state's times (in microseconds, one value per execution) by the average rule `a2 > a1 + t1 s` and the
/// probability rule `p2 > t2 p1`.
///
/// `p1` is the share of normal executions above the normal mean `a1`; `p2` that of sample executions above `a1`, as the text
/// says, or above the sample's mean `a2`, as the listing prints ([`AlignMode::PaperPrinted`]). With `p1 = 0` (all normal values
/// equal) the probability rule does not hold. Raised if either rule holds.
pub fn compare_times(normal_us: &[f64], sample_us: &[f64], settings: &AlignSettings) -> TimeComparison {
    if normal_us.is_empty() || sample_us.is_empty() {
        return TimeComparison::default();
    }
    let (normal_mean_us, sample_mean_us) = (mean(normal_us), mean(sample_us));
    let normal_std_us = if normal_us.len() > 1 { sample_std(normal_us) } else { 0.0 };
    let limit = match settings.mode {
        AlignMode::PaperPrinted => sample_mean_us,
        AlignMode::Paper | AlignMode::Robust => normal_mean_us,
    };
    let (normal_share_above, sample_share_above) =
        (share_above(normal_us, normal_mean_us), share_above(sample_us, limit));
    let is_average_above = sample_mean_us > normal_mean_us + settings.average_factor * normal_std_us;
    let is_probability_above =
        normal_share_above > 0.0 && sample_share_above > settings.probability_factor * normal_share_above;
    TimeComparison {
        normal_mean_us,
        normal_std_us,
        sample_mean_us,
        normal_share_above,
        sample_share_above,
        is_average_above,
        is_probability_above,
        p_value: None,
        excess_us: sample_mean_us - normal_mean_us,
        is_raised: is_average_above || is_probability_above,
    }
}

fn share_above(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|&&value| value > limit).count() as f64 / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(normal: &[f64], sample: &[f64], mode: AlignMode) -> TimeComparison {
        compare_times(normal, sample, &AlignSettings { mode, ..AlignSettings::default() })
    }

    #[test]
    fn the_printed_rule_compares_with_the_sample_mean() {
        // a1 = 2, s = 1; sample mean 3 < 2 + 1.5; above 2: one of three normals, all of the sample.
        let comparison = compared(&[1.0, 2.0, 3.0], &[2.5, 3.5], AlignMode::Paper);
        assert_eq!(
            (comparison.normal_mean_us, comparison.normal_std_us, comparison.sample_mean_us),
            (2.0, 1.0, 3.0)
        );
        assert!(!comparison.is_average_above && comparison.is_probability_above && comparison.is_raised);
        // Against its own mean of 3 only one of two is above: 0.5 <= 1.5 / 3.
        let printed = compared(&[1.0, 2.0, 3.0], &[2.5, 3.5], AlignMode::PaperPrinted);
        assert!(!printed.is_probability_above && !printed.is_raised);
    }

    #[test]
    fn without_variance_the_average_decides() {
        let comparison = compared(&[2.0, 2.0], &[2.1], AlignMode::Paper);
        assert!(comparison.is_average_above && !comparison.is_probability_above && comparison.is_raised);
        assert!(!compared(&[2.0, 2.0], &[2.0], AlignMode::Paper).is_raised);
        assert!(!compared(&[], &[2.0], AlignMode::Paper).is_raised);
        assert!(compared(&[1.0], &[2.0], AlignMode::Paper).is_raised);
    }
}
