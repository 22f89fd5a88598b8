//! Which callees the calls of an operation have.
//!
//! The second call of a callee is a callee of its own, so that an operation that always reads twice lacks one where it is
//! recorded once.

use super::{CallState, Side};
use laggard_engine::TreeStructure;
use laggard_model::OperationId;

/// A callee of at least this share of an operation's calls is missing where it is not recorded.
const USUAL_SHARE: f64 = 0.75;
/// A callee of less than this share of an operation's calls is not expected in incomplete requests either.
const RARE_SHARE: f64 = 0.02;
/// Further calls of one callee are counted as one: whether such a call lacks some of them is not known.
const ORDINAL_MAX: u8 = 8;

/// A callee, by how many calls of it come before in the same call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct NthCallee {
    pub(super) operation: OperationId,
    /// From 0 on; `ORDINAL_MAX` stands for all further ones.
    pub(super) ordinal: u8,
}

/// Callees by operation of the caller, in unified handles.
#[derive(Default)]
pub(super) struct Callees {
    pub(super) operations: Vec<OperationCallees>,
}

#[derive(Clone, Default)]
pub(super) struct OperationCallees {
    pub(super) calls: u64,
    /// By callee.
    callees: Vec<CalleeCount>,
}

#[derive(Clone, Copy)]
pub(super) struct CalleeCount {
    pub(super) callee: NthCallee,
    /// Calls of the caller that have the callee.
    pub(super) calling: u64,
}

impl Callees {
    pub(super) fn of(side: &Side<'_>) -> Callees {
        let structures = side.range.requests().structures();
        let mut requests = vec![0_u64; structures.len()];
        side.range.iter().for_each(|request| requests[request.structure()] += 1);
        let operations = side.selected.operations();
        let mut counted = Callees::default();
        counted.reserve(operations.iter().map(|operation| operation.index() + 1).max().unwrap_or(0));
        for (structure, &requests) in structures.iter().zip(&requests).filter(|&(_, &requests)| requests > 0)
        {
            for operation in &structure.operation {
                counted.operations[operations[operation.index()].index()].calls += requests;
            }
            for (caller, callee) in called(structure, operations) {
                let caller = operations[structure.operation[caller as usize].index()];
                counted.operations[caller.index()].add(CalleeCount { callee, calling: requests });
            }
        }
        counted
    }

    fn reserve(&mut self, operations: usize) {
        if self.operations.len() < operations {
            self.operations.resize_with(operations, OperationCallees::default);
        }
    }

    pub(super) fn add(&mut self, other: &Callees) {
        self.reserve(other.operations.len());
        self.operations.iter_mut().zip(&other.operations).for_each(|(own, other)| own.add_all(other));
    }

    /// Whether any call of an operation has a callee.
    pub(super) fn has_callees(&self, operation: OperationId) -> bool {
        self.operations.get(operation.index()).is_some_and(|counts| !counts.callees.is_empty())
    }

    /// Calls of an operation, and how many of them lack a callee.
    pub(super) fn lacking(&self, caller: OperationId, callee: NthCallee) -> (u64, u64) {
        let Some(counts) = self.operations.get(caller.index()) else { return (0, 0) };
        (counts.calls, counts.calls - counts.calling(callee))
    }
}

impl OperationCallees {
    /// The callees of all calls.
    pub(super) fn counts(&self) -> &[CalleeCount] {
        &self.callees
    }

    /// Calls that have a callee.
    pub(super) fn calling(&self, callee: NthCallee) -> u64 {
        let known = self.callees.binary_search_by_key(&callee, |count| count.callee);
        known.map_or(0, |index| self.callees[index].calling)
    }

    pub(super) fn add_all(&mut self, other: &OperationCallees) {
        self.calls += other.calls;
        other.callees.iter().for_each(|&count| self.add(count));
    }

    pub(super) fn add(&mut self, count: CalleeCount) {
        match self.callees.binary_search_by_key(&count.callee, |known| known.callee) {
            Ok(index) => self.callees[index].calling += count.calling,
            Err(index) => self.callees.insert(index, count),
        }
    }

    /// Callees that a share of the calls has, from the first bound up to the second.
    fn within(&self, from: f64, to: f64) -> impl Iterator<Item = NthCallee> {
        let calls = self.calls.max(1) as f64;
        let is_within = move |count: &&CalleeCount| (from..to).contains(&(count.calling as f64 / calls));
        self.callees.iter().filter(is_within).map(|count| count.callee)
    }

    /// Callees of nearly all calls.
    pub(super) fn usual(&self) -> impl Iterator<Item = NthCallee> {
        self.within(USUAL_SHARE, f64::INFINITY)
    }
}

/// The caller's node and the callee of every call except the entry, sorted. Calls of one callee beyond `ORDINAL_MAX` count once.
pub(super) fn called(structure: &TreeStructure, operations: &[OperationId]) -> Vec<(u32, NthCallee)> {
    let calls = structure.parent.iter().zip(&structure.operation);
    let mut called: Vec<(u32, NthCallee)> = calls
        .filter_map(|(parent, operation)| {
            Some(((*parent)?, NthCallee { operation: operations[operation.index()], ordinal: 0 }))
        })
        .collect();
    called.sort_unstable();
    for index in 1..called.len() {
        let (parent, before) = called[index - 1];
        let (caller, callee) = &mut called[index];
        if *caller == parent && callee.operation == before.operation {
            callee.ordinal = (before.ordinal + 1).min(ORDINAL_MAX);
        }
    }
    called.dedup();
    called
}

/// The operations that an operation calls: those it usually calls, and those it may call.
pub(super) struct Expected {
    usual: Vec<NthCallee>,
    possible: Vec<NthCallee>,
    /// Whether some calls call one operation more than `ORDINAL_MAX` times.
    has_more: bool,
}

impl Expected {
    pub(super) fn new(counts: &OperationCallees) -> Expected {
        Expected {
            usual: counts.usual().collect(),
            possible: counts.within(RARE_SHARE, USUAL_SHARE).collect(),
            has_more: counts.within(RARE_SHARE, f64::INFINITY).any(|callee| callee.ordinal == ORDINAL_MAX),
        }
    }
}

/// The state of each call of a structure.
pub(super) fn expected_states(
    structure: &TreeStructure,
    operations: &[OperationId],
    expected: &[Expected],
) -> Box<[CallState]> {
    let called = called(structure, operations);
    let nodes = (0_u32..).zip(&structure.operation);
    let state = |(node, operation): (u32, &OperationId)| {
        let expected = &expected[operations[operation.index()].index()];
        let lacks = |callee: &NthCallee| called.binary_search(&(node, *callee)).is_err();
        if expected.usual.iter().any(lacks) {
            CallState::HasGap
        } else if expected.has_more || expected.possible.iter().any(lacks) {
            CallState::MayLack
        } else {
            CallState::Intact
        }
    };
    nodes.map(state).collect()
}
