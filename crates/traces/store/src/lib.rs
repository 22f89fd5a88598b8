//! Keeps spans, requests assembled from them, and samples: durable once acknowledged, in files other tools read.
//!
//! ```text
//! Batch ── append ──► write-ahead log ──► acknowledged
//!                         │ open traces in memory; when a trace is idle, whole traces go on
//!                         ▼
//!              segment files (spans, requests, samples) ── manifest, swapped at once ──► View ──► any window
//!                         ▲
//!              compaction, retention
//! ```
//!
//! One [`Store`] holds the data of one tenant.

mod budget;
mod clock;
#[cfg(test)]
mod drawn;
#[cfg(test)]
mod empty_objects;
mod error;
mod extent;
mod intake;
mod log;
mod parcel;
mod problems;
mod recovery;
mod segments;
mod settings;
mod state;
mod store;
mod view;

pub use clock::{Clock, SystemClock};
pub use error::{AppendError, StoreError};
pub use parcel::{Closing, LogPosition, Parcel};
pub use segments::{DurableFolder, SegmentFigures, Segments};
pub use settings::StoreSettings;
pub use state::{Problem, StoreState};
pub use store::Store;
pub use view::{StoredTrace, View};
