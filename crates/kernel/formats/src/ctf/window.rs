//! A part of a file in memory. The file is open only while it is read: a trace can have more streams than a process
//! may have open files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const WINDOW_BYTES: usize = 256 * 1024;

/// No event or packet head may be larger.
const WINDOW_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Outcome of a request for more bytes.
#[derive(Debug)]
pub(super) enum FillResult {
    /// There is more.
    More,
    /// The file has no more.
    FileEnds,
    /// A window of the largest size is not enough.
    TooLarge,
}

/// A part of a file.
#[derive(Debug)]
pub(super) struct FileWindow {
    path: PathBuf,
    file_bytes: u64,
    from: u64,
    bytes: Vec<u8>,
}

impl FileWindow {
    /// Nothing of a file yet.
    pub(super) fn new(path: &Path, file_bytes: u64) -> FileWindow {
        FileWindow { path: path.to_owned(), file_bytes, from: 0, bytes: Vec::new() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The bytes at hand from `offset` on.
    pub(super) fn bytes(&self, offset: u64) -> &[u8] {
        let from = offset.checked_sub(self.from).and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| self.bytes.get(from..)).unwrap_or_default()
    }

    /// Where the bytes at hand end.
    pub(super) fn end(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }

    /// Reads so that more than now is at hand from `offset` on.
    pub(super) fn fill(&mut self, offset: u64) -> io::Result<FillResult> {
        if self.end().max(offset) >= self.file_bytes {
            return Ok(FillResult::FileEnds);
        }
        let had = self.bytes(offset).len();
        if had >= WINDOW_BYTES_MAX {
            return Ok(FillResult::TooLarge);
        }
        let length = if had < WINDOW_BYTES / 2 { WINDOW_BYTES } else { (had * 2).min(WINDOW_BYTES_MAX) };
        self.load(offset, length)?;
        Ok(if self.bytes.len() > had { FillResult::More } else { FillResult::FileEnds })
    }

    fn load(&mut self, offset: u64, length: usize) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        self.bytes.clear();
        if self.bytes.capacity() > length.saturating_mul(4) {
            self.bytes = Vec::new();
        }
        self.from = offset;
        let remaining = usize::try_from(self.file_bytes - offset).unwrap_or(usize::MAX);
        self.bytes.reserve(length.min(remaining));
        file.take(length as u64).read_to_end(&mut self.bytes)?;
        Ok(())
    }
}
