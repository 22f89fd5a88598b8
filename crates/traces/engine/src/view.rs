//! The input of a fold: a range of requests, and one request at a time.

use crate::duration_column::DurationColumn;
use crate::requests::{MappedSlice, Requests};
use crate::slice::{CallColumns, SlicedRequest, TreeStructure};
use laggard_model::{AdjustedCount, AttributeSetId, CallTree, Nanos, ReplicaId, Status, Timestamp, TraceId};

/// Requests that follow each other in the order of start and trace.
#[derive(Clone, Copy, Debug)]
pub struct RequestRange<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl<'a> RequestRange<'a> {
    /// The requests that this is a range of.
    pub fn requests(&self) -> &'a Requests {
        self.requests
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.to - self.from
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Index of the first in the order of all requests.
    pub fn first(&self) -> usize {
        self.from
    }

    /// A part of it: requests `from..to`, counted from the range's first.
    ///
    /// # Panics
    /// When the range has no such part.
    pub fn part(&self, from: usize, to: usize) -> RequestRange<'a> {
        assert!(from <= to && to <= self.len(), "a part lies inside its range");
        RequestRange { requests: self.requests, from: self.from + from, to: self.from + to }
    }

    /// The requests.
    pub fn iter(&self) -> impl Iterator<Item = RequestView<'a>> + use<'a> {
        let requests = self.requests;
        (self.from..self.to).map(|index| requests.request(index))
    }
}

/// One request; handles and structures are those of its [`Requests`].
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    number: usize,
    request: &'a SlicedRequest,
    structure: u32,
    tree: &'a TreeStructure,
    replicas: &'a [ReplicaId],
    common: &'a [ReplicaId],
    call_status: &'a [Status],
    attributes: AttributeSetId,
    calls: &'a CallColumns,
    one_in: f32,
}

impl<'a> RequestView<'a> {
    pub(crate) fn new(
        number: usize,
        request: &'a SlicedRequest,
        (structure, tree): (u32, &'a TreeStructure),
        part: &'a MappedSlice,
        one_in: f32,
    ) -> RequestView<'a> {
        let calls = &part.slice.calls;
        let range = request.first_call as usize..request.first_call as usize + tree.len();
        RequestView {
            number,
            request,
            structure,
            tree,
            replicas: &calls.replica[range.clone()],
            common: &part.replicas,
            call_status: &calls.status[range],
            attributes: part.attribute_sets[request.attributes.index()],
            calls,
            one_in,
        }
    }

    /// Its index in the order of all requests, as for [`Requests::request`].
    pub fn number(&self) -> usize {
        self.number
    }

    /// Start of its entry, on the entry's clock.
    pub fn start(&self) -> Timestamp {
        self.request.start
    }

    /// Its trace.
    pub fn trace(&self) -> TraceId {
        self.request.trace
    }

    /// Outcome of its entry.
    pub fn status(&self) -> Status {
        self.request.status
    }

    /// Whether shape and times are fully known.
    pub fn is_complete(&self) -> bool {
        self.request.complete
    }

    /// How many requests it represented where it was sampled; `None` if unknown.
    pub fn adjusted_count(&self) -> Option<AdjustedCount> {
        self.request.adjusted_count
    }

    /// How many requests it counts as: those that it represented where it was sampled, `assumed` if that is unknown (or 1), times
    /// those of its kind that it stands for if not all fit in memory ([`Requests::thinning`]).
    pub fn weight(&self, assumed: Option<AdjustedCount>) -> f32 {
        self.adjusted_count().or(assumed).unwrap_or(AdjustedCount::ONE).get() * self.one_in
    }

    /// Attributes of its trace.
    pub fn attributes(&self) -> AttributeSetId {
        self.attributes
    }

    /// Its structure: an index into [`Requests::structures`].
    pub fn structure(&self) -> usize {
        self.structure as usize
    }

    /// Who calls whom.
    pub fn tree(&self) -> &'a TreeStructure {
        self.tree
    }

    /// Calls.
    pub fn calls(&self) -> usize {
        self.tree.len()
    }

    /// Inclusive time of its entry.
    pub fn latency(&self) -> Nanos {
        self.inclusive_time(0)
    }

    /// Where a call ran.
    pub fn replica(&self, node: usize) -> ReplicaId {
        self.common[self.replicas[node].index()]
    }

    /// Outcomes by node.
    pub fn call_status(&self) -> &'a [Status] {
        self.call_status
    }

    /// Self time of a call, as in [`CallTree`].
    #[inline]
    pub fn self_time(&self, node: usize) -> Nanos {
        self.calls.self_time.get(self.call(node))
    }

    /// Inclusive time of a call.
    #[inline]
    pub fn inclusive_time(&self, node: usize) -> Nanos {
        self.calls.inclusive_time.get(self.call(node))
    }

    /// Time of a call on the critical path.
    #[inline]
    pub fn path_time(&self, node: usize) -> Nanos {
        self.calls.path_time.get(self.call(node))
    }

    /// Index of a node's call into the columns.
    fn call(&self, node: usize) -> usize {
        debug_assert!(node < self.calls(), "node {node} of {}", self.calls());
        self.request.first_call as usize + node
    }

    /// The request as an owned tree.
    pub fn call_tree(&self) -> CallTree {
        let first = self.request.first_call as usize;
        let times = |column: &DurationColumn| column.range(first..first + self.calls()).collect();
        CallTree {
            operation: self.tree.operation.clone(),
            parent: self.tree.parent.clone(),
            replica: (0..self.calls()).map(|node| self.replica(node)).collect(),
            status: self.call_status.to_vec(),
            self_time: times(&self.calls.self_time),
            inclusive_time: times(&self.calls.inclusive_time),
            path_time: times(&self.calls.path_time),
            order_group: self.tree.order_group.clone(),
        }
    }
}
