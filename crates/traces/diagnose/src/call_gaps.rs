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

use crate::lost_calls::CallPair;
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
    /// Whether both sides lost alike.
    is_even: bool,
    /// Whether intact calls of incomplete requests are measured.
    uses_incomplete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallState {
    /// Has all callees that calls of its operation may have.
    Intact,
    /// Lacks a callee that not all calls have, or may lack some of several calls of one callee.
    MayLack,
    /// Lacks a usual callee.
    HasGap,
}

impl CallGaps {
    /// Whether a call is measured.
    pub(crate) fn is_measured(&self, request: &RequestView<'_>, node: usize) -> bool {
        match self.structures[request.structure()][node] {
            CallState::Intact => true,
            CallState::MayLack => request.is_complete() && self.is_even,
            CallState::HasGap => false,
        }
    }

    /// Whether intact calls of incomplete requests are measured.
    pub(crate) fn uses_incomplete(&self) -> bool {
        self.uses_incomplete
    }
}

/// Requests that are compared with others.
pub(crate) struct Side<'a> {
    pub(crate) selected: &'a Selected<'a>,
    pub(crate) range: RequestRange<'a>,
}

/// The gaps of each side, the window first; `None` for all if hardly any span was lost.
pub(crate) fn call_gaps(sides: &[Side<'_>]) -> Option<Vec<Arc<CallGaps>>> {
    let shares: Vec<f64> = sides.iter().map(|side| incomplete_share(&side.range)).collect();
    let (least, most) =
        shares.iter().fold((1.0_f64, 0.0_f64), |(least, most), &share| (least.min(share), most.max(share)));
    let counts: Vec<Callees> = sides.iter().map(Callees::of).collect();
    let mut all = Callees::default();
    counts.iter().for_each(|counts| all.add(counts));
    let losses_began = began_to_lose(sides, &counts, &all);
    if most < INCOMPLETE_SHARE_MIN && !losses_began {
        return None;
    }
    let is_even = !losses_began && most <= (INCOMPLETE_FACTOR_MAX * least).max(INCOMPLETE_CUT_OFF);
    // Lines of call logs are lost one by one: where a return is missing, the end of the call is not known.
    let uses_incomplete = is_even && sides.iter().all(|side| side.range.requests().call_records() == 0);
    let expected: Vec<Expected> = all.operations.iter().map(Expected::new).collect();
    let gaps = |side: &Side<'_>| {
        let structures = side.selected.range().requests().structures().iter();
        let states = |structure| expected_states(structure, side.selected.operations(), &expected);
        Arc::new(CallGaps { structures: structures.map(states).collect(), is_even, uses_incomplete })
    };
    Some(sides.iter().map(gaps).collect())
}

fn incomplete_share(range: &RequestRange<'_>) -> f64 {
    let incomplete = range.iter().filter(|request| !request.is_complete()).count();
    incomplete as f64 / range.len().max(1) as f64
}

/// Calls of the window lack a usual callee more often than before by at least this share of them, and in so many requests.
const LACKING_SHARE_MIN: f64 = 0.01;
const LACKING_REQUESTS_MIN: usize = 5;

/// Whether calls of the window lack a usual callee more often than in the baseline because its spans are lost. Callees without
/// callees of their own leave no incomplete request.
fn began_to_lose(sides: &[Side<'_>], counts: &[Callees], all: &Callees) -> bool {
    let ([window, _], [now, before]) = (sides, counts) else { return false };
    all.operations.iter().enumerate().any(|(caller, counts)| {
        let usual = counts.callees.iter().filter(|count| {
            count.calling as f64 >= USUAL_SHARE * counts.calls as f64
                && now.lacking(caller, count.callee) - before.lacking(caller, count.callee)
                    >= LACKING_SHARE_MIN
        });
        let caller = OperationId::from_index(caller);
        usual.into_iter().any(|count| is_lost(window, CallPair { caller, callee: count.callee }))
    })
}

fn is_lost(window: &Side<'_>, pair: CallPair) -> bool {
    let operations = window.selected.operations();
    let lacks = |structure: &TreeStructure| {
        let called = called(structure, operations);
        let callers = (0_u32..).zip(&structure.operation);
        let mut callers = callers.filter(|(_, operation)| operations[operation.index()] == pair.caller);
        callers.any(|(node, _)| called.binary_search(&(node, pair.callee)).is_err())
    };
    let structures = window.range.requests().structures();
    let calls = |structure: &TreeStructure| {
        structure.operation.iter().any(|operation| operations[operation.index()] == pair.callee)
    };
    let lacking: Vec<bool> = structures.iter().map(lacks).collect();
    let calling: Vec<bool> = structures.iter().map(calls).collect();
    let numbers = |wanted: &[bool]| -> Vec<u32> {
        let requests = window.range.iter().filter(|request| wanted[request.structure()]);
        requests.map(|request| request.number() as u32).collect()
    };
    let without = numbers(&lacking);
    without.len() >= LACKING_REQUESTS_MIN
        && pair.was_lost(window.selected, &without, &numbers(&calling)) == Some(true)
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
    fn of(side: &Side<'_>) -> Callees {
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
            for group in called(structure, operations).chunk_by(|a, b| a == b) {
                let (caller, callee) = group[0];
                let caller = operations[structure.operation[caller as usize].index()];
                let repeating = if group.len() > 1 { requests } else { 0 };
                counted.operations[caller.index()].add(CalleeCount { callee, calling: requests, repeating });
            }
        }
        counted
    }

    fn reserve(&mut self, operations: usize) {
        if self.operations.len() < operations {
            self.operations.resize_with(operations, OperationCallees::default);
        }
    }

    fn add(&mut self, other: &Callees) {
        self.reserve(other.operations.len());
        for (own, other) in self.operations.iter_mut().zip(&other.operations) {
            own.calls += other.calls;
            other.callees.iter().for_each(|&count| own.add(count));
        }
    }

    /// Share of an operation's calls that lack a callee; 0 without calls.
    fn lacking(&self, caller: usize, callee: OperationId) -> f64 {
        let Some(counts) = self.operations.get(caller).filter(|counts| counts.calls > 0) else { return 0.0 };
        let found = counts.callees.binary_search_by_key(&callee, |count| count.callee);
        let calling = found.map_or(0, |index| counts.callees[index].calling);
        1.0 - calling as f64 / counts.calls as f64
    }
}

impl OperationCallees {
    fn add(&mut self, count: CalleeCount) {
        match self.callees.binary_search_by_key(&count.callee, |known| known.callee) {
            Ok(index) => {
                self.callees[index].calling += count.calling;
                self.callees[index].repeating += count.repeating;
            }
            Err(index) => self.callees.insert(index, count),
        }
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
        } else if expected.repeats || expected.possible.iter().any(lacks) {
            CallState::MayLack
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
        let selected = union.select(&population, 0);
        let sides = sides.iter().map(|&range| Side { selected: &selected, range }).collect::<Vec<_>>();
        let gaps = call_gaps(&sides)?.remove(0);
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
