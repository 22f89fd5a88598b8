//! Replicas that are slow all the time, compared with their peers over every operation.
//!
//! CloudDiag detects rare, large delays: a replica that takes twice its peers' time on every call deviates
//! too little to be flagged, but still makes its share of the requests slow. Here every operation's replicas
//! are compared, in all categories, on times from which a factor common to the whole request (its size) is removed:
//!
//! ```text
//! observation(request, operation, replica) = mean over its calls of ln(time / usual time) − the request's median of the same
//! ```
//!
//! One observation per request keeps observations independent; the median over the whole request removes a
//! common factor. Observations have the weight of their request. The decision needs a one-sided Mann–Whitney test of
//! each replica against all others, with Benjamini–Hochberg over all operations and replicas, and a minimum factor.

use super::Study;
use super::pool::CallScale;
use super::settings::CloudDiagSettings;
use crate::category::CategoryCalls;
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{
    Weights, benjamini_hochberg, effective_sample_size, median, weighted_mann_whitney_one_vs_rest,
    weighted_median,
};
use laggard_parallel::parallel_map;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// A replica that is slow at one operation all the time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SlowPeer {
    pub(crate) operation: OperationId,
    pub(crate) replica: ReplicaId,
    pub(crate) p_adjusted: f64,
}

/// Observations that a replica needs to be compared (by their effective sample size), and replicas that an operation
/// needs.
const OBSERVATIONS_MIN: f64 = 10.0;
const REPLICAS_MIN: usize = 3;

#[derive(Default)]
struct Observations {
    replicas: Vec<ReplicaId>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Observations {
    fn extend(&mut self, later: Observations) {
        self.replicas.extend(later.replicas);
        self.values.extend(later.values);
        self.weights.extend(later.weights);
    }
}

/// Observations of one replica.
#[derive(Default)]
struct OfReplica {
    values: Vec<f64>,
    weights: Vec<f64>,
}

/// Finds slow peers in all categories.
pub(crate) fn slow_peers(
    categories: &[Cow<'_, CategoryCalls>],
    studies: &[Study],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> Vec<SlowPeer> {
    let studied: Vec<(&Cow<'_, CategoryCalls>, &Study)> =
        categories.iter().zip(studies).filter(|(_, study)| study.gate.judged).collect();
    let mut by_operation: BTreeMap<OperationId, Observations> = BTreeMap::new();
    for observed in parallel_map(&studied, threads, |(category, study)| observe(category, &study.scales)) {
        for (operation, observations) in observed {
            by_operation.entry(operation).or_default().extend(observations);
        }
    }
    let operations: Vec<(OperationId, Observations)> = by_operation.into_iter().collect();
    let compared = parallel_map(&operations, threads, |(operation, observations)| {
        compare(*operation, observations, settings)
    });
    let (mut candidates, p_values): (Vec<SlowPeer>, Vec<f64>) = compared.into_iter().flatten().unzip();
    for (candidate, p_adjusted) in candidates.iter_mut().zip(benjamini_hochberg(&p_values)) {
        candidate.p_adjusted = p_adjusted;
    }
    candidates.retain(|candidate| candidate.p_adjusted <= settings.peer_level);
    candidates
}

fn observe(category: &CategoryCalls, scales: &[CallScale]) -> BTreeMap<OperationId, Observations> {
    let mut by_operation: BTreeMap<OperationId, Observations> = BTreeMap::new();
    let usual_logs: Vec<f64> = scales.iter().map(|scale| scale.median_ns.ln()).collect();
    let mut values: Vec<f64> = Vec::new();
    let mut logs: Vec<(OperationId, ReplicaId, f64)> = Vec::new();
    for request in category.calls.chunk_by(|a, b| a.request == b.request) {
        logs.clear();
        logs.extend(request.iter().filter_map(|call| {
            let usual = scales[call.position as usize].median_ns;
            let operation = category.positions[call.position as usize].operation;
            let log = (call.time_ns as f64).max(1.0).ln() - usual_logs[call.position as usize];
            (usual > 0.0).then_some((operation, call.replica, log))
        }));
        values.clear();
        values.extend(logs.iter().map(|&(_, _, log)| log));
        let common = median(&mut values);
        logs.sort_by_key(|&(operation, replica, _)| (operation, replica));
        for group in logs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let mean = group.iter().map(|&(_, _, log)| log).sum::<f64>() / group.len() as f64;
            let observations = by_operation.entry(group[0].0).or_default();
            observations.replicas.push(group[0].1);
            observations.values.push(mean - common);
            observations.weights.push(f64::from(category.requests[request[0].request as usize].weight));
        }
    }
    by_operation
}

/// Every replica with enough observations, and the p-value of the hypothesis that it is not slower.
fn compare(
    operation: OperationId,
    observations: &Observations,
    settings: &CloudDiagSettings,
) -> Vec<(SlowPeer, f64)> {
    let mut out = Vec::new();
    let mut by_replica: BTreeMap<ReplicaId, OfReplica> = BTreeMap::new();
    let weights = Weights::from_slice(&observations.weights);
    for (index, (&replica, &value)) in observations.replicas.iter().zip(&observations.values).enumerate() {
        let of_replica = by_replica.entry(replica).or_default();
        of_replica.values.push(value);
        of_replica.weights.push(weights.at(index));
    }
    if by_replica.len() < REPLICAS_MIN {
        return out;
    }
    let number: BTreeMap<ReplicaId, u32> =
        by_replica.keys().enumerate().map(|(group, &replica)| (replica, group as u32)).collect();
    let groups: Vec<u32> = observations.replicas.iter().map(|replica| number[replica]).collect();
    let tests = weighted_mann_whitney_one_vs_rest(&observations.values, weights, &groups, by_replica.len());
    let usual = weighted_median(&observations.values, weights);
    for ((&replica, of_replica), p_value) in by_replica.iter().zip(tests) {
        if effective_sample_size(&of_replica.weights) < OBSERVATIONS_MIN {
            continue;
        }
        let factor =
            (weighted_median(&of_replica.values, Weights::from_slice(&of_replica.weights)) - usual).exp();
        let p_value = if factor >= settings.peer_factor_min { p_value } else { 1.0 };
        out.push((SlowPeer { operation, replica, p_adjusted: 1.0 }, p_value));
    }
    out
}
