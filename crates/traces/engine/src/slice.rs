//! Requests assembled ahead of time: what a question about any window starts from.
//!
//! ```text
//! spans of complete traces ── assemble, once ──► RequestSlice (a time interval) ── stored ──► any query, any window
//! ```

use crate::{DurationColumn, Origins};
use laggard_assembly::ClockAgreement;
use laggard_model::{
    AdjustedCount, AttributeSetId, Losses, Names, Nanos, OperationId, ReplicaId, Status, Timestamp, TraceId,
};

/// Assembled requests of some traces, with handles into its own names.
///
/// The calls of request `r` are the `structures[r.structure].len()` entries of every column of `calls` from `r.first_call`
/// on, in the order of the structure's nodes.
#[derive(Clone, Debug, Default)]
pub struct RequestSlice {
    /// Names behind the handles.
    pub names: Names,
    /// Distinct call trees without their times and replicas.
    pub structures: Vec<TreeStructure>,
    /// Requests by start, then trace.
    pub requests: Vec<SlicedRequest>,
    /// Calls of all requests.
    pub calls: CallColumns,
    /// Facts about the traces of these requests.
    pub facts: SliceFacts,
}

/// An allocation's own bytes, and what it is rounded up to, on average.
const ALLOCATION_BYTES: usize = 32;
/// A name with its entry in an index.
const NAME_BYTES: usize = 128;

/// Most bytes of a call in a slice: those of durations are usually half.
pub const SLICED_CALL_BYTES: usize = size_of::<ReplicaId>() + size_of::<Status>() + 3 * size_of::<Nanos>();

impl RequestSlice {
    /// About how many bytes it needs in memory.
    pub fn estimated_bytes(&self) -> usize {
        let node = size_of::<OperationId>() + size_of::<Option<u32>>() + size_of::<u32>();
        let structure = size_of::<TreeStructure>() + 3 * ALLOCATION_BYTES;
        let nodes: usize = self.structures.iter().map(|tree| tree.len() * node + structure).sum();
        let texts: usize = self.facts.texts.iter().map(|(_, text)| text.len() + 48).sum();
        let names = self.names.services()
            + self.names.operations()
            + self.names.replicas()
            + self.names.attribute_sets();
        let calls = self.calls.bytes();
        size_of_val(&self.requests[..]) + calls + nodes + texts + names * NAME_BYTES + 1024
    }
}

/// The call tree that many requests share, in depth-first pre-order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TreeStructure {
    /// The operation that is called.
    pub operation: Vec<OperationId>,
    /// The caller's node; `None` for node 0.
    pub parent: Vec<Option<u32>>,
    /// As in [`CallTree`](laggard_model::CallTree).
    pub order_group: Vec<u32>,
}

impl TreeStructure {
    /// Nodes.
    pub fn len(&self) -> usize {
        self.operation.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.operation.is_empty()
    }
}

/// One request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlicedRequest {
    /// Start of its entry, on the entry's clock.
    pub start: Timestamp,
    /// Its trace.
    pub trace: TraceId,
    /// Its tree: an index into [`RequestSlice::structures`].
    pub structure: u32,
    /// Its first call: an index into every column of [`RequestSlice::calls`].
    pub first_call: u32,
    /// Outcome of its entry.
    pub status: Status,
    /// Whether shape and times are fully known.
    pub complete: bool,
    /// How many requests it represents; `None` if unknown.
    pub adjusted_count: Option<AdjustedCount>,
    /// Attributes of its trace.
    pub attributes: AttributeSetId,
}

/// Times, replicas and outcomes of calls; columns of equal length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallColumns {
    /// Where each ran.
    pub replica: Vec<ReplicaId>,
    /// Outcomes; unset where stored data does not record them.
    pub status: Vec<Status>,
    /// Self times, as in [`CallTree`](laggard_model::CallTree).
    pub self_time: DurationColumn,
    /// Inclusive times.
    pub inclusive_time: DurationColumn,
    /// Times on the request's critical path.
    pub path_time: DurationColumn,
}

/// Facts about all traces of a slice.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SliceFacts {
    /// Traces.
    pub traces: u64,
    /// Spans, after duplicates were dropped.
    pub spans: u64,
    /// Spans with their duplicates.
    pub rows: u64,
    /// Start of the earliest and the latest span, each on its own clock; `None` without spans.
    pub extent: Option<(Timestamp, Timestamp)>,
    /// Losses of reading and repairs of assembly.
    pub losses: Losses,
    /// Bounds on the clocks of replicas, in handles of the slice's names.
    pub clocks: ClockAgreement,
    /// Counts of spans by how they were identified and weighted.
    pub origins: Origins,
    /// Trace ids as received, if that differs from their display text.
    pub texts: Vec<(TraceId, Box<str>)>,
}
