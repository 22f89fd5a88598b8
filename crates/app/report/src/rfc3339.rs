//! Timestamps as RFC 3339.

use laggard_model::Timestamp;

/// A timestamp as RFC 3339 text in UTC with milliseconds.
pub fn rfc3339(time: Timestamp) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(time.unix_ns())) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{} ns", time.unix_ns()),
    }
}
