//! Whether calls that seem to be missing were made, and only their spans were lost.
//!
//! ```text
//! recorded before      get 1 ms ─ read 9 ms        get took 10 ms
//! not called           get 1 ms                    get takes 1 ms
//! called, but lost     get 10 ms                   the time of read counts as get's own
//! ```

use crate::population::Selected;
use laggard_engine::RequestView;
use laggard_localize::{CallChange, OutcomeTable, RequestNumbers};
use laggard_model::{SpanKind, Status};
use laggard_numeric::{median_of, spread_evenly};

/// Most requests that times are read of, with and without the callee.
const REQUESTS_MAX: usize = 1_000;
/// A callee that does not add at least this share to its caller's own time does not show whether it was called.
const CALLEE_SHARE_MIN: f64 = 0.1;

/// Times of a caller's calls, nanoseconds.
#[derive(Default)]
struct CallerTimes {
    /// Own time of calls without the callee.
    without: Vec<f64>,
    /// Own time of calls with the callee, and the same with the time of the callee.
    with: Vec<f64>,
    together: Vec<f64>,
}

/// Whether the spans of calls that are missing were lost: their time is still there, as the caller's own. Where times do not show
/// it, calls are lost if `has_losses`.
pub(super) fn are_lost(
    selected: &Selected<'_>,
    outcomes: &OutcomeTable,
    change: &CallChange,
    has_losses: bool,
) -> bool {
    // The span of a client is the proof that a call was made.
    if selected.union().names().operation_key(change.caller).kind == SpanKind::Client {
        return true;
    }
    let mut times = CallerTimes::default();
    let mut add = |requests: &[RequestNumbers]| {
        for index in spread_evenly(requests.len(), REQUESTS_MAX) {
            times.add(
                selected,
                change,
                &selected.range().requests().request(requests[index].number as usize),
            );
        }
    };
    add(&change.hit);
    let calls_both = |tree: &usize| {
        let called = |operation| outcomes.trees[*tree].operation.contains(operation);
        called(&change.caller) && called(&change.callees[0])
    };
    let calling = (0..outcomes.trees.len()).filter(calls_both);
    let calling: Vec<RequestNumbers> =
        calling.flat_map(|tree| outcomes.clean[tree].iter().copied()).collect();
    add(&calling);
    if times.without.is_empty() || times.with.is_empty() {
        return has_losses;
    }
    let (own, together) = (median_of(&times.with), median_of(&times.together));
    if together < (1.0 + CALLEE_SHARE_MIN) * own {
        return has_losses;
    }
    2.0 * median_of(&times.without) > own + together
}

impl CallerTimes {
    fn add(&mut self, selected: &Selected<'_>, change: &CallChange, request: &RequestView<'_>) {
        let parents = &request.tree().parent;
        for node in (0..request.calls()).filter(|&node| selected.operation(request, node) == change.caller) {
            if request.call_status()[node] == Status::Error {
                continue;
            }
            let own = request.self_time()[node].ns() as f64;
            let is_callee = |&below: &usize| {
                parents[below] == Some(node as u32) && selected.operation(request, below) == change.callees[0]
            };
            let mut callees = (node + 1..request.calls()).filter(is_callee).peekable();
            if callees.peek().is_none() {
                self.without.push(own);
                continue;
            }
            let callee: f64 = callees.map(|below| request.inclusive_time()[below].ns() as f64).sum();
            self.with.push(own);
            self.together.push(own + callee);
        }
    }
}
