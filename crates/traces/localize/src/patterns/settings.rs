//! Settings of the search for latency degradation patterns and where their defaults come from.

use crate::SettingsError;

/// Thresholds of [`latency_patterns`](crate::latency_patterns). None of them is a time: whatever has a unit
/// comes from the data.
#[derive(Clone, PartialEq, Debug)]
pub struct PatternSettings {
    /// A pattern has at least so many rows (10: the fewest with which a mode of a column can be told from
    /// chance at `mode_level`).
    pub rows_min: usize,
    /// A mode with more than this share of the rows is a kind of request, not a degradation (1/3).
    pub share_max: f64,
    /// Between two modes the density falls to at most this share of the lower one (0.5).
    pub valley_max: f64,
    /// Level of the binomial test of a valley against the lower of its peaks, divided by the number of bins
    /// (1e-4: dozens of columns with several saddles each are looked at).
    pub mode_level: f64,
    /// Narrowest bin, as a share of the time it stands at (0.02).
    pub bin_min: f64,
    /// Modes of two columns stand for one cause when the phi coefficient of their rows is at least this (0.75:
    /// above `1/sqrt(2)`, which is where a mode with half of the other's rows comes to).
    pub agreement_min: f64,
    /// A mode marks a pattern when its share among the pattern's rows is this many times that elsewhere (3).
    pub lift_min: f64,
    /// Two modes divide a pattern in two causes when exactly one of them holds for this share of its slow rows
    /// (0.8).
    pub division_min: f64,
    /// … unless a column that looks alike inside and outside the pattern predicts which for this share (0.8).
    pub inherited_max: f64,
    /// A further condition must raise the phi coefficient by this (0.01).
    pub gain_min: f64,
    /// Most conditions of a pattern (4).
    pub conditions_max: usize,
    /// A pattern of several conditions holds at least this share of the slow requests that no other pattern
    /// explains (0.5). A conjunction of modes that are a little slow each picks the slowest requests by
    /// construction; if it is the cause, few others are as slow.
    pub conjunction_recall_min: f64,
    /// Most patterns (16).
    pub patterns_max: usize,
    /// A request of a pattern is slower than one of no pattern with at least this probability (0.9).
    pub separation_min: f64,
    /// Median latency of a pattern is above that of requests of no pattern by at least this share of it (0.05).
    pub excess_min: f64,
    /// Largest p-value against chance, after Bonferroni over all candidates (0.001).
    pub level: f64,
}

impl PatternSettings {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let rows = [
            ("pattern-rows-min", self.rows_min as f64, 5.0, 1e9),
            ("pattern-share-max", self.share_max, 0.0, 0.5),
            ("pattern-valley-max", self.valley_max, 0.0, 1.0),
            ("pattern-mode-level", self.mode_level, 0.0, 1.0),
            ("pattern-bin-min", self.bin_min, 1e-4, 1.0),
            ("pattern-agreement-min", self.agreement_min, 0.0, 1.0),
            ("pattern-lift-min", self.lift_min, 1.0, 1e9),
            ("pattern-division-min", self.division_min, 0.5, 1.0),
            ("pattern-inherited-max", self.inherited_max, 0.5, 1.0),
            ("pattern-gain-min", self.gain_min, 1e-6, 1.0),
            ("pattern-conditions-max", self.conditions_max as f64, 1.0, 16.0),
            ("pattern-conjunction-recall-min", self.conjunction_recall_min, 0.0, 1.0),
            ("patterns-max", self.patterns_max as f64, 1.0, 1000.0),
            ("pattern-separation-min", self.separation_min, 0.5, 1.0),
            ("pattern-excess-min", self.excess_min, 0.0, f64::MAX),
            ("pattern-level", self.level, 0.0, 1.0),
        ];
        let outside = rows.into_iter().find(|(_, value, low, high)| !(*low..=*high).contains(value));
        match outside {
            Some((name, value, low, high)) => Err(SettingsError::new(name, value, low, high)),
            None => Ok(()),
        }
    }
}

impl Default for PatternSettings {
    fn default() -> PatternSettings {
        PatternSettings {
            rows_min: 10,
            share_max: 1.0 / 3.0,
            valley_max: 0.5,
            mode_level: 1e-4,
            bin_min: 0.02,
            agreement_min: 0.75,
            lift_min: 3.0,
            division_min: 0.8,
            inherited_max: 0.8,
            gain_min: 0.01,
            conditions_max: 4,
            conjunction_recall_min: 0.5,
            patterns_max: 16,
            separation_min: 0.9,
            excess_min: 0.05,
            level: 0.001,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_nonsense_is_named() {
        assert_eq!(PatternSettings::default().check(), Ok(()));
        let bad = PatternSettings { separation_min: f64::NAN, ..PatternSettings::default() };
        assert!(bad.check().unwrap_err().to_string().contains("--pattern-separation-min is NaN"));
    }
}
