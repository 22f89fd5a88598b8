//! Why a query has no answer.

use std::fmt;
use std::io;

/// Why there is no answer.
#[derive(Debug)]
pub enum SqlError {
    /// The query is not valid, or its values are not.
    Query(String),
    /// It needs more memory than it may use, or temporary files cannot be written.
    Failed(String),
    /// The store cannot be read. After a server has replaced what was read, the newest view can be.
    Storage(String),
    /// A segment is damaged or cannot be read, and part of the answer was already written.
    Partial(String),
    /// The answer cannot be written.
    Output(io::Error),
}

impl SqlError {
    /// The same where rows were written before: the query is not repeated.
    pub(crate) fn after_rows(self) -> SqlError {
        match self {
            SqlError::Storage(text) => SqlError::Partial(text),
            other => other,
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlError::Query(text) | SqlError::Failed(text) | SqlError::Storage(text) => f.write_str(text),
            SqlError::Partial(text) => write!(f, "{text}; the rows above are not all"),
            SqlError::Output(error) => write!(f, "the answer cannot be written: {error}"),
        }
    }
}

impl std::error::Error for SqlError {}
