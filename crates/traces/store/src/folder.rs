//! The folder of a store: where its parts are, and what is done to them while no server has them open.

use crate::log::{Disk, LogFiles, ReadOnly, first_of_name, replay};
use crate::segments::{ExaminedSegments, examine, newest_manifest, rebuild};
use crate::{DurableFolder, Segments, Store, StoreError, StoreSettings};
use object_store::local::LocalFileSystem;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder with the segments and the write-ahead log of a store.
#[derive(Clone, Debug)]
pub struct StoreFolder {
    path: PathBuf,
}

/// What is in a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FolderCheck {
    /// Segments that the manifest names.
    pub segments: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Spans in them, copies included.
    pub spans: u64,
    /// Samples in them.
    pub samples: u64,
    /// Spans in the log that are not in segments yet.
    pub log_spans: u64,
    /// Segments that were set aside earlier.
    pub set_aside: u64,
    /// What is damaged or missing.
    pub problems: Vec<DamagedFile>,
}

/// A damaged or missing file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DamagedFile {
    /// Its path in the folder.
    pub file: String,
    /// What is wrong with it.
    pub text: String,
    /// What is lost with it.
    pub lost: String,
}

/// What was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CopiedFolder {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of the files are links to the same data, which take no further space.
    pub linked: u64,
}

/// A copy of a store in use is begun again this many times when segments are replaced meanwhile.
const ATTEMPTS_MAX: usize = 20;

impl StoreFolder {
    /// The folder at a path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> StoreFolder {
        StoreFolder { path: path.into() }
    }

    fn segments(&self) -> PathBuf {
        self.path.join("segments")
    }

    fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Opens the store; makes the folder if there is none.
    ///
    /// # Errors
    /// As of [`Store::open`].
    pub async fn open(&self, settings: &StoreSettings) -> Result<Store, StoreError> {
        let (segments, log) = (self.segments(), self.log());
        for folder in [&segments, &log] {
            fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        let objects = DurableFolder::open(&segments).map_err(|error| failed(&segments, error))?;
        Store::open(settings.clone(), Arc::new(objects), &log).await
    }

    /// Reads everything, and changes nothing.
    ///
    /// # Errors
    /// When it is no store, of a later version, or cannot be read.
    pub async fn check(&self) -> Result<FolderCheck, StoreError> {
        let examined = self.examine().await?;
        let mut check = FolderCheck::default();
        if let Some(manifest) = &examined.manifest {
            check.segments = manifest.segments.len() as u64;
            check.bytes = manifest.segments.iter().map(|segment| segment.bytes()).sum();
            check.spans = manifest.segments.iter().map(|segment| segment.spans).sum();
            check.samples = manifest.segments.iter().map(|segment| segment.samples).sum();
            check.set_aside = manifest.quarantined.len() as u64;
        }
        check.problems = examined.problems;
        if !self.log().is_dir() {
            return Ok(check);
        }
        let disk = ReadOnly(Disk::open(&self.log()).map_err(|error| failed(&self.log(), error))?);
        let from = match &examined.manifest {
            Some(manifest) => manifest.position.replay_from,
            None => first_record(&disk)?,
        };
        let replayed = replay(&disk, from, &mut |_, batch| check.log_spans += batch.spans.len() as u64)?;
        check.problems.extend(replayed.corrupt.iter().map(|range| DamagedFile {
            file: format!("log/{}", range.file),
            text: format!("{} bytes are no readable records", range.bytes),
            lost: counted(range.records, "batch", "batches"),
        }));
        Ok(check)
    }

    /// Sets damaged segments aside under `quarantine/`, and writes the manifest anew if its file or copy is damaged: from the files
    /// there are if neither can be read. No other server may have the folder open. Returns what was done, in sentences.
    ///
    /// # Errors
    /// When it is no store, of a later version, or cannot be read or written.
    pub async fn repair(&self) -> Result<Vec<String>, StoreError> {
        let examined = self.examine().await?;
        let mut done = Vec::new();
        let objects =
            DurableFolder::open(&self.segments()).map_err(|error| failed(&self.segments(), error))?;
        let objects = Arc::new(objects);
        if examined.manifest.is_none() {
            let disk = Disk::open(&self.log()).map_err(|error| failed(&self.log(), error))?;
            let rebuilt = rebuild(&*objects, first_record(&disk)?).await?;
            let segments = counted(rebuilt.manifest.segments.len() as u64, "segment", "segments");
            rebuilt.manifest.put(&*objects).await.map_err(|error| failed(&self.segments(), error))?;
            done.push(format!("The manifest was written anew from the files of {segments}."));
            for (number, reason) in &rebuilt.unreadable {
                done.push(format!("Segment {number} {reason}; its files are under quarantine/."));
            }
            return Ok(done);
        }
        let is_manifest = |problem: &&DamagedFile| problem.file.starts_with("manifest");
        let has_damaged_manifest = examined.problems.iter().any(|problem| is_manifest(&problem));
        if !has_damaged_manifest && examined.damaged.is_empty() {
            return Ok(done);
        }
        let (segments, _) = Segments::open(objects, &StoreSettings::default()).await?;
        for (segment, reason) in &examined.damaged {
            segments.quarantine(segment, reason).await?;
            done.push(format!("Segment {} {reason}; its files are under quarantine/.", segment.number));
        }
        if has_damaged_manifest {
            segments.write_manifest().await?;
            done.push("The manifest was written anew.".to_owned());
        }
        Ok(done)
    }

    /// Copies the store into a new folder, also while a server has it open: segments are linked where the file system can do that.
    ///
    /// # Errors
    /// When it cannot be read or written, or is replaced faster than it is copied.
    pub async fn copy_to(&self, destination: &StoreFolder) -> Result<CopiedFolder, StoreError> {
        let objects = self.objects()?;
        for _ in 0..ATTEMPTS_MAX {
            let manifest = newest_manifest(&objects).await?;
            let mut copied = CopiedFolder::default();
            let files = manifest.files.iter().map(|path| (path, true));
            let mut is_complete = true;
            for (path, may_link) in files.chain(manifest.own_files.iter().map(|path| (path, false))) {
                let (from, to) = (self.segments().join(path), destination.segments().join(path));
                is_complete &= copy_file(&from, &to, may_link, &mut copied)?;
            }
            is_complete &= copy_log(&self.log(), &destination.log(), &mut copied)?;
            // The log may have been cut behind a manifest that was written meanwhile.
            if is_complete && newest_manifest(&objects).await?.number == manifest.number {
                return Ok(copied);
            }
            for folder in [destination.segments().join("manifest"), destination.log()] {
                fs::remove_dir_all(&folder).map_err(|error| failed(&folder, error))?;
            }
        }
        Err(StoreError::new("the store is replaced faster than it is copied; try again when less arrives"))
    }

    fn objects(&self) -> Result<LocalFileSystem, StoreError> {
        let folder = self.segments();
        if !folder.is_dir() {
            return Err(StoreError::new(format!(
                "{}: this is no store: it has no segments",
                self.path.display()
            )));
        }
        LocalFileSystem::new_with_prefix(&folder).map_err(|error| failed(&folder, error))
    }

    async fn examine(&self) -> Result<ExaminedSegments, StoreError> {
        Ok(examine(&self.objects()?).await?)
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> StoreError {
    StoreError::new(format!("{}: {error}", path.display()))
}

/// `1 span`, `7 spans`.
pub(crate) fn counted(number: u64, singular: &str, plural: &str) -> String {
    if number == 1 { format!("1 {singular}") } else { format!("{number} {plural}") }
}

/// The first record that the log has, 1 if it has none.
fn first_record(files: &dyn LogFiles) -> Result<u64, StoreError> {
    let names = files.list().map_err(|error| StoreError::new(format!("log: {error}")))?;
    Ok(names.iter().filter_map(|name| first_of_name(name)).min().unwrap_or(1))
}

/// Copies a file, or links it; whether it was still there. One that is there already is the same.
fn copy_file(from: &Path, to: &Path, may_link: bool, copied: &mut CopiedFolder) -> Result<bool, StoreError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    }
    let linked = if may_link { fs::hard_link(from, to) } else { Err(io::ErrorKind::Unsupported.into()) };
    let is_linked = match linked {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(_) => false,
    };
    if !is_linked {
        match fs::copy(from, to) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(to, error)),
        }
    }
    copied.files += 1;
    copied.linked += u64::from(is_linked);
    copied.bytes += fs::metadata(to).map_err(|error| failed(to, error))?.len();
    Ok(true)
}

fn copy_log(from: &Path, to: &Path, copied: &mut CopiedFolder) -> Result<bool, StoreError> {
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    let mut is_complete = true;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let name = entry.map_err(|error| failed(from, error))?.file_name();
        is_complete &= copy_file(&from.join(&name), &to.join(&name), false, copied)?;
    }
    Ok(is_complete)
}
