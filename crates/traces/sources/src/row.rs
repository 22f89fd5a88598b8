//! What a kind of server is: a row, and its API.

use crate::client::SourceClient;
use crate::error::SourceError;
use crate::time_slice::TimeSlice;
use laggard_model::{Nanos, Timestamp, TraceId};
use std::fmt;

/// A kind of server: a row in [`SOURCES`](crate::SOURCES).
pub struct SourceRow {
    /// The word for its flag, `--jaeger`.
    pub name: &'static str,
    /// The name in sentences.
    pub title: &'static str,
    /// What its flag does, in one line.
    pub help: &'static str,
    /// A URL as an example.
    pub example: &'static str,
    /// The format of its answers, by the name of its reader.
    pub format: &'static str,
    /// The table, or pattern of indices, that has the spans, where it is a database.
    pub table: Option<&'static str>,
    /// Paths that belong to its API or pages and may be at the end of the URL.
    pub known_paths: &'static [&'static str],
    /// The unit of times in its queries; no slice is shorter.
    pub finest: Nanos,
    /// Most traces that one query requests.
    pub traces_per_answer: u64,
    pub(crate) api: &'static dyn TraceApi,
}

impl fmt::Debug for SourceRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A query for the traces of a slice of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceQuery<'a> {
    /// Only traces with a span of this service.
    pub(crate) service: Option<&'a str>,
    /// Traces of which a span starts in it; an API may return others, too.
    pub(crate) slice: TimeSlice,
    /// Most traces that are returned.
    pub(crate) limit: u64,
}

/// What a server returns for a slice.
pub(crate) enum SliceAnswer {
    /// Complete traces, as one document of the source's format.
    Document(Vec<u8>),
    /// Traces to be fetched one by one.
    List(Vec<ListedTrace>),
}

/// A trace in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ListedTrace {
    pub(crate) id: TraceId,
    /// The id as the server writes it.
    pub(crate) text: String,
    pub(crate) start: Timestamp,
}

/// The query API of a kind of server.
pub(crate) trait TraceApi: Sync {
    /// Whether every query must name a service.
    fn needs_service(&self) -> bool {
        false
    }

    /// The services of which the server has spans.
    fn services(&self, client: &SourceClient, slice: TimeSlice) -> Result<Vec<String>, SourceError>;

    /// The traces of a slice.
    fn traces(&self, client: &SourceClient, query: &SliceQuery<'_>) -> Result<SliceAnswer, SourceError>;

    /// A trace of a list, as a document of the source's format; `None` if the server cannot return it.
    fn trace(&self, _client: &SourceClient, _trace: &ListedTrace) -> Result<Option<Vec<u8>>, SourceError> {
        Ok(None)
    }
}
