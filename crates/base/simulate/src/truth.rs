//! Ground truth of generated traces.

use crate::Error;
use crate::scenario::FaultScope;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the layout of `truth.json`.
pub const TRUTH_SCHEMA_VERSION: u32 = 1;

/// The content of `truth.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Truth {
    /// [`TRUTH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Which period of the system.
    pub run: u32,
    /// Whether the fault is a third as strong as usual.
    pub mild: bool,
    /// Start of the period, in nanoseconds since the Unix epoch.
    pub start_unix_ns: i64,
    /// Its length in seconds.
    pub window_s: u32,
    /// Requests.
    pub requests: u64,
    /// Spans (calls) of all requests, before any were lost or repeated.
    pub spans: u64,
    /// How many records were written, left out, and written twice.
    pub records: RecordCounts,
    /// The node whose records came late.
    pub late_host: Option<String>,
    /// The services (components).
    pub services: Vec<String>,
    /// The expected diagnosis.
    pub expected: Expected,
    /// The categories with at least one request.
    pub categories: Vec<CategoryTruth>,
    /// Calls that a fault delayed.
    pub injected_calls: u64,
    /// Name of the file, beside this one, that lists them.
    pub injections: String,
}

/// Counts of written and lost records: spans, or lines of the call log (two per span).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Written, repetitions included.
    pub written: u64,
    /// Left out.
    pub dropped: u64,
    /// Written twice.
    pub duplicated: u64,
}

/// The expected diagnosis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Expected {
    /// Whether there is anything to find.
    pub verdict: ExpectedVerdict,
    /// Whether most requests of the categories concerned are hit, so that comparison with
    /// [`Settings::baseline`](crate::Settings::baseline) is needed to distinguish them from normal ones.
    pub needs_baseline: bool,
    /// The culprits, by injected time, largest first.
    pub operations: Vec<OperationName>,
    /// Whether some replicas or all are concerned.
    pub scope: FaultScope,
    /// The replicas with at least one delayed call, ascending; empty unless the scope is `replicas`.
    pub replicas: Vec<String>,
}

/// Whether there is anything to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedVerdict {
    /// Some calls were delayed.
    Suspects,
    /// None was.
    Healthy,
}

/// An operation of a service.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OperationName {
    pub service: String,
    pub operation: String,
}

/// The requests of one call tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CategoryTruth {
    /// [`Request::category`](crate::Request::category).
    pub category: usize,
    /// The entry's service.
    pub service: String,
    /// The entry's operation.
    pub operation: String,
    /// A request of it, to identify a reader's category.
    pub example_trace_id: String,
    /// Requests.
    pub requests: u64,
    /// Those in which at least one call was delayed.
    pub affected_requests: u64,
    /// Positions of the call tree.
    pub positions_total: usize,
    /// Positions at which at least one call was delayed, ascending.
    pub affected_positions: Vec<PositionTruth>,
}

/// A position of a call tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PositionTruth {
    /// `service operation` of every call from the entry down to this one.
    pub path: Vec<String>,
    /// Index in depth-first pre-order; the entry is 0.
    pub index: usize,
    /// How many calls here were delayed.
    pub injected_calls: u64,
}

impl Truth {
    /// Reads a `truth.json`.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read or is not of this layout.
    pub fn read(path: &Path) -> Result<Truth, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::with_path(path))?;
        serde_json::from_str(&text).map_err(std::io::Error::from).map_err(Error::with_path(path))
    }
}
