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
/// Chance that calls without the callee take longer than the own time of those with it, up to which they do.
const LEVEL: f64 = 1e-3;

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
    /// Own time of calls with the callee, and the same with the time of the callee.
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
        if 2.0 * median_of(&self.without) <= own + together {
            return Some(false);
        }
        let test = mann_whitney(&self.without, &self.with, Alternative::Greater);
        (test.p_value <= LEVEL).then_some(true)
    }

    fn add(&mut self, pair: CallPair, selected: &Selected<'_>, request: &RequestView<'_>) {
        let parents = &request.tree().parent;
        let operation = |node| selected.operation(request, node);
        for node in (0..request.calls()).filter(|&node| operation(node) == pair.caller) {
            if request.call_status()[node] == Status::Error {
                continue;
            }
            let own = request.self_time()[node].ns() as f64;
            let is_callee =
                |&below: &usize| parents[below] == Some(node as u32) && operation(below) == pair.callee;
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
