//! Keeps spans and folds over whole traces.
//!
//! ```text
//! readers ──► Ingest (one a thread) ──merge──► Traces ──LocalEngine::fold(Fold)──► small answer
//!              buckets by trace id              each bucket sorted by trace
//! ```
//!
//! All spans of a trace are in one bucket, so a fold needs no shuffle; embedded and distributed execution
//! differ only in who calls [`Fold::merge`].

pub mod contract;
mod fold;
mod ingest;
mod thin;
mod traces;

pub use fold::{Fold, LocalEngine};
pub use ingest::{Ingest, IngestSettings, WINDOW_MARGIN};
pub use traces::{TraceText, Traces};
