//! Method and thresholds of a question about changes.

use crate::methods::ChangeMethod;
use crate::sample_summary::seconds;
use laggard_changes::{Analysis, Observations};
use laggard_model::Nanos;
use laggard_report::Setting;
use std::fmt;

/// Method and thresholds.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangesSettings {
    /// Which method.
    pub method: ChangeMethod,
    /// Most transaction types kept apart; rarer ones are pooled (20: each costs a coefficient, and models with more
    /// cannot be told apart from minutes of data).
    pub types_max: usize,
}

/// A setting is out of its range; says which, what is allowed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangesSettingsError(String);

impl fmt::Display for ChangesSettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ChangesSettingsError {}

impl Default for ChangesSettings {
    fn default() -> ChangesSettings {
        ChangesSettings { method: ChangeMethod::default(), types_max: 20 }
    }
}

impl ChangesSettings {
    /// Checks every range.
    ///
    /// # Errors
    /// The first setting out of its range.
    pub fn check(&self) -> Result<(), ChangesSettingsError> {
        if !(1..=200).contains(&self.types_max) {
            let text = format!("--types-max is {}; it must be at least 1 and at most 200", self.types_max);
            return Err(ChangesSettingsError(text));
        }
        Ok(())
    }

    /// Every setting under its command-line name.
    pub(super) fn rows(&self, window: Nanos) -> Vec<Setting> {
        let rows = [
            ("method", self.method.name().to_owned()),
            ("window", format!("{}s", seconds(window))),
            ("types-max", self.types_max.to_string()),
        ];
        rows.into_iter().map(|(name, value)| Setting { name: name.to_owned(), value }).collect()
    }

    /// Asks the method.
    pub(super) fn analyse(&self, _observations: &Observations) -> Result<Analysis, String> {
        Err("not built".to_owned())
    }
}
