//! Stores spans, requests assembled from them, and samples: durable once acknowledged, in files other tools can read.
//!
//! ```text
//! Batch ── append ──► write-ahead log ──► acknowledged
//!                         │ open traces in memory; complete traces go on when they are idle
//!                         ▼
//!              segment files (spans, requests, samples) ── manifest, swapped at once ──► View ──► any window
//!                         ▲
//!              compaction, retention
//! ```
//!
//! One [`Store`] holds the data of one tenant.

mod buckets;
mod budget;
mod claim;
mod clock;
#[cfg(test)]
mod counted_objects;
mod damaged_file;
#[cfg(test)]
mod empty_objects;
mod error;
mod extent;
mod flush_batch;
mod folder;
mod intake;
mod location;
mod log;
mod log_repair;
mod problems;
#[cfg(test)]
mod random_batches;
mod recovery;
mod rows;
mod segments;
mod settings;
mod state;
mod steps;
mod store;
mod units;
#[cfg(test)]
mod unreliable_objects;
mod view;
mod workers;
mod writer_stores;

pub use budget::SharedMemory;
pub use claim::{Claim, ClaimError, ClaimRequest, OWNER_FOLDER, WRITER_MARK, WriterPrefix};
pub use clock::{Clock, SystemClock};
pub use damaged_file::DamagedFile;
pub use error::{AppendError, StoreError};
pub use flush_batch::{ClosePoint, FlushBatch, LogPosition};
pub use folder::{CopiedFolder, FolderCheck, StoreFolder};
pub use location::DataLocation;
pub use rows::{PlannedUnits, StoredRows, StoredSegment, UnreadableSegment};
pub use segments::{
    DurableFolder, SegmentFigures, Segments, SpanBatch, SpanColumn, StoreReader, Views, measure_name,
};
pub use settings::StoreSettings;
pub use state::{StoreIssue, StoreState};
pub use steps::steps_done;
pub use store::Store;
pub use units::StoredUnits;
pub use view::{KnownSegments, StoredTrace, View, WrittenSegments};
pub use workers::{FoldRound, SentRound, StoreWorkers, UnitWorkers, WhenWorkersFail, WorkerRound};
pub use writer_stores::WriterStores;
