//! The call tree of one request, as columns.

use crate::{Nanos, OperationId, ReplicaId, Status};

/// Position of a node in its tree's columns.
pub type NodeIndex = u32;

/// The call tree of one request in depth-first pre-order: node 0 is the entry, parents precede children,
/// siblings stand in order of invocation as far as it is known. All columns have the same length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallTree {
    /// The operation that was called.
    pub operation: Vec<OperationId>,
    /// The caller's position; `None` for node 0 only.
    pub parent: Vec<Option<NodeIndex>>,
    /// Where it ran.
    pub replica: Vec<ReplicaId>,
    /// Outcome.
    pub status: Vec<Status>,
    /// Time not spent in callees; see [`CallTree::inclusive_time`].
    pub self_time: Vec<Nanos>,
    /// From invocation to return on the node's own clock.
    pub inclusive_time: Vec<Nanos>,
    /// The part of the self time that the request waited for: of callees that ran at the same time, only the one
    /// that ended last at each moment holds the caller up. Sums to the latency, up to rounding down.
    pub path_time: Vec<Nanos>,
    /// Siblings with the same number ran at the same time, or their order is unknown; numbers grow along
    /// a parent's children. A canonical shape may reorder siblings only inside such a group.
    pub order_group: Vec<u32>,
}

impl CallTree {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.operation.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.operation.is_empty()
    }

    /// The request's latency: the inclusive time of its entry.
    pub fn latency(&self) -> Nanos {
        self.inclusive_time.first().copied().unwrap_or(Nanos::ZERO)
    }
}
