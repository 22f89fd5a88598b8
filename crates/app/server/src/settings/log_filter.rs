//! The filter of log lines.

use laggard_settings::SettingError;
use tracing_subscriber::filter::{ParseError, Targets};

/// Parses `logs.level`.
///
/// # Errors
/// When it is neither a level nor a filter.
pub(crate) fn log_filter(level: &str) -> Result<Targets, SettingError> {
    level.parse().map_err(|error: ParseError| {
        SettingError::new(format_args!(
            "logs.level is {level:?}: {error}; allowed: error, warn, info, debug, trace, or a filter like \
             info,laggard_store=debug"
        ))
    })
}
