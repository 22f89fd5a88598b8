//! Deployments and other changes of the observed system: declared through the API, or reported by spans. Stored per tenant.
//!
//! ```text
//! POST /api/v1/events ──────┐
//! versions on spans ────────┴─► line_log (a file) ─► GET /api/v1/events, diagnoses, alerts
//! ```

mod stored_event;
#[cfg(test)]
mod tests;
mod version_watch;
mod versions;

pub(crate) use version_watch::{VersionWatch, save_versions, watch_versions};
pub(crate) use versions::ObservedVersions;

use crate::line_log::{LineLog, file_name};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_report::SystemEvent;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// The events of one tenant.
pub(crate) struct TenantEvents {
    log: Mutex<LineLog<SystemEvent>>,
    /// Events older than this are deleted, as spans are.
    keep_for: Option<Nanos>,
}

/// How long before a window its events may be: more than a diagnosis looks back.
const BEFORE: Nanos = Nanos::from_secs(3_600);

/// Outcome of adding events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddedEvents {
    /// New ones, which are stored now.
    pub(crate) stored: u64,
    /// Those that were stored already.
    pub(crate) known: u64,
}

impl TenantEvents {
    /// Opens the events in the folder of a tenant.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn open(folder: &Path, keep_for: Option<Nanos>) -> io::Result<TenantEvents> {
        Ok(TenantEvents { log: Mutex::new(LineLog::open(folder)?), keep_for })
    }

    /// The events in the contents of a tenant's file ([`TenantEvents::file_name`]), which another process may write; they can only be
    /// read.
    ///
    /// # Errors
    /// When they are of an unknown version.
    pub(crate) fn read(bytes: &[u8]) -> io::Result<TenantEvents> {
        Ok(TenantEvents { log: Mutex::new(LineLog::read(bytes)?), keep_for: None })
    }

    /// The name of the file in the folder of a tenant.
    pub(crate) fn file_name() -> String {
        file_name::<SystemEvent>()
    }

    /// Stores events, but those that are stored already: programs repeat their messages. Blocks; when this returns, the events
    /// survive a loss of power.
    ///
    /// # Errors
    /// When they cannot be written: then none of them is stored.
    pub(crate) fn add(&self, events: Vec<SystemEvent>, now: Timestamp) -> io::Result<AddedEvents> {
        let mut log = self.log();
        let all = events.len() as u64;
        let mut new: Vec<SystemEvent> = Vec::new();
        for event in events {
            if !log.records().contains(&event) && !new.contains(&event) {
                new.push(event);
            }
        }
        if !new.is_empty() {
            log.append(&new)?;
            self.expire(&mut log, now);
        }
        let stored = new.len() as u64;
        Ok(AddedEvents { stored, known: all - stored })
    }

    /// Age counts from the clock or from the latest event, whichever is earlier, so that a clock that jumps ahead deletes
    /// nothing.
    fn expire(&self, log: &mut LineLog<SystemEvent>, now: Timestamp) {
        let newest = log.records().last().map_or(now, |event| event.at().min(now));
        let limit = self.keep_for.map(|keep_for| newest.minus(keep_for));
        let retained = log.retain(|event| limit.is_none_or(|limit| event.at() >= limit));
        if let Err(error) = retained {
            tracing::error!(%error, "expired events could not be deleted; this is tried again");
        }
    }

    /// All events, by time.
    pub(crate) fn all(&self) -> Vec<SystemEvent> {
        self.log().records().to_vec()
    }

    /// The events within a time, both ends included, by time.
    pub(crate) fn within(&self, since: Timestamp, until: Timestamp) -> Vec<SystemEvent> {
        let log = self.log();
        let events = log.records();
        let from = events.partition_point(|event| event.at() < since);
        let to = events.partition_point(|event| event.at() <= until);
        events[from..to.max(from)].to_vec()
    }

    /// Whether no change of the system is known at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.log().records().is_empty()
    }

    /// The events that a diagnosis of a window may refer to: those within it, and shortly before it.
    pub(crate) fn around(&self, window: Window) -> Vec<SystemEvent> {
        self.within(window.since.minus(BEFORE), window.until)
    }

    /// Lines of the file that could not be read.
    pub(crate) fn damaged(&self) -> u64 {
        self.log().damaged()
    }

    fn log(&self) -> MutexGuard<'_, LineLog<SystemEvent>> {
        self.log.lock().expect("no thread panics while it holds the lock")
    }
}
