//! Numbers of spans and traces.

/// How much was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadCounts {
    /// Spans.
    pub spans: u64,
    /// Traces; several requests may be in one.
    pub traces: u64,
}
