//! Suspect operations as the report shows them.

use super::context::Context;
use crate::diagnose::answer::{RequestCounts, Suspect as FoundSuspect};
use laggard_localize::{CategoryPosition, Spread};
use laggard_model::{OperationId, TraceId};
use laggard_report::{Position, Scope, Suspect};
use std::collections::BTreeSet;

/// Most example traces a suspect shows.
const TRACES_MAX: usize = 5;

/// The suspects, at most as many as were asked for.
pub(crate) fn suspects(context: &Context<'_>) -> Vec<Suspect> {
    let shown = context.answer.suspects.iter().take(context.settings.suspects_max);
    let mut suspects: Vec<Suspect> =
        shown.enumerate().map(|(at, found)| suspect(context, at as u32 + 1, found)).collect();
    // Several suspects may have made the same request slow; shares are of one whole.
    let sum: f64 = suspects.iter().map(|suspect| suspect.share).sum();
    if sum > 1.0 {
        suspects.iter_mut().for_each(|suspect| suspect.share /= sum);
    }
    suspects
}

fn suspect(context: &Context<'_>, rank: u32, found: &FoundSuspect) -> Suspect {
    let names = context.requests.names();
    let key = names.operation_key(found.operation);
    let share =
        if context.answer.excess_ns > 0.0 { found.excess.total_ns / context.answer.excess_ns } else { 0.0 };
    let categories = found.categories.iter().map(|&at| context.categories()[at].id.short()).collect();
    let sites = found.sites.as_ref();
    let counts = sites.map_or_else(|| request_counts(context, found), |sites| sites.requests);
    let traces = sites.map_or(&[][..], |sites| &sites.traces);
    Suspect {
        rank,
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        kind: key.kind.name().to_owned(),
        scope: match found.spread {
            Spread::Localized => Scope::Replicas,
            Spread::Everywhere | Spread::Undecided => Scope::All,
        },
        replicas: found.culprits.iter().map(|&replica| names.replica_name(replica).to_owned()).collect(),
        score: found.score,
        effect_ns: found.excess.median_ns.max(0.0) as u64,
        factor: found.excess.median_factor,
        share: share.min(1.0),
        requests_hit: counts.hit,
        requests_hit_estimated: counts.hit_estimated,
        requests_seen: counts.seen,
        replicas_seen: found.replicas.len() as u64,
        scope_undecided: found.spread == Spread::Undecided,
        categories,
        positions: found.positions.iter().map(|&(category, at)| position(context, category, at)).collect(),
        trace_ids: if traces.is_empty() {
            example_traces(context, found)
        } else {
            traces.iter().map(|&trace| context.requests.trace_text(trace)).collect()
        },
        between: found.between.clone(),
        evidence: found.evidence.iter().map(|kind| kind.name().to_owned()).collect(),
        culprits: sites.map_or_else(Vec::new, |sites| sites.culprits.clone()),
        shift: sites.and_then(|sites| sites.shift),
        onset: sites.and_then(|sites| sites.onset.clone()),
    }
}

/// With requests of large categories that were left out, as far as those that were looked at tell.
fn request_counts(context: &Context<'_>, found: &FoundSuspect) -> RequestCounts {
    let (mut hit, mut hit_estimated) = (0.0, 0.0);
    for &(category, at) in &found.hit {
        let category = &context.categories()[category];
        hit += category.one_in();
        hit_estimated += category.one_in() * f64::from(category.requests[at as usize].weight);
    }
    RequestCounts { hit: hit.round() as u64, hit_estimated, seen: requests_seen(context, found.operation) }
}

fn requests_seen(context: &Context<'_>, operation: OperationId) -> u64 {
    let calls_it = |positions: &[CategoryPosition]| positions.iter().any(|at| at.operation == operation);
    let judged = context.categories().iter().filter(|category| calls_it(&category.positions));
    judged.map(|category| category.requests.len() as u64 + category.left_out).sum()
}

fn position(context: &Context<'_>, category: usize, at: u32) -> Position {
    let category = &context.categories()[category];
    let mut path = Vec::new();
    let mut next = Some(at);
    while let Some(here) = next {
        let position = category.positions[here as usize];
        path.push(context.operation_text(position.operation));
        next = position.parent;
    }
    path.reverse();
    Position { category: category.id.short(), position: at, path }
}

/// The slowest of the requests it hit, each trace once.
fn example_traces(context: &Context<'_>, found: &FoundSuspect) -> Vec<String> {
    let mut hit: Vec<(u64, TraceId)> = found
        .hit
        .iter()
        .map(|&(category, request)| context.categories()[category].requests[request as usize])
        .map(|request| (request.latency_ns, request.trace))
        .collect();
    hit.sort_unstable_by(|a, b| b.cmp(a));
    let mut seen = BTreeSet::new();
    hit.into_iter()
        .filter(|&(_, trace)| seen.insert(trace))
        .take(TRACES_MAX)
        .map(|(_, trace)| context.requests.trace_text(trace))
        .collect()
}
