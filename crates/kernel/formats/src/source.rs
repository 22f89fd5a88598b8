//! A file that several streams read here and there.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An open file, read by position. Streams of one trace share it: a host may have more CPUs than a process may have
/// open files.
#[derive(Debug)]
pub(crate) struct SharedFile {
    file: Mutex<File>,
    bytes: u64,
}

impl SharedFile {
    pub(crate) fn open(path: &Path) -> io::Result<SharedFile> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(SharedFile { file: Mutex::new(file), bytes })
    }

    /// Its size when it was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Replaces `into` by the bytes from `offset` on: `count`, or as many as there are.
    pub(crate) fn read_at(&self, offset: u64, count: usize, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        self.append_at(offset, count, into)
    }

    /// Appends to `into` the bytes from `offset` on: `count`, or as many as there are.
    pub(crate) fn append_at(&self, offset: u64, count: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let remaining = self.bytes.saturating_sub(offset);
        let count = u64::try_from(count).unwrap_or(u64::MAX).min(remaining);
        if count == 0 {
            return Ok(());
        }
        let mut file: MutexGuard<'_, File> = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        (&mut *file).take(count).read_to_end(into)?;
        Ok(())
    }
}
