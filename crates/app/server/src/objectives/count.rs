//! Which requests an objective is about, and which of them are bad.

use super::block::{Block, BlockCounts, Count, RequestOutcome};
use crate::settings::ObjectiveSettings;
use laggard_engine::{RequestSlice, SlicedRequest};
use laggard_model::{OperationId, Status};
use serde::{Deserialize, Serialize};

/// Definition of the counted requests. Counts with another definition are incompatible.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Definition {
    service: String,
    operation: Option<String>,
    /// A request that takes longer is bad.
    limit_ns: Option<u64>,
    /// A request whose entry fails is bad.
    without_error: bool,
}

/// The requests of a slice that a definition is about.
pub(super) struct Entries<'a> {
    definition: &'a Definition,
    slice: &'a RequestSlice,
    /// By operation, whether requests that enter by it count.
    is_entry: Vec<bool>,
}

impl Definition {
    pub(super) fn new(settings: &ObjectiveSettings) -> Definition {
        Definition {
            service: settings.service.clone(),
            operation: settings.operation.clone(),
            limit_ns: settings.limit.map(|limit| limit.nanos().ns()),
            without_error: settings.without_error,
        }
    }

    /// BlockCounts the requests of a slice that start in one of the blocks that `counts` has.
    pub(super) fn count(&self, slice: &RequestSlice, counts: &mut BlockCounts) {
        let entries = Entries::new(self, slice);
        for request in entries.requests() {
            if let Some(count) = counts.get_mut(&Block::at(request.start)) {
                count.add(entries.outcome(request), request.adjusted_count);
            }
        }
    }
}

impl<'a> Entries<'a> {
    pub(super) fn new(definition: &'a Definition, slice: &'a RequestSlice) -> Entries<'a> {
        let is_entry = |index| {
            let key = slice.names.operation_key(OperationId::from_index(index));
            key.service == definition.service
                && definition.operation.as_ref().is_none_or(|operation| key.operation == operation)
        };
        let is_entry = (0..slice.names.operations()).map(is_entry).collect();
        Entries { definition, slice, is_entry }
    }

    /// All of them, by start.
    pub(super) fn requests(&self) -> impl Iterator<Item = &'a SlicedRequest> {
        let entry = |request: &SlicedRequest| self.slice.structures[request.structure as usize].operation[0];
        self.slice.requests.iter().filter(move |request| self.is_entry[entry(request).index()])
    }

    /// Whether a request is bad.
    pub(super) fn outcome(&self, request: &SlicedRequest) -> RequestOutcome {
        match request.complete {
            false => RequestOutcome::Incomplete,
            true if self.is_slow(request) || self.is_failed(request) => RequestOutcome::Bad,
            true => RequestOutcome::Good,
        }
    }

    /// Whether it takes longer than the limit.
    pub(super) fn is_slow(&self, request: &SlicedRequest) -> bool {
        self.definition.limit_ns.is_some_and(|limit_ns| self.latency_ns(request) > limit_ns)
    }

    fn is_failed(&self, request: &SlicedRequest) -> bool {
        self.definition.without_error && request.status == Status::Error
    }

    /// Inclusive time of the entry.
    pub(super) fn latency_ns(&self, request: &SlicedRequest) -> u64 {
        self.slice.calls.inclusive_time.get(request.first_call as usize).ns()
    }
}

/// Zero for each of some blocks, to count in.
pub(super) fn empty_counts(blocks: impl Iterator<Item = Block>) -> BlockCounts {
    blocks.map(|block| (block, Count::default())).collect()
}
