//! The same functions where there is no Linux: nothing is recorded.

use crate::error::RecordError;
use crate::settings::{FlightSettings, RecordSettings};
use crate::summary::{FlightSnapshot, Recording};
use laggard_model::Timestamp;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::time::Duration;

/// Says that this is not Linux.
///
/// # Errors
/// Always.
pub fn record(_: &RecordSettings) -> Result<Recording, RecordError> {
    Err(RecordError::NotLinux)
}

/// Does nothing: there is nothing to guard.
pub fn guard() {}

/// A flight recorder, of which there is none.
pub struct FlightRecorder(Infallible);

impl FlightRecorder {
    /// Says that this is not Linux.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &FlightSettings) -> Result<FlightRecorder, RecordError> {
        Err(RecordError::NotLinux)
    }

    /// Nothing.
    pub fn recorded_events(&self) -> u64 {
        match self.0 {}
    }

    /// Nothing.
    ///
    /// # Errors
    /// Never.
    pub fn pause(&mut self) -> Result<(), RecordError> {
        match self.0 {}
    }

    /// Nothing.
    ///
    /// # Errors
    /// Never.
    pub fn resume(&mut self) -> Result<(), RecordError> {
        match self.0 {}
    }

    /// Nothing.
    ///
    /// # Errors
    /// Never.
    pub fn snapshot(
        &mut self,
        _: (Timestamp, Timestamp),
        _: &mut File,
    ) -> Result<FlightSnapshot, RecordError> {
        match self.0 {}
    }
}

/// Signals, of which none is caught.
pub struct StopSignals;

impl StopSignals {
    /// Catches none: a signal ends the program.
    ///
    /// # Errors
    /// Never.
    pub fn catch() -> io::Result<StopSignals> {
        Ok(StopSignals)
    }

    /// Waits; false.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        std::thread::sleep(at_most);
        false
    }
}
