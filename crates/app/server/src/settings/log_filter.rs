//! The filter of log lines.

use laggard_settings::SettingError;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};

/// Parses `logs.level`.
///
/// # Errors
/// When it is neither a level nor a filter.
pub(crate) fn log_filter(level: &str) -> Result<Targets, SettingError> {
    let filter: Targets = level.parse().map_err(|error: ParseError| {
        SettingError::new(format_args!(
            "logs.level is {level:?}: {error}; allowed: error, warn, info, debug, trace, or a filter like \
             info,laggard_store=debug"
        ))
    })?;
    Ok(match level == "info" {
        // It reports every attempt; what has failed in the end is reported by whoever asked.
        true => filter.with_target("object_store", LevelFilter::WARN),
        false => filter,
    })
}
