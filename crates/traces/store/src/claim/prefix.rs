//! A claimed prefix, and how it is claimed.

use super::error::ClaimError;
use super::mark::{Mark, number_of};
use super::owner::{self, Life, Owner};
use super::probe::probe;
use super::{Claim, mark};
use crate::location::WritableLocation;
use crate::log::first_of_name;
use crate::{DataLocation, StoreError};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// What is to be claimed, and by whom.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// Where all writers are: a URL as of [`DataLocation::parse`].
    pub url: String,
    /// The name of this one: the folder below the URL.
    pub writer: String,
    /// The data folder of this server, which no other process uses.
    pub folder: PathBuf,
    /// The folders of its write-ahead logs, as far as they are there.
    pub logs: Vec<PathBuf>,
    /// How long this server may give no sign of life before another one may take over.
    pub takeover_after: Duration,
}

/// A writer's prefix that this process may write below.
pub struct WriterPrefix {
    location: DataLocation,
    objects: Arc<dyn ObjectStore>,
    claim: Claim,
    ending: Arc<Notify>,
    beats: Mutex<Option<JoinHandle<()>>>,
}

/// Signs of life are given this many times in the time after which another server may take over.
const BEATS: u32 = 3;

impl Drop for WriterPrefix {
    fn drop(&mut self) {
        if let Some(beats) = self.take_beats() {
            beats.abort();
        }
    }
}

impl WriterPrefix {
    /// Checks that the bucket can hold segments, and claims the prefix. Where the server that had it may still run, and used another
    /// folder, this takes as long as that one may be silent.
    ///
    /// # Errors
    /// When the bucket does not honor conditional puts or does not answer, when another server writes below the prefix, or when
    /// the logs in the folder belong elsewhere.
    pub async fn claim(request: &ClaimRequest) -> Result<WriterPrefix, ClaimError> {
        let all = DataLocation::parse(&request.url).map_err(ClaimError::Settings)?;
        let location = all.within(&request.writer);
        let WritableLocation { objects, staging } = location.writable().map_err(ClaimError::Refused)?;
        let failed = |error| ClaimError::refused(format!("{location}: {error}"));
        probe(&*objects, &all.to_string()).await?;
        let before = owner::newest(&*objects).await.map_err(failed)?;
        let is_continued = may_continue(request, &location, before.as_ref())?;
        let mut ended = true;
        if let Some(before) = &before {
            let is_here =
                is_continued && Mark::read(&request.folder)?.is_some_and(|mark| mark.is_in(&request.folder));
            ended = match is_here {
                true => true,
                false => wait_until_silent(&*objects, &location, before).await?,
            };
        }
        let number = before.as_ref().map_or(0, |before| before.number) + 1;
        let new = Owner::this_process(number, request.takeover_after);
        let tokens = before.iter().filter(|_| is_continued).map(|before| before.token.clone());
        let tokens = tokens.chain([new.token.clone()]).collect();
        let mark = Mark { prefix: location.to_string(), tokens, folder: number_of(&request.folder) };
        mark.write(&request.folder)?;
        if !new.create(&*objects).await.map_err(failed)? {
            return Err(in_use(&location, "another server has claimed it at the same moment"));
        }
        if let Some(Err(error)) = staging.map(|staging| staging.discard_of_others()) {
            tracing::warn!(%error, "what the server before was writing takes space");
        }
        owner::forget_earlier(&*objects, number).await;
        let log_elsewhere = (!is_continued && !ended).then(|| {
            format!(
                "the server that wrote below {location} before ended without storing all it had acknowledged, and its write-ahead \
                 log is not in this data folder: spans of its last seconds may be missing"
            )
        });
        tracing::info!(prefix = %location, claim = number, "the prefix is claimed");
        Ok(WriterPrefix::new(location, objects, Claim::new(number, log_elsewhere), request.takeover_after))
    }

    fn new(
        location: DataLocation,
        objects: Arc<dyn ObjectStore>,
        claim: Claim,
        takeover_after: Duration,
    ) -> WriterPrefix {
        let ending = Arc::new(Notify::new());
        let beating = give_signs_of_life(
            Arc::clone(&objects),
            claim.clone(),
            takeover_after / BEATS,
            Arc::clone(&ending),
        );
        let beats = Mutex::new(Some(tokio::spawn(beating)));
        WriterPrefix { location, objects, claim, ending, beats }
    }

    /// The claim that stores below it are opened with.
    pub fn held(&self) -> &Claim {
        &self.claim
    }

    /// Where it is.
    pub fn location(&self) -> &DataLocation {
        &self.location
    }

    /// The prefix that the logs in a data folder belong to, if one was claimed from there.
    ///
    /// # Errors
    /// When the mark in the folder cannot be read.
    pub fn named_in(folder: &Path) -> Result<Option<String>, ClaimError> {
        Ok(Mark::read(folder)?.map(|mark| mark.prefix))
    }

    /// Objects below a folder of it.
    pub(crate) fn objects(&self, folder: &str) -> Arc<dyn ObjectStore> {
        Arc::new(PrefixStore::new(Arc::clone(&self.objects), ObjectPath::from(folder)))
    }

    /// Lets another server claim it at once: every store below it is closed, and everything acknowledged is in segments.
    pub async fn release(&self) {
        self.ending.notify_one();
        let beats = self.take_beats();
        if let Some(beats) = beats {
            // It ends at its next wait.
            let _ = beats.await;
        }
        if self.claim.lost().is_some() {
            return;
        }
        if let Err(error) = owner::put_life(&*self.objects, self.claim.number(), &Life::Ended).await {
            tracing::warn!(%error, "the prefix is not released: another data folder can claim it after store.takeover_after");
        }
    }

    fn take_beats(&self) -> Option<JoinHandle<()>> {
        self.beats.lock().expect("no thread panics while it holds the lock").take()
    }
}

impl Mark {
    /// Whether it was written in this folder, not in one that this is a copy of.
    fn is_in(&self, folder: &Path) -> bool {
        self.folder == number_of(folder)
    }
}

/// Whether the folder's logs continue what is in segments below the prefix; otherwise they are empty.
///
/// # Errors
/// When they have something that belongs elsewhere.
fn may_continue(
    request: &ClaimRequest,
    location: &DataLocation,
    before: Option<&Owner>,
) -> Result<bool, ClaimError> {
    let mark = Mark::read(&request.folder)?;
    let has_logs = request.logs.iter().any(|folder| has_files(folder));
    let path = request.folder.join(mark::FILE);
    match (&mark, before) {
        (Some(mark), _) if mark.prefix != location.to_string() && has_logs => {
            Err(ClaimError::refused(format!(
                "the write-ahead log in {} belongs to {}, not to {location}: set store.url and store.writer as before, or use another \
             data folder",
                request.folder.display(),
                mark.prefix
            )))
        }
        (Some(mark), Some(before)) if mark.tokens.contains(&before.token) => Ok(true),
        // What is there was copied there with the folder's segments, or has been deleted: the log has what there is.
        (_, None) => Ok(has_logs),
        (_, _) if has_logs => Err(ClaimError::refused(format!(
            "the write-ahead log in {} does not continue what is stored below {location}: a server with another data folder has written \
             there since. Spans that were acknowledged here, and are in no segment, are in that log alone: use another data folder; \
             to read the log, remove {} and serve this folder without store.url",
            request.folder.display(),
            path.display()
        ))),
        _ => Ok(false),
    }
}

/// Whether a folder has files of a log.
fn has_files(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .into_iter()
        .any(|entry| entry.file_name().to_str().is_some_and(|name| first_of_name(name).is_some()))
}

/// Waits as long as an owner may be silent; whether it has ended cleanly.
///
/// # Errors
/// When it gives a sign of life.
async fn wait_until_silent(
    objects: &dyn ObjectStore,
    location: &DataLocation,
    owner: &Owner,
) -> Result<bool, ClaimError> {
    let failed = |error| ClaimError::refused(format!("{location}: {error}"));
    let first = owner::life(objects, owner.number).await.map_err(failed)?;
    if first == Some(Life::Ended) {
        return Ok(true);
    }
    let longest = owner.takeover_after();
    tracing::info!(prefix = %location, %owner, "waiting for signs of life of the server that had the prefix");
    let begun = Instant::now();
    while begun.elapsed() < longest {
        tokio::time::sleep((longest / 10).min(longest.saturating_sub(begun.elapsed()))).await;
        match owner::life(objects, owner.number).await.map_err(failed)? {
            Some(Life::Ended) => return Ok(true),
            now if now != first => {
                return Err(in_use(location, &format!("{owner} writes there")));
            }
            _ => {}
        }
    }
    Ok(false)
}

fn in_use(location: &DataLocation, why: &str) -> ClaimError {
    ClaimError::Refused(StoreError::new(format!(
        "{location} has a server: {why}; stop it, or give this server another name with store.writer"
    )))
}

/// Gives signs of life, and looks for later claims, until it is to end.
async fn give_signs_of_life(
    objects: Arc<dyn ObjectStore>,
    claim: Claim,
    every: Duration,
    ending: Arc<Notify>,
) {
    for beat in 1.. {
        if let Err(error) = owner::put_life(&*objects, claim.number(), &Life::Beat(beat)).await {
            tracing::warn!(%error, "no sign of life could be given");
        }
        match owner::is_newest(&*objects, claim.number()).await {
            Ok(false) => return claim.lose("a later claim was made"),
            Ok(true) => {}
            Err(error) => tracing::warn!(%error, "later claims could not be looked for"),
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = ending.notified() => return,
        }
    }
}
