//! Why something stored could not be read or written.

use crate::StoreError;
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::fmt;

/// Apart from each other because the store does different things about them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// What is there is not what was written: it is set aside, and the rest is answered.
    Damaged(String),
    /// It was written by a later version: nothing is touched.
    Version(u32),
    /// The storage does not do what it is asked, now: the caller is told.
    Storage(String),
}

impl Failure {
    /// A damage, in words that follow the name of a file.
    pub(crate) fn damaged(what: impl Into<String>) -> Failure {
        Failure::Damaged(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Damaged(text) | Failure::Storage(text) => f.write_str(text),
            Failure::Version(version) => write!(
                f,
                "the store is of version {version}, this program knows version {} and earlier: use the program \
                 that wrote it, or another folder",
                super::manifest::FORMAT
            ),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> StoreError {
        StoreError::new(failure.to_string())
    }
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Failure {
        match error {
            object_store::Error::NotFound { .. } => Failure::damaged("is missing"),
            other => Failure::Storage(other.to_string()),
        }
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Failure {
        Failure::Damaged(error.to_string())
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Failure {
        Failure::Damaged(error.to_string())
    }
}
