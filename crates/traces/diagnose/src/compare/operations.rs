//! Tests every operation of a comparison: how its time and its number of calls per request changed.

use super::attributes::attribute_changes;
use super::fold::{OperationSummary, PopulationSummary};
use super::paths::complete;
use super::replicas::{OperationParts, replica_changes};
use super::settings::CompareSettings;
use crate::population::UnionNames;
use laggard_localize::compare::{OperationPair, OperationShift, Strata, compare_operations, fisher_exact};
use laggard_model::OperationId;
use laggard_numeric::benjamini_hochberg;
use laggard_report::{Change, MeasuredShift, OperationChange, OperationFigures};
use std::collections::BTreeSet;

/// Every operation of either set: those that changed first, then by what they add to a request.
pub(super) fn operation_changes(
    before: &PopulationSummary,
    after: &PopulationSummary,
    union: &UnionNames,
    settings: &CompareSettings,
) -> Vec<OperationChange> {
    let ids: BTreeSet<OperationId> =
        before.operations.keys().chain(after.operations.keys()).copied().collect();
    let sample = |set: &PopulationSummary, id| {
        set.operations.get(&id).map_or_else(Vec::new, |operation| operation.sample.observations())
    };
    let pairs: Vec<OperationPair> = ids
        .iter()
        .map(|&operation| OperationPair {
            operation,
            before: sample(before, operation),
            after: sample(after, operation),
        })
        .collect();
    let shifts = compare_operations(&pairs);
    let one_sided = one_sided_tests(&ids, before, after);
    let mut parts = replica_changes(before, after, union, settings);
    for (operation, attributes) in attribute_changes(before, after, union, settings) {
        parts.entry(operation).or_default().attributes = attributes;
    }
    let mut changes: Vec<OperationChange> = (ids.into_iter().zip(shifts).zip(one_sided))
        .map(|((id, shifts), p)| {
            let parts = parts.remove(&id).unwrap_or_default();
            operation_change(id, &shifts, p, parts, [before, after], union, settings)
        })
        .collect();
    changes.sort_by(|a, b| {
        (a.change == Change::None)
            .cmp(&(b.change == Change::None))
            .then(b.change_per_request_ns.abs().total_cmp(&a.change_per_request_ns.abs()))
    });
    changes
}

/// For operations of one set only: whether that can be chance, after Benjamini–Hochberg; 1 for the others.
fn one_sided_tests(
    ids: &BTreeSet<OperationId>,
    before: &PopulationSummary,
    after: &PopulationSummary,
) -> Vec<f64> {
    let requests =
        |set: &PopulationSummary, id| set.operations.get(&id).map_or(0, |operation| operation.requests);
    let test = |&id: &OperationId| match (requests(before, id), requests(after, id)) {
        (hits @ 0, others) | (hits, others @ 0) => {
            fisher_exact(hits, complete(before), others, complete(after))
        }
        _ => 1.0,
    };
    benjamini_hochberg(&ids.iter().map(test).collect::<Vec<f64>>())
}

fn operation_change(
    id: OperationId,
    shifts: &[OperationShift; 2],
    p_one_sided: f64,
    parts: OperationParts,
    sets: [&PopulationSummary; 2],
    union: &UnionNames,
    settings: &CompareSettings,
) -> OperationChange {
    let key = union.names().operation_key(id);
    let summaries = sets.map(|set| set.operations.get(&id));
    let [time, calls] = shifts.each_ref().map(|shift| measured(shift, settings));
    let in_a_request = |index: usize| {
        summaries[index]
            .map_or(0.0, |summaries| summaries.self_ns as f64 / complete(sets[index]).max(1) as f64)
    };
    let change = match summaries {
        [None, _] if p_one_sided <= settings.level => Change::New,
        [_, None] if p_one_sided <= settings.level => Change::Vanished,
        _ => direction(time.as_ref(), calls.as_ref(), &parts),
    };
    OperationChange {
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        kind: key.kind.name().to_owned(),
        change,
        before: figures(summaries[0]),
        after: figures(summaries[1]),
        change_per_request_ns: in_a_request(1) - in_a_request(0),
        time,
        calls,
        replicas_compared: parts.compared,
        replicas: parts.changed,
        attributes: parts.attributes,
    }
}

fn direction(time: Option<&MeasuredShift>, calls: Option<&MeasuredShift>, parts: &OperationParts) -> Change {
    let up = |shift: &MeasuredShift| shift.shift > 0.0;
    if let Some(time) = time.filter(|time| time.significant) {
        return if up(time) { Change::Slower } else { Change::Faster };
    }
    match calls.filter(|calls| calls.significant) {
        Some(calls) if up(calls) => Change::MoreCalls,
        Some(_) => Change::FewerCalls,
        // A fault of one replica or tenant need not move the median over all.
        None => {
            let largest = parts.changed.first().map(|replica| replica.change);
            let largest = largest.or_else(|| parts.attributes.first().map(|attribute| attribute.change));
            largest.unwrap_or(Change::None)
        }
    }
}

fn measured(tested: &OperationShift, settings: &CompareSettings) -> Option<MeasuredShift> {
    let shift = tested.shift?;
    let large = tested.ratio.is_some_and(|ratio| (ratio - 1.0).abs() >= settings.change_min);
    Some(MeasuredShift {
        median_before: tested.median_before,
        median_after: tested.median_after,
        shift: shift.estimate,
        low: shift.interval.map(|[low, _]| low),
        high: shift.interval.map(|[_, high]| high),
        ratio: tested.ratio,
        effect: tested.effect,
        p_value: tested.p_adjusted,
        compared_within: match tested.strata {
            Strata::Category => "category",
            Strata::Entry => "entry",
        },
        significant: tested.p_adjusted <= settings.level && large && shift.estimate != 0.0,
    })
}

fn figures(summary: Option<&OperationSummary>) -> OperationFigures {
    let Some(summary) = summary else { return OperationFigures::default() };
    let self_ns = summary.self_ns as f64;
    let (requests, calls) = (summary.requests.max(1) as f64, summary.calls.max(1) as f64);
    OperationFigures {
        requests: summary.requests,
        calls: summary.calls,
        self_per_call_ns: self_ns / calls,
        self_per_request_ns: self_ns / requests,
        calls_per_request: calls / requests,
    }
}
