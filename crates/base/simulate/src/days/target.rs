//! Selects the target of a fault among operations and edges that carry enough of the requests' latency to matter.

use super::settings::{DayFault, DayFaultKind};
use super::system::{ITEMS_MEAN, System, Times};
use crate::Error;
use crate::random::{Random, Stream};
use laggard_model::SpanKind;

/// Target of a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FaultTarget {
    pub(super) operation: usize,
    /// The caller, for an edge.
    pub(super) caller: Option<usize>,
    /// The number of the replica, for a fault of one replica.
    pub(super) slot: Option<usize>,
    /// The number of the tenant, for a fault of one tenant.
    pub(super) tenant: Option<usize>,
    /// Time added to every call, for an edge, nanoseconds.
    pub(super) extra_ns: f64,
}

/// A target has at least this share of the time of an average request, and this many calls per request.
const SHARE_MIN: f64 = 0.03;
const CALLS_MIN: f64 = 0.05;

/// Number of tenants; the popularity of tenant `n` is proportional to `1 / (n + 1)`.
pub(super) const TENANTS: usize = 8;

impl FaultTarget {
    pub(super) fn choose(fault: &DayFault, system: &System) -> Result<FaultTarget, Error> {
        let mut random = Random::new(fault.seed, Stream::FaultPlan, &[fault.kind as u64]);
        let calls = calls_per_request(system);
        let time = |index: usize| calls[index] * system.operations[index].work.mean_ns();
        let busy = |index: &usize| system.operations[*index].work.is_busy();
        let all: f64 = (0..calls.len()).filter(busy).map(time).sum();
        let matters =
            |index: &usize| busy(index) && time(*index) >= SHARE_MIN * all && calls[*index] >= CALLS_MIN;
        let candidates: Vec<usize> = match fault.kind {
            DayFaultKind::Replica => (0..calls.len())
                .filter(|index| {
                    matters(index) && system.services[system.operations[*index].service].replicas > 1
                })
                .collect(),
            DayFaultKind::Errors => (0..calls.len())
                .filter(|&index| calls[index] >= CALLS_MIN && is_remote(system, index))
                .collect(),
            DayFaultKind::EarlyReturn => (0..calls.len())
                .filter(|&index| calls[index] >= CALLS_MIN && !system.operations[index].calls.is_empty())
                .collect(),
            DayFaultKind::Edge => {
                let called = |index: &usize| callers(system, *index, &calls).next().is_some();
                (0..calls.len()).filter(|index| is_remote(system, *index) && called(index)).collect()
            }
            DayFaultKind::Operation | DayFaultKind::Tenant => (0..calls.len()).filter(matters).collect(),
        };
        if candidates.is_empty() {
            let value = fault.kind.name().to_owned();
            return Err(Error::Setting {
                name: "fault",
                value,
                allowed: "a kind that an operation of this system can have",
            });
        }
        let operation = candidates[random.index(candidates.len())];
        let mut target = FaultTarget { operation, caller: None, slot: None, tenant: None, extra_ns: 0.0 };
        match fault.kind {
            DayFaultKind::Replica => {
                target.slot =
                    Some(random.index(system.services[system.operations[operation].service].replicas));
            }
            DayFaultKind::Tenant => target.tenant = Some(random.index(3)),
            DayFaultKind::Edge => {
                let callers: Vec<usize> = callers(system, operation, &calls).collect();
                target.caller = Some(callers[random.index(callers.len())]);
                target.extra_ns = (fault.factor - 1.0) * inclusive_ns(system, operation).max(2e6);
            }
            DayFaultKind::Operation | DayFaultKind::Errors | DayFaultKind::EarlyReturn => {}
        }
        Ok(target)
    }
}

fn is_remote(system: &System, index: usize) -> bool {
    system.operations[index].kind == SpanKind::Server && system.operations[index].service > 0
}

/// The operations whose calls of `callee` are at least [`CALLS_MIN`] per request. Not every operation is reached by an entry.
fn callers<'a>(system: &'a System, callee: usize, calls: &'a [f64]) -> impl Iterator<Item = usize> + 'a {
    let often = move |caller: &usize| {
        let own = &system.operations[*caller].calls;
        own.iter().any(|call| {
            call.operation == callee
                && call.probability > 0.5
                && calls[*caller] * call.probability >= CALLS_MIN
        })
    };
    (0..system.operations.len()).filter(often)
}

/// Mean number of calls of each operation in a request.
fn calls_per_request(system: &System) -> Vec<f64> {
    let mut calls = vec![0.0; system.operations.len()];
    let mut before = 0.0;
    for &(entry, until) in &system.entries {
        add(system, entry, until - before, &mut calls);
        before = until;
    }
    calls
}

fn add(system: &System, operation: usize, times: f64, calls: &mut [f64]) {
    calls[operation] += times;
    for call in &system.operations[operation].calls {
        let items = if call.times == Times::Once { 1.0 } else { ITEMS_MEAN };
        add(system, call.operation, times * call.probability * items, calls);
    }
}

/// Mean time of a call with all that it calls in sequence, nanoseconds.
fn inclusive_ns(system: &System, index: usize) -> f64 {
    let operation = &system.operations[index];
    let calls = operation.calls.iter().map(|call| {
        let items = if call.times == Times::EachItem { ITEMS_MEAN } else { 1.0 };
        call.probability * items * inclusive_ns(system, call.operation)
    });
    operation.work.mean_ns() + calls.sum::<f64>()
}
