//! Whether calls that seem to be missing were made, and only their spans were lost.
//!
//! ```text
//! recorded before      get 1 ms ─ read 9 ms        get took 10 ms
//! not called           get 1 ms                    get takes 1 ms
//! called, but lost     get 10 ms                   the time of read counts as get's own
//! ```

use crate::population::Selected;
use laggard_engine::RequestView;
use laggard_model::{OperationId, SpanKind, Status};
use laggard_numeric::{Alternative, mann_whitney, median_of, spread_evenly};

/// Most requests that times are read of, with and without the callee.
const REQUESTS_MAX: usize = 1_000;
/// A callee that does not add at least this share to its caller's own time does not show whether it was called.
const CALLEE_SHARE_MIN: f64 = 0.1;
/// With fewer calls without the callee, nothing is shown.
const CALLS_MIN: usize = 5;
/// Level of the tests of whether calls without the callee take longer than the own time of those with it, and less than the
/// time of both.
const LEVEL: f64 = 1e-3;

/// Most requests of which the share of incomplete ones is counted.
const COUNTED_MAX: usize = 20_000;
/// Where times do not show whether calls were made, spans may have been lost of up to this times the share of requests that is
/// incomplete.
pub(crate) const LOST_FACTOR_MAX: f64 = 2.0;

/// A caller, and one of its callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallPair {
    pub(crate) caller: OperationId,
    pub(crate) callee: OperationId,
}

/// Times of a caller's calls, nanoseconds.
#[derive(Default)]
struct CallerTimes {
    /// Own time of calls without the callee.
    without: Vec<f64>,
    /// Own time of calls with the callee, and what it would at least be without the callee's span: the time of no other callee.
    with: Vec<f64>,
    together: Vec<f64>,
}

impl CallPair {
    /// Whether the callee of calls without it was called: its time is still there, as the caller's own. `None` where times do
    /// not show it. `without` and `with` are numbers of requests that have calls of the caller with and without the callee.
    pub(crate) fn was_lost(self, selected: &Selected<'_>, without: &[u32], with: &[u32]) -> Option<bool> {
        let mut times = CallerTimes::default();
        for numbers in [without, with] {
            for index in spread_evenly(numbers.len(), REQUESTS_MAX) {
                let request = selected.range().requests().request(numbers[index] as usize);
                times.add(self, selected, &request);
            }
        }
        if times.without.len() < CALLS_MIN {
            return None;
        }
        // A client's span without an error is the proof that a call was made.
        if selected.union().names().operation_key(self.caller).kind == SpanKind::Client {
            return Some(true);
        }
        times.show_loss()
    }
}

/// The share of requests that are incomplete, within [0, 1]: of all or of those with a caller, whichever is larger.
///
/// Requests that make more calls lose a span more often, so among complete requests those that make a call become rarer by up
/// to the share that is incomplete. A span without children is lost no more often than that either.
pub(crate) fn incomplete_share(selected: &Selected<'_>, caller: OperationId) -> f64 {
    let range = selected.range();
    // Requests and how many of them are incomplete: all, and those with the caller.
    let mut counts = [(0.0_f64, 0.0_f64); 2];
    for index in spread_evenly(range.len(), COUNTED_MAX) {
        let request = range.requests().request(range.first() + index);
        if !selected.includes(&request) {
            continue;
        }
        let has_caller = (0..request.calls()).any(|node| selected.operation(&request, node) == caller);
        for (requests, incomplete) in &mut counts[..1 + usize::from(has_caller)] {
            *requests += 1.0;
            *incomplete += if request.is_complete() { 0.0 } else { 1.0 };
        }
    }
    counts.iter().map(|(requests, incomplete)| incomplete / requests.max(1.0)).fold(0.0, f64::max)
}

impl CallerTimes {
    /// Whether the calls without the callee take the time of both.
    fn show_loss(&self) -> Option<bool> {
        if self.with.is_empty() {
            return None;
        }
        let (own, together) = (median_of(&self.with), median_of(&self.together));
        if together < (1.0 + CALLEE_SHARE_MIN) * own {
            return None;
        }
        let was_lost = 2.0 * median_of(&self.without) > own + together;
        let test = match was_lost {
            true => mann_whitney(&self.without, &self.with, Alternative::Greater),
            false => mann_whitney(&self.without, &self.together, Alternative::Less),
        };
        (test.p_value <= LEVEL).then_some(was_lost)
    }

    fn add(&mut self, pair: CallPair, selected: &Selected<'_>, request: &RequestView<'_>) {
        let parents = &request.tree().parent;
        let operation = |node| selected.operation(request, node);
        for node in (0..request.calls()).filter(|&node| operation(node) == pair.caller) {
            if request.call_status()[node] == Status::Error {
                continue;
            }
            let own = request.self_time(node).ns() as f64;
            let mut others = 0.0;
            let mut is_called = false;
            for below in (node + 1..request.calls()).filter(|&below| parents[below] == Some(node as u32)) {
                match operation(below) == pair.callee {
                    true => is_called = true,
                    false => others += request.inclusive_time(below).ns() as f64,
                }
            }
            if is_called {
                self.with.push(own);
                self.together.push(own.max(request.inclusive_time(node).ns() as f64 - others));
            } else {
                self.without.push(own);
            }
        }
    }
}
