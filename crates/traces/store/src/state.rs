//! How a store is doing.

use laggard_model::{DurationHistogram, Timestamp};

/// Figures and problems of a store at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StoreState {
    /// Active problems; empty when the store works normally.
    pub problems: Vec<StoreIssue>,
    /// Whether it takes new data.
    pub accepts: bool,
    /// Spans acknowledged since it was opened.
    pub spans_appended: u64,
    /// Spans in segments.
    pub spans_stored: u64,
    /// Spans that retention deleted since it was opened.
    pub spans_expired: u64,
    /// Samples that retention deleted since it was opened.
    pub samples_expired: u64,
    /// Events of spans in segments, copies included.
    pub events_stored: u64,
    /// Events that retention deleted since it was opened.
    pub events_expired: u64,
    /// Traces still open in memory.
    pub open_traces: u64,
    /// Spans still open in memory.
    pub open_spans: u64,
    /// Bytes of open data in memory.
    pub open_bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Bytes of segment files.
    pub segment_bytes: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// How long each `fsync` of the write-ahead log took since it was opened.
    pub log_syncs: DurationHistogram,
    /// How long each compaction took since it was opened.
    pub compactions: DurationHistogram,
    /// Start of the earliest stored span.
    pub oldest: Option<Timestamp>,
    /// Start of the latest stored span.
    pub newest: Option<Timestamp>,
}

/// Something a person should know of, with what the store does about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreIssue {
    /// A word for programs: `disk_full`, `corrupt_segment`, `torn_log`, `clock_jumped`, ...
    pub name: &'static str,
    /// A sentence for the operator: the error, its file, and what the store does about it.
    pub text: String,
    /// Since when.
    pub since: Timestamp,
    /// Whether it stops ingestion or queries.
    pub blocks: bool,
}
