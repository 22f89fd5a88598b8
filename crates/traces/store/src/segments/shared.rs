//! State shared by commits, views, and maintenance: the valid manifest, and how it is replaced.

use super::cache::Cache;
use super::combined::CombinedObjects;
use super::error::SegmentError;
use super::fence::{Occupied, fence, occupied};
use super::files::{delete, move_to_quarantine, segment_of, stray_files};
use super::layout;
use super::manifest::{self, Manifest, Quarantined, Segment};
use super::plan::SegmentLimits;
use super::trace_index::TraceIndex;
use crate::budget::OpenStore;
use crate::clock::wall_clock;
use crate::{Claim, StoreSettings};
use laggard_engine::{RequestSlice, SliceSummary};
use laggard_model::{Nanos, Timestamp, TraceId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Parts of a trace with a larger gap than this are treated as two traces.
pub(crate) const JOIN: Nanos = Nanos::from_secs(3600);

/// Older manifests retained besides the valid one, for diagnosis.
const MANIFESTS_RETAINED: u64 = 4;

/// Maximum number of quarantined segments in the manifest.
const QUARANTINED_MAX: usize = 1000;

/// Which decoded slice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SliceKey {
    /// The requests of a segment as they were written.
    Segment(u64),
    /// Requests of a segment without those of traces that came late, by the late segments.
    Without(u64, Arc<[u64]>),
    /// Requests of traces that came late, by the late segments and those that hold the rest.
    LateSpans(Arc<[u64]>, Arc<[u64]>),
}

pub(crate) struct SegmentsInner {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) settings: StoreSettings,
    pub(crate) limits: SegmentLimits,
    /// With the level of the sample: one request in 2^level.
    pub(crate) slices: Cache<(SliceKey, u32), RequestSlice>,
    pub(crate) summaries: Cache<(SliceKey, Nanos), SliceSummary>,
    pub(crate) indexes: Cache<u64, TraceIndex>,
    /// Traces of a segment, and those that two segments share.
    pub(super) split: Cache<Arc<[u64]>, Vec<TraceId>>,
    /// Held while a slice is read, by the number of its segment.
    pub(crate) slice_turns: [tokio::sync::Mutex<()>; 64],
    /// Held while slices with late spans are merged.
    pub(crate) late_turn: tokio::sync::Mutex<()>,
    /// Commits run one after the other …
    pub(crate) committing: tokio::sync::Mutex<()>,
    /// … and so do compaction and retention.
    pub(crate) maintaining: tokio::sync::Mutex<()>,
    swapping: tokio::sync::Mutex<()>,
    current: Mutex<Arc<Manifest>>,
    /// Segments the manifest no longer names, and since when; their files are deleted when no view holds them, and none of another process
    /// should.
    replaced: Mutex<Vec<(Instant, Arc<Segment>)>>,
    /// Files that the manifest did not name when this was opened: another process may still read them.
    stray: Mutex<Vec<Path>>,
    begun: Instant,
    next_segment: AtomicU64,
    /// The highest manifest this process tried to write.
    pub(super) attempted: AtomicU64,
    /// Spans and samples that retention deleted since it was opened.
    pub(crate) expired_spans: AtomicU64,
    pub(crate) expired_samples: AtomicU64,
    pub(crate) expired_events: AtomicU64,
    /// When it was opened.
    pub(crate) opened: Timestamp,
    /// A manifest that could not be read, if there was one at the start.
    pub(crate) unreadable_manifest: Option<String>,
    access: Access,
    /// The same objects by their writers, where those are several.
    pub(super) writers: Option<Arc<CombinedObjects>>,
    _open: OpenStore,
}

/// What may be done to the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    ReadAndWrite,
    /// Another process may write them.
    ReadOnly,
}

/// Locks a mutex that cannot be poisoned.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

impl SegmentsInner {
    /// Reads the newest manifest and deletes what it does not name.
    pub(crate) async fn open(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
        limits: SegmentLimits,
    ) -> Result<SegmentsInner, SegmentError> {
        let mut found = manifest::newest(&*objects).await?;
        if let Some(claim) = &settings.claim {
            found = fence(&*objects, claim, found).await?;
        }
        let stray = stray_files(&*objects, &found.manifest).await?;
        let beyond = stray.iter().filter_map(segment_of).max().unwrap_or(0);
        let unreadable_manifest =
            found.unreadable.first().map(|(number, why)| manifest_fallback(&found, *number, why));
        let highest = found.numbers.last().copied().unwrap_or(0);
        let mut read_elsewhere = Vec::new();
        if found.manifest.number < highest || found.numbers.is_empty() {
            // A manifest that cannot be read, or is missing, may have named them.
            move_to_quarantine(&*objects, stray).await;
        } else {
            let oldest_retained = highest.saturating_sub(MANIFESTS_RETAINED);
            let old = found.numbers.iter().filter(|&&number| number < oldest_retained);
            let old = old.flat_map(|&number| [layout::manifest(number), layout::manifest_copy(number)]);
            let now = if settings.delete_after > Nanos::ZERO {
                read_elsewhere = stray;
                Vec::new()
            } else {
                stray
            };
            delete(&*objects, now.into_iter().chain(old).collect()).await;
        }
        let next_segment = found.manifest.next_segment.max(beyond + 1);
        let new = SegmentsInner::new(objects, settings, limits, found.manifest);
        Ok(SegmentsInner {
            next_segment: AtomicU64::new(next_segment),
            attempted: AtomicU64::new(highest),
            unreadable_manifest,
            stray: Mutex::new(read_elsewhere),
            ..new
        })
    }

    /// Segments of a manifest that another process has written: nothing is changed.
    pub(super) fn read_only(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
        limits: SegmentLimits,
        manifest: Manifest,
    ) -> SegmentsInner {
        let new = SegmentsInner::new(objects, settings, limits, manifest);
        SegmentsInner { access: Access::ReadOnly, ..new }
    }

    /// The same, of several writers.
    pub(super) fn with_writers(self, writers: Arc<CombinedObjects>) -> SegmentsInner {
        let (bytes, shared) = (self.settings.cache_bytes, self.settings.shared.clone());
        SegmentsInner {
            writers: Some(writers),
            slices: Cache::new(bytes - 3 * (bytes / 8), shared.clone()),
            split: Cache::new(bytes / 8, shared),
            ..self
        }
    }

    fn new(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
        limits: SegmentLimits,
        manifest: Manifest,
    ) -> SegmentsInner {
        let (cache_bytes, shared) = (settings.cache_bytes, &settings.shared);
        SegmentsInner {
            slices: Cache::new(cache_bytes - 2 * (cache_bytes / 8), shared.clone()),
            summaries: Cache::new(cache_bytes / 8, shared.clone()),
            indexes: Cache::new(cache_bytes / 8, shared.clone()),
            split: Cache::new(0, shared.clone()),
            slice_turns: [const { tokio::sync::Mutex::const_new(()) }; 64],
            late_turn: tokio::sync::Mutex::new(()),
            committing: tokio::sync::Mutex::new(()),
            maintaining: tokio::sync::Mutex::new(()),
            swapping: tokio::sync::Mutex::new(()),
            next_segment: AtomicU64::new(manifest.next_segment),
            attempted: AtomicU64::new(manifest.number),
            current: Mutex::new(Arc::new(manifest)),
            replaced: Mutex::new(Vec::new()),
            stray: Mutex::new(Vec::new()),
            begun: Instant::now(),
            expired_spans: AtomicU64::new(0),
            expired_samples: AtomicU64::new(0),
            expired_events: AtomicU64::new(0),
            opened: wall_clock(),
            unreadable_manifest: None,
            access: Access::ReadAndWrite,
            writers: None,
            _open: shared.open_store(),
            settings: settings.clone(),
            limits,
            objects,
        }
    }

    /// Whether another process may write the files.
    pub(crate) fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    /// Makes a manifest valid that another process has written; whether it is another one.
    pub(super) fn follow(&self, newest: Manifest) -> bool {
        let mut current = lock(&self.current);
        let is_other = newest.number != current.number;
        if is_other {
            *current = Arc::new(newest);
        }
        is_other
    }

    /// Evicts decoded data from memory.
    pub(crate) fn release_memory(&self) {
        self.slices.clear();
        self.summaries.clear();
        self.indexes.clear();
        self.split.clear();
    }

    /// Evicts decoded data that has not been used for this long.
    pub(crate) fn expire_memory(&self, idle: Duration) {
        self.slices.expire(idle);
        self.summaries.expire(idle);
        self.indexes.expire(idle);
        self.split.expire(idle);
    }

    /// The manifest that is valid now.
    pub(crate) fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&lock(&self.current))
    }

    /// A number no other segment has.
    pub(crate) fn number_segment(&self) -> u64 {
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes another manifest valid: `edit` changes a copy of the valid one, or reports that there is
    /// nothing to change.
    pub(crate) async fn swap(
        &self,
        edit: impl FnOnce(&mut Manifest) -> Result<bool, SegmentError>,
    ) -> Result<bool, SegmentError> {
        assert!(!self.is_read_only(), "readers have nothing that writes");
        self.check_claim()?;
        let _one_at_a_time = self.swapping.lock().await;
        let before = self.manifest();
        let mut after = Manifest::clone(&before);
        if !edit(&mut after)? {
            return Ok(false);
        }
        after.next_segment = self.next_segment.load(Ordering::Relaxed);
        after.segments.sort_by_key(|segment| segment.number);
        tracing::debug!(number = after.number + 1, "manifest swap begins");
        let written = self.put_manifest(&mut after).await;
        tracing::debug!("manifest swap ended");
        written?;
        let retained: HashSet<u64> = after.segments.iter().map(|segment| segment.number).collect();
        let removed = before.segments.iter().filter(|segment| !retained.contains(&segment.number)).cloned();
        let now = Instant::now();
        lock(&self.replaced).extend(removed.map(|segment| (now, segment)));
        let number = after.number;
        *lock(&self.current) = Arc::new(after);
        drop(before);
        self.sweep().await;
        self.forget_manifests(number).await;
        Ok(true)
    }

    /// Writes a manifest under the next number. One whose write was reported as failed before may
    /// be there all the same: then under the number after it.
    async fn put_manifest(&self, after: &mut Manifest) -> Result<(), SegmentError> {
        let mut number = after.number + 1;
        loop {
            after.number = number;
            let tried_before = self.attempted.fetch_max(number, Ordering::Relaxed) >= number;
            match after.put(&*self.objects).await {
                Ok(()) => return Ok(()),
                Err(object_store::Error::AlreadyExists { .. }) if self.settings.claim.is_some() => {
                    let claim = self.settings.claim.as_ref().expect("as above");
                    match occupied(&*self.objects, claim, after).await? {
                        Occupied::ByItself => return Ok(()),
                        Occupied::ByEarlierAttempt => number += 1,
                    }
                }
                Err(object_store::Error::AlreadyExists { .. }) if tried_before => number += 1,
                Err(object_store::Error::AlreadyExists { .. }) => {
                    let path = layout::manifest(number);
                    return Err(SegmentError::Storage(format!(
                        "another process writes to this store: {path} is there"
                    )));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether this process may still write.
    ///
    /// # Errors
    /// When another one has taken over.
    pub(super) fn check_claim(&self) -> Result<(), SegmentError> {
        self.settings.claim.as_ref().map_or(Ok(()), Claim::check)
    }

    /// Deletes files of replaced segments that no view holds any longer, and that were replaced long enough ago for other processes.
    pub(crate) async fn sweep(&self) {
        if self.check_claim().is_err() {
            return;
        }
        let after = Duration::from_nanos(self.settings.delete_after.ns());
        let free: Vec<(Instant, Arc<Segment>)> = {
            let mut replaced = lock(&self.replaced);
            let is_free = |(since, segment): &(Instant, Arc<Segment>)| {
                Arc::strong_count(segment) == 1 && since.elapsed() >= after
            };
            let (free, held) = replaced.drain(..).partition(is_free);
            *replaced = held;
            free
        };
        let mut files: Vec<Path> = match self.begun.elapsed() >= after {
            true => std::mem::take(&mut *lock(&self.stray)),
            false => Vec::new(),
        };
        files.extend(
            free.iter().flat_map(|(_, segment)| segment.files.keys().map(|&kind| segment.path(kind))),
        );
        delete(&*self.objects, files).await;
    }

    async fn forget_manifests(&self, valid: u64) {
        // One more each time: earlier ones are deleted already, except after a crash or a failure.
        if let Some(old) = valid.checked_sub(MANIFESTS_RETAINED + 1) {
            delete(&*self.objects, vec![layout::manifest(old), layout::manifest_copy(old)]).await;
        }
    }

    /// Quarantines a segment that could not be read. Views that still hold it report it as missing. Continues if
    /// the caller does not wait for it.
    pub(crate) async fn quarantine(
        self: &Arc<Self>,
        segment: &Segment,
        reason: &str,
    ) -> Result<(), SegmentError> {
        assert!(!self.is_read_only(), "readers set nothing aside");
        let (shared, segment, reason) = (Arc::clone(self), segment.clone(), reason.to_owned());
        match tokio::spawn(async move { shared.set_aside(&segment, reason).await }).await {
            Ok(done) => done,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(SegmentError::Storage("the program is shutting down".to_owned())),
        }
    }

    /// Moves the files first: a file that no manifest names is deleted at the next start.
    async fn set_aside(&self, segment: &Segment, reason: String) -> Result<(), SegmentError> {
        let number = segment.number;
        if !self.manifest().segments.iter().any(|known| known.number == number) {
            return Ok(());
        }
        self.check_claim()?;
        tracing::error!(segment = number, reason, "segment set aside");
        for &kind in segment.files.keys() {
            let moved = self.objects.rename(&segment.path(kind), &layout::quarantined(kind, number)).await;
            if let Err(error) = moved {
                tracing::warn!(segment = number, %error, "a file of a segment could not be set aside");
                let is_missing = matches!(error, object_store::Error::NotFound { .. });
                if self.settings.claim.is_some() && !is_missing {
                    return Err(error.into());
                }
            }
        }
        let entry = Quarantined {
            segment: number,
            first_ns: segment.first_ns,
            last_ns: segment.last_ns,
            spans: segment.spans,
            samples: segment.samples,
            events: segment.events,
            reason,
            since_ns: wall_clock().unix_ns(),
        };
        let leave = move |manifest: &mut Manifest| {
            let before = manifest.segments.len();
            manifest.segments.retain(|known| known.number != number);
            manifest.quarantined.push(entry);
            let over = manifest.quarantined.len().saturating_sub(QUARANTINED_MAX);
            manifest.quarantined.drain(..over);
            Ok(manifest.segments.len() < before)
        };
        self.swap(leave).await?;
        lock(&self.replaced).retain(|(_, replaced)| replaced.number != number);
        Ok(())
    }
}

/// Describes which manifest is used instead of one that cannot be read.
fn manifest_fallback(found: &manifest::ManifestSearch, number: u64, why: &SegmentError) -> String {
    let path = layout::manifest(number);
    if found.manifest.number == number {
        return format!("{path} {why}; its copy is used, and nothing is missing");
    }
    format!(
        "{path} {why}, nor can its copy be read: manifest {} is used, what later ones named is not answered, and its \
         files are set aside under quarantine/",
        found.manifest.number
    )
}
