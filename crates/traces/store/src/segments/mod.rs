//! Segment files and the manifest that names them: what survives, what views read.
//!
//! ```text
//! FlushBatch ── plan ──► groups by slice ── write ──► files ── swap ──► manifest N+1 ──► views
//!                       ▲                                              │
//!                       └───────────────── compact ◄───────────────────┤
//!                                          retain  ◄───────────────────┘
//! ```

mod cache;
mod calls_file;
mod columns;
mod combined;
mod commit;
mod compact;
mod durable;
mod error;
mod events_file;
mod examine;
mod fence;
mod files;
mod import_notes;
mod late;
mod layout;
mod manifest;
mod merge;
mod name_columns;
mod newest;
mod plan;
mod ranges;
mod read_only;
mod reader;
mod rebuild;
mod requests_file;
mod retain;
mod salvage;
mod samples_file;
mod shared;
mod span_batch;
mod spans_file;
mod split;
mod summaries;
mod table;
#[cfg(test)]
mod tests;
mod trace_index;
mod units;
mod writer;

pub use durable::DurableFolder;
pub use read_only::{StoreReader, Views};
pub use samples_file::measure_name;

pub(crate) use combined::writer_and_number;
pub(crate) use error::SegmentError;
pub(crate) use examine::{DamagedSegment, ExaminedSegments, examine, recheck};
pub(crate) use files::delete;
pub(crate) use late::{LocatedError, locate};
pub(crate) use manifest::{FileKind, Manifest, Segment, SegmentKind, newest_manifest};
use plan::SegmentLimits;
pub(crate) use reader::Selection;
pub(crate) use rebuild::rebuild;
pub(crate) use salvage::SalvagedSegment;
pub(crate) use shared::{JOIN, SegmentsInner, SliceKey};
pub use span_batch::{SpanBatch, SpanColumn};
pub(crate) use spans_file::SpanTable;
pub(crate) use units::{UnitPlan, UnitsError};

use crate::{FlushBatch, LogPosition, StoreError, StoreIssue, StoreSettings, StoreState, View};
use laggard_model::{Nanos, Timestamp};
use object_store::ObjectStore;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The segments of one store. A handle: clones are the same segments. One process at a time may write.
#[derive(Clone)]
pub struct Segments {
    shared: Arc<SegmentsInner>,
}

/// Figures of the segments at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SegmentFigures {
    /// Segments.
    pub segments: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Spans in them, copies included.
    pub spans: u64,
    /// Samples in them.
    pub samples: u64,
    /// Events of spans in them.
    pub events: u64,
    /// Spans that retention deleted since they were opened.
    pub expired_spans: u64,
    /// Samples that retention deleted since they were opened.
    pub expired_samples: u64,
    /// Events that retention deleted since they were opened.
    pub expired_events: u64,
    /// Start of the earliest span, or time of the earliest sample.
    pub oldest: Option<Timestamp>,
    /// Start of the latest span, or time of the latest sample.
    pub newest: Option<Timestamp>,
    /// Files that could not be read.
    pub problems: Vec<StoreIssue>,
}

impl SegmentFigures {
    /// The state of a store that only has these: others write it.
    pub fn into_state(self) -> StoreState {
        StoreState {
            accepts: true,
            problems: self.problems,
            spans_stored: self.spans,
            spans_expired: self.expired_spans,
            samples_expired: self.expired_samples,
            events_stored: self.events,
            events_expired: self.expired_events,
            segments: self.segments,
            segment_bytes: self.bytes,
            oldest: self.oldest,
            newest: self.newest,
            ..StoreState::default()
        }
    }
}

impl Segments {
    /// Opens existing segments, or creates an empty manifest; returns where replay of the log starts. Files that the manifest does
    /// not name are deleted.
    ///
    /// # Errors
    /// When the manifest cannot be read, or is of a version this program does not know.
    pub async fn open(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
    ) -> Result<(Segments, LogPosition), StoreError> {
        let shared =
            SegmentsInner::open(objects, settings, SegmentLimits::within(settings.memory_bytes)).await?;
        let position = shared.manifest().position.clone();
        Ok((Segments { shared: Arc::new(shared) }, position))
    }

    /// Makes a flush batch's rows readable and its position valid, atomically and durably. On an error nothing of
    /// it is readable, and the same flush batch may be committed again. Commits run one after the other.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub async fn commit(&self, batch: Arc<FlushBatch>) -> Result<(), StoreError> {
        Ok(self.shared.commit(batch).await?)
    }

    /// A snapshot of the stored data; its files remain while it is held.
    pub fn view(&self) -> View {
        self.views().newest()
    }

    /// Snapshots, the newest each time.
    pub fn views(&self) -> Views {
        Views::of(&self.shared)
    }

    /// Runs one compaction job; `false` if there was nothing to do, or memory is short. Call it again until then.
    ///
    /// # Errors
    /// When a file cannot be written. What cannot be read is quarantined and reported in [`Segments::figures`].
    pub async fn compact_once(&self) -> Result<bool, StoreError> {
        Ok(self.shared.compact().await?)
    }

    /// Deletes segments beyond the retention settings. `now` is the wall clock.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub async fn retain(&self, now: Timestamp) -> Result<(), StoreError> {
        Ok(self.shared.retain(now).await?)
    }

    /// Sets a segment aside that cannot be read.
    pub(crate) async fn quarantine(&self, segment: &Segment, reason: &str) -> Result<(), StoreError> {
        Ok(self.shared.quarantine(segment, reason).await?)
    }

    /// Sets derived files of a segment aside and retains its spans.
    pub(crate) async fn retain_spans(&self, segment: &Segment) -> Result<SalvagedSegment, StoreError> {
        Ok(self.shared.retain_spans(segment).await?)
    }

    /// Returns intact spans of segments that were set aside.
    pub(crate) async fn return_from_quarantine(&self) -> Result<Vec<SalvagedSegment>, StoreError> {
        Ok(self.shared.return_from_quarantine().await?)
    }

    /// Writes the manifest again, under the next number.
    pub(crate) async fn write_manifest(&self) -> Result<(), StoreError> {
        self.shared.swap(|_| Ok(true)).await?;
        Ok(())
    }

    /// Evicts decoded data from memory.
    pub(crate) fn release_memory(&self) {
        self.shared.release_memory();
    }

    /// Evicts decoded data that has not been used for this long.
    pub(crate) fn expire_memory(&self, idle: Duration) {
        self.shared.expire_memory(idle);
    }

    /// How long data is kept after it arrived; `None` for ever.
    pub fn keep_for(&self) -> Option<Nanos> {
        self.shared.settings.keep_for
    }

    /// Sizes, times, and problems of the segments.
    pub fn figures(&self) -> SegmentFigures {
        self.shared.figures()
    }
}

impl SegmentsInner {
    /// Sizes, times, and problems of the segments that the valid manifest names.
    pub(crate) fn figures(&self) -> SegmentFigures {
        let manifest = self.manifest();
        let segments = &manifest.segments;
        let mut problems: Vec<StoreIssue> =
            manifest.quarantined.iter().map(manifest::Quarantined::problem).collect();
        problems.extend(self.unreadable_manifest.iter().map(|text| StoreIssue {
            name: "corrupt_manifest",
            text: text.clone(),
            since: self.opened,
            blocks: false,
        }));
        SegmentFigures {
            segments: segments.len() as u64,
            bytes: segments.iter().map(|segment| segment.bytes()).sum(),
            spans: segments.iter().map(|segment| segment.spans).sum(),
            samples: segments.iter().map(|segment| segment.samples).sum(),
            events: segments.iter().map(|segment| segment.events).sum(),
            expired_spans: self.expired_spans.load(Ordering::Relaxed),
            expired_samples: self.expired_samples.load(Ordering::Relaxed),
            expired_events: self.expired_events.load(Ordering::Relaxed),
            oldest: segments.iter().map(|segment| segment.first()).min(),
            newest: segments.iter().map(|segment| segment.last()).max(),
            problems,
        }
    }
}
