//! Errors of the store.

use std::fmt;
use std::time::Duration;

/// A request to the store that failed, as a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreError {
    message: String,
}

impl StoreError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> StoreError {
        StoreError { message: message.into() }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}

/// Why a batch was rejected. Nothing of it was stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppendError {
    /// The store is out of memory for now; the sender should retry after this time.
    Busy(Duration),
    /// It could not be made durable (full disk, failing device); the sender should retry.
    Storage(StoreError),
    /// The store is being closed; the sender should retry later or elsewhere.
    Closing,
    /// This process only reads the store; retrying does not help.
    ReadOnly,
    /// The batch is larger than the store ever accepts; retrying does not help.
    TooLarge {
        /// Its size in memory, bytes.
        bytes: usize,
        /// The largest accepted batch, in bytes.
        bytes_max: usize,
    },
}
