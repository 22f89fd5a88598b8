//! A span inside the program: names as handles, one cache line.

use crate::{
    AdjustedCount, Nanos, OperationId, ReplicaId, SpanId, SpanKind, Status, Tid, Timestamp, TraceId,
};

/// One row of the span table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanRow {
    /// The trace.
    pub trace: TraceId,
    /// Its own id.
    pub span: SpanId,
    /// The caller's span; `None` for a root.
    pub parent: Option<SpanId>,
    /// Start on the recording host's clock.
    pub start: Timestamp,
    /// End minus start on that clock.
    pub inclusive: Nanos,
    /// The operation that was called.
    pub operation: OperationId,
    /// Where it ran. Two rows are on one clock when their replicas are equal.
    pub replica: ReplicaId,
    /// Role in a remote call.
    pub kind: SpanKind,
    /// Outcome.
    pub status: Status,
    /// Rebuilt from call-log records with something missing.
    pub incomplete: bool,
    /// How many spans it represents; `None` if unknown.
    pub adjusted_count: Option<AdjustedCount>,
}

/// A row is one cache line.
const _: () = assert!(size_of::<SpanRow>() == 64);

impl SpanRow {
    /// Start plus inclusive time.
    pub const fn end(&self) -> Timestamp {
        self.start.plus(self.inclusive)
    }
}

/// The thread of a span: kept beside its row, because few spans have one and a row is full.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ThreadRow {
    /// The trace.
    pub trace: TraceId,
    /// Start of the span. Two halves of a call may have one id.
    pub start: Timestamp,
    /// The span.
    pub span: SpanId,
    /// The thread.
    pub tid: Tid,
}

impl ThreadRow {
    /// The key that rows are sorted by.
    pub const fn key(&self) -> (TraceId, Timestamp, SpanId) {
        (self.trace, self.start, self.span)
    }
}

/// One row of the call-log table: half a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallRow {
    /// The request, as a trace id.
    pub request: TraceId,
    /// The fragment the record belongs to; the entry fragment has the request's id.
    pub fragment: TraceId,
    /// The fragment this call invokes on another host.
    pub callee: Option<TraceId>,
    /// Time on the host's clock.
    pub time: Timestamp,
    /// The method.
    pub operation: OperationId,
    /// The host.
    pub host: ReplicaId,
    /// Start or return.
    pub flag: crate::CallFlag,
}
