//! One server a folder: two would write over each other.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held while a server runs on a folder; the system lets it go when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct DataLock {
    _file: File,
}

const NAME: &str = "lock";

impl DataLock {
    /// Takes the folder; makes it, readable by nobody else, if it is not there.
    ///
    /// # Errors
    /// When another process has it, or it cannot be written.
    pub(crate) fn take(folder: &Path) -> Result<DataLock, String> {
        make(folder).map_err(|error| format!("data: {} cannot be made: {error}", folder.display()))?;
        let path = folder.join(NAME);
        let explain = |error: std::io::Error| format!("data: {} cannot be written: {error}", path.display());
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(explain)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use_message(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(explain(error)),
        }
        // The number is for people, the lock is what counts: a full disk must not keep a server from answering.
        let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(DataLock { _file: file })
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
    format!(
        "data: another server uses {}{by}; stop it, or give this one a folder of its own",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let held = DataLock::take(&data).unwrap();
        let refused = DataLock::take(&data).unwrap_err();
        assert!(refused.contains("another server uses"), "{refused}");
        assert!(refused.contains(&std::process::id().to_string()), "{refused}");
        drop(held);
        DataLock::take(&data).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let refused = DataLock::take(&file).unwrap_err();
        assert!(refused.starts_with("data: "), "{refused}");
    }
}
