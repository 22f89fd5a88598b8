//! Settings of a comparison.

use laggard_assembly::ShapeRule;
use laggard_report::Setting;
use std::fmt;

/// What counts as a difference.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareSettings {
    /// How shapes are compared (canonical: loops and races do not count).
    pub rule: ShapeRule,
    /// Level of every test, after Benjamini–Hochberg within its family (0.01, as for replicas in CloudDiag).
    pub level: f64,
    /// A change of time or calls must also be this large, relative to before (0.05: below that, noise between
    /// two periods of one system is as large).
    pub change_min: f64,
    /// Fewer complete requests in a set are too few to say anything (10).
    pub requests_min: u64,
    /// Most call paths kept apart (20,000).
    pub paths_max: usize,
    /// Most requests of one operation that are compared (2,000 a set: a shift of a tenth of a standard
    /// deviation is then seen, and a test takes milliseconds).
    pub observations_max: usize,
}

impl Default for CompareSettings {
    fn default() -> CompareSettings {
        CompareSettings {
            rule: ShapeRule::Canonical,
            level: 0.01,
            change_min: 0.05,
            requests_min: 10,
            paths_max: 20_000,
            observations_max: 2_000,
        }
    }
}

/// A setting out of its range.
#[derive(Clone, PartialEq, Debug)]
pub struct CompareSettingsError {
    name: &'static str,
    given: f64,
    allowed: &'static str,
}

impl fmt::Display for CompareSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} is {}; allowed is {}", self.name, self.given, self.allowed)
    }
}

impl std::error::Error for CompareSettingsError {}

impl CompareSettings {
    /// Checks every range.
    ///
    /// # Errors
    /// The first setting out of its range.
    pub fn check(&self) -> Result<(), CompareSettingsError> {
        let fail = |name, given, allowed| Err(CompareSettingsError { name, given, allowed });
        if !(self.level > 0.0 && self.level < 1.0) {
            return fail("level", self.level, "above 0 and below 1");
        }
        if !(self.change_min >= 0.0 && self.change_min.is_finite()) {
            return fail("change-min", self.change_min, "0 or more");
        }
        let counts = [
            ("requests-min", self.requests_min),
            ("paths-max", self.paths_max as u64),
            ("observations-max", self.observations_max as u64),
        ];
        for (name, given) in counts {
            if !(1..=1_000_000).contains(&given) {
                return fail(name, given as f64, "1 to 1,000,000");
            }
        }
        Ok(())
    }

    /// Every setting under its command-line name.
    pub(super) fn rows(&self, service: Option<&str>) -> Vec<Setting> {
        let rows = [
            ("service", service.unwrap_or_default().to_owned()),
            ("level", self.level.to_string()),
            ("change-min", self.change_min.to_string()),
            ("requests-min", self.requests_min.to_string()),
            ("paths-max", self.paths_max.to_string()),
            ("observations-max", self.observations_max.to_string()),
        ];
        rows.into_iter().map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
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
            (CompareSettings { level: 1.0, ..default.clone() }, "--level is 1"),
            (CompareSettings { level: f64::NAN, ..default.clone() }, "--level is NaN"),
            (CompareSettings { change_min: -0.1, ..default.clone() }, "--change-min is -0.1"),
            (CompareSettings { requests_min: 0, ..default.clone() }, "--requests-min is 0"),
            (CompareSettings { paths_max: 0, ..default.clone() }, "--paths-max is 0"),
            (CompareSettings { observations_max: 2_000_000, ..default }, "--observations-max is 2000000"),
        ];
        for (settings, wanted) in cases {
            let told = settings.check().expect_err("out of range").to_string();
            assert!(told.starts_with(wanted), "{told}");
        }
    }
}
