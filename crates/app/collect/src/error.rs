//! The error of collecting.

use std::fmt;
use std::time::Duration;

/// Why a file, or all of them, could not be collected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectError {
    /// An invalid URL, name, or other setting.
    Settings(String),
    /// A host did not return its file.
    Host {
        /// The cause.
        reason: String,
        /// The pause that its `Retry-After` requests.
        retry_after: Option<Duration>,
    },
    /// The destination rejected the data.
    Destination {
        /// The cause.
        reason: String,
        /// The pause that its `Retry-After` requests.
        retry_after: Option<Duration>,
    },
    /// The state cannot be read or written.
    State(String),
}

impl CollectError {
    pub(crate) fn host(reason: impl fmt::Display) -> CollectError {
        CollectError::Host { reason: printable(&reason.to_string()), retry_after: None }
    }

    pub(crate) fn destination(reason: impl fmt::Display) -> CollectError {
        CollectError::Destination { reason: printable(&reason.to_string()), retry_after: None }
    }

    /// The pause before the next try, if the other side requested one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CollectError::Host { retry_after, .. } | CollectError::Destination { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}

impl fmt::Display for CollectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollectError::Settings(reason)
            | CollectError::State(reason)
            | CollectError::Host { reason, .. }
            | CollectError::Destination { reason, .. } => f.write_str(reason),
        }
    }
}

impl std::error::Error for CollectError {}

/// Text of others without control characters, which a terminal would obey; at most 500 characters.
pub(crate) fn printable(text: &str) -> String {
    laggard_system::printable(text, 500)
}
