//! Rows that do not fit in memory, in a temporary file.

mod rows;

pub(crate) use rows::{put_rows, read_rows};

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Fast, and close to what higher levels achieve: most bytes are random ids.
const COMPRESSION_LEVEL: i32 = 1;

/// A file for rows that do not fit in memory, which several tables share.
///
/// It is created when it is first needed, and its name is removed at once: whatever ends the process, nothing is left in the folder.
#[derive(Debug)]
pub struct SpillFile {
    folder: PathBuf,
    file: OnceLock<File>,
    end: AtomicU64,
    failure: OnceLock<SpillError>,
}

/// Rows could not be written to a temporary file, or not be read back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpillError {
    text: String,
}

impl std::fmt::Display for SpillError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SpillError {}

/// Where a block is in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpilledBlock {
    offset: u64,
    /// Bytes in the file.
    stored: usize,
    /// Bytes after decompression.
    unpacked: usize,
}

impl SpillFile {
    /// A file in a folder. Nothing is created until something is written.
    pub fn new(folder: PathBuf) -> SpillFile {
        SpillFile { folder, file: OnceLock::new(), end: AtomicU64::new(0), failure: OnceLock::new() }
    }

    /// Why rows are missing from it; the first reason, if there are several.
    pub fn failure(&self) -> Option<&SpillError> {
        self.failure.get()
    }

    /// Compresses and appends a block. After a failure, the file fails for good: what was written is of no use without the rest.
    pub(crate) fn append(&self, unpacked: &[u8]) -> Result<SpilledBlock, SpillError> {
        let written = self.try_append(unpacked);
        written.map_err(|error| self.failed("writing to", &error))
    }

    fn try_append(&self, unpacked: &[u8]) -> io::Result<SpilledBlock> {
        let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
        compressor.include_checksum(true)?;
        let packed = compressor.compress(unpacked)?;
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let created = unnamed_file(&self.folder)?;
                self.file.get_or_init(|| created)
            }
        };
        let offset = self.end.fetch_add(packed.len() as u64, Ordering::Relaxed);
        file.write_all_at(&packed, offset)?;
        Ok(SpilledBlock { offset, stored: packed.len(), unpacked: unpacked.len() })
    }

    /// Reads a block back.
    pub(crate) fn read(&self, block: SpilledBlock) -> Result<Vec<u8>, SpillError> {
        self.try_read(block).map_err(|error| self.failed("reading from", &error))
    }

    fn try_read(&self, block: SpilledBlock) -> io::Result<Vec<u8>> {
        let file = self.file.get().ok_or(io::ErrorKind::NotFound)?;
        let mut packed = vec![0; block.stored];
        file.read_exact_at(&mut packed, block.offset)?;
        zstd::bulk::decompress(&packed, block.unpacked)
    }

    /// Records that a block is not what was written.
    pub(crate) fn damaged(&self) -> SpillError {
        self.failed("reading from", &"it does not have what was written")
    }

    fn failed(&self, doing: &str, why: &dyn std::fmt::Display) -> SpillError {
        let text = format!("{doing} a temporary file in {}: {why}", self.folder.display());
        self.failure.get_or_init(|| SpillError { text }).clone()
    }
}

impl SpilledBlock {
    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.stored as u64
    }
}

/// Names that may exist already, of programs that ended between the two steps, in a folder that process ids of several containers share.
const NAMES_TRIED: u64 = 100;

/// A file without a name, which only this user could have opened before.
fn unnamed_file(folder: &Path) -> io::Result<File> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    let mut tried = 0;
    loop {
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".laggard-spill-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < NAMES_TRIED => tried += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("laggard-spill-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn blocks_are_read_back_and_the_file_has_no_name() {
        let folder = temporary_folder("blocks");
        let spill = SpillFile::new(folder.clone());
        let blocks: Vec<Vec<u8>> = (0..50).map(|number| vec![number; 1000 * usize::from(number)]).collect();
        let stored: Vec<SpilledBlock> = blocks.iter().map(|block| spill.append(block).unwrap()).collect();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        for (block, stored) in blocks.iter().zip(stored).rev() {
            assert_eq!(&spill.read(stored).unwrap(), block);
        }
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_changed_byte_is_an_error_not_other_rows() {
        let folder = temporary_folder("damage");
        let spill = SpillFile::new(folder.clone());
        let bytes: Vec<u8> = (0..10_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let block = spill.append(&bytes).unwrap();
        spill.file.get().unwrap().write_all_at(&[0x55; 3], block.bytes() / 2).unwrap();
        let error = spill.read(block).unwrap_err().to_string();
        assert!(error.contains("reading from") && error.contains(folder.to_str().unwrap()), "{error}");
        assert_eq!(spill.failure().unwrap().to_string(), error);
        std::fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named_in_the_error() {
        let spill = SpillFile::new(PathBuf::from("/nowhere/at/all"));
        let error = spill.append(b"x").unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }
}
