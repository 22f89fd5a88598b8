//! Replicas of each operation, before and after.

use super::fold::PopulationSummary;
use super::settings::CompareSettings;
use crate::population::UnionNames;
use laggard_localize::compare::{OperationPair, ReplicaShift, compare_replicas};
use laggard_model::{OperationId, ReplicaId};
use laggard_report::{AttributeChange, Change, ReplicaChange};
use std::collections::BTreeMap;

/// A change on one replica is at least this large, relative to before: single replicas vary more than all together.
const CHANGE_MIN: f64 = 0.1;

/// The parts of one operation's calls: by replica, and by the attributes of their requests.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationParts {
    /// Those with enough requests in both sets.
    pub(super) compared: u64,
    /// Those that changed, the largest part of the operation's change first.
    pub(super) changed: Vec<ReplicaChange>,
    /// Attributes whose requests changed while the others did not.
    pub(super) attributes: Vec<AttributeChange>,
}

/// Compares every replica of every operation with itself.
pub(super) fn replica_changes(
    before: &PopulationSummary,
    after: &PopulationSummary,
    union: &UnionNames,
    settings: &CompareSettings,
) -> BTreeMap<OperationId, OperationParts> {
    let keys: Vec<(OperationId, ReplicaId)> =
        after.replicas.keys().filter(|key| before.replicas.contains_key(key)).copied().collect();
    let pairs: Vec<OperationPair> = keys
        .iter()
        .map(|key| OperationPair {
            operation: key.0,
            before: before.replicas[key].sample.observations(),
            after: after.replicas[key].sample.observations(),
        })
        .collect();
    let mut all: BTreeMap<OperationId, OperationParts> = BTreeMap::new();
    for (key, shift) in keys.iter().zip(compare_replicas(&pairs)) {
        let Some(shift) = shift else { continue };
        let known = all.entry(key.0).or_default();
        known.compared += 1;
        if let Some(change) = direction(&shift, settings) {
            let calls = [before, after].map(|set| set.replicas[key].calls);
            let all_calls = after.operations.get(&key.0).map_or(calls[1], |operation| operation.calls);
            known.changed.push(ReplicaChange {
                replica: union.names().replica_name(key.1).to_owned(),
                change,
                calls_before: calls[0],
                calls_after: calls[1],
                calls_share: calls[1] as f64 / all_calls.max(1) as f64,
                moved_share: shift.moved_share,
                shift_ns: shift.shift_ns,
                median_before_ns: shift.median_before,
                p_value: shift.p_adjusted,
            });
        }
    }
    for replicas in all.values_mut() {
        let weight =
            |change: &ReplicaChange| (change.shift_ns * change.moved_share * change.calls_share).abs();
        replicas
            .changed
            .sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.replica.cmp(&b.replica)));
    }
    all
}

/// How it changed, if that is beyond chance and large enough.
pub(super) fn direction(shift: &ReplicaShift, settings: &CompareSettings) -> Option<Change> {
    let large = shift.shift_ns.abs() >= CHANGE_MIN.max(settings.change_min) * shift.median_before;
    (shift.p_adjusted <= settings.level && large && shift.shift_ns != 0.0)
        .then_some(if shift.shift_ns > 0.0 { Change::Slower } else { Change::Faster })
}
