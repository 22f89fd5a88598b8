//! Reading a store that another process may write: nothing is deleted, renamed, or set aside, and nothing is locked.

use super::SegmentFigures;
use super::combined::CombinedObjects;
use super::error::SegmentError;
use super::manifest::{Manifest, Segment};
use super::newest::newest;
use super::plan::SegmentLimits;
use super::shared::SegmentsInner;
use crate::{StoreError, StoreSettings, View};
use object_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;

/// Hands out snapshots of a store. A handle: clones are of the same store.
#[derive(Clone)]
pub struct Views {
    shared: Arc<SegmentsInner>,
}

impl Views {
    pub(super) fn of(shared: &Arc<SegmentsInner>) -> Views {
        Views { shared: Arc::clone(shared) }
    }

    /// A snapshot of what is stored now; of a [`StoreReader`], of what was when it was opened or refreshed.
    pub fn newest(&self) -> View {
        View { shared: Arc::clone(&self.shared), manifest: self.shared.manifest() }
    }
}

/// A store that is only read. Another process may write it meanwhile, and delete files that it has replaced: then a question fails,
/// and can be asked again after [`StoreReader::refresh`].
pub struct StoreReader {
    shared: Arc<SegmentsInner>,
}

impl StoreReader {
    /// Opens the store of some objects; an empty one if there are none.
    ///
    /// # Errors
    /// When neither the newest manifest nor its copy can be read, or it is of a version this program does not know.
    pub async fn open(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
    ) -> Result<StoreReader, StoreError> {
        let manifest = newest(&*objects).await?;
        let limits = SegmentLimits::within(settings.memory_bytes);
        let shared = SegmentsInner::read_only(objects, settings, limits, manifest);
        Ok(StoreReader { shared: Arc::new(shared) })
    }

    /// Opens the stores of several writers as one. A trace of which several have spans is one trace.
    ///
    /// # Errors
    /// As of [`StoreReader::open`], for any of them.
    pub async fn open_all(
        writers: Vec<Arc<dyn ObjectStore>>,
        settings: &StoreSettings,
    ) -> Result<StoreReader, StoreError> {
        let objects = Arc::new(CombinedObjects::new(writers));
        let manifest = objects.manifest().await?;
        let limits = SegmentLimits::within(settings.memory_bytes);
        let shared = SegmentsInner::read_only(Arc::clone(&objects) as _, settings, limits, manifest);
        Ok(StoreReader { shared: Arc::new(shared.with_writers(objects)) })
    }

    /// Snapshots as of the manifest that was read last.
    pub fn views(&self) -> Views {
        Views::of(&self.shared)
    }

    /// Reads the newest manifest; whether it is another one than before.
    ///
    /// # Errors
    /// As of [`StoreReader::open`].
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        Ok(self.shared.follow(self.shared.newest().await?))
    }

    pub(crate) fn shared(&self) -> Arc<SegmentsInner> {
        Arc::clone(&self.shared)
    }

    /// Sizes, times, and problems of what the manifest names.
    pub(crate) fn figures(&self) -> SegmentFigures {
        self.shared.figures()
    }

    /// Evicts decoded data from memory.
    pub(crate) fn release_memory(&self) {
        self.shared.release_memory();
    }

    /// Evicts decoded data that has not been used for this long.
    pub(crate) fn expire_memory(&self, idle: Duration) {
        self.shared.expire_memory(idle);
    }

    /// Where replay of the log starts.
    pub(crate) fn replay_from(&self) -> u64 {
        self.shared.manifest().position.replay_from
    }
}

impl SegmentsInner {
    /// The newest manifest of another process, or of several.
    async fn newest(&self) -> Result<Manifest, SegmentError> {
        let found = match &self.writers {
            Some(writers) => writers.manifest().await?,
            None => newest(&*self.objects).await?,
        };
        // Numbers only grow: this is rather a file system that is not mounted than a store that is empty.
        let known = self.manifest();
        let (now, before) = (found.next_segments(), known.next_segments());
        match now.len() == before.len() && now.iter().zip(&before).any(|(now, before)| now < before) {
            false => Ok(found),
            true => Err(SegmentError::Storage(
                "what was stored before is gone, or was replaced by an older copy; is it mounted?".to_owned(),
            )),
        }
    }

    /// Tells a segment that is damaged from one that another process has replaced.
    ///
    /// # Errors
    /// When it was replaced.
    pub(crate) async fn check_still_named(&self, segment: &Segment) -> Result<(), SegmentError> {
        let newest = self.newest().await?;
        match newest.segments.iter().any(|named| named.number == segment.number) {
            true => Ok(()),
            false => Err(SegmentError::Storage(format!(
                "segment {} was replaced while it was read",
                segment.number
            ))),
        }
    }
}
