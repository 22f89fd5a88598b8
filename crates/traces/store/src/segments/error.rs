//! Errors of reading and writing segments.

use crate::StoreError;
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::fmt;

/// Why a segment cannot be read or written. The store handles each variant differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SegmentError {
    /// The contents are not what was written: the segment is quarantined, and the rest is answered.
    Damaged(String),
    /// It was written by a later version: nothing is changed.
    ManifestVersion(u32),
    /// The storage does not work now: the error is returned to the caller.
    Storage(String),
}

impl SegmentError {
    /// Damage, as words that follow the name of a file.
    pub(crate) fn damaged(what: impl Into<String>) -> SegmentError {
        SegmentError::Damaged(what.into())
    }
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentError::Damaged(text) | SegmentError::Storage(text) => f.write_str(text),
            SegmentError::ManifestVersion(version) => write!(
                f,
                "the store is of version {version}, this program knows version {} and earlier: use the program \
                 that wrote it, or another folder",
                super::manifest::FORMAT
            ),
        }
    }
}

impl From<SegmentError> for StoreError {
    fn from(failure: SegmentError) -> StoreError {
        StoreError::new(failure.to_string())
    }
}

impl From<object_store::Error> for SegmentError {
    fn from(error: object_store::Error) -> SegmentError {
        match error {
            object_store::Error::NotFound { .. } => SegmentError::damaged("is missing"),
            other => SegmentError::Storage(other.to_string()),
        }
    }
}

impl From<ParquetError> for SegmentError {
    fn from(error: ParquetError) -> SegmentError {
        SegmentError::Damaged(error.to_string())
    }
}

impl From<ArrowError> for SegmentError {
    fn from(error: ArrowError) -> SegmentError {
        SegmentError::Damaged(error.to_string())
    }
}
