//! A simple baseline: what a person would compute for a known window.

use super::figures::quantile;
use super::ranked;
use crate::arm::Arm;
use crate::calls::RequestCalls;
use crate::case::{Answer, Case, Localizer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranks operations by the excess of their mean self time in the window over the baseline's, times their calls.
/// The gap between a caller's span and the one span it waits for on another replica counts for the callee.
/// Without a baseline the median replica's mean stands in. Replicas are named when their mean is `REPLICA_FACTOR`
/// times that of the median replica, and ranked by their excess.
#[derive(Clone, Copy, Debug)]
pub struct WindowSelfTime;

/// Least ratio of the means for an operation to be named.
const FACTOR: f64 = 1.1;
const REPLICA_FACTOR: f64 = 1.5;
/// Calls of one operation on one replica.
const REPLICA_CALLS_MIN: u64 = 5;

/// By operation and replica.
type Means = BTreeMap<(u32, u32), Total>;

#[derive(Clone, Copy, Default)]
struct Total {
    calls: u64,
    sum_ns: f64,
}

impl Total {
    fn mean(self) -> f64 {
        self.sum_ns / self.calls.max(1) as f64
    }

    fn add(&mut self, other: Total) {
        self.calls += other.calls;
        self.sum_ns += other.sum_ns;
    }
}

impl Localizer for WindowSelfTime {}

impl Arm<Case, Answer> for WindowSelfTime {
    fn name(&self) -> &str {
        "self-time excess"
    }

    fn answer(&self, case: &Case) -> Result<Answer, String> {
        let names = &case.calls.names;
        let now = totals(&case.calls.target);
        let medians = median_replicas(&now);
        let usual: BTreeMap<u32, f64> = match &case.calls.baseline {
            Some(baseline) => {
                by_operation(&totals(baseline)).into_iter().map(|(index, all)| (index, all.mean())).collect()
            }
            None => medians.clone(),
        };
        let scores = by_operation(&now).into_iter().filter_map(|(operation, all)| {
            let usual = usual.get(&operation).copied().unwrap_or(0.0);
            let excess = (all.mean() - usual) * all.calls as f64;
            (all.mean() >= FACTOR * usual && excess > 0.0).then_some((operation, excess))
        });
        let operations = ranked(scores)
            .into_iter()
            .map(|operation| names.operations[operation as usize].clone())
            .collect();
        let replicas = ranked(replica_scores(&now, &medians));
        let replicas = replicas.into_iter().map(|replica| names.replicas[replica as usize].clone()).collect();
        Ok(Answer { operations, replicas, ..Answer::default() })
    }
}

fn totals(requests: &[Arc<RequestCalls>]) -> Means {
    let mut out = Means::new();
    for request in requests {
        let waits_for = only_remote_callees(request);
        for (call, waits_for) in request.calls.iter().zip(waits_for) {
            let blamed = waits_for.map_or(call, |callee| &request.calls[callee as usize]);
            let own_total = Total { calls: u64::from(waits_for.is_none()), sum_ns: call.self_ns as f64 };
            out.entry((blamed.operation, blamed.replica)).or_default().add(own_total);
        }
    }
    out
}

/// By call: its callee, when it has exactly one and that runs on another replica.
fn only_remote_callees(request: &RequestCalls) -> Vec<Option<u32>> {
    let mut callees: Vec<Option<u32>> = vec![None; request.calls.len()];
    let mut counts = vec![0_u32; request.calls.len()];
    for (index, call) in request.calls.iter().enumerate() {
        if let Some(parent) = call.parent {
            counts[parent as usize] += 1;
            callees[parent as usize] = Some(index as u32);
        }
    }
    for (index, callee) in callees.iter_mut().enumerate() {
        let is_remote =
            callee.is_some_and(|to| request.calls[to as usize].replica != request.calls[index].replica);
        if counts[index] != 1 || !is_remote {
            *callee = None;
        }
    }
    callees
}

fn by_operation(totals: &Means) -> BTreeMap<u32, Total> {
    let mut out: BTreeMap<u32, Total> = BTreeMap::new();
    for ((operation, _), total) in totals {
        out.entry(*operation).or_default().add(*total);
    }
    out
}

/// By operation: the median over its replicas of their means.
fn median_replicas(totals: &Means) -> BTreeMap<u32, f64> {
    let mut means: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((operation, _), total) in totals {
        means.entry(*operation).or_default().push(total.mean());
    }
    means.into_iter().filter_map(|(index, mut means)| Some((index, quantile(&mut means, 0.5)?))).collect()
}

fn replica_scores(totals: &Means, medians: &BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
    let mut out = BTreeMap::new();
    for ((operation, replica), total) in totals {
        let usual = medians[operation];
        if total.calls >= REPLICA_CALLS_MIN && total.mean() >= REPLICA_FACTOR * usual {
            *out.entry(*replica).or_default() += (total.mean() - usual) * total.calls as f64;
        }
    }
    out
}
