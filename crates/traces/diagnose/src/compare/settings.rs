//! Settings of a comparison.

use crate::selection::RequestSelection;
use laggard_assembly::ShapeRule;
use laggard_report::Setting;
use laggard_settings::{Settings, settings};

settings! {
    group "compare";
    /// Thresholds that a difference has to exceed.
    #[derive(Clone, PartialEq, Debug)]
    pub struct CompareSettings {
        /// Level of every test, after Benjamini–Hochberg within its family
        level ("level"): f64 = 0.01, between(0.0, 1.0), "ours, as for replicas in CloudDiag";
        /// A change of time or calls is also at least this large, relative to before
        change_min ("change-min"): f64 = 0.05, at_least(0.0), "ours: noise between two periods of one system is as large";
        /// Fewer complete requests in a set are too few for an answer
        requests_min ("requests-min", "requests"): u64 = 10, within(1.0, 1e6), "ours";
        /// Most call paths of a set; rarer ones are pooled
        paths_max ("paths-max", "paths"): usize = 20_000, within(1.0, 1e6), "cost";
        /// Most requests of one operation in a set that are compared
        observations_max ("observations-max", "requests"): usize = 2_000, within(1.0, 1e6), "a shift of a tenth of a standard deviation is seen, and a test takes milliseconds";
    }
    other {
        /// How shapes are compared; canonical: loops and races do not count.
        rule: ShapeRule = ShapeRule::Canonical;
    }
}

impl CompareSettings {
    /// Every setting under its command-line name.
    pub(super) fn rows(&self, selection: &RequestSelection) -> Vec<Setting> {
        let rows = selection.rows().into_iter().chain(self.values());
        rows.map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_and_named() {
        let default = CompareSettings::default();
        assert_eq!(default.check(), Ok(()));
        let cases = [
            (CompareSettings { level: 1.0, ..default.clone() }, "level is 1"),
            (CompareSettings { level: f64::NAN, ..default.clone() }, "level is NaN"),
            (CompareSettings { change_min: -0.1, ..default.clone() }, "change-min is -0.1"),
            (CompareSettings { requests_min: 0, ..default.clone() }, "requests-min is 0"),
            (CompareSettings { paths_max: 0, ..default.clone() }, "paths-max is 0"),
            (CompareSettings { observations_max: 2_000_000, ..default }, "observations-max is 2000000"),
        ];
        for (settings, expected) in cases {
            let message = settings.check().expect_err("out of range").to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
