//! Settings of the search for latency degradation patterns and where their defaults come from.

use laggard_settings::settings;

settings! {
    group "combined";
    /// Thresholds of [`latency_patterns`](crate::latency_patterns). None of them is a time: whatever has a unit
    /// comes from the data.
    #[derive(Clone, PartialEq, Debug)]
    pub struct PatternSettings {
        /// Fewest requests of a pattern
        rows_min ("pattern-rows-min", "requests"): usize = 10, within(5.0, 1e9), "fewest with which a mode can be distinguished from chance at pattern-mode-level";
        /// A mode with more than this share of the requests is no degradation
        share_max ("pattern-share-max"): f64 = 1.0 / 3.0, within(0.0, 0.5), "ours";
        /// Between two modes the density falls to at most this share of the lower one
        valley_max ("pattern-valley-max"): f64 = 0.5, within(0.0, 1.0), "ours";
        /// Level of the binomial test of a valley against the lower of its peaks, divided by the number of bins
        mode_level ("pattern-mode-level"): f64 = 1e-4, within(0.0, 1.0), "dozens of columns with several saddles each are tested";
        /// Narrowest bin, as a share of its time
        bin_min ("pattern-bin-min"): f64 = 0.02, within(1e-4, 1.0), "ours";
        /// Modes of two columns have one cause when the phi coefficient of their requests is at least this
        agreement_min ("pattern-agreement-min"): f64 = 0.75, within(0.0, 1.0), "above 1/√2, where a mode with half of the other's requests is";
        /// A mode marks a pattern when its share among the pattern's requests is this many times that elsewhere
        lift_min ("pattern-lift-min"): f64 = 3.0, within(1.0, 1e9), "ours";
        /// Two modes divide a pattern into two causes when exactly one of them holds for this share of its slow requests
        division_min ("pattern-division-min"): f64 = 0.8, within(0.5, 1.0), "ours";
        /// A pattern is not divided when a column that is alike inside and outside predicts the part for this share
        inherited_max ("pattern-inherited-max"): f64 = 0.8, within(0.5, 1.0), "ours";
        /// A further condition raises the phi coefficient by at least this
        gain_min ("pattern-gain-min"): f64 = 0.01, within(1e-6, 1.0), "ours";
        /// Most conditions of a pattern
        conditions_max ("pattern-conditions-max", "conditions"): usize = 4, within(1.0, 16.0), "ours";
        /// A pattern of several conditions holds at least this share of the slow requests that no other pattern explains
        conjunction_recall_min ("pattern-conjunction-recall-min"): f64 = 0.5, within(0.0, 1.0), "ours: conjunctions of slightly slow modes select the slowest requests by construction";
        /// Most patterns
        patterns_max ("patterns-max", "patterns"): usize = 16, within(1.0, 1000.0), "ours";
        /// A request of a pattern is slower than one of no pattern with at least this probability
        separation_min ("pattern-separation-min"): f64 = 0.9, within(0.5, 1.0), "ours";
        /// The median latency of a pattern is above that of requests of no pattern by at least this share of it
        excess_min ("pattern-excess-min"): f64 = 0.05, at_least(0.0), "ours";
        /// Largest p-value against chance, after Bonferroni over all candidates
        level ("pattern-level"): f64 = 0.001, within(0.0, 1.0), "ours";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_settings::Settings;

    #[test]
    fn defaults_are_in_range_and_invalid_values_are_named() {
        assert_eq!(PatternSettings::default().check(), Ok(()));
        let bad = PatternSettings { separation_min: f64::NAN, ..PatternSettings::default() };
        assert!(bad.check().unwrap_err().to_string().contains("pattern-separation-min is NaN"));
    }
}
