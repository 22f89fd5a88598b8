//! From self times to intervals on the clocks of the hosts.

use crate::random::mix;
use crate::request::{Call, Draft};
use crate::simulation::Simulation;
use laggard_model::{Nanos, SpanId, Timestamp, TraceId};

/// A remote call takes at least this long beyond its handling ...
const NETWORK_NS_MIN: u64 = 20_000;
/// ... plus one part in this many of it. Two clocks drift apart by at most 40 ppm, so a span of a server,
/// measured on its own clock, never outlasts its client's.
const DRIFT_PARTS: u64 = 20_000;

/// Computes the times of the calls of a request. Callees follow each other; a caller's self time is spread evenly
/// before, between and after them, so a remote call's network time is the same there and back.
pub(crate) fn lay_out(
    simulation: &Simulation,
    draft: &Draft<'_>,
    trace_id: TraceId,
    start_ns: i64,
) -> Vec<Call> {
    let times = true_times(simulation, draft);
    let starts = true_starts(draft, &times, start_ns);
    let mut calls: Vec<Call> = (0..draft.shape.len())
        .map(|index| {
            let operation = draft.shape.operation[index];
            let node = draft.nodes[simulation.system.operations.get(operation).component];
            let end = starts[index] + times.inclusive_ns[index] as i64;
            let local_start = simulation.system.hosts.local_ns(node, starts[index]);
            let local_end = simulation.system.hosts.local_ns(node, end);
            Call {
                span_id: span_id(trace_id, index),
                parent: (index > 0).then_some(u32::from(draft.shape.parent[index])),
                true_start: Timestamp::from_unix_ns(starts[index]),
                true_end: Timestamp::from_unix_ns(end),
                start: Timestamp::from_unix_ns(local_start),
                inclusive: Nanos::from_ns((local_end - local_start) as u64),
                self_time: Nanos::ZERO,
                injected: Nanos::from_ns(draft.extra_ns[index]),
                operation,
                node,
            }
        })
        .collect();
    subtract_callees(&mut calls);
    calls
}

/// By position.
struct TrueTimes {
    self_ns: Vec<u64>,
    inclusive_ns: Vec<u64>,
}

/// Adds up inclusive times from the leaves.
fn true_times(simulation: &Simulation, draft: &Draft<'_>) -> TrueTimes {
    let count = draft.shape.len();
    let mut self_ns: Vec<u64> =
        draft.self_ns.iter().zip(&draft.extra_ns).map(|(usual, extra)| usual + extra).collect();
    let mut inclusive_ns = vec![0_u64; count];
    for index in (0..count).rev() {
        if simulation.system.is_send(draft.shape, index) {
            self_ns[index] = self_ns[index].max(NETWORK_NS_MIN + inclusive_ns[index] / DRIFT_PARTS);
        }
        inclusive_ns[index] += self_ns[index];
        if index > 0 {
            inclusive_ns[usize::from(draft.shape.parent[index])] += inclusive_ns[index];
        }
    }
    TrueTimes { self_ns, inclusive_ns }
}

fn true_starts(draft: &Draft<'_>, times: &TrueTimes, start_ns: i64) -> Vec<i64> {
    let mut starts = vec![start_ns; draft.shape.len()];
    // By position: where its next callee may start.
    let mut free = vec![start_ns; draft.shape.len()];
    for index in 1..draft.shape.len() {
        let caller = usize::from(draft.shape.parent[index]);
        let gap = times.self_ns[caller] / (u64::from(draft.shape.children[caller]) + 1);
        starts[index] = free[caller] + gap as i64;
        free[index] = starts[index];
        free[caller] = starts[index] + times.inclusive_ns[index] as i64;
    }
    starts
}

fn subtract_callees(calls: &mut [Call]) {
    for call in calls.iter_mut() {
        call.self_time = call.inclusive;
    }
    for index in 1..calls.len() {
        if let Some(parent) = calls[index].parent {
            let inclusive = calls[index].inclusive;
            let caller = &mut calls[parent as usize];
            caller.self_time = caller.self_time.minus(inclusive);
        }
    }
}

/// Distinct within a trace: `mix` is a bijection.
fn span_id(trace_id: TraceId, index: usize) -> SpanId {
    let value = mix((trace_id.value() as u64).wrapping_add(index as u64 + 1));
    SpanId::new(value).unwrap_or(SpanId::ZERO_TEXT)
}
