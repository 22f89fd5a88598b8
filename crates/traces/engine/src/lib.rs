//! Stores spans, assembles them into requests once, and folds over requests.
//!
//! ```text
//! readers ──► Ingest (one a thread) ──merge──► Ingest ──assemble──► Requests ──LocalEngine::fold(Fold)──► small answer
//!              buckets by trace id       each grouped by trace          ▲
//!              rows of closed traces ──assemble──► RequestSlice, stored ┘
//! ```
//!
//! All spans of a trace are in one bucket, so assembly needs no shuffle; a fold may be split between any two
//! requests, so embedded and distributed execution differ only in who calls [`Fold::merge`].

mod batch;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod duration_column;
mod encoding;
mod fold;
mod handles;
mod ingest;
mod read_counts;
mod requests;
mod slice;
mod slice_builder;
mod slice_merge;
mod spill;
mod structure_index;
mod structure_shapes;
mod summary;
mod thin;
mod trace_attributes;
mod traces;
mod units;
mod view;

pub use batch::{Batch, Origins, SampleRow, Samples};
pub use duration_column::DurationColumn;
pub use fold::{Fold, LocalEngine};
pub use ingest::{Ingest, IngestSettings, WINDOW_MARGIN};
pub use read_counts::ReadCounts;
pub use requests::Requests;
pub use slice::{CallColumns, RequestSlice, SLICED_CALL_BYTES, SliceFacts, SlicedRequest, TreeStructure};
pub use spill::{SpillError, SpillFile};
pub use structure_shapes::{ShapeCategory, StructureShapes};
pub use summary::{SliceSummary, SummaryCategory, SummaryCell, SummaryKind};
pub use trace_attributes::{AttributeLimit, TraceAttributes};
pub use traces::{TraceText, Traces};
pub use units::{
    CallCount, Count, CountedKinds, Gathering, GatheringError, Levels, PartError, SelectedRequests,
    StartRange, Take, Thinning, UnitFold, UnitId, encode_part, incomplete_category, put_ranges, put_unit,
    read_ranges, read_unit,
};
pub use view::{RequestRange, RequestView};
