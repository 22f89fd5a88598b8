//! Log lines on standard error.

use crate::settings::{LogForm, LogSettings, SettingError, log_filter};
use std::io::IsTerminal;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging. In a process that already logs, nothing changes.
///
/// # Errors
/// When the filter is invalid.
pub(crate) fn start_logs(settings: &LogSettings) -> Result<(), SettingError> {
    let filter = log_filter(&settings.level)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match settings.form {
        LogForm::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogForm::Json => lines.json().flatten_event(true).boxed(),
    };
    // A process has one subscriber; tests start several servers in one process.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    Ok(())
}
