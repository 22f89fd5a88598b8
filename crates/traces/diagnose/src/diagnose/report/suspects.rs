//! Suspect operations, as in the report.

use super::context::Context;
use super::events::SystemEvents;
use crate::diagnose::answer::{AffectedCategory as FoundCategory, RequestCounts, Suspect as FoundSuspect};
use laggard_localize::{CategoryPosition, Spread};
use laggard_model::{OperationId, ReplicaId, TraceId};
use laggard_report::{AffectedCategory, Position, Scope, Suspect};
use std::collections::BTreeSet;

/// Most example traces per suspect.
const TRACES_MAX: usize = 5;

/// The suspects, at most `suspects_max`.
pub(crate) fn suspects(context: &Context<'_>, events: &SystemEvents) -> Vec<Suspect> {
    let shown = context.answer.suspects.iter().take(context.settings.suspects_max);
    let mut suspects: Vec<Suspect> = shown
        .enumerate()
        .map(|(index, found_suspect)| suspect(context, events, index as u32 + 1, found_suspect))
        .collect();
    // Several suspects may have made the same request slow; shares must sum to at most 1.
    let sum: f64 = suspects.iter().map(|suspect| suspect.share).sum();
    if sum > 1.0 {
        suspects.iter_mut().for_each(|suspect| suspect.share /= sum);
    }
    suspects
}

fn suspect(context: &Context<'_>, events: &SystemEvents, rank: u32, suspect: &FoundSuspect) -> Suspect {
    let names = context.requests.names();
    let key = names.operation_key(suspect.operation);
    let share = match context.answer.excess_ns {
        0.0 => 0.0,
        // NaN stays NaN.
        excess_ns => (suspect.excess.total_ns / excess_ns).clamp(0.0, 1.0),
    };
    let categories =
        suspect.categories.iter().map(|&category| context.categories()[category].id.short()).collect();
    let sites = suspect.sites.as_ref();
    let hits = suspect.hits.as_ref();
    let counts = hits.map_or_else(|| request_counts(context, suspect), |hits| hits.requests);
    let traces = hits.map_or(&[][..], |hits| &hits.traces);
    Suspect {
        rank,
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        kind: key.kind.name().to_owned(),
        scope: match suspect.spread {
            Spread::Localized => Scope::Replicas,
            Spread::Everywhere | Spread::Undecided => Scope::All,
        },
        replicas: named_replicas(suspect)
            .map(|replica| names.replica_name(replica).to_owned())
            .filter(|name| !name.is_empty())
            .collect(),
        stands_out: suspect.stands_out,
        score: suspect.score,
        effect_ns: suspect.excess.median_ns.max(0.0) as u64,
        request_effect_ns: hits.map_or(suspect.excess.median_ns, |hits| hits.request_effect_ns).max(0.0)
            as u64,
        factor: suspect.excess.median_factor,
        share,
        requests_hit: counts.hit,
        requests_hit_estimated: counts.hit_estimated,
        requests_seen: counts.seen,
        met: hits.and_then(|hits| hits.met),
        replicas_seen: suspect.replicas.len() as u64,
        in_succession: suspect.in_succession,
        scope_undecided: suspect.spread == Spread::Undecided,
        categories,
        affected: hits.map_or_else(Vec::new, |hits| hits.affected.iter().map(affected).collect()),
        positions: suspect
            .positions
            .iter()
            .map(|&(category, call)| position(context, category, call))
            .collect(),
        trace_ids: if traces.is_empty() {
            example_traces(context, suspect)
        } else {
            traces.iter().map(|&trace| context.requests.trace_text(trace)).collect()
        },
        between: suspect.between.clone(),
        behavior: suspect.behavior.clone(),
        evidence: suspect.evidence.iter().map(|kind| kind.name().to_owned()).collect(),
        culprits: sites.map_or_else(Vec::new, |sites| sites.culprits.clone()),
        shift: sites.and_then(|sites| sites.shift),
        slow_calls: sites.and_then(|sites| sites.slow_calls),
        onset: suspect.onset,
        events: events.near(context, suspect),
        attributes: suspect.attributes.clone(),
        load: suspect.load,
    }
}

/// The culprits; without any, the only replica that ran the operation.
fn named_replicas(suspect: &FoundSuspect) -> impl Iterator<Item = ReplicaId> + '_ {
    let only = match suspect.replicas.as_slice() {
        [only] if suspect.culprits.is_empty() => Some(only.replica),
        _ => None,
    };
    suspect.culprits.iter().copied().chain(only)
}

fn affected(category: &FoundCategory) -> AffectedCategory {
    AffectedCategory {
        category: category.id.short(),
        requests_hit: category.requests,
        lost_ns: category.lost_ns as u64,
    }
}

/// Extrapolated to requests of large categories that were left out.
fn request_counts(context: &Context<'_>, suspect: &FoundSuspect) -> RequestCounts {
    let (mut hit, mut hit_estimated) = (0.0, 0.0);
    for &(category, request) in &suspect.hit {
        let category = &context.categories()[category];
        hit += category.one_in();
        hit_estimated += category.one_in() * f64::from(category.requests[request as usize].weight);
    }
    RequestCounts { hit: hit.round() as u64, hit_estimated, seen: requests_seen(context, suspect.operation) }
}

fn requests_seen(context: &Context<'_>, operation: OperationId) -> u64 {
    let calls_it =
        |positions: &[CategoryPosition]| positions.iter().any(|position| position.operation == operation);
    let calling = context.categories().iter().filter(|category| calls_it(&category.positions));
    calling.map(|category| category.requests.len() as u64 + category.left_out).sum()
}

fn position(context: &Context<'_>, category: usize, index: u32) -> Position {
    let category = &context.categories()[category];
    let mut path = Vec::new();
    let mut next = Some(index);
    while let Some(here) = next {
        let position = category.positions[here as usize];
        path.push(context.operation_text(position.operation));
        next = position.parent;
    }
    path.reverse();
    Position { category: category.id.short(), position: index, path }
}

/// The slowest of the requests it hit, each trace once.
fn example_traces(context: &Context<'_>, suspect: &FoundSuspect) -> Vec<String> {
    let mut hit: Vec<(u64, TraceId)> = suspect
        .hit
        .iter()
        .map(|&(category, request)| context.categories()[category].requests[request as usize])
        .map(|request| (request.latency_ns, request.trace))
        .collect();
    hit.sort_unstable_by(|a, b| b.cmp(a));
    let mut traces = BTreeSet::new();
    hit.into_iter()
        .filter(|&(_, trace)| traces.insert(trace))
        .take(TRACES_MAX)
        .map(|(_, trace)| context.requests.trace_text(trace))
        .collect()
}
