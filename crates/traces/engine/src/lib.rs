//! Keeps spans, assembles them into requests once, and folds over requests.
//!
//! ```text
//! readers ──► Ingest (one a thread) ──merge──► Traces ──assemble──► Requests ──LocalEngine::fold(Fold)──► small answer
//!              buckets by trace id       each sorted by trace           ▲
//!              rows of closed traces ──assemble──► RequestSlice, kept ──┘
//! ```
//!
//! All spans of a trace are in one bucket, so assembly needs no shuffle; a fold may be split between any two
//! requests, so embedded and distributed execution differ only in who calls [`Fold::merge`].

mod batch;
pub mod contract;
mod fold;
mod form_shapes;
mod forms;
mod handles;
mod ingest;
mod latency_histogram;
mod parallel;
mod requests;
mod slice_builder;
mod slice_merge;
mod summary;
mod thin;
mod traces;
mod united;
mod view;

pub use batch::{Batch, Origins, SampleRow, Samples};
pub use fold::{Fold, LocalEngine};
pub use form_shapes::{FormCategory, FormShapes};
pub use ingest::{Ingest, IngestSettings, WINDOW_MARGIN};
pub use latency_histogram::{LatencyBin, LatencyHistogram};
pub use requests::{CallColumns, RequestSlice, SliceFacts, SlicedRequest, TreeForm};
pub use summary::{SliceSummary, SummaryCategory, SummaryCell, SummaryKind};
pub use traces::{TraceText, Traces};
pub use united::Requests;
pub use view::{RequestRange, RequestView};
