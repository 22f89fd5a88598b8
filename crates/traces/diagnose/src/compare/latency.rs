//! The change of the mean latency, over all requests and by entry.

use super::fold::PopulationSummary;
use super::settings::CompareSettings;
use crate::population::UnionNames;
use laggard_localize::compare::{CategoryPair, Estimate, MeanChange, mean_change};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::benjamini_hochberg;
use laggard_report::{Change, EntryChange, LatencyChange, LatencyPart};
use std::collections::BTreeMap;

/// The categories of both sets, by shape.
pub(super) fn category_pairs(
    before: &PopulationSummary,
    after: &PopulationSummary,
) -> BTreeMap<Fingerprint, CategoryPair> {
    let mut pairs = BTreeMap::new();
    let empty = |entry: OperationId| CategoryPair {
        entry,
        before: laggard_localize::compare::Moments::default(),
        after: laggard_localize::compare::Moments::default(),
    };
    for (&id, category) in &before.categories {
        let pair = pairs.entry(id).or_insert_with(|| empty(category.positions[0].operation));
        pair.before = category.latency;
    }
    for (&id, category) in &after.categories {
        let pair = pairs.entry(id).or_insert_with(|| empty(category.positions[0].operation));
        pair.after = category.latency;
    }
    pairs
}

/// The change over all requests.
pub(super) fn latency_change(pairs: &BTreeMap<Fingerprint, CategoryPair>) -> Option<LatencyChange> {
    let all: Vec<CategoryPair> = pairs.values().copied().collect();
    mean_change(&all).as_ref().map(view)
}

/// The change by entry, the most requests first.
pub(super) fn entry_changes(
    pairs: &BTreeMap<Fingerprint, CategoryPair>,
    union: &UnionNames,
    settings: &CompareSettings,
) -> Vec<EntryChange> {
    let mut by_entry: BTreeMap<OperationId, Vec<CategoryPair>> = BTreeMap::new();
    for pair in pairs.values() {
        by_entry.entry(pair.entry).or_default().push(*pair);
    }
    let mut changes: Vec<EntryChange> = by_entry
        .into_iter()
        .map(|(entry, pairs)| {
            let key = union.names().operation_key(entry);
            EntryChange {
                service: key.service.to_owned(),
                operation: key.operation.to_owned(),
                requests_before: pairs.iter().map(|pair| pair.before.count()).sum(),
                requests_after: pairs.iter().map(|pair| pair.after.count()).sum(),
                latency: mean_change(&pairs).as_ref().map(view),
                change: Change::None,
            }
        })
        .collect();
    let p_value = |entry: &EntryChange| entry.latency.map_or(1.0, |latency| latency.same_requests.p_value);
    let adjusted = benjamini_hochberg(&changes.iter().map(p_value).collect::<Vec<f64>>());
    for (entry, p_adjusted) in changes.iter_mut().zip(adjusted) {
        let Some(latency) = entry.latency.filter(|_| p_adjusted <= settings.level) else { continue };
        let change_ns = latency.same_requests.change_ns;
        if change_ns.abs() >= settings.change_min * latency.before_ns {
            entry.change = if change_ns > 0.0 { Change::Slower } else { Change::Faster };
        }
    }
    // Stable: equal counts stay in the order of their handles.
    changes.sort_by_key(|change| std::cmp::Reverse(change.requests_before + change.requests_after));
    changes
}

fn view(change: &MeanChange) -> LatencyChange {
    LatencyChange {
        before_ns: change.before_ns,
        after_ns: change.after_ns,
        total: part(&change.total),
        same_requests: part(&change.slower),
        mix: part(&change.mix),
        new_shapes: part(&change.new),
        vanished_shapes: part(&change.vanished),
    }
}

fn part(estimate: &Estimate) -> LatencyPart {
    LatencyPart {
        change_ns: estimate.value_ns,
        low_ns: estimate.low_ns,
        high_ns: estimate.high_ns,
        p_value: estimate.p_value,
    }
}
