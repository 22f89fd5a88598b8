//! The time up to which a source was read: a file for each.

use crate::durable_files::{disk, replace};
use laggard_model::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct PositionFile {
    version: u32,
    /// The end of the last window, in nanoseconds since the Unix epoch.
    until_ns: i64,
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

/// The position of a source; `None` if it was never read.
///
/// # Errors
/// When the file cannot be read, or is of a later version.
pub(super) fn load_position(folder: &Path, name: &str) -> io::Result<Option<Timestamp>> {
    let bytes = match std::fs::read(path(folder, name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes?,
    };
    let file: PositionFile = serde_json::from_slice(&bytes)?;
    if file.version != VERSION {
        return Err(io::Error::other(format!("version {} is not known", file.version)));
    }
    Ok(Some(Timestamp::from_unix_ns(file.until_ns)))
}

/// Stores the position of a source, durably.
///
/// # Errors
/// When it cannot be written.
pub(super) fn store_position(folder: &Path, name: &str, until: Timestamp) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = PositionFile { version: VERSION, until_ns: until.unix_ns() };
    let unfinished = folder.join(format!("{name}.unfinished"));
    replace(disk().as_ref(), &path(folder, name), &unfinished, &serde_json::to_vec(&file)?)
}
