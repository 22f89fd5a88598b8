//! Recordings that are not yet sent: a file each, complete or absent.

use crate::error::AgentError;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder. One agent at a time uses it.
pub(crate) struct Spool {
    folder: PathBuf,
    /// Held until the program ends.
    _lock: File,
}

impl Spool {
    /// Opens or makes the folder, for this user alone.
    ///
    /// # Errors
    /// When it cannot be written to, or another agent uses it.
    pub(crate) fn open(folder: &Path) -> Result<Spool, AgentError> {
        let failed = |reason: &dyn std::fmt::Display| {
            AgentError::Spool(format!("{}: {reason}; choose another --spool", folder.display()))
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed(&error))?;
        let lock = File::create(folder.join("lock")).map_err(|error| failed(&error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Spool { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(failed(&"another agent uses it")),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }

    /// The recording of a request, if it is here.
    pub(crate) fn get(&self, id: &str) -> Option<File> {
        File::open(self.path(id)).ok()
    }

    /// Stores a recording; it is here completely, also after a loss of power, or not at all.
    ///
    /// # Errors
    /// Those of `write`, or of the file system.
    pub(crate) fn put<T>(
        &self,
        id: &str,
        write: impl FnOnce(&mut File) -> Result<T, String>,
    ) -> Result<T, String> {
        let new = self.folder.join(format!("{id}.new"));
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        let mut options = OpenOptions::new();
        options.write(true).read(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&new).map_err(failed)?;
        let written = write(&mut file);
        if written.is_err() {
            // The next start removes it, too.
            let _ = fs::remove_file(&new);
            return written;
        }
        let stored = file.sync_all().and_then(|()| fs::rename(&new, self.path(id)));
        stored.and_then(|()| File::open(&self.folder)?.sync_all()).map_err(failed)?;
        written
    }

    /// Removes a recording.
    pub(crate) fn remove(&self, id: &str) {
        // A leftover file is removed with unrequested recordings later.
        let _ = fs::remove_file(self.path(id));
    }

    /// Deletes recordings of other requests.
    pub(crate) fn retain(&self, is_requested: impl Fn(&str) -> bool) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let is_old = match extension {
                Some("dat") => !is_requested(id),
                Some("new") => true,
                _ => false,
            };
            if is_old {
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.dat"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_failed_write_leaves_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let write = |file: &mut File| file.write_all(b"12345").map_err(|error| error.to_string());
        spool.put("a", write).unwrap();
        let failed: Result<(), String> = spool.put("b", |file| {
            file.write_all(b"12").unwrap();
            Err("no".to_owned())
        });
        assert_eq!(failed, Err("no".to_owned()));
        assert!(spool.get("b").is_none());
        let mut text = String::new();
        spool.get("a").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "12345");
        assert!(matches!(Spool::open(folder.path()), Err(AgentError::Spool(_))), "it is in use");
        // As a kill leaves it.
        fs::write(folder.path().join("c.new"), "12").unwrap();
        spool.put("d", write).unwrap();
        spool.retain(|id| id == "d");
        let mut files: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["d.dat", "lock"]);
        spool.remove("d");
        assert!(spool.get("d").is_none());
    }
}
