//! Reading the log when a store is opened.

use super::decode::{DecodeError, decode_batch};
use super::files::LogFiles;
use super::frame::{self, FileHead, FrameItem, Frames};
use super::repair::lost_batch;
use super::writer::SealedFile;
use crate::StoreError;
use laggard_engine::Batch;

/// The result of a replay besides records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReplayReport {
    /// The last existing record; 0 if there is none.
    pub(crate) last: u64,
    /// The existing files, in order.
    pub(crate) files: Vec<SealedFile>,
    /// A truncated last write, as after a power loss; it was not acknowledged.
    pub(crate) torn: Option<DamagedRange>,
    /// Damage elsewhere: the affected data may have been acknowledged.
    pub(crate) corrupt: Vec<DamagedRange>,
}

/// A range of bytes without a readable record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DamagedRange {
    pub(crate) file: String,
    /// How many bytes; 0 if an entire file is missing or cannot be read.
    pub(crate) bytes: u64,
    /// Records that are missing.
    pub(crate) records: u64,
}

/// Passes every record from number `from` on to `take`, in order, and removes files that are no longer needed. For records that are
/// missing, it passes one batch with this loss, as the last of them.
///
/// # Errors
/// When the folder cannot be read, or when another version of the program wrote the log.
pub(crate) fn replay(
    files: &dyn LogFiles,
    from: u64,
    take: &mut dyn FnMut(u64, Batch),
) -> Result<ReplayReport, StoreError> {
    let failed = |error| StoreError::new(format!("the write-ahead log cannot be read: {error}"));
    let mut firsts: Vec<u64> =
        files.list().map_err(failed)?.iter().filter_map(|name| frame::first_of_name(name)).collect();
    firsts.sort_unstable();
    let mut reading = ReplayState { files, from, expected: from, take, findings: ReplayReport::default() };
    for (index, &first) in firsts.iter().enumerate() {
        let next = firsts.get(index + 1).copied();
        if next.is_some_and(|next| next <= from) {
            // Its records are in segments. If it cannot be removed, it is passed over again the next time.
            let _ = files.remove(&frame::file_name(first));
            continue;
        }
        reading.file(first, next)?;
    }
    Ok(reading.findings)
}

/// Records at the end that are not there at all.
pub(crate) fn missing(first: u64, last: u64) -> DamagedRange {
    DamagedRange { file: frame::file_name(first), bytes: 0, records: last - first + 1 }
}

struct ReplayState<'a> {
    files: &'a dyn LogFiles,
    from: u64,
    /// The record that comes next if none is missing.
    expected: u64,
    take: &'a mut dyn FnMut(u64, Batch),
    findings: ReplayReport,
}

impl ReplayState<'_> {
    fn file(&mut self, first: u64, next: Option<u64>) -> Result<(), StoreError> {
        let name = frame::file_name(first);
        if first > self.expected {
            self.corrupt(&name, 0, first - self.expected);
            self.lose(first - self.expected, first - 1);
        }
        self.expected = self.expected.max(first);
        let bytes = match self.files.read(&name) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(%error, file = name, "a file of the write-ahead log cannot be read");
                Vec::new()
            }
        };
        if let FileHead::OtherVersion(version) = frame::check_head(&bytes, first) {
            return Err(other_version(&name, version));
        }
        let retained = self.records(&name, &bytes, first, next)?;
        if let Some(retained) = retained {
            self.findings.files.push(SealedFile { first, bytes: retained });
        }
        if let Some(next) = next.filter(|&next| self.expected < next) {
            self.corrupt(&name, 0, next - self.expected);
            self.lose(next - self.expected, next - 1);
            self.expected = next;
        }
        Ok(())
    }

    /// Replays a file's records; returns how many bytes of it remain, `None` if it is removed.
    fn records(
        &mut self,
        name: &str,
        bytes: &[u8],
        first: u64,
        next: Option<u64>,
    ) -> Result<Option<u64>, StoreError> {
        let mut frames = Frames::new(bytes, first, next.unwrap_or(u64::MAX));
        let mut retained = bytes.len() as u64;
        while let Some(found) = frames.next() {
            match found {
                FrameItem::Record { number, payload } => self.record(name, number, &bytes[payload])?,
                FrameItem::DamagedRange(lost) => {
                    let missing = frames.expected().saturating_sub(self.expected.max(first));
                    self.corrupt(name, lost.len() as u64, missing);
                    self.lose(missing, frames.expected().saturating_sub(1));
                    self.expected = self.expected.max(frames.expected());
                }
                FrameItem::Tail(lost) if next.is_none() => {
                    self.tear(name, &lost);
                    retained = lost.start as u64;
                }
                // The writer abandoned this file, unless records are missing before the next one.
                FrameItem::Tail(lost) => {
                    if next.is_some_and(|next| frames.expected() < next) {
                        self.corrupt(name, lost.len() as u64, 0);
                    }
                }
            }
        }
        let empty = next.is_none() && retained <= frame::HEAD_BYTES as u64;
        if !empty {
            return Ok(Some(retained));
        }
        let _ = self.files.remove(name);
        Ok(None)
    }

    fn record(&mut self, name: &str, number: u64, payload: &[u8]) -> Result<(), StoreError> {
        self.expected = self.expected.max(number + 1);
        self.findings.last = self.findings.last.max(number);
        if number < self.from {
            return Ok(());
        }
        match decode_batch(payload) {
            Ok(batch) => (self.take)(number, batch),
            Err(DecodeError::Version(version)) => return Err(other_version(name, version)),
            Err(DecodeError::Malformed) => {
                self.corrupt(name, payload.len() as u64, 1);
                self.lose(1, number);
            }
        }
        Ok(())
    }

    /// Truncates the remains of a power loss, so that they are not reported again.
    fn tear(&mut self, name: &str, lost: &std::ops::Range<usize>) {
        let _ = self.files.cut(name, lost.start as u64);
        self.findings.torn =
            Some(DamagedRange { file: name.to_owned(), bytes: lost.len() as u64, records: 0 });
    }

    /// Counts records that are missing, the last of them with this number.
    fn lose(&mut self, records: u64, last: u64) {
        if records > 0 && last >= self.from {
            (self.take)(last, lost_batch(records));
        }
    }

    fn corrupt(&mut self, file: &str, bytes: u64, records: u64) {
        self.findings.corrupt.push(DamagedRange { file: file.to_owned(), bytes, records });
    }
}

fn other_version(file: &str, version: u8) -> StoreError {
    StoreError::new(format!(
        "{file} of the write-ahead log is of version {version}, which this program does not know; open the store \
         with the program that wrote it, and close it there"
    ))
}
