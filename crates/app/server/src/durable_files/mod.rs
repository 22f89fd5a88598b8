//! The few calls with which small files are written, so that tests can lose power at each of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

#[cfg(test)]
pub(crate) mod simulated;

/// Calls that write.
pub(crate) trait FileCalls: Send + Sync {
    /// Makes an empty file; one that was there is emptied.
    fn create(&self, path: &Path) -> io::Result<()>;
    /// Adds bytes at the end. After an error some of them may have been added.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Makes the contents of a file durable.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, and replaces what has that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes durable which files a folder has.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// The file system of the machine.
pub(crate) fn disk() -> Arc<dyn FileCalls> {
    Arc::new(Disk)
}

/// Files that another process may write: every call fails.
pub(crate) fn read_only() -> Arc<dyn FileCalls> {
    Arc::new(ReadOnly)
}

struct ReadOnly;

impl ReadOnly {
    fn refuse() -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

impl FileCalls for ReadOnly {
    fn create(&self, _: &Path) -> io::Result<()> {
        ReadOnly::refuse()
    }

    fn append(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        ReadOnly::refuse()
    }

    fn sync(&self, _: &Path) -> io::Result<()> {
        ReadOnly::refuse()
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        ReadOnly::refuse()
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        ReadOnly::refuse()
    }
}

struct Disk;

impl FileCalls for Disk {
    fn create(&self, path: &Path) -> io::Result<()> {
        File::create(path).map(drop)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().append(true).open(path)?.write_all(bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        OpenOptions::new().append(true).open(path)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

/// Replaces a file atomically and durably: at any instant it is completely the old one or the new one. Until then, `unfinished` in the
/// same folder is written.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn replace(files: &dyn FileCalls, path: &Path, unfinished: &Path, bytes: &[u8]) -> io::Result<()> {
    files.create(unfinished)?;
    files.append(unfinished, bytes)?;
    files.sync(unfinished)?;
    files.rename(unfinished, path)?;
    files.sync_folder(folder_of(path)?)
}

/// Makes a file with its first bytes; durable, and so is its name.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn begin(files: &dyn FileCalls, path: &Path, bytes: &[u8]) -> io::Result<()> {
    files.create(path)?;
    files.append(path, bytes)?;
    files.sync(path)?;
    files.sync_folder(folder_of(path)?)
}

fn folder_of(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::Error::other("it is in no folder"))
}
