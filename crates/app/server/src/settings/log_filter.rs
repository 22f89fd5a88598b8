//! The filter of log lines.

use super::check::SettingsError;
use tracing_subscriber::EnvFilter;

/// Parses `logs.level`.
///
/// # Errors
/// When it is no level and no filter.
pub(crate) fn log_filter(level: &str) -> Result<EnvFilter, SettingsError> {
    EnvFilter::builder().parse(level).map_err(|error| {
        SettingsError::new(format!(
            "logs.level is {level:?}: {error}; give error, warn, info, debug, trace, or a filter like \
             info,laggard_store=debug"
        ))
    })
}
