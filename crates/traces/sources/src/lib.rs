//! Traces from servers that store them: Jaeger, Tempo, and Zipkin by their query APIs, Elasticsearch, OpenSearch, and ClickHouse by
//! their searches.
//!
//! ```text
//! window ─► slices, halved until one answer holds each ─► HTTP ─► the format's reader ─► traces ─► Sink
//!           └─ more traces than requested: evenly spread slices
//! ```
//!
//! A source is a file and a row in [`SOURCES`]. Answers are read by the readers of files, so that a trace is the same from a
//! server as from a file. The crate only sends queries; it never listens, writes, or follows redirects.

mod clickhouse;
mod client;
mod document;
mod elasticsearch;
mod error;
mod grid;
mod jaeger;
mod read;
mod row;
mod summary;
mod tempo;
mod time_slice;
mod window_reader;
mod zipkin;

pub use client::{SourceClient, SourceSettings};
pub use error::{BASIC_VARIABLE, SourceError, TOKEN_VARIABLE};
pub use read::{ReadRequest, SourceProgress, read_traces};
pub use row::SourceRow;
pub use summary::{SourceSummary, WindowSummary};
pub use time_slice::TimeSlice;

/// Every kind of server, in the order in which help and manual list them.
pub static SOURCES: &[SourceRow] =
    &[jaeger::ROW, tempo::ROW, zipkin::ROW, elasticsearch::ROW, clickhouse::ROW, clickhouse::SIGNOZ_ROW];
