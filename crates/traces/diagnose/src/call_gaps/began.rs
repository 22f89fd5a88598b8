//! Whether spans are lost in the window that were recorded in the baseline, although all requests look complete.

use super::Side;
use super::callees::{Callees, NthCallee, OperationCallees, called};
use crate::lost_calls::CallPair;
use laggard_engine::TreeStructure;
use laggard_model::{OperationId, ServiceId};

/// Calls of the window lack a usual callee more often than before by at least this share of them.
const LACKING_SHARE_MIN: f64 = 0.01;
/// Other callees of the same service are lost at least this fraction as often: one process exports the spans of all.
const SAME_SERVICE_FRACTION: f64 = 0.25;
/// Minimum number of calls with which other callees of the service show whether its spans are lost.
const SAME_SERVICE_CALLS_MIN: f64 = 50.0;

/// How often calls of the window lack a usual callee.
struct Lacking {
    caller: OperationId,
    callee: NthCallee,
    service: ServiceId,
    /// Calls of the caller in the window.
    calls: f64,
    /// How many of them lack the callee, less the number expected from the baseline.
    more: f64,
}

/// Whether calls of the window lack a usual callee more often than in the baseline because its spans are lost. Callees without
/// callees of their own leave no incomplete request.
pub(super) fn began_to_lose(sides: &[Side<'_>], counts: &[Callees], all: &Callees) -> bool {
    let ([window, _], [now, before]) = (sides, counts) else { return false };
    let names = window.selected.union().names();
    let lacking = |caller: OperationId, callee: NthCallee| {
        let ((calls, lacking), (calls_before, lacking_before)) =
            (now.lacking(caller, callee), before.lacking(caller, callee));
        (calls > 0 && calls_before > 0).then(|| Lacking {
            caller,
            callee,
            service: names.service_of(callee.operation),
            calls: calls as f64,
            more: lacking as f64 - calls as f64 * lacking_before as f64 / calls_before as f64,
        })
    };
    let of_caller = |(caller, counts): (usize, &OperationCallees)| {
        let caller = OperationId::from_index(caller);
        counts.usual().filter_map(|callee| lacking(caller, callee)).collect::<Vec<_>>()
    };
    let pairs: Vec<Lacking> = all.operations.iter().enumerate().flat_map(of_caller).collect();
    pairs.iter().any(|pair| {
        pair.callee.ordinal == 0
            && pair.more >= LACKING_SHARE_MIN * pair.calls
            && !is_alone(pair, &pairs)
            && is_lost(window, CallPair { caller: pair.caller, callee: pair.callee.operation })
    })
}

/// Whether the other callees of the service are recorded as they were.
fn is_alone(pair: &Lacking, pairs: &[Lacking]) -> bool {
    let is_other = |other: &&Lacking| {
        other.service == pair.service && (other.caller, other.callee) != (pair.caller, pair.callee)
    };
    let (calls, more) = (pairs.iter().filter(is_other))
        .fold((0.0, 0.0), |(calls, more), other| (calls + other.calls, more + other.more));
    calls >= SAME_SERVICE_CALLS_MIN && more / calls < SAME_SERVICE_FRACTION * pair.more / pair.calls
}

fn is_lost(window: &Side<'_>, pair: CallPair) -> bool {
    let operations = window.selected.operations();
    let callee = NthCallee { operation: pair.callee, ordinal: 0 };
    let lacks = |structure: &TreeStructure| {
        let called = called(structure, operations);
        let callers = (0_u32..).zip(&structure.operation);
        let mut callers = callers.filter(|(_, operation)| operations[operation.index()] == pair.caller);
        callers.any(|(node, _)| called.binary_search(&(node, callee)).is_err())
    };
    let structures = window.range.requests().structures();
    let calls = |structure: &TreeStructure| {
        structure.operation.iter().any(|operation| operations[operation.index()] == pair.callee)
    };
    let lacking: Vec<bool> = structures.iter().map(lacks).collect();
    let calling: Vec<bool> = structures.iter().map(calls).collect();
    let numbers = |is_included: &[bool]| -> Vec<u32> {
        let requests = window.range.iter().filter(|request| is_included[request.structure()]);
        requests.map(|request| request.number() as u32).collect()
    };
    pair.was_lost(window.selected, &numbers(&lacking), &numbers(&calling)) == Some(true)
}
