//! The events of a tenant in a file: appended and synced, rewritten when much of it has expired.
//!
//! ```text
//! laggard-events 1
//! 0badcafe {"time_ns":1768208400000000000,"kind":"deployment","service":"cart","version":"1.4.3","source":"declared"}
//! ```
//!
//! A line that is damaged is left out and counted; what follows it is read.

use super::stored_event::{event_of, line_of};
use laggard_report::SystemEvent;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The first line.
const HEAD: &str = "laggard-events 1\n";

// Limit: stored deployments and other changes of the system, per tenant | the oldest are deleted
/// Most events of a tenant.
pub(super) const EVENTS_MAX: usize = 20_000;

/// Lines of a file beyond twice its events, before it is rewritten.
const SPARE_LINES: usize = 1_000;

/// No file that this program wrote is larger.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The file and what is in it.
pub(super) struct EventLog {
    path: PathBuf,
    /// By time; equal times in the order of arrival.
    events: Vec<SystemEvent>,
    /// Lines of the file after its head, damaged ones included.
    lines: usize,
    /// Lines that could not be read when the file was opened.
    damaged: u64,
    /// `None` after a failed write: the file is opened and repaired before the next.
    file: Option<File>,
}

/// What is left of a file.
#[derive(Default)]
struct Recovered {
    events: Vec<SystemEvent>,
    damaged: u64,
}

impl EventLog {
    /// Opens the file in a folder, if it is there. One whose first line is unknown is renamed, so that it neither gets lost
    /// nor blocks the start.
    ///
    /// # Errors
    /// When the file cannot be read or repaired.
    pub(super) fn open(folder: &Path) -> io::Result<EventLog> {
        let path = folder.join("events.log");
        let mut log = EventLog { path, events: Vec::new(), lines: 0, damaged: 0, file: None };
        log.load()?;
        Ok(log)
    }

    /// All events, by time.
    pub(super) fn events(&self) -> &[SystemEvent] {
        &self.events
    }

    /// Lines that could not be read.
    pub(super) const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Adds events; when this returns, they survive a loss of power.
    ///
    /// # Errors
    /// When they cannot be written: then none of them is stored.
    pub(super) fn append(&mut self, events: &[SystemEvent]) -> io::Result<()> {
        if self.file.is_none() {
            self.load()?;
        }
        let lines: String = events.iter().map(line_of).collect();
        match self.write(lines.as_bytes()) {
            Ok(()) => {
                self.lines += events.len();
                self.insert(events);
                Ok(())
            }
            Err(error) => {
                self.file = None;
                Err(error)
            }
        }
    }

    /// Deletes the events that are not to be retained, and those beyond the limit, the oldest first.
    ///
    /// # Errors
    /// When the file cannot be rewritten: then the events may come back after a restart.
    pub(super) fn retain(&mut self, retain: impl Fn(&SystemEvent) -> bool) -> io::Result<()> {
        self.events.retain(retain);
        let beyond = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..beyond);
        if self.lines > 2 * self.events.len() + SPARE_LINES { self.rewrite() } else { Ok(()) }
    }

    fn insert(&mut self, events: &[SystemEvent]) {
        self.events.extend(events.iter().cloned());
        self.events.sort_by_key(SystemEvent::at);
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(create(&self.path)?),
        };
        file.write_all(bytes)?;
        file.sync_data()
    }

    fn load(&mut self) -> io::Result<()> {
        let bytes = match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(file) if file.len() > FILE_BYTES_MAX => {
                return Err(io::Error::other(format!("{} bytes; at most {FILE_BYTES_MAX}", file.len())));
            }
            Ok(_) => std::fs::read(&self.path)?,
        };
        if !bytes.starts_with(HEAD.as_bytes()) && !HEAD.as_bytes().starts_with(&bytes) {
            let aside = self.path.with_extension("log.unreadable");
            tracing::error!(file = %self.path.display(), aside = %aside.display(), "stored events are of an unknown version; starting without events");
            std::fs::rename(&self.path, aside)?;
            return Ok(());
        }
        let recovered = recover(bytes.get(HEAD.len()..).unwrap_or_default());
        self.events = recovered.events;
        self.lines = self.events.len();
        if recovered.damaged > 0 {
            self.damaged += recovered.damaged;
            tracing::warn!(file = %self.path.display(), lines = recovered.damaged, "damaged lines of stored events were left out");
            // Whoever wants to can look at what was there.
            std::fs::copy(&self.path, self.path.with_extension("log.damaged"))?;
        }
        if recovered.damaged > 0 || bytes.len() < HEAD.len() {
            return self.rewrite();
        }
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        Ok(())
    }

    /// Replaces the file atomically.
    fn rewrite(&mut self) -> io::Result<()> {
        self.file = None;
        let folder = folder_of(&self.path);
        let mut fresh = tempfile::Builder::new().prefix("events.").suffix(".new").tempfile_in(folder)?;
        let lines: String = self.events.iter().map(line_of).collect();
        fresh.write_all(HEAD.as_bytes())?;
        fresh.write_all(lines.as_bytes())?;
        fresh.as_file().sync_all()?;
        fresh.persist(&self.path)?;
        File::open(folder)?.sync_all()?;
        self.lines = self.events.len();
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        Ok(())
    }
}

/// A new file with its head; durable, and so is its name.
fn create(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().append(true).create_new(true).open(path)?;
    file.write_all(HEAD.as_bytes())?;
    file.sync_all()?;
    File::open(folder_of(path))?.sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().expect("the file is in the folder it was made in")
}

fn recover(bytes: &[u8]) -> Recovered {
    let mut recovered = Recovered::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A line without its end may have been cut in the middle of a number.
        match line.strip_suffix(b"\n").and_then(event_of) {
            Some(event) => recovered.events.push(event),
            None => recovered.damaged += 1,
        }
    }
    recovered.events.sort_by_key(SystemEvent::at);
    recovered
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;
    use laggard_report::SystemEventKind;

    fn event(second: i64) -> SystemEvent {
        let time = Timestamp::from_unix_ns(second * 1_000_000_000);
        SystemEvent {
            version: Some(format!("1.{second}")),
            text: "a \"text\"\nof two lines".to_owned(),
            ..SystemEvent::declared(SystemEventKind::Deployment, "cart".to_owned(), time)
        }
    }

    fn seconds(log: &EventLog) -> Vec<i64> {
        log.events().iter().map(|event| event.at().unix_ns() / 1_000_000_000).collect()
    }

    #[test]
    fn appended_events_are_read_again_by_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = EventLog::open(folder.path()).unwrap();
        log.append(&[event(5), event(2)]).unwrap();
        log.append(&[event(3)]).unwrap();
        assert_eq!(seconds(&log), [2, 3, 5]);
        let again = EventLog::open(folder.path()).unwrap();
        assert_eq!((again.events(), again.damaged()), (log.events(), 0));
        assert_eq!(again.events()[0], event(2));
    }

    #[test]
    fn a_file_that_was_cut_anywhere_gives_the_events_before_the_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.log");
        EventLog::open(folder.path()).unwrap().append(&[event(1), event(2), event(3)]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let ends: Vec<usize> =
            (1..=3).map(|events| HEAD.len() + events * (whole.len() - HEAD.len()) / 3).collect();
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut log = EventLog::open(folder.path()).unwrap();
            let complete = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(log.events().len(), complete, "{length}");
            let is_torn = length > HEAD.len() && length != ends[complete.max(1) - 1];
            assert_eq!(log.damaged(), u64::from(is_torn), "{length}");
            log.append(&[event(9)]).unwrap();
            let again = EventLog::open(folder.path()).unwrap();
            assert_eq!((again.events().len(), again.damaged()), (complete + 1, 0), "{length}");
        }
    }

    #[test]
    fn a_damaged_line_costs_one_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.log");
        EventLog::open(folder.path()).unwrap().append(&[event(1), event(2), event(3)]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in HEAD.len()..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            std::fs::write(&path, bytes).unwrap();
            let log = EventLog::open(folder.path()).unwrap();
            // The end of a line that is damaged joins two of them.
            assert!((1..=2).contains(&log.events().len()) && log.damaged() >= 1, "{at}");
            assert!(folder.path().join("events.log.damaged").exists());
        }
    }

    #[test]
    fn a_file_of_another_version_is_renamed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("events.log"), "laggard-events 2\n???\n").unwrap();
        let mut log = EventLog::open(folder.path()).unwrap();
        assert_eq!(log.events(), []);
        log.append(&[event(1)]).unwrap();
        assert_eq!(EventLog::open(folder.path()).unwrap().events().len(), 1);
        assert!(folder.path().join("events.log.unreadable").exists());
    }

    /// As version 1 wrote it: files of this version stay readable.
    #[test]
    fn stored_version_1_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("events.log"), include_str!("stored_version_1.log")).unwrap();
        let log = EventLog::open(folder.path()).unwrap();
        assert_eq!((log.events().len(), log.damaged()), (2, 0));
        assert_eq!(log.events()[0].version.as_deref(), Some("1.4.3"));
        assert_eq!((log.events()[1].replicas, log.events()[1].zone.as_deref()), (Some(12), Some("eu-1")));
    }

    #[test]
    fn the_oldest_are_deleted_beyond_the_limit_and_the_file_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = EventLog::open(folder.path()).unwrap();
        let events: Vec<SystemEvent> = (0..EVENTS_MAX as i64 + 10).map(event).collect();
        log.append(&events).unwrap();
        log.retain(|_| true).unwrap();
        assert_eq!((log.events().len(), seconds(&log)[0]), (EVENTS_MAX, 10));
        log.retain(|event| event.at().unix_ns() > 15_000_000_000_000).unwrap();
        let left = log.events().len();
        assert_eq!(EventLog::open(folder.path()).unwrap().events().len(), left);
        log.append(&[event(30_000)]).unwrap();
        assert_eq!(EventLog::open(folder.path()).unwrap().events().len(), left + 1);
    }
}
