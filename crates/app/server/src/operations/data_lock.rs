//! One server a folder: two would write over each other.

use laggard_store::OWNER_FOLDER;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held while a server runs on a folder; the system lets it go when the process ends, however it ends. On Unix, the folder itself is
/// locked, so that removing the file does not let a second server in.
#[derive(Debug)]
pub(crate) struct DataLock {
    _locked: File,
}

const NAME: &str = "lock";

impl DataLock {
    /// Locks the folder; creates it, readable by its owner only, if it does not exist.
    ///
    /// # Errors
    /// When another process has it, or it cannot be written.
    pub(crate) fn acquire(folder: &Path) -> Result<DataLock, String> {
        make(folder).map_err(|error| format!("data: {} cannot be made: {error}", folder.display()))?;
        if folder.join(OWNER_FOLDER).is_dir() {
            return Err(format!(
                "data: {} is what a server has stored with store.url, not a data folder; if it is a copy, remove {OWNER_FOLDER}/ from it",
                folder.display()
            ));
        }
        let path = folder.join(NAME);
        let explain = |error: std::io::Error| format!("data: {} cannot be written: {error}", path.display());
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(explain)?;
        let locked = if cfg!(unix) { File::open(folder) } else { file.try_clone() };
        let locked = locked.map_err(explain)?;
        match locked.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use_message(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(explain(error)),
        }
        // The id of the process is for people; a full disk must not prevent the server from answering.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(DataLock { _locked: locked })
    }
}

impl DataLock {
    /// The process that has noted itself as the owner of a folder and is running. Takes no lock, since a server that starts at this moment
    /// would be refused.
    pub(crate) fn owner(folder: &Path) -> Option<u32> {
        let owner: u32 = std::fs::read_to_string(folder.join(NAME)).ok()?.trim().parse().ok()?;
        Path::new("/proc").join(owner.to_string()).exists().then_some(owner)
    }
}

fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn in_use_message(folder: &Path, file: &mut File) -> String {
    let mut owner = String::new();
    let read = file.rewind().and_then(|()| file.take(20).read_to_string(&mut owner));
    let by = if read.is_ok() && !owner.is_empty() { format!(" (process {owner})") } else { String::new() };
    format!("data: another server uses {}{by}; stop it, or use another folder", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let held = DataLock::acquire(&data).unwrap();
        let error = DataLock::acquire(&data).unwrap_err();
        assert!(error.contains("another server uses"), "{error}");
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        std::fs::remove_file(data.join(NAME)).unwrap();
        let error = DataLock::acquire(&data).unwrap_err();
        assert!(error.contains("another server uses"), "without its file: {error}");
        drop(held);
        DataLock::acquire(&data).unwrap();
    }

    #[test]
    fn an_invalid_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = DataLock::acquire(&file).unwrap_err();
        assert!(error.starts_with("data: "), "{error}");
    }
}
