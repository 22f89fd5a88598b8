//! The state file: how far every file was collected. It is replaced atomically.

use crate::CollectError;
use crate::folder::sync_folder;
use crate::position::FilePosition;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Version of the file format.
const VERSION: u32 = 1;

/// Largest state that is read.
const STATE_BYTES_MAX: u64 = 256 << 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    destination: String,
    files: BTreeMap<String, FilePosition>,
}

/// The state, on disk and in memory. One process at a time uses it.
#[derive(Debug)]
pub(crate) struct State {
    path: PathBuf,
    document: Document,
    /// Held until the program ends.
    _lock: File,
}

impl State {
    /// Reads the state file; an absent one is an empty state.
    ///
    /// # Errors
    /// [`CollectError::State`] when it cannot be read, is of another destination, or another process uses it.
    pub(crate) fn open(path: &Path, destination: String) -> Result<State, CollectError> {
        let failed =
            |reason: &dyn std::fmt::Display| CollectError::State(format!("{}: {reason}", path.display()));
        let lock = File::create(sibling_path(path, "lock")).map_err(|error| failed(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(failed(&"another laggard collect uses this state")),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        let document = match read(path).map_err(|error| failed(&error))? {
            None => Document { version: VERSION, destination, files: BTreeMap::new() },
            Some(text) => {
                let document: Document = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
                if document.version != VERSION {
                    return Err(failed(&format!(
                        "it has version {}, supported is {VERSION}",
                        document.version
                    )));
                }
                if document.destination != destination {
                    let other = &document.destination;
                    return Err(failed(&format!(
                        "it is of {other}, not of {destination}; choose another --state"
                    )));
                }
                document
            }
        };
        Ok(State { path: path.to_owned(), document, _lock: lock })
    }

    /// The position in the file with this name and URL.
    pub(crate) fn known(&self, name: &str, url: &str) -> FilePosition {
        match self.document.files.get(name) {
            None => FilePosition::new(url),
            Some(known) if known.url == url => known.clone(),
            Some(known) => FilePosition { url: url.to_owned(), ..known.rotated() },
        }
    }

    /// Saves the position in a file.
    ///
    /// # Errors
    /// [`CollectError::State`]; then nothing has changed.
    pub(crate) fn set(&mut self, name: &str, known: &FilePosition) -> Result<(), CollectError> {
        let before = self.document.files.insert(name.to_owned(), known.clone());
        self.write().map_err(|error| {
            match before {
                Some(before) => self.document.files.insert(name.to_owned(), before),
                None => self.document.files.remove(name),
            };
            CollectError::State(format!("{}: {error}", self.path.display()))
        })
    }

    fn write(&self) -> io::Result<()> {
        let new = sibling_path(&self.path, "new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(&self.document)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => sync_folder(folder),
            _ => sync_folder(Path::new(".")),
        }
    }
}

/// The path of a file next to the state file.
fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = Vec::new();
    file.take(STATE_BYTES_MAX + 1).read_to_end(&mut text)?;
    match text.len() as u64 > STATE_BYTES_MAX {
        true => Err(io::Error::other("larger than 256 MiB")),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let known = FilePosition {
            offset: 7,
            generation: 2,
            etag: Some("\"x\"".to_owned()),
            ..FilePosition::new("http://h/a")
        };
        let mut state = State::open(&path, "d".to_owned()).unwrap();
        assert_eq!(state.known("h", "http://h/a"), FilePosition::new("http://h/a"));
        state.set("h", &known).unwrap();
        let second = State::open(&path, "d".to_owned()).unwrap_err().to_string();
        assert!(second.contains("another laggard collect"), "{second}");
        drop(state);
        let state = State::open(&path, "d".to_owned()).unwrap();
        assert_eq!(state.known("h", "http://h/a"), known);
        assert_eq!(
            state.known("h", "http://h/b"),
            FilePosition { generation: 3, ..FilePosition::new("http://h/b") }
        );
    }

    #[test]
    fn an_invalid_state_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        for text in [
            "",
            "{",
            "[]",
            r#"{"version":2,"destination":"d","files":{}}"#,
            r#"{"version":1,"destination":"e","files":{}}"#,
        ] {
            fs::write(&path, text).unwrap();
            assert!(matches!(State::open(&path, "d".to_owned()), Err(CollectError::State(_))), "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "the file is unchanged");
        }
    }
}
