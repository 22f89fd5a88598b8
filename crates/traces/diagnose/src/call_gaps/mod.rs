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
//! measured; so are those of a replica that loses more spans than its peers. Whether a call was lost does not depend on its
//! time, so that the other calls are a fair sample.

mod began;
mod callees;
mod lossy_replicas;

use crate::population::Selected;
use began::began_to_lose;
use callees::{Callees, Expected, expected_states};
use laggard_engine::{RequestRange, RequestView};
use laggard_model::ReplicaId;
use lossy_replicas::lossy_replicas;
use std::collections::BTreeSet;
use std::sync::Arc;

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
    /// Whether each replica lost more spans than its peers, on either side.
    lossy: Box<[bool]>,
    /// Whether intact calls of incomplete requests are measured.
    uses_incomplete: bool,
    /// Share of the time of all calls that is of calls that are not measured.
    unmeasured_share: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallState {
    /// Has all callees that calls of its operation may have.
    Intact,
    /// Lacks a callee that not all calls have, which may have been called.
    MayLack,
    /// Lacks a usual callee.
    HasGap,
}

impl CallGaps {
    /// Whether a call is measured.
    pub(crate) fn is_measured(&self, request: &RequestView<'_>, node: usize) -> bool {
        match self.structures[request.structure()][node] {
            CallState::Intact => true,
            CallState::MayLack => {
                request.is_complete() && self.is_even && !self.lossy[request.replica(node).index()]
            }
            CallState::HasGap => false,
        }
    }

    /// Whether intact calls of incomplete requests are measured.
    pub(crate) fn uses_incomplete(&self) -> bool {
        self.uses_incomplete
    }

    /// Share of the time of all calls that is of calls that are not measured, 0 to 1.
    pub(crate) fn unmeasured_share(&self) -> f64 {
        self.unmeasured_share
    }

    fn count_unmeasured(&mut self, range: &RequestRange<'_>) {
        let (mut unmeasured, mut all) = (0.0, 0.0);
        for request in range.iter().filter(RequestView::is_complete) {
            for node in 0..request.calls() {
                let time_ns = request.self_time(node).ns() as f64;
                all += time_ns;
                if !self.is_measured(&request, node) {
                    unmeasured += time_ns;
                }
            }
        }
        self.unmeasured_share = if all > 0.0 { unmeasured / all } else { 0.0 };
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
    let lossy: BTreeSet<ReplicaId> = sides.iter().flat_map(|side| lossy_replicas(side, &all)).collect();
    let expected: Vec<Expected> = all.operations.iter().map(Expected::new).collect();
    let gaps = |side: &Side<'_>| {
        let structures = side.selected.range().requests().structures().iter();
        let states = |structure| expected_states(structure, side.selected.operations(), &expected);
        let structures = structures.map(states).collect();
        let lossy = side.selected.replicas().iter().map(|replica| lossy.contains(replica)).collect();
        let mut gaps = CallGaps { structures, is_even, lossy, uses_incomplete, unmeasured_share: 0.0 };
        gaps.count_unmeasured(&side.range);
        Arc::new(gaps)
    };
    Some(sides.iter().map(gaps).collect())
}

fn incomplete_share(range: &RequestRange<'_>) -> f64 {
    let incomplete = range.iter().filter(|request| !request.is_complete()).count();
    incomplete as f64 / range.len().max(1) as f64
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
    fn incomplete_requests_need_equally_many_for_comparison() {
        let requests = requests(&[ALL, ALL, ALL, WITHOUT_READ, WITHOUT_READ, INCOMPLETE]);
        let (earlier, later) = (requests.all().part(0, 3), requests.all().part(3, 6));
        let (calls, uses_incomplete) = measured(&requests, &[later, earlier]).expect("spans are lost");
        assert!(!uses_incomplete);
        assert_eq!(calls[3], [false, true], "read may be lost");
        assert!(measured(&requests, &[earlier]).is_none(), "nothing is lost");
    }

    #[test]
    fn a_second_call_of_a_callee_is_expected_like_the_first() {
        let twice = "1 - get@h 0..100 server\n2 1 read@h 10..20 client\n3 1 read@h 30..40 client";
        let once = "1 - get@h 0..100 server\n2 1 read@h 10..20 client";
        let incomplete = "1 - get@h 0..100 server\n2 1 read@h 10..20 client\n3 1 read@h 30..40 client\n4 9 find@h 12..14 internal";
        let requests = requests(&[twice, twice, twice, twice, once, incomplete]);
        let (calls, _) = measured(&requests, &[requests.all()]).expect("spans are lost");
        assert_eq!((&calls[0][..], &calls[4][..]), (&[true; 3][..], &[false, true][..]));
        assert_eq!(calls[5], [true; 3], "it has all that such calls have");
    }

    const WITHOUT_LOAD: &str = "1 - get@h 0..100 server\n2 1 read@h 10..20 client";
    const WITHOUT_BOTH: &str = "1 - get@h 0..100 server";

    /// Whether calls of `get` are measured: on replica h without `load`, and on replica b with both and with none of their callees.
    /// `h` and `b` have the calls of each replica, which repeat.
    fn measured_on(h: [&str; 4], b: [&str; 4]) -> [bool; 3] {
        let on_b = b.map(|text| text.replace("@h", "@b"));
        let mut traces: Vec<&str> = vec![ALL, WITHOUT_LOAD, INCOMPLETE];
        let others = [ALL, WITHOUT_BOTH].map(|text| text.replace("@h", "@b"));
        traces.extend(others.iter().map(String::as_str));
        (0..400).for_each(|index| traces.extend([h[index % 4], &on_b[index % 4]]));
        let requests = requests(&traces);
        let (calls, _) = measured(&requests, &[requests.all()]).expect("spans are lost");
        [calls[1][0], calls[3][0], calls[4][0]]
    }

    #[test]
    fn calls_of_a_replica_that_loses_more_than_its_peers_need_all_possible_callees() {
        let usual = [ALL, WITHOUT_READ, WITHOUT_LOAD, WITHOUT_BOTH];
        assert_eq!(measured_on(usual, usual), [true; 3], "both may lose, but alike");
        let lossy = [ALL, WITHOUT_BOTH, WITHOUT_BOTH, WITHOUT_BOTH];
        assert_eq!(measured_on(usual, lossy), [true, true, false]);
    }

    #[test]
    fn a_replica_that_does_not_make_one_of_the_calls_need_not_lose_it() {
        let usual = [ALL, WITHOUT_READ, WITHOUT_LOAD, WITHOUT_BOTH];
        let without_read = [WITHOUT_READ, WITHOUT_READ, WITHOUT_BOTH, WITHOUT_BOTH];
        assert_eq!(measured_on(usual, without_read), [true; 3]);
    }

    #[test]
    fn new_losses_are_distinguished_from_fewer_calls_of_a_callee() {
        let mut traces = vec![ALL; 160];
        traces[100..160].iter_mut().step_by(3).for_each(|trace| *trace = WITHOUT_READ);
        let rarer = requests(&traces);
        let part = |requests: &Requests| -> Option<bool> {
            let all = requests.all();
            let (calls, _) = measured(requests, &[all.part(100, 160), all.part(0, 100)])?;
            Some(calls[100][0])
        };
        assert_eq!(part(&rarer), None, "the calls of load, by the same process, are all recorded");
        traces[101..160].iter_mut().step_by(3).for_each(|trace| *trace = WITHOUT_BOTH);
        assert_eq!(part(&requests(&traces)), Some(false));
    }
}
