//! The state file: what was taken of every file. Written as a whole, so that it is the old one or the new one.

use crate::CollectError;
use crate::folder::sync_folder;
use crate::known::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Version of the file's form.
const VERSION: u32 = 1;

/// Largest state that is read.
const STATE_BYTES_MAX: u64 = 256 << 20;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    destination: String,
    files: BTreeMap<String, Known>,
}

/// The state, on disk and in memory. One program at a time has it.
#[derive(Debug)]
pub(crate) struct State {
    path: PathBuf,
    document: Document,
    /// Held until the program ends.
    _lock: File,
}

impl State {
    /// Reads the state, or begins one.
    ///
    /// # Errors
    /// [`CollectError::State`] when it cannot be read, is of another destination, or another program has it.
    pub(crate) fn open(path: &Path, destination: String) -> Result<State, CollectError> {
        let failed =
            |reason: &dyn std::fmt::Display| CollectError::State(format!("{}: {reason}", path.display()));
        let lock = File::create(beside(path, "lock")).map_err(|error| failed(&error))?;
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
                    return Err(failed(&format!("it has version {}, known is {VERSION}", document.version)));
                }
                if document.destination != destination {
                    let other = &document.destination;
                    return Err(failed(&format!(
                        "it is of {other}, not of {destination}; give another --state"
                    )));
                }
                document
            }
        };
        Ok(State { path: path.to_owned(), document, _lock: lock })
    }

    /// What is known of the file at this address under this name.
    pub(crate) fn known(&self, name: &str, url: &str) -> Known {
        match self.document.files.get(name) {
            None => Known::of(url),
            Some(known) if known.url == url => known.clone(),
            Some(known) => Known { url: url.to_owned(), ..known.rotated() },
        }
    }

    /// Writes what is known now.
    ///
    /// # Errors
    /// [`CollectError::State`]; then nothing is known anew.
    pub(crate) fn set(&mut self, name: &str, known: &Known) -> Result<(), CollectError> {
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
        let beside = beside(&self.path, "new");
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(&self.document)?)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => sync_folder(folder),
            _ => sync_folder(Path::new(".")),
        }
    }
}

/// A file beside the state.
fn beside(path: &Path, ending: &str) -> PathBuf {
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
    fn what_is_known_is_there_for_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let known =
            Known { offset: 7, generation: 2, etag: Some("\"x\"".to_owned()), ..Known::of("http://h/a") };
        let mut state = State::open(&path, "d".to_owned()).unwrap();
        assert_eq!(state.known("h", "http://h/a"), Known::of("http://h/a"));
        state.set("h", &known).unwrap();
        let second = State::open(&path, "d".to_owned()).unwrap_err().to_string();
        assert!(second.contains("another laggard collect"), "{second}");
        drop(state);
        let state = State::open(&path, "d".to_owned()).unwrap();
        assert_eq!(state.known("h", "http://h/a"), known);
        assert_eq!(state.known("h", "http://h/b"), Known { generation: 3, ..Known::of("http://h/b") });
    }

    #[test]
    fn a_state_that_cannot_be_meant_is_refused() {
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
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is left as it is");
        }
    }
}
