//! Segment files and the manifest that names them: what survives, what views read.
//!
//! ```text
//! Parcel ── plan ──► groups by slice ── write ──► files ── swap ──► manifest N+1 ──► views
//!                       ▲                                              │
//!                       └───────────────── compact ◄───────────────────┤
//!                                          retain  ◄───────────────────┘
//! ```

mod cache;
mod calls_file;
mod columns;
mod commit;
mod compact;
mod durable;
mod failure;
mod late;
mod layout;
mod manifest;
mod merge;
mod name_columns;
mod plan;
mod ranges;
mod reading;
mod requests_file;
mod retain;
mod samples_file;
mod shared;
mod spans_file;
mod summaries;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod trace_index;
mod writing;

pub use durable::DurableFolder;

pub(crate) use failure::Failure;
pub(crate) use late::{At, Late, at};
pub(crate) use manifest::{Manifest, Segment, SegmentKind};
use plan::Limits;
pub(crate) use reading::Selection;
pub(crate) use shared::Shared;
pub(crate) use spans_file::SpanTable;

use crate::{LogPosition, Parcel, Problem, StoreError, StoreSettings, View};
use laggard_model::Timestamp;
use object_store::ObjectStore;
use std::sync::Arc;

/// The segments of one store. A handle: clones are the same segments. One process at a time may write.
#[derive(Clone)]
pub struct Segments {
    shared: Arc<Shared>,
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
    /// Start of the earliest span, or time of the earliest sample.
    pub oldest: Option<Timestamp>,
    /// Start of the latest span, or time of the latest sample.
    pub newest: Option<Timestamp>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Segments {
    /// Opens what is there, or begins anew; tells where replay of the log starts. Files that the manifest does
    /// not name are deleted.
    ///
    /// # Errors
    /// When the manifest cannot be read, or is of a version this program does not know.
    pub async fn open(
        objects: Arc<dyn ObjectStore>,
        settings: &StoreSettings,
    ) -> Result<(Segments, LogPosition), StoreError> {
        let shared = Shared::open(objects, settings, Limits::default()).await?;
        let position = shared.manifest().position.clone();
        Ok((Segments { shared: Arc::new(shared) }, position))
    }

    /// Makes a parcel's rows readable and its position valid, at one instant and durably. On an error nothing of
    /// it is readable, and the same parcel may be committed again. Commits run one after the other.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub async fn commit(&self, parcel: Arc<Parcel>) -> Result<(), StoreError> {
        Ok(self.shared.commit(parcel).await?)
    }

    /// What is stored now. It does not change while it is looked at, and its files stay as long as it is held.
    pub fn view(&self) -> View {
        View { shared: Arc::clone(&self.shared), manifest: self.shared.manifest() }
    }

    /// Does one piece of compaction; `false` when there was nothing to do. Call it again until then.
    ///
    /// # Errors
    /// When a file cannot be written. What cannot be read is set aside and told in [`Segments::figures`].
    pub async fn compact_once(&self) -> Result<bool, StoreError> {
        Ok(self.shared.compact().await?)
    }

    /// Deletes what the settings no longer keep. `now` is the wall clock.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub async fn retain(&self, now: Timestamp) -> Result<(), StoreError> {
        Ok(self.shared.retain(now).await?)
    }

    /// How the segments are doing.
    pub fn figures(&self) -> SegmentFigures {
        let manifest = self.shared.manifest();
        let segments = &manifest.segments;
        let mut problems: Vec<Problem> =
            manifest.quarantined.iter().map(manifest::Quarantined::problem).collect();
        problems.extend(self.shared.unreadable_manifest.iter().map(|text| Problem {
            name: "corrupt_manifest",
            text: text.clone(),
            since: self.shared.opened,
            blocks: false,
        }));
        SegmentFigures {
            segments: segments.len() as u64,
            bytes: segments.iter().map(|segment| segment.bytes()).sum(),
            spans: segments.iter().map(|segment| segment.spans).sum(),
            samples: segments.iter().map(|segment| segment.samples).sum(),
            oldest: segments.iter().map(|segment| segment.first()).min(),
            newest: segments.iter().map(|segment| segment.last()).max(),
            problems,
        }
    }
}
