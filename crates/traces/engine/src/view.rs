//! The input of a fold: a range of requests, and one request at a time.

use crate::requests::{MappedSlice, Requests};
use crate::slice::{SlicedRequest, TreeStructure};
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
    self_time: &'a [Nanos],
    inclusive_time: &'a [Nanos],
    path_time: &'a [Nanos],
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
            call_status: &calls.status[range.clone()],
            attributes: part.attribute_sets[request.attributes.index()],
            self_time: &calls.self_time[range.clone()],
            inclusive_time: &calls.inclusive_time[range.clone()],
            path_time: &calls.path_time[range],
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
        self.inclusive_time[0]
    }

    /// Where a call ran.
    pub fn replica(&self, node: usize) -> ReplicaId {
        self.common[self.replicas[node].index()]
    }

    /// Outcomes by node.
    pub fn call_status(&self) -> &'a [Status] {
        self.call_status
    }

    /// Self times by node, as in [`CallTree`].
    pub fn self_time(&self) -> &'a [Nanos] {
        self.self_time
    }

    /// Inclusive times by node.
    pub fn inclusive_time(&self) -> &'a [Nanos] {
        self.inclusive_time
    }

    /// Times on the critical path by node.
    pub fn path_time(&self) -> &'a [Nanos] {
        self.path_time
    }

    /// The request as an owned tree.
    pub fn call_tree(&self) -> CallTree {
        CallTree {
            operation: self.tree.operation.clone(),
            parent: self.tree.parent.clone(),
            replica: (0..self.calls()).map(|node| self.replica(node)).collect(),
            status: self.call_status.to_vec(),
            self_time: self.self_time.to_vec(),
            inclusive_time: self.inclusive_time.to_vec(),
            path_time: self.path_time.to_vec(),
            order_group: self.tree.order_group.clone(),
        }
    }
}
