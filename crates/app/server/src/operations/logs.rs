//! Log lines on standard error.

use crate::settings::{LogForm, LogSettings, SettingsError};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Reads a filter.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn filter(level: &str) -> Result<EnvFilter, SettingsError> {
    EnvFilter::builder().parse(level).map_err(|error| {
        SettingsError::new(format!(
            "logs.level is {level:?}: {error}; give error, warn, info, debug, trace, or a filter like \
             info,laggard_store=debug"
        ))
    })
}

/// Starts them. In a process that has them already, nothing changes.
///
/// # Errors
/// When the filter cannot be read.
pub(crate) fn start_logs(settings: &LogSettings) -> Result<(), SettingsError> {
    let filter = filter(&settings.level)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Only one process-wide subscriber can be; tests start several servers in one process.
    let _ = match settings.form {
        LogForm::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogForm::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
