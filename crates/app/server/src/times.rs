//! Instants as text.

use laggard_model::Timestamp;

/// RFC 3339 in UTC with milliseconds, as reports have it.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(time.unix_ns())) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{} ns", time.unix_ns()),
    }
}
