//! Suspects that only some replicas of their service perform.

use super::failures::{OutcomeStudy, Rates};
use crate::diagnose::answer::{Evidence, Suspect};
use laggard_localize::{Excess, ReplicaRate, SomeReplicas, Spread, performed_by_some};
use laggard_model::{OperationId, ReplicaId, ServiceId};
use laggard_numeric::median_of;
use laggard_report::BehaviorChange;
use std::collections::{BTreeMap, BTreeSet};

/// Operations that only some replicas perform, with the time that they take. With a baseline, those that are new since.
pub(super) fn find(outcomes: &OutcomeStudy<'_>) -> Vec<Suspect> {
    let operations = candidates(outcomes);
    if operations.is_empty() {
        return Vec::new();
    }
    let settings = &outcomes.question.settings.sites.failures;
    let replicas_of = |number| outcomes.window.replicas_of(number);
    let found = performed_by_some(&outcomes.window.table, &operations, settings, replicas_of);
    found.iter().map(|found| suspect(outcomes, found)).collect()
}

/// Operations that did not run on all replicas of their service, and are not known from the baseline.
fn candidates(outcomes: &OutcomeStudy<'_>) -> BTreeSet<OperationId> {
    let names = outcomes.study.union.names();
    let mut by_operation: BTreeMap<OperationId, usize> = BTreeMap::new();
    let mut by_service: BTreeMap<ServiceId, BTreeSet<ReplicaId>> = BTreeMap::new();
    for &(operation, replica) in &outcomes.study.window.homes {
        *by_operation.entry(operation).or_default() += 1;
        by_service.entry(names.service_of(operation)).or_default().insert(replica);
    }
    let known: BTreeSet<OperationId> = outcomes.baseline.as_ref().map_or_else(BTreeSet::new, |baseline| {
        baseline.table.trees.iter().flat_map(|tree| tree.operation.iter().copied()).collect()
    });
    let is_candidate = |&(&operation, &replicas): &(&OperationId, &usize)| {
        replicas < by_service[&names.service_of(operation)].len() && !known.contains(&operation)
    };
    by_operation.iter().filter(is_candidate).map(|(&operation, _)| operation).collect()
}

fn suspect(outcomes: &OutcomeStudy<'_>, found: &SomeReplicas) -> Suspect {
    let idle = found.others.iter().map(|&replica| (replica, Vec::new()));
    let mut by_replica: BTreeMap<ReplicaId, Vec<f64>> = idle.collect();
    let mut times: Vec<f64> = Vec::new();
    let mut by_request: Vec<f64> = Vec::with_capacity(found.hit.len());
    let mut total_ns = 0.0;
    for hit in &found.hit {
        let view = outcomes.window.selected.range().requests().request(hit.number as usize);
        let before = times.len();
        for node in (0..view.calls())
            .filter(|&node| outcomes.window.selected.operation(&view, node) == found.operation)
        {
            let time_ns = view.inclusive_time(node).ns() as f64;
            by_replica.entry(outcomes.window.selected.replica(&view, node)).or_default().push(time_ns);
            times.push(time_ns);
        }
        let sum: f64 = times[before..].iter().sum();
        by_request.push(sum);
        total_ns +=
            sum * outcomes.window.selected.fair_weight(&outcomes.study.window.requests[hit.row as usize]);
    }
    let rate = |(&replica, times): (&ReplicaId, &Vec<f64>)| ReplicaRate {
        replica,
        calls: times.len() as u64,
        slow: times.len() as u64,
    };
    let rates = Rates {
        replicas: by_replica.iter().map(|all| (*all.0, rate(all))).collect(),
        rows: found.hit.iter().map(|hit| hit.row).collect(),
    };
    let behavior = BehaviorChange {
        kind: Evidence::SomeReplicas.name().to_owned(),
        callees: Vec::new(),
        rate: found.rate,
        usual_rate: 0.0,
        is_against_peers: true,
        p_value: found.p_adjusted,
        calls: found.calls,
    };
    let mut suspect = outcomes.suspect(found.operation, Evidence::SomeReplicas, behavior, &found.hit, rates);
    suspect.evidence.insert(0, Evidence::Peers);
    suspect.spread = Spread::Localized;
    suspect.culprits.clone_from(&found.replicas);
    for replica in &mut suspect.replicas {
        replica.is_culprit = found.replicas.contains(&replica.replica);
        replica.p_value = replica.is_culprit.then_some(found.p_adjusted);
        let times = &by_replica[&replica.replica];
        (replica.excess_total_ns, replica.excess_median_ns) = (times.iter().sum(), median_of(times));
    }
    suspect.excess = Excess {
        calls: times.len() as u64,
        total_ns,
        median_ns: median_of(&times),
        median_factor: f64::INFINITY,
    };
    if let Some(hits) = &mut suspect.hits {
        hits.request_effect_ns = median_of(&by_request);
    }
    suspect.score = total_ns / 1e9;
    suspect
}
