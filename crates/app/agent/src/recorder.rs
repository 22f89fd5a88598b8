//! The interface of a recorder.

use crate::protocol::RecordRule;
use laggard_model::Timestamp;
use std::fs::File;

/// A recorder that runs; dropping it ends it. Errors are sentences.
pub trait Recorder {
    /// Events recorded since the start.
    fn recorded_events(&self) -> u64;

    /// Stops recording temporarily; events in memory are retained.
    ///
    /// # Errors
    /// When that fails.
    fn pause(&mut self) -> Result<(), String>;

    /// Records on. Harmless while it records.
    ///
    /// # Errors
    /// When that fails.
    fn resume(&mut self) -> Result<(), String>;

    /// Writes the events of an interval to an empty file; how many those are.
    ///
    /// # Errors
    /// When they cannot be read or written.
    fn snapshot(&mut self, since: Timestamp, until: Timestamp, out: &mut File) -> Result<u64, String>;
}

/// Starts a recorder within the limits of a rule.
pub type StartRecorder = Box<dyn FnMut(&RecordRule) -> Result<Box<dyn Recorder>, String>>;
