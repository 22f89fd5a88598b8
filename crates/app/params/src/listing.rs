//! What can be set by name, for `laggard settings`, the HTTP API, and the manual.

use laggard_diagnose::{CompareSettings, DiagnoseSettings};
use laggard_kernel_diagnose::KernelDiagnoseSettings;
use laggard_metrics_questions::{CapacitySettings, ChangesSettings};
use laggard_settings::Settings;
use serde::Serialize;

/// One setting: what it means, what is allowed, and where its default comes from.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingEntry {
    /// Its name for `--set` and the object `set` of a request.
    pub name: &'static str,
    /// The method, or part of one, that it belongs to.
    pub group: &'static str,
    /// What it means.
    pub description: &'static str,
    /// What kind of value it is.
    pub kind: &'static str,
    /// What is counted or measured; empty for plain numbers, shares, and words.
    pub unit: &'static str,
    /// The default as text.
    pub default: String,
    /// What is allowed, in words.
    pub allowed: String,
    /// Smallest number, if there is one.
    pub minimum: Option<f64>,
    /// Largest number, if there is one.
    pub maximum: Option<f64>,
    /// The words it can be; empty for numbers.
    pub choices: Vec<&'static str>,
    /// Where the default comes from.
    pub source: &'static str,
}

/// The settings of a question.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SettingsListing {
    /// The question.
    pub question: &'static str,
    /// Its settings, by group.
    pub settings: Vec<SettingEntry>,
}

/// A question, and how its settings are listed.
type Row = (&'static str, fn() -> Vec<SettingEntry>);

const QUESTIONS: &[Row] = &[
    ("diagnose", entries::<DiagnoseSettings>),
    ("compare", entries::<CompareSettings>),
    ("changes", entries::<ChangesSettings>),
    ("capacity", entries::<CapacitySettings>),
    ("kernel-diagnose", entries::<KernelDiagnoseSettings>),
];

impl SettingsListing {
    /// The questions that have settings.
    pub fn questions() -> Vec<&'static str> {
        QUESTIONS.iter().map(|(question, _)| *question).collect()
    }

    /// The settings of a question; `None` when there is no such question.
    pub fn from_question(question: &str) -> Option<SettingsListing> {
        let (question, list) = QUESTIONS.iter().find(|(name, _)| *name == question)?;
        Some(SettingsListing { question, settings: list() })
    }
}

/// Every setting with its default.
pub(crate) fn entries<S: Settings>() -> Vec<SettingEntry> {
    let mut entries = Vec::new();
    S::default().visit(&mut |row, default| {
        let choices = default.choices();
        let is_number = choices.is_empty();
        entries.push(SettingEntry {
            name: row.name,
            group: row.group,
            description: row.doc.trim(),
            kind: default.kind(),
            unit: row.unit,
            default: default.text(),
            allowed: if is_number { row.range.to_string() } else { choices.join(", ") },
            minimum: is_number.then_some(row.range.low),
            maximum: Some(row.range.high).filter(|&high| is_number && high < f64::MAX),
            choices,
            source: row.source,
        });
    });
    entries
}
