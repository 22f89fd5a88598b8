//! Culprit replicas over all operations.

use super::context::Context;
use crate::diagnose::answer::{Evidence, Suspect, SuspectReplica};
use laggard_model::{OperationId, ReplicaId, ServiceId};
use laggard_report::ReplicaSuspect;
use std::collections::BTreeMap;

/// Identity of a host: a name alone, unless the name is a bare number that other services use as well.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Host {
    replica: ReplicaId,
    service: Option<ServiceId>,
}

#[derive(Clone, Copy)]
struct Implication<'a> {
    operation: OperationId,
    figures: &'a SuspectReplica,
}

/// Replicas that differ from their peers, by score (categories over all operations), then excess.
pub(crate) fn replica_suspects(context: &Context<'_>) -> Vec<ReplicaSuspect> {
    let mut by_host: BTreeMap<Host, Vec<Implication<'_>>> = BTreeMap::new();
    // Replicas where an operation fails are named with it; this list is of those that take time.
    let takes_time = |suspect: &&Suspect| {
        suspect.behavior.iter().all(|change| change.kind == Evidence::SomeReplicas.name())
    };
    let slow = context.answer.suspects.iter().filter(takes_time);
    for suspect in slow {
        for figures in culprits(suspect) {
            let host = host(context, figures.replica, suspect.operation);
            by_host.entry(host).or_default().push(Implication { operation: suspect.operation, figures });
        }
    }
    let mut out: Vec<(f64, ReplicaSuspect)> =
        by_host.into_iter().map(|(host, implications)| summarize(context, host, implications)).collect();
    out.sort_by(|(excess_a, a), (excess_b, b)| {
        b.score.total_cmp(&a.score).then(excess_b.total_cmp(excess_a)).then(a.replica.cmp(&b.replica))
    });
    out.into_iter()
        .enumerate()
        .map(|(index, (_, suspect))| ReplicaSuspect { rank: index as u32 + 1, ..suspect })
        .collect()
}

/// Culprit replicas; empty when the fault is everywhere.
fn culprits(suspect: &Suspect) -> impl Iterator<Item = &SuspectReplica> {
    let localized = !suspect.culprits.is_empty();
    suspect.replicas.iter().filter(move |figures| localized && figures.is_culprit)
}

fn host(context: &Context<'_>, replica: ReplicaId, operation: OperationId) -> Host {
    let names = context.requests.names();
    let is_number = names.replica_name(replica).bytes().all(|byte| byte.is_ascii_digit());
    Host { replica, service: is_number.then(|| names.service_of(operation)) }
}

fn summarize(
    context: &Context<'_>,
    host: Host,
    mut implications: Vec<Implication<'_>>,
) -> (f64, ReplicaSuspect) {
    let names = context.requests.names();
    implications.sort_by(|a, b| {
        (b.figures.score.cmp(&a.figures.score))
            .then(b.figures.excess_total_ns.total_cmp(&a.figures.excess_total_ns))
            .then(a.operation.cmp(&b.operation))
    });
    let sum = |figure: fn(&SuspectReplica) -> u64| {
        implications.iter().map(|implication| figure(implication.figures)).sum::<u64>()
    };
    let excess: f64 = implications.iter().map(|implication| implication.figures.excess_total_ns).sum();
    let first = implications.first().expect("a host is listed because something implicates it");
    let suspect = ReplicaSuspect {
        rank: 0,
        replica: names.replica_name(host.replica).to_owned(),
        service: names.service_name(names.service_of(first.operation)).to_owned(),
        score: sum(|figures| figures.score) as f64,
        effect_ns: first.figures.excess_median_ns.max(0.0) as u64,
        p_value: implications.iter().filter_map(|implication| implication.figures.p_value).reduce(f64::min),
        slow_calls: sum(|figures| figures.slow_calls),
        calls: sum(|figures| figures.calls),
        operations: implications
            .iter()
            .map(|implication| context.operation_text(implication.operation))
            .collect(),
    };
    (excess, suspect)
}
