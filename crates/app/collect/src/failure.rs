//! Why something was not collected.

use std::fmt;
use std::time::Duration;

/// What kept a file, or all of them, from being collected; in words for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CollectError {
    /// An address, a name or another setting cannot be meant.
    Settings(String),
    /// A host does not give its file.
    Host {
        /// What happened.
        reason: String,
        /// When it wants to be asked again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The destination does not take what was read.
    Destination {
        /// What happened.
        reason: String,
        /// When it wants to be asked again, if it said so.
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

    /// When it should be tried again, if somebody said so.
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

/// Words of others must not reach the terminal as commands.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}
