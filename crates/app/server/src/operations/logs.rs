//! Log lines on standard error.

use crate::settings::{LogForm, LogSettings, SettingError, log_filter};
use std::io::IsTerminal;

/// Starts logging. In a process that already logs, nothing changes.
///
/// # Errors
/// When the filter is invalid.
pub(crate) fn start_logs(settings: &LogSettings) -> Result<(), SettingError> {
    let filter = log_filter(&settings.level)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A process has one subscriber; tests start several servers in one process.
    let _ = match settings.form {
        LogForm::Text => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogForm::Json => lines.json().flatten_event(true).try_init(),
    };
    Ok(())
}
