//! Writing the log: batches in groups, each group made durable at once.

use super::encode::encode_batch;
use super::files::{LogFile, LogFiles};
use super::frame;
use laggard_engine::Batch;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// A file is closed at this length; its last record may exceed it.
pub(crate) const FILE_BYTES: u64 = 64 << 20;

/// Free space at which a full disk counts as no longer full.
const PROBE_BYTES: usize = 1 << 20;

/// The log, for writing. Records are numbered in order of writing, without gaps but those of lost files.
pub(crate) struct WriteAheadLog {
    files: Arc<dyn LogFiles>,
    file_bytes: u64,
    current: Option<CurrentFile>,
    sealed: VecDeque<SealedFile>,
    /// Number of the next record that becomes durable.
    next: u64,
    /// Frames that are not written yet, and how many.
    buffer: Vec<u8>,
    waiting: u64,
}

struct CurrentFile {
    file: Box<dyn LogFile>,
    first: u64,
    /// Bytes of complete, durable frames.
    good_bytes: u64,
}

/// A file that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SealedFile {
    /// Number of its first record: its name.
    pub(crate) first: u64,
    pub(crate) bytes: u64,
}

impl WriteAheadLog {
    /// A log that continues with record `next`; `sealed` are the existing files, in order.
    pub(crate) fn new(
        files: Arc<dyn LogFiles>,
        next: u64,
        sealed: Vec<SealedFile>,
        file_bytes: u64,
    ) -> WriteAheadLog {
        let sealed = sealed.into();
        WriteAheadLog { files, file_bytes, current: None, sealed, next, buffer: Vec::new(), waiting: 0 }
    }

    /// Adds a batch to the group that is written next.
    pub(crate) fn push(&mut self, batch: &Batch) {
        let start = frame::begin_frame(self.next + self.waiting, &mut self.buffer);
        encode_batch(batch, &mut self.buffer);
        frame::end_frame(start, &mut self.buffer);
        self.waiting += 1;
    }

    /// Bytes of the group.
    pub(crate) fn group_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Writes the group and makes it durable; the number of its first record.
    ///
    /// # Errors
    /// When it is not durable; then none of it counts, and its numbers are reused by the next group.
    pub(crate) fn commit(&mut self) -> io::Result<u64> {
        let written = self.write();
        let count = std::mem::take(&mut self.waiting);
        let first = self.next;
        match written {
            Ok(()) => self.next += count,
            Err(_) => self.abandon(),
        }
        self.buffer.clear();
        // One large group must not hold its memory for ever.
        self.buffer.shrink_to(BUFFER_BYTES_RETAINED);
        written.map(|()| first)
    }

    fn write(&mut self) -> io::Result<()> {
        if self.current.as_ref().is_none_or(|current| current.good_bytes >= self.file_bytes) {
            self.seal();
            self.current = Some(self.begin_file()?);
        }
        let current = self.current.as_mut().expect("a file was just begun");
        current.file.append(&self.buffer)?;
        current.file.sync()?;
        current.good_bytes += self.buffer.len() as u64;
        Ok(())
    }

    fn begin_file(&self) -> io::Result<CurrentFile> {
        let first = self.next;
        let mut file = self.files.create(&frame::file_name(first))?;
        file.append(&frame::head(first))?;
        file.sync()?;
        self.files.sync_folder()?;
        Ok(CurrentFile { file, first, good_bytes: frame::HEAD_BYTES as u64 })
    }

    fn seal(&mut self) {
        if let Some(ended) = self.current.take() {
            self.sealed.push_back(SealedFile { first: ended.first, bytes: ended.good_bytes });
        }
    }

    /// Abandons a file after an error: its durable contents are unknown, even if later calls
    /// succeed. What cannot be truncated is distinguished from good records by its numbers, which the next file has, too.
    fn abandon(&mut self) {
        let name = frame::file_name(self.next);
        let Some(mut current) = self.current.take() else {
            // It may have been made; if it cannot be removed, it is emptied when it is made again.
            let _ = self.files.remove(&name);
            return;
        };
        if current.first == self.next {
            drop(current);
            let _ = self.files.remove(&name);
            return;
        }
        let _ = current.file.cut(current.good_bytes);
        self.sealed.push_back(SealedFile { first: current.first, bytes: current.good_bytes });
    }

    /// Whether writing would succeed again, after it failed.
    ///
    /// # Errors
    /// When it would not.
    pub(crate) fn probe(&mut self) -> io::Result<()> {
        let name = "probe.tmp";
        let tried = self.files.create(name).and_then(|mut file| {
            file.append(&vec![0; PROBE_BYTES])?;
            file.sync()
        });
        let removed = self.files.remove(name);
        tried.and(removed)
    }

    /// Deletes files whose records are all before `replay_from`.
    ///
    /// # Errors
    /// When one cannot be deleted; it is tried again the next time.
    pub(crate) fn forget(&mut self, replay_from: u64) -> io::Result<()> {
        if replay_from >= self.next {
            self.seal();
        }
        while let Some(oldest) = self.sealed.front() {
            let after = self.sealed.get(1).map(|file| file.first);
            let after = after.or(self.current.as_ref().map(|file| file.first)).unwrap_or(self.next);
            if after > replay_from {
                return Ok(());
            }
            match self.files.remove(&frame::file_name(oldest.first)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.sealed.pop_front(),
            };
        }
        Ok(())
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(|file| file.bytes).sum();
        sealed + self.current.as_ref().map_or(0, |current| current.good_bytes)
    }

    /// The number of the last durable record; 0 before the first.
    #[cfg(test)]
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }
}

/// Buffer memory retained for the next group.
const BUFFER_BYTES_RETAINED: usize = 8 << 20;
