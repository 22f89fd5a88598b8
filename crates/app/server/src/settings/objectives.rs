//! Service level objectives, as the configuration file declares them.

use super::check::{TENANT_NAMES, is_tenant_name};
use super::{Length, SettingError};
use laggard_model::Nanos;
use serde::de::{self, Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;

/// One service level objective: which share of the requests of one kind is to be good.
#[derive(Clone, PartialEq, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveSettings {
    /// Its name on pages and in alerts; unique.
    pub name: String,
    /// The service at which the requests enter.
    pub service: String,
    /// The operation by which they enter; all of the service if absent.
    #[serde(default)]
    pub operation: Option<String>,
    /// A request that takes longer is bad.
    #[serde(default, deserialize_with = "length")]
    pub limit: Option<Length>,
    /// Whether a request whose entry fails is bad.
    #[serde(default)]
    pub without_error: bool,
    /// Share of requests that are to be good; above 0 and below 1.
    pub target: f64,
    /// Length of the period that the target is for, in days: 1 to 90.
    #[serde(default = "default_days")]
    pub days: u32,
    /// Tenants it is for; empty for all.
    #[serde(default)]
    pub tenants: Vec<String>,
}

/// Four weeks: every period has as many weekends.
const fn default_days() -> u32 {
    28
}

// Limit: objectives | rejected
/// Most objectives.
const OBJECTIVES_MAX: usize = 50;

/// Longest period: its counts are held in memory.
const DAYS_MAX: u32 = 90;

/// Longest name, in characters.
const NAME_MAX: usize = 100;

/// Closest to 1 that a target can be: one bad request in a thousand million.
const TARGET_MAX: f64 = 0.999_999_999;

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Length>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
}

/// Checks what the types cannot express.
pub(super) fn check_objectives(objectives: &[ObjectiveSettings]) -> Result<(), SettingError> {
    if objectives.len() > OBJECTIVES_MAX {
        return Err(SettingError::new(format_args!(
            "{} objectives; at most {OBJECTIVES_MAX}",
            objectives.len()
        )));
    }
    let mut names = BTreeSet::new();
    for objective in objectives {
        objective.check()?;
        if !names.insert(&objective.name) {
            return Err(objective.invalid("there are two objectives of this name"));
        }
    }
    Ok(())
}

impl ObjectiveSettings {
    /// Length of its period.
    pub(crate) fn period(&self) -> Nanos {
        Nanos::from_secs(u64::from(self.days) * 86_400)
    }

    /// Share of requests that may be bad.
    pub(crate) fn allowed_share(&self) -> f64 {
        1.0 - self.target
    }

    fn check(&self) -> Result<(), SettingError> {
        let is_name = |text: &str| {
            !text.trim().is_empty() && text.chars().count() <= NAME_MAX && !text.chars().any(char::is_control)
        };
        if !is_name(&self.name) {
            return Err(self.invalid(format_args!("its name must have 1 to {NAME_MAX} characters")));
        }
        if self.service.is_empty() || self.operation.as_ref().is_some_and(String::is_empty) {
            return Err(self.invalid("service and operation must not be empty; leave operation out for all"));
        }
        if self.limit.is_none() && !self.without_error {
            return Err(self.invalid("it needs limit, without_error: true, or both"));
        }
        if !(self.target > 0.0 && self.target <= TARGET_MAX) {
            return Err(self.invalid(format_args!(
                "target is {}; allowed: a share above 0, at most {TARGET_MAX}, such as 0.9995",
                self.target
            )));
        }
        if !(1..=DAYS_MAX).contains(&self.days) {
            return Err(self.invalid(format_args!("days is {}; allowed: 1 to {DAYS_MAX}", self.days)));
        }
        match self.tenants.iter().find(|name| !is_tenant_name(name)) {
            Some(name) => {
                Err(self
                    .invalid(format_args!("{name:?} is not a valid tenant name; allowed: {TENANT_NAMES}")))
            }
            None => Ok(()),
        }
    }

    fn invalid(&self, problem: impl fmt::Display) -> SettingError {
        SettingError::new(format_args!("objective {:?}: {problem}", self.name))
    }
}

#[cfg(test)]
impl ObjectiveSettings {
    /// CloudDiag's: at most 0.05 % of the requests above 300 ms.
    pub(crate) fn example() -> ObjectiveSettings {
        ObjectiveSettings {
            name: "buy".to_owned(),
            service: "web".to_owned(),
            operation: None,
            limit: Some(Length::from_millis(300)),
            without_error: false,
            target: 0.9995,
            days: 28,
            tenants: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_objectives_are_rejected() {
        assert!(check_objectives(&[ObjectiveSettings::example()]).is_ok());
        let rejected = |change: fn(&mut ObjectiveSettings)| {
            let mut changed = ObjectiveSettings::example();
            change(&mut changed);
            check_objectives(&[changed]).expect_err("invalid").to_string()
        };
        for (message, expected) in [
            (rejected(|objective| objective.target = 1.0), "target is 1; allowed: a share above 0"),
            (rejected(|objective| objective.target = 0.0), "target is 0;"),
            (rejected(|objective| objective.target = -0.5), "target is -0.5;"),
            (rejected(|objective| objective.target = f64::NAN), "target is NaN;"),
            (rejected(|objective| objective.target = 99.95), "such as 0.9995"),
            (rejected(|objective| objective.limit = None), "needs limit, without_error"),
            (rejected(|objective| objective.days = 0), "days is 0; allowed: 1 to 90"),
            (rejected(|objective| objective.days = 91), "days is 91;"),
            (rejected(|objective| objective.name = " ".to_owned()), "1 to 100 characters"),
            (rejected(|objective| objective.name = "a\u{1b}[31m".to_owned()), "1 to 100 characters"),
            (rejected(|objective| objective.name = "x".repeat(101)), "1 to 100 characters"),
            (rejected(|objective| objective.service = String::new()), "must not be empty"),
            (rejected(|objective| objective.operation = Some(String::new())), "must not be empty"),
            (rejected(|objective| objective.tenants = vec!["a/b".to_owned()]), "not a valid tenant name"),
        ] {
            assert!(message.starts_with("objective ") && message.contains(expected), "{message}");
        }
        let twice = check_objectives(&[ObjectiveSettings::example(), ObjectiveSettings::example()])
            .unwrap_err()
            .to_string();
        assert_eq!(twice, "objective \"buy\": there are two objectives of this name");
        let many: Vec<ObjectiveSettings> = (0..=OBJECTIVES_MAX)
            .map(|number| ObjectiveSettings { name: number.to_string(), ..ObjectiveSettings::example() })
            .collect();
        assert!(check_objectives(&many).unwrap_err().to_string().contains("at most 50"));
    }
}
