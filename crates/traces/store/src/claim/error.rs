//! Why a prefix cannot be claimed.

use crate::StoreError;
use std::fmt;

/// Why a writer's prefix cannot be claimed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimError {
    /// The settings name something that can hold no segments of a server.
    Settings(StoreError),
    /// It is in use, belongs to another folder's log, or does not answer.
    Refused(StoreError),
}

impl ClaimError {
    pub(super) fn settings(text: impl Into<String>) -> ClaimError {
        ClaimError::Settings(StoreError::new(text))
    }

    pub(super) fn refused(text: impl Into<String>) -> ClaimError {
        ClaimError::Refused(StoreError::new(text))
    }
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimError::Settings(error) | ClaimError::Refused(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClaimError {}
