//! Records of a tenant in a file: appended and synced, rewritten when much of it has expired.
//!
//! ```text
//! laggard-events 1
//! 0badcafe {"time_ns":1768208400000000000,"kind":"deployment","service":"cart","version":"1.4.3","source":"declared"}
//! ```
//!
//! A line is the checksum of its JSON, the JSON, and the end of the line. One that is damaged is left out and counted; what
//! follows it is read.

use crate::durable_files::{FileCalls, begin, disk, read_only, replace};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record of a line log.
pub(crate) trait LogRecord: Sized + Clone {
    /// The name of the file, without `.log`.
    const NAME: &'static str;
    /// The first line, with its end: what is stored, and the version of its form.
    const HEAD: &'static str;
    /// Most records; the first are deleted.
    const RECORDS_MAX: usize;

    /// Sort key of records.
    fn order(&self) -> i64;

    /// The record as JSON, without the end of a line in it.
    fn to_json(&self) -> String;

    /// The record of a JSON; `None` if it is not one.
    fn from_json(json: &[u8]) -> Option<Self>;
}

/// Lines of a file beyond twice its records, before it is rewritten.
const SPARE_LINES: usize = 1_000;

/// No file that this program wrote is larger.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The file and what is in it.
pub(crate) struct LineLog<T> {
    path: PathBuf,
    /// In their order; equal ones in the order of arrival.
    records: Vec<T>,
    /// Lines of the file after its head, damaged ones included.
    lines: usize,
    /// Lines that could not be read when the file was opened.
    damaged: u64,
    /// Not after a failed write: the file is read and repaired before the next.
    is_whole: bool,
    files: Arc<dyn FileCalls>,
}

/// The readable part of a file.
struct Recovered<T> {
    records: Vec<T>,
    damaged: u64,
}

impl<T: LogRecord> LineLog<T> {
    /// Opens the file in a folder, if it exists. One whose first line is unknown is renamed, so that it neither gets lost
    /// nor blocks the start.
    ///
    /// # Errors
    /// When the file cannot be read or repaired.
    pub(crate) fn open(folder: &Path) -> io::Result<LineLog<T>> {
        LineLog::open_with(folder, disk())
    }

    /// Reads the contents of a file that another process may write: it can only be read, and a last line without its end is just being
    /// written.
    ///
    /// # Errors
    /// When the first line is unknown.
    pub(crate) fn read(bytes: &[u8]) -> io::Result<LineLog<T>> {
        let mut log = LineLog {
            path: file_name::<T>().into(),
            records: Vec::new(),
            lines: 0,
            damaged: 0,
            is_whole: true,
            files: read_only(),
        };
        if !has_head::<T>(bytes) {
            return Err(io::Error::other("the file is of an unknown version"));
        }
        let ended = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let recovered = recover::<T>(bytes.get(T::HEAD.len()..ended).unwrap_or_default());
        log.lines = recovered.records.len();
        (log.records, log.damaged) = (recovered.records, recovered.damaged);
        Ok(log)
    }

    /// As [`LineLog::open`], with other calls to write the file.
    pub(crate) fn open_with(folder: &Path, files: Arc<dyn FileCalls>) -> io::Result<LineLog<T>> {
        let path = folder.join(file_name::<T>());
        let mut log = LineLog { path, records: Vec::new(), lines: 0, damaged: 0, is_whole: false, files };
        log.load()?;
        Ok(log)
    }

    /// All records, in their order.
    pub(crate) fn records(&self) -> &[T] {
        &self.records
    }

    /// Lines that could not be read.
    pub(crate) const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Adds records; when this returns, they survive a loss of power.
    ///
    /// # Errors
    /// When they cannot be written: then none of them is stored.
    pub(crate) fn append(&mut self, records: &[T]) -> io::Result<()> {
        if !self.is_whole {
            self.load()?;
        }
        let lines: String = records.iter().map(line_of).collect();
        match self.write(lines.as_bytes()) {
            Ok(()) => {
                self.lines += records.len();
                self.insert(records);
                Ok(())
            }
            Err(error) => {
                self.is_whole = false;
                Err(error)
            }
        }
    }

    /// Deletes the records that are not to be retained, and those beyond the limit, the oldest first.
    ///
    /// # Errors
    /// When the file cannot be rewritten: then the records may come back after a restart.
    pub(crate) fn retain(&mut self, retain: impl Fn(&T) -> bool) -> io::Result<()> {
        self.records.retain(retain);
        let beyond = self.records.len().saturating_sub(T::RECORDS_MAX);
        self.records.drain(..beyond);
        if self.lines > 2 * self.records.len() + SPARE_LINES { self.rewrite() } else { Ok(()) }
    }

    fn insert(&mut self, records: &[T]) {
        self.records.extend(records.iter().cloned());
        self.records.sort_by_key(T::order);
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_whole {
            begin(&*self.files, &self.path, T::HEAD.as_bytes())?;
            self.is_whole = true;
        }
        self.files.append(&self.path, bytes)?;
        self.files.sync(&self.path)
    }

    fn load(&mut self) -> io::Result<()> {
        let Some(bytes) = bytes_of(&self.path)? else { return Ok(()) };
        if !has_head::<T>(&bytes) {
            let aside = self.path.with_extension("log.unreadable");
            tracing::error!(file = %self.path.display(), aside = %aside.display(), "the file is of an unknown version; starting without what it has");
            std::fs::rename(&self.path, aside)?;
            return Ok(());
        }
        let recovered = recover::<T>(bytes.get(T::HEAD.len()..).unwrap_or_default());
        self.records = recovered.records;
        self.lines = self.records.len();
        if recovered.damaged > 0 {
            self.damaged += recovered.damaged;
            tracing::warn!(file = %self.path.display(), lines = recovered.damaged, "damaged lines were left out");
            // The renamed file remains available for inspection.
            std::fs::copy(&self.path, self.path.with_extension("log.damaged"))?;
        }
        if recovered.damaged > 0 || bytes.len() < T::HEAD.len() {
            return self.rewrite();
        }
        self.is_whole = true;
        Ok(())
    }

    /// Replaces the file atomically.
    fn rewrite(&mut self) -> io::Result<()> {
        self.is_whole = false;
        let lines: String = self.records.iter().map(line_of).collect();
        let unfinished = self.path.with_extension("1.new");
        replace(&*self.files, &self.path, &unfinished, (T::HEAD.to_owned() + &lines).as_bytes())?;
        self.lines = self.records.len();
        self.is_whole = true;
        Ok(())
    }
}

/// The name of the file of some records.
pub(crate) fn file_name<T: LogRecord>() -> String {
    format!("{}.log", T::NAME)
}

/// The contents of a file; `None` if there is none.
fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(file) if file.len() > FILE_BYTES_MAX => {
            Err(io::Error::other(format!("{} bytes; at most {FILE_BYTES_MAX}", file.len())))
        }
        Ok(_) => std::fs::read(path).map(Some),
    }
}

/// Whether a file begins with its first line, or with a part of it and has nothing else.
fn has_head<T: LogRecord>(bytes: &[u8]) -> bool {
    bytes.starts_with(T::HEAD.as_bytes()) || T::HEAD.as_bytes().starts_with(bytes)
}

fn recover<T: LogRecord>(bytes: &[u8]) -> Recovered<T> {
    let mut recovered = Recovered { records: Vec::new(), damaged: 0 };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A line without its end may have been cut in the middle of a number.
        match line.strip_suffix(b"\n").and_then(record_of) {
            Some(record) => recovered.records.push(record),
            None => recovered.damaged += 1,
        }
    }
    recovered.records.sort_by_key(T::order);
    recovered
}

fn line_of<T: LogRecord>(record: &T) -> String {
    let json = record.to_json();
    format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes()))
}

/// The record of a line without its end; `None` if the line is damaged.
fn record_of<T: LogRecord>(line: &[u8]) -> Option<T> {
    let (sum, json) = line.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if crc32c::crc32c(json) == sum { T::from_json(json) } else { None }
}
