//! Files of the log that measure how long it takes to make data durable.

use crate::clock::Clock;
use crate::log::{LogFile, LogFiles};
use laggard_model::{DurationHistogram, Nanos};
use std::io;
use std::sync::{Arc, Mutex};

/// Durations that several threads add to and read.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedDurations {
    all: Arc<Mutex<DurationHistogram>>,
}

impl SharedDurations {
    /// Adds how long something took that began at `start`, a time of the monotonic clock.
    pub(super) fn add_since(&self, start: std::time::Duration, clock: &dyn Clock) {
        let took = clock.monotonic().saturating_sub(start).as_nanos();
        let took = Nanos::from_ns(u64::try_from(took).unwrap_or(u64::MAX));
        self.all.lock().expect("no thread panics while it holds the lock").add(took);
    }

    /// All until now.
    pub(super) fn current(&self) -> DurationHistogram {
        self.all.lock().expect("no thread panics while it holds the lock").clone()
    }
}

/// Files whose syncs are measured.
pub(super) struct TimedFiles {
    pub(super) files: Arc<dyn LogFiles>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) durations: SharedDurations,
}

struct TimedFile {
    file: Box<dyn LogFile>,
    clock: Arc<dyn Clock>,
    durations: SharedDurations,
}

impl LogFiles for TimedFiles {
    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.files.read(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn LogFile>> {
        let file = self.files.create(name)?;
        let (clock, durations) = (self.clock.clone(), self.durations.clone());
        Ok(Box::new(TimedFile { file, clock, durations }))
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        self.files.cut(name, bytes)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.files.sync_folder()
    }
}

impl LogFile for TimedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    /// A sync that fails is measured, too: a slow disk is often a failing one.
    fn sync(&mut self) -> io::Result<()> {
        let start = self.clock.monotonic();
        tracing::debug!("log sync begins");
        let synced = self.file.sync();
        tracing::debug!("log sync ended");
        self.durations.add_since(start, &*self.clock);
        synced
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.file.cut(bytes)
    }
}
