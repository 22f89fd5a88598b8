//! Calls whose callees were not all recorded.
//!
//! ```text
//! called    find ─ read, check      recorded   find ─ read      the time of check counts as find's own
//! ```
//!
//! The span of a lost call without callees leaves no trace of itself: its request looks complete. The time of its caller is
//! wrong nevertheless. Which callees a call has is known from the other calls of the same operation: a call without a
//! callee that nearly all others have is not measured. An incomplete request lost at least one call that had callees, below
//! any of its calls that may have had another callee: of such a request only calls with every callee that they may have are
//! measured. Whether a call was lost does not depend on its time, so that the other calls are a fair sample.

use crate::population::Selected;
use laggard_engine::{RequestRange, RequestView, TreeStructure};
use laggard_model::OperationId;
use std::sync::Arc;

/// A callee of at least this share of an operation's calls is missing where it is not recorded.
const USUAL_SHARE: f64 = 0.75;
/// A callee of less than this share of an operation's calls is not expected in incomplete requests either.
const RARE_SHARE: f64 = 0.02;
/// With less than this share of incomplete requests, every call is measured.
const INCOMPLETE_SHARE_MIN: f64 = 0.001;
/// Incomplete requests are compared where neither side has more than this times the share of them that the other has:
/// they are compared with each other. Otherwise losses set in or ended, and no call is measured that may lack a callee.
const INCOMPLETE_FACTOR_MAX: f64 = 2.0;
/// Less than this share of incomplete requests is no difference: some are cut off at both ends of a window.
const INCOMPLETE_CUT_OFF: f64 = 0.005;

/// Calls that are not measured, by call tree of one data set.
#[derive(Debug)]
pub(crate) struct CallGaps {
    /// By structure and node.
    structures: Vec<Box<[CallState]>>,
    /// Whether both sides lost alike. Then intact calls of incomplete requests are measured.
    is_even: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallState {
    /// Has all callees that calls of its operation may have.
    Intact,
    /// May lack some of several calls of one callee.
    Repeats,
    /// Lacks a callee that not all calls have.
    MayLack,
    /// Lacks a usual callee.
    HasGap,
}

impl CallGaps {
    /// Whether a call is measured.
    pub(crate) fn is_measured(&self, request: &RequestView<'_>, node: usize) -> bool {
        match self.structures[request.structure()][node] {
            CallState::Intact => true,
            CallState::Repeats => request.is_complete(),
            CallState::MayLack => request.is_complete() && self.is_even,
            CallState::HasGap => false,
        }
    }

    /// Whether intact calls of incomplete requests are measured.
    pub(crate) fn uses_incomplete(&self) -> bool {
        self.is_even
    }
}

/// The gaps of each population; `None` for all if hardly any request is incomplete. `sides` are the requests that are compared
/// with each other.
pub(crate) fn call_gaps(
    populations: &[Selected<'_>],
    sides: &[RequestRange<'_>],
) -> Option<Vec<Arc<CallGaps>>> {
    let shares: Vec<f64> = sides.iter().map(incomplete_share).collect();
    if shares.iter().all(|&share| share < INCOMPLETE_SHARE_MIN) {
        return None;
    }
    let (least, most) =
        shares.iter().fold((1.0_f64, 0.0_f64), |(least, most), &share| (least.min(share), most.max(share)));
    let mut callees = Callees::default();
    populations.iter().for_each(|selected| callees.add(selected));
    let expected: Vec<Expected> = callees.operations.iter().map(Expected::new).collect();
    let gaps = |selected: &Selected<'_>| {
        let structures = selected.range().requests().structures().iter();
        let states = |structure| expected_states(structure, selected.operations(), &expected);
        Arc::new(CallGaps {
            structures: structures.map(states).collect(),
            is_even: most <= (INCOMPLETE_FACTOR_MAX * least).max(INCOMPLETE_CUT_OFF),
        })
    };
    Some(populations.iter().map(gaps).collect())
}

fn incomplete_share(range: &RequestRange<'_>) -> f64 {
    let incomplete = range.iter().filter(|request| !request.is_complete()).count();
    incomplete as f64 / range.len().max(1) as f64
}

/// Callees by operation of the caller, in unified handles.
#[derive(Default)]
struct Callees {
    operations: Vec<OperationCallees>,
}

#[derive(Clone, Default)]
struct OperationCallees {
    calls: u64,
    /// By callee.
    callees: Vec<CalleeCount>,
}

#[derive(Clone, Copy)]
struct CalleeCount {
    callee: OperationId,
    /// Calls of the caller that call it, and that call it several times.
    calling: u64,
    repeating: u64,
}

impl Callees {
    fn add(&mut self, selected: &Selected<'_>) {
        let structures = selected.range().requests().structures();
        let mut requests = vec![0_u64; structures.len()];
        selected.range().iter().for_each(|request| requests[request.structure()] += 1);
        let operations = selected.operations();
        let count = operations.iter().map(|operation| operation.index() + 1).max().unwrap_or(0);
        if self.operations.len() < count {
            self.operations.resize_with(count, OperationCallees::default);
        }
        for (structure, &requests) in structures.iter().zip(&requests).filter(|&(_, &requests)| requests > 0)
        {
            for operation in &structure.operation {
                self.operations[operations[operation.index()].index()].calls += requests;
            }
            for group in called(structure, operations).chunk_by(|a, b| a == b) {
                let (caller, callee) = group[0];
                let caller = operations[structure.operation[caller as usize].index()];
                let count = self.operations[caller.index()].count(callee);
                count.calling += requests;
                count.repeating += if group.len() > 1 { requests } else { 0 };
            }
        }
    }
}

impl OperationCallees {
    fn count(&mut self, callee: OperationId) -> &mut CalleeCount {
        let found = self.callees.binary_search_by_key(&callee, |count| count.callee);
        let index = found.unwrap_or_else(|index| {
            self.callees.insert(index, CalleeCount { callee, calling: 0, repeating: 0 });
            index
        });
        &mut self.callees[index]
    }
}

/// Node of the caller and operation of the callee of every call but the entry, sorted.
fn called(structure: &TreeStructure, operations: &[OperationId]) -> Vec<(u32, OperationId)> {
    let calls = structure.parent.iter().zip(&structure.operation);
    let mut called: Vec<(u32, OperationId)> =
        calls.filter_map(|(parent, operation)| Some(((*parent)?, operations[operation.index()]))).collect();
    called.sort_unstable();
    called
}

/// What the calls of an operation call.
struct Expected {
    usual: Vec<OperationId>,
    possible: Vec<OperationId>,
    /// Whether the number of callees varies.
    repeats: bool,
}

impl Expected {
    fn new(counts: &OperationCallees) -> Expected {
        let share = |calls: u64| calls as f64 / counts.calls.max(1) as f64;
        let within = |from: f64, to: f64| {
            let callees =
                counts.callees.iter().filter(move |count| (from..to).contains(&share(count.calling)));
            callees.map(|count| count.callee).collect()
        };
        Expected {
            usual: within(USUAL_SHARE, f64::INFINITY),
            possible: within(RARE_SHARE, USUAL_SHARE),
            repeats: counts.callees.iter().any(|count| share(count.repeating) >= RARE_SHARE),
        }
    }
}

fn expected_states(
    structure: &TreeStructure,
    operations: &[OperationId],
    expected: &[Expected],
) -> Box<[CallState]> {
    let called = called(structure, operations);
    let nodes = (0_u32..).zip(&structure.operation);
    let state = |(node, operation): (u32, &OperationId)| {
        let expected = &expected[operations[operation.index()].index()];
        let lacks = |callee: &OperationId| called.binary_search(&(node, *callee)).is_err();
        if expected.usual.iter().any(lacks) {
            CallState::HasGap
        } else if expected.possible.iter().any(lacks) {
            CallState::MayLack
        } else if expected.repeats {
            CallState::Repeats
        } else {
            CallState::Intact
        }
    };
    nodes.map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::{Population, UnionNames};
    use laggard_engine::{RequestSlice, Requests, SliceFacts, TraceAttributes};
    use laggard_model::TraceId;
    use std::num::NonZeroUsize;

    const ALL: &str = "1 - get@h 0..100 server\n2 1 read@h 10..20 client\n3 1 load@h 30..40 internal";
    const WITHOUT_READ: &str = "1 - get@h 0..100 server\n3 1 load@h 30..40 internal";
    /// The caller of `find` is lost.
    const INCOMPLETE: &str =
        "1 - get@h 0..100 server\n3 1 load@h 30..40 internal\n4 9 find@h 12..14 internal";

    /// Traces in the order of their start.
    fn requests(traces: &[&str]) -> Requests {
        let slice = |(number, text): (usize, &&str)| {
            let parsed = laggard_testkit::parse_spans(text);
            let mut rows = parsed.rows;
            rows.iter_mut().for_each(|row| row.trace = TraceId::from_value(1 + number as u128));
            let facts = SliceFacts::default();
            Arc::new(RequestSlice::assemble(parsed.names, rows, &TraceAttributes::default(), facts))
        };
        Requests::from_slices(traces.iter().enumerate().map(slice).collect(), NonZeroUsize::MIN)
    }

    /// Whether each call of the requests is measured, and whether incomplete requests are compared.
    fn measured(requests: &Requests, sides: &[RequestRange<'_>]) -> Option<(Vec<Vec<bool>>, bool)> {
        let population = Population::all(requests);
        let union = UnionNames::from_populations(&[population]);
        let gaps = call_gaps(&[union.select(&population, 0)], sides)?.remove(0);
        let calls = |request: RequestView<'_>| {
            (0..request.calls()).map(|node| gaps.is_measured(&request, node)).collect()
        };
        Some((requests.all().iter().map(calls).collect(), gaps.uses_incomplete()))
    }

    #[test]
    fn calls_without_a_usual_callee_are_not_measured_where_spans_are_lost() {
        let requests = requests(&[ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, WITHOUT_READ, INCOMPLETE]);
        let (calls, uses_incomplete) = measured(&requests, &[requests.all()]).expect("spans are lost");
        assert_eq!(calls[0], [true; 3]);
        assert_eq!((&calls[8][..], &calls[9][..]), (&[false, true][..], &[false, true][..]));
        assert!(uses_incomplete);
    }

    /// `get` calls `read` half of the time: in a complete request that is how it is, in an incomplete one the call may be lost.
    #[test]
    fn calls_of_incomplete_requests_are_measured_with_all_possible_callees() {
        let requests = requests(&[ALL, ALL, ALL, WITHOUT_READ, WITHOUT_READ, INCOMPLETE]);
        let (calls, _) = measured(&requests, &[requests.all()]).expect("spans are lost");
        assert_eq!((&calls[3][..], &calls[5][..]), (&[true, true][..], &[false, true][..]));
    }

    #[test]
    fn incomplete_requests_are_compared_only_with_as_many_of_them() {
        let requests = requests(&[ALL, ALL, ALL, WITHOUT_READ, WITHOUT_READ, INCOMPLETE]);
        let (earlier, later) = (requests.all().part(0, 3), requests.all().part(3, 6));
        let (calls, uses_incomplete) = measured(&requests, &[later, earlier]).expect("spans are lost");
        assert!(!uses_incomplete);
        assert_eq!(calls[3], [false, true], "read may be lost");
        assert!(measured(&requests, &[earlier]).is_none(), "nothing is lost");
    }
}
