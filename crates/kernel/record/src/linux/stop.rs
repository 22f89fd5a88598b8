//! Signals that end a program which records until it is stopped.

use super::watch::{Signals, StopReason, WatchOutcome};
use crate::settings::RecordTarget;
use std::io;
use std::time::{Duration, Instant};

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT, caught from when this is made until it is dropped, also if the caller of this
/// program ignores them.
pub struct StopSignals {
    signals: Signals,
}

impl StopSignals {
    /// Catches them.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn catch() -> io::Result<StopSignals> {
        Ok(StopSignals { signals: Signals::catch()? })
    }

    /// Waits for a signal up to a timeout; returns whether one arrived.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        let Ok(mut watched) = WatchOutcome::start(&RecordTarget::Everything) else { return false };
        watched.wait(&mut self.signals, Instant::now().checked_add(at_most)) == StopReason::Signal
    }
}
