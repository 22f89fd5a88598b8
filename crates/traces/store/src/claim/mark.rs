//! The mark in a data folder: which prefix its logs belong to, and which claims were made from it.

use super::error::ClaimError;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Its name in the data folder.
pub(crate) const FILE: &str = "writer.json";

/// Written before a claim is made, so that a server that is killed in between knows its own claim again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The writer's prefix, as a URL.
    pub(super) prefix: String,
    /// Tokens of the last claim made from this folder, and of the one before: a claim may have failed after its mark was written.
    pub(super) tokens: Vec<String>,
    /// The number by which the file system knows the folder, so that a copy of it is not taken for the folder itself.
    pub(super) folder: u64,
}

impl Mark {
    /// The mark of a data folder; `None` if it has none.
    pub(super) fn read(folder: &Path) -> Result<Option<Mark>, ClaimError> {
        let path = folder.join(FILE);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ClaimError::refused(format!("{}: {error}", path.display()))),
        };
        let mark = serde_json::from_slice(&bytes);
        mark.map(Some).map_err(|error| ClaimError::refused(format!("{}: {error}", path.display())))
    }

    /// Writes it, durably.
    pub(super) fn write(&self, folder: &Path) -> Result<(), ClaimError> {
        let (path, new) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        let written = || -> io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(self).expect("it has no map whose keys are not texts"))?;
            file.sync_all()?;
            std::fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        };
        written().map_err(|error| ClaimError::refused(format!("{}: {error}", path.display())))
    }
}

/// The number by which the file system knows a folder; 0 where there is none.
pub(super) fn number_of(folder: &Path) -> u64 {
    #[cfg(unix)]
    return std::fs::metadata(folder).map_or(0, |data| std::os::unix::fs::MetadataExt::ino(&data));
    #[cfg(not(unix))]
    return 0;
}
