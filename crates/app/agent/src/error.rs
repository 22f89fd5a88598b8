//! Errors of the agent.

use std::fmt;

/// Why the agent cannot work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentError {
    /// An invalid URL, host name, or certificate.
    Settings(String),
    /// The folder of recordings that are not yet sent cannot be used.
    Spool(String),
    /// The server cannot be reached, or rejects this agent; a retry may succeed.
    Server(String),
}

impl AgentError {
    /// Text of others is shortened, and has no control characters.
    pub(crate) fn server(reason: impl fmt::Display) -> AgentError {
        AgentError::Server(laggard_system::printable(&reason.to_string(), 500))
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentError::Settings(reason) | AgentError::Spool(reason) | AgentError::Server(reason) => {
                f.write_str(reason)
            }
        }
    }
}

impl std::error::Error for AgentError {}
