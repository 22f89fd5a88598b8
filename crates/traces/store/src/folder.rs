//! The folder of a store: where its parts are, and what is done to them while no server has them open.

use crate::damaged_file::{DamagedFile, counted};
use crate::location::SEGMENTS;
use crate::log::{Disk, LogFiles, ReadOnly, first_of_name, replay};
use crate::log_repair::repair_log;
use crate::segments::{
    DamagedSegment, ExaminedSegments, Manifest, Segment, examine, newest_manifest, rebuild, recheck,
};
use crate::{DurableFolder, Segments, Store, StoreError, StoreReader, StoreSettings, WriterPrefix};
use object_store::local::LocalFileSystem;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    /// Events of spans in them.
    pub events: u64,
    /// Spans in the log that are not in segments yet.
    pub log_spans: u64,
    /// Segments that were set aside earlier.
    pub set_aside: u64,
    /// Manifests that a running server has written meanwhile: what it has stored since is not checked.
    pub written_meanwhile: u64,
    /// What is damaged or missing.
    pub problems: Vec<DamagedFile>,
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

/// What a running server may just be doing is over after this time.
const BETWEEN_CHECKS: Duration = Duration::from_millis(300);

impl FolderCheck {
    fn add_segments(&mut self, manifest: &Manifest) {
        let sum = |figure: fn(&Segment) -> u64| manifest.segments.iter().map(|segment| figure(segment)).sum();
        self.segments = manifest.segments.len() as u64;
        self.bytes = sum(Segment::bytes);
        self.spans = sum(|segment| segment.spans);
        self.samples = sum(|segment| segment.samples);
        self.events = sum(|segment| segment.events);
        self.set_aside = manifest.quarantined.len() as u64;
    }
}

impl StoreFolder {
    /// The folder at a path, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> StoreFolder {
        StoreFolder { path: path.into() }
    }

    fn segments(&self) -> PathBuf {
        self.path.join(SEGMENTS)
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

    /// Opens the store with its log in this folder, and its segments below a claimed prefix, in a folder of this path.
    ///
    /// # Errors
    /// As of [`Store::open`]; when another server has taken over the prefix.
    pub async fn open_below(
        &self,
        prefix: &WriterPrefix,
        path: &str,
        settings: &StoreSettings,
    ) -> Result<Store, StoreError> {
        let log = self.log();
        fs::create_dir_all(&log).map_err(|error| failed(&log, error))?;
        let settings = StoreSettings { claim: Some(prefix.held().clone()), ..settings.clone() };
        let name = format!("{}/{path}", prefix.location());
        let objects = prefix.objects(&format!("{path}/{SEGMENTS}"));
        Store::open(settings, objects, &log)
            .await
            .map_err(|error| StoreError::new(format!("{name}: {error}")))
    }

    /// The folder of its write-ahead log.
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Whether it has segments of its own.
    pub fn has_segments(&self) -> bool {
        let manifests = fs::read_dir(self.segments().join("manifest"));
        manifests.is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Spans in the log of a store that were not in segments when it was opened for reading. No more than these, but some of them
    /// may be.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn log_spans(&self, reader: &StoreReader) -> Result<u64, StoreError> {
        Ok(self.check_log(Some(reader.replay_from()))?.spans)
    }

    /// Reads everything, and changes nothing. A server may have the folder open: what it replaces meanwhile is not reported.
    ///
    /// # Errors
    /// When it is no store, of a later version, or cannot be read.
    pub async fn check(&self) -> Result<FolderCheck, StoreError> {
        let objects = self.objects()?;
        let mut before = Vec::new();
        for attempt in 1.. {
            let mut examined = examine(&objects).await?;
            let log =
                self.check_log(examined.manifest.as_ref().map(|manifest| manifest.position.replay_from))?;
            let written_meanwhile = recheck(&objects, &mut examined).await?;
            let mut check = FolderCheck { written_meanwhile, log_spans: log.spans, ..FolderCheck::default() };
            if let Some(manifest) = &examined.manifest {
                check.add_segments(manifest);
            }
            check.problems = examined.problems;
            check.problems.extend(log.problems);
            // A running server may be writing a manifest just now, or have deleted a file of the log: then it is not found twice.
            let passing = |problem: &&DamagedFile| {
                ["manifest", "log"].iter().any(|start| problem.file.starts_with(start))
            };
            let passing: Vec<DamagedFile> = check.problems.iter().filter(passing).cloned().collect();
            if passing.is_empty() || passing == before || attempt == ATTEMPTS_MAX {
                return Ok(check);
            }
            before = passing;
            tokio::time::sleep(BETWEEN_CHECKS).await;
        }
        unreachable!("the last attempt returns")
    }

    /// Reads the log from a record on, or all of it.
    fn check_log(&self, from: Option<u64>) -> Result<LogCheck, StoreError> {
        let mut check = LogCheck::default();
        if !self.log().is_dir() {
            return Ok(check);
        }
        let disk = ReadOnly(Disk::open(&self.log()).map_err(|error| failed(&self.log(), error))?);
        let from = match from {
            Some(from) => from,
            None => first_record(&disk)?,
        };
        let replayed = replay(&disk, from, &mut |_, batch| check.spans += batch.spans.len() as u64)?;
        check.problems.extend(replayed.corrupt.iter().map(|range| DamagedFile {
            file: format!("log/{}", range.file),
            text: format!("{} bytes are no readable records", range.bytes),
            lost: counted(range.records, "batch", "batches"),
        }));
        Ok(check)
    }

    /// Sets damaged segments aside under `quarantine/`, but keeps the spans of those of which only derived files are damaged; writes the
    /// manifest anew if its file or copy is damaged: from the files there are if neither can be read; and writes damaged files of the log
    /// anew with what can be read. No other server may have the folder open. Returns what was done, in sentences.
    ///
    /// # Errors
    /// When it is no store, of a later version, or cannot be read or written.
    pub async fn repair(&self) -> Result<Vec<String>, StoreError> {
        let examined = self.examine().await?;
        let mut done = Vec::new();
        let objects =
            DurableFolder::open(&self.segments()).map_err(|error| failed(&self.segments(), error))?;
        let objects = Arc::new(objects);
        let replay_from = match &examined.manifest {
            Some(manifest) => manifest.position.replay_from,
            None => self.rebuild_manifest(&objects, &mut done).await?,
        };
        if examined.manifest.is_some() {
            repair_segments(objects, &examined, &mut done).await?;
        }
        if self.log().is_dir() {
            done.extend(repair_log(&self.log(), &self.segments().join("quarantine"), replay_from)?);
        }
        Ok(done)
    }

    /// Writes a manifest of the files there are; returns where replay of the log starts.
    async fn rebuild_manifest(
        &self,
        objects: &Arc<DurableFolder>,
        done: &mut Vec<String>,
    ) -> Result<u64, StoreError> {
        let disk = Disk::open(&self.log()).map_err(|error| failed(&self.log(), error))?;
        let replay_from = first_record(&disk)?;
        let rebuilt = rebuild(&**objects, replay_from).await?;
        let segments = counted(rebuilt.manifest.segments.len() as u64, "segment", "segments");
        rebuilt.manifest.put(&**objects).await.map_err(|error| failed(&self.segments(), error))?;
        done.push(format!("The manifest was written anew from the files of {segments}."));
        for (number, reason) in &rebuilt.unreadable {
            done.push(set_aside(*number, reason));
        }
        Ok(replay_from)
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

/// What is in the log.
#[derive(Default)]
struct LogCheck {
    spans: u64,
    problems: Vec<DamagedFile>,
}

/// Repairs segments and manifest where the newest manifest can be read.
async fn repair_segments(
    objects: Arc<DurableFolder>,
    examined: &ExaminedSegments,
    done: &mut Vec<String>,
) -> Result<(), StoreError> {
    let aside = examined.manifest.as_ref().is_some_and(|manifest| !manifest.quarantined.is_empty());
    let has_damaged_manifest = examined.problems.iter().any(|problem| problem.file.starts_with("manifest"));
    if !has_damaged_manifest && examined.damaged.is_empty() && !aside {
        return Ok(());
    }
    let (segments, _) = Segments::open(objects, &StoreSettings::default()).await?;
    for salvaged in segments.return_from_quarantine().await? {
        let spans = counted(salvaged.spans, "span", "spans");
        done.push(format!(
            "Segment {} was set aside earlier, and its spans are intact. Read again: {spans}.",
            salvaged.number
        ));
    }
    for DamagedSegment { segment, reason, has_its_spans } in &examined.damaged {
        if *has_its_spans {
            let salvaged = segments.retain_spans(segment).await?;
            let spans = counted(salvaged.spans, "span", "spans");
            done.push(format!(
                "Segment {} {reason}. Kept: {spans}; requests are assembled anew.",
                segment.number
            ));
        } else {
            segments.quarantine(segment, reason).await?;
            done.push(set_aside(segment.number, reason));
        }
    }
    if has_damaged_manifest {
        segments.write_manifest().await?;
        done.push("The manifest was written anew.".to_owned());
    }
    Ok(())
}

fn set_aside(number: u64, reason: &str) -> String {
    format!("Segment {number} {reason}; its files are under quarantine/.")
}

fn failed(path: &Path, error: impl std::fmt::Display) -> StoreError {
    StoreError::new(format!("{}: {error}", path.display()))
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
