//! From a file, variables and flags to settings: flag before environment before file before default.

use super::fields::fields;
use crate::settings::{ServeSettings, SettingsError};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where settings come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SettingSources {
    /// The configuration file.
    pub file: Option<PathBuf>,
    /// Single values; of two for one setting the later counts.
    pub texts: Vec<SettingText>,
}

/// One value as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingText {
    /// The setting: `store.keep_for`.
    pub key: String,
    /// The value.
    pub text: String,
    /// Who said so.
    pub origin: Origin,
}

/// Who gave a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// An environment variable of this name.
    Environment(String),
    /// A flag of this name.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Environment(name) => write!(f, "environment variable {name}"),
            Origin::Flag(name) => write!(f, "{name}"),
        }
    }
}

/// A configuration file is a page or two.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of the environment variable for a setting: `LAGGARD_STORE_KEEP_FOR` for `store.keep_for`.
pub fn environment_name(key: &str) -> String {
    format!("LAGGARD_{}", key.replace('.', "_").to_uppercase())
}

/// Reads the file, then puts the single values over it.
///
/// # Errors
/// What cannot be read, with the line in the file, or the name of the flag or variable.
pub fn load(sources: &SettingSources) -> Result<ServeSettings, SettingsError> {
    let mut settings = match &sources.file {
        Some(file) => read_file(file)?,
        None => ServeSettings::default(),
    };
    for given in &sources.texts {
        set(&mut settings, given)?;
    }
    Ok(settings)
}

fn set(settings: &mut ServeSettings, given: &SettingText) -> Result<(), SettingsError> {
    let Some(field) = fields().iter().find(|field| field.key == given.key) else {
        return Err(SettingsError::new(format!(
            "{}: there is no setting {:?}{}; `laggard serve --check-config` prints all of them",
            given.origin,
            given.key,
            nearest(&given.key)
        )));
    };
    (field.set)(settings, &given.text)
        .map_err(|problem| SettingsError::new(format!("{}: {}: {problem}", given.origin, given.key)))
}

/// A setting whose last part is the same: the section may have been forgotten.
fn nearest(key: &str) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or("").to_owned();
    let known = fields().iter().find(|field| last(field.key) == last(key));
    known.map_or_else(String::new, |field| format!(" (is it {:?}?)", field.key))
}

fn read_file(file: &Path) -> Result<ServeSettings, SettingsError> {
    let explain = |problem: &dyn fmt::Display| SettingsError::new(format!("{}: {problem}", file.display()));
    let length = std::fs::metadata(file).map_err(|error| explain(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(explain(&format_args!("{length} bytes are no configuration; at most {FILE_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| explain(&error))?;
    from_yaml(&text).map_err(|error| explain(&error))
}

/// Settings from the text of a file. An empty file changes nothing.
fn from_yaml(text: &str) -> Result<ServeSettings, SettingsError> {
    let only_comments = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    if only_comments {
        return Ok(ServeSettings::default());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let problem = error.without_snippet().to_string();
        let line = error.location().map(|at| format!("line {}, column {}: ", at.line(), at.column()));
        SettingsError::new(format!("{}{problem}", line.unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests;
