//! Requests and recordings on disk, in a folder of the tenant.
//!
//! ```text
//! recordings/index.json   all requests, replaced atomically
//! recordings/ID.dat       a recording, moved here when it is complete
//! ```
//!
//! A recording is moved here before the index says so: after a kill between the two, opening completes it.

use super::request::{RecordingRequest, RecordingState};
use super::request_list::RequestList;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;

/// More than the largest list needs.
const INDEX_BYTES_MAX: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct IndexFile {
    version: u32,
    requests: Vec<RecordingRequest>,
}

/// The folder.
pub(super) struct RecordingStorage {
    folder: PathBuf,
}

impl RecordingStorage {
    /// Opens the folder, and makes index and recordings agree. One whose index cannot be read is renamed, so that it neither
    /// gets lost nor blocks the start.
    ///
    /// # Errors
    /// When it can neither be read nor renamed, or not be written.
    pub(super) fn open(tenant: &Path) -> io::Result<(RecordingStorage, RequestList)> {
        let storage = RecordingStorage { folder: tenant.join("recordings") };
        let requests = match storage.read_index() {
            Ok(requests) => requests,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let aside = tenant.join("recordings.unreadable");
                tracing::error!(folder = %storage.folder.display(), %error, aside = %aside.display(), "the index of recordings cannot be read; starting without recordings");
                remove_folder(&aside)?;
                fs::rename(&storage.folder, aside)?;
                Vec::new()
            }
        };
        let read = RequestList { requests };
        let mut list = read.clone();
        storage.complete(&mut list)?;
        if list != read {
            storage.save(&list)?;
        }
        storage.delete_all_but(&list)?;
        Ok((storage, list))
    }

    fn read_index(&self) -> io::Result<Vec<RecordingRequest>> {
        let path = self.folder.join("index.json");
        let length = fs::metadata(&path)?.len();
        if length > INDEX_BYTES_MAX {
            return Err(io::Error::other(format!("{length} bytes; at most {INDEX_BYTES_MAX}")));
        }
        let index: IndexFile = serde_json::from_slice(&fs::read(&path)?)?;
        match index.version {
            VERSION => Ok(index.requests),
            other => Err(io::Error::other(format!("unknown version {other}; this program reads {VERSION}"))),
        }
    }

    /// Recordings missing from the index, and index entries without a recording.
    fn complete(&self, list: &mut RequestList) -> io::Result<()> {
        for request in &mut list.requests {
            let file = fs::metadata(self.path(&request.id));
            request.state = match (&request.state, file) {
                (RecordingState::Pending, Ok(file)) => {
                    RecordingState::Stored { bytes: file.len(), stored_ns: request.until_ns }
                }
                (RecordingState::Stored { .. }, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                    RecordingState::Missed { why: "its file is gone".to_owned() }
                }
                (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                (state, _) => state.clone(),
            };
        }
        Ok(())
    }

    /// Deletes the files of recordings that are not stored.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file not be deleted.
    pub(super) fn delete_all_but(&self, list: &RequestList) -> io::Result<()> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let is_recording = path.extension().is_some_and(|extension| extension == "dat");
            if is_recording && list.get(id).is_none_or(|request| request.bytes() == 0) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Moves a complete file here; when this returns, it survives a loss of power. A file of that id is replaced.
    ///
    /// # Errors
    /// When that fails: then an upload must be repeated.
    pub(super) fn accept(&self, id: &str, uploaded: &Path) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        File::open(uploaded)?.sync_all()?;
        fs::rename(uploaded, self.path(id))?;
        File::open(&self.folder)?.sync_all()
    }

    /// Replaces the index atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn save(&self, list: &RequestList) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut fresh = tempfile::Builder::new().prefix("index.").suffix(".new").tempfile_in(&self.folder)?;
        let index = IndexFile { version: VERSION, requests: list.requests.clone() };
        fresh.write_all(&serde_json::to_vec(&index)?)?;
        fresh.as_file().sync_all()?;
        fresh.persist(self.folder.join("index.json"))?;
        File::open(&self.folder)?.sync_all()
    }

    /// The file of a recording. Ids are known ones: they come from the list.
    pub(super) fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.dat"))
    }
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
