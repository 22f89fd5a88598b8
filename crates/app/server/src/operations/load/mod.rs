//! Settings from a file, the environment, and flags: flag before environment before file before default.

use super::yaml;
use crate::settings::{ServeSettings, SettingError};
use laggard_settings::Settings;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where settings come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SettingSources {
    /// The configuration file.
    pub file: Option<PathBuf>,
    /// Single values; the last one for a setting counts.
    pub texts: Vec<SettingText>,
}

/// One value as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingText {
    /// The setting: `store.keep_for`.
    pub key: String,
    /// The value.
    pub text: String,
    /// The flag or environment variable that has it, for messages.
    pub origin: String,
}

/// A configuration file is a page or two.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of the environment variable for a setting: `LAGGARD_STORE_KEEP_FOR` for `store.keep_for`.
pub fn environment_name(key: &str) -> String {
    format!("LAGGARD_{}", key.replace('.', "_").to_uppercase())
}

/// Reads the file, then applies the single values.
///
/// # Errors
/// What cannot be read, with the line in the file, or the name of the flag or variable.
pub fn load(sources: &SettingSources) -> Result<ServeSettings, SettingError> {
    let mut settings = match &sources.file {
        Some(file) => read_file(file)?,
        None => ServeSettings::default(),
    };
    for SettingText { key, text, origin } in &sources.texts {
        settings.set(key, text).map_err(|error| {
            SettingError::new(format_args!(
                "{origin}: {error} (`laggard settings serve` lists what can be set)"
            ))
        })?;
    }
    Ok(settings)
}

fn read_file(file: &Path) -> Result<ServeSettings, SettingError> {
    let explain =
        |problem: &dyn fmt::Display| SettingError::new(format_args!("{}: {problem}", file.display()));
    let length = std::fs::metadata(file).map_err(|error| explain(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(explain(&format_args!(
            "{length} bytes are too many for a configuration; at most {FILE_BYTES_MAX}"
        )));
    }
    let text = std::fs::read_to_string(file).map_err(|error| explain(&error))?;
    yaml::read(&text).map_err(|error| explain(&error))
}

#[cfg(test)]
mod tests;
