//! Lists the settings that can be set by name, for `laggard settings`, the HTTP API, and the manual.

use crate::{KernelQuestion, QuestionVisitor, SampleQuestion, each_question};
use laggard_diagnose::{CompareSettings, DiagnoseSettings};
use laggard_settings::{Settings, any};
use serde::Serialize;
use utoipa::ToSchema;

/// One setting: what it means, what is allowed, and where its default comes from.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct SettingEntry {
    /// Its name for `--set` and the object `set` of a request.
    pub name: &'static str,
    /// The method, or part of one, that it belongs to.
    pub group: &'static str,
    /// Its meaning.
    pub description: &'static str,
    /// The kind of value.
    pub kind: String,
    /// The unit; empty for plain numbers, shares, and words.
    pub unit: &'static str,
    /// The default as text.
    pub default: String,
    /// The valid range in words.
    pub allowed: String,
    /// Smallest number, if there is one.
    pub minimum: Option<f64>,
    /// Largest number, if there is one.
    pub maximum: Option<f64>,
    /// The words it can be; empty for numbers.
    pub choices: Vec<&'static str>,
    /// Where the default comes from; empty where it needs no reason.
    pub source: &'static str,
}

/// The settings of a question.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct SettingsListing {
    /// The question.
    pub question: String,
    /// Its settings, by group.
    pub settings: Vec<SettingEntry>,
}

/// A question, and how its settings are listed.
type Row = (String, fn() -> Vec<SettingEntry>);

/// The questions that have thresholds.
struct Rows(Vec<Row>);

impl Rows {
    fn all() -> Vec<Row> {
        let mut rows = Rows(Vec::new());
        rows.add("diagnose", Some(entries::<DiagnoseSettings>));
        rows.add("compare", Some(entries::<CompareSettings>));
        each_question(&mut rows);
        rows.0
    }

    fn add(&mut self, name: &str, thresholds: Option<fn() -> Vec<SettingEntry>>) {
        self.0.extend(thresholds.map(|list| (name.replace('/', "-"), list)));
    }
}

impl QuestionVisitor for Rows {
    fn about_samples<Q: SampleQuestion>(&mut self) {
        self.add(Q::DECLARATION.name, Q::DECLARATION.thresholds);
    }

    fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
        self.add(Q::DECLARATION.name, Q::DECLARATION.thresholds);
    }
}

impl SettingsListing {
    /// The questions that have settings.
    pub fn questions() -> Vec<String> {
        Rows::all().into_iter().map(|(question, _)| question).collect()
    }

    /// The settings of a question; `None` when there is no such question.
    pub fn from_question(question: &str) -> Option<SettingsListing> {
        let (question, list) = Rows::all().into_iter().find(|(name, _)| name == question)?;
        Some(SettingsListing { question, settings: list() })
    }

    /// The settings of something other than a question.
    pub fn from_settings<S: Settings>(name: &str) -> SettingsListing {
        SettingsListing { question: name.to_owned(), settings: entries::<S>() }
    }
}

/// Every setting with its default.
pub(crate) fn entries<S: Settings>() -> Vec<SettingEntry> {
    let mut entries = Vec::new();
    S::default().visit(&mut |row, default| {
        let choices = default.choices();
        let is_number = choices.is_empty() && row.range != any();
        let allowed = match choices.as_slice() {
            [] if is_number => default.range_text(row.range),
            [] => default.kind(),
            words => words.join(", "),
        };
        entries.push(SettingEntry {
            name: row.name,
            group: row.group,
            description: row.doc.trim(),
            kind: default.kind(),
            unit: row.unit,
            default: default.text(),
            allowed,
            minimum: is_number.then_some(row.range.low),
            maximum: Some(row.range.high).filter(|&high| is_number && high < f64::MAX),
            choices,
            source: row.source,
        });
    });
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_kernel_diagnose::KernelDiagnoseSettings;
    use laggard_metrics_questions::{CapacitySettings, ChangesSettings};
    use std::collections::BTreeSet;

    /// Every default is in its range, is read back from its text, and a value of another kind is refused.
    fn round_trip<S: Settings>() {
        let mut settings = S::default();
        assert_eq!(settings.check(), Ok(()));
        for (name, text) in S::default().values() {
            assert_eq!(settings.set(name, &text), Ok(()), "{name}={text}");
            let error = settings.set(name, "no such value").unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is no such value; allowed: ")), "{error}");
        }
        assert_eq!(settings.values(), S::default().values());
        for entry in entries::<S>() {
            let beyond = [entry.minimum.map(|low| low - 1.0), entry.maximum.map(|high| high + 1.0)];
            for number in beyond.into_iter().flatten() {
                assert!(settings.set(entry.name, &number.to_string()).is_err(), "{} {number}", entry.name);
            }
            let texts = [entry.description, entry.source, &entry.allowed, &entry.default];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", entry.name);
        }
    }

    #[test]
    fn every_setting_round_trips_and_has_a_range() {
        round_trip::<DiagnoseSettings>();
        round_trip::<CompareSettings>();
        round_trip::<ChangesSettings>();
        round_trip::<CapacitySettings>();
        round_trip::<KernelDiagnoseSettings>();
    }

    #[test]
    fn setting_names_are_unique_in_each_group() {
        for question in SettingsListing::questions() {
            let settings = SettingsListing::from_question(&question).unwrap().settings;
            let names: BTreeSet<_> = settings.iter().map(|entry| (entry.group, entry.name)).collect();
            assert_eq!(names.len(), settings.len(), "{question}");
        }
        assert_eq!(SettingsListing::from_question("guess"), None);
    }
}
