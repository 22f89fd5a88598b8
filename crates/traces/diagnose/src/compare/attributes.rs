//! Requests with each value of an attribute, before and after: a fault of one tenant of many moves no median over all.

use super::fold::PopulationSummary;
use super::replicas::direction;
use super::settings::CompareSettings;
use crate::diagnose::methods::combined::attributes::AttributeValues;
use crate::population::UnionNames;
use laggard_localize::compare::{OperationPair, ReplicaShift, compare_replicas};
use laggard_model::{AttributeSetId, OperationId};
use laggard_report::AttributeChange;
use std::collections::BTreeMap;

/// Most requests with a value that are compared, and most of the others.
const OBSERVATIONS_MAX: usize = 300;
/// The other requests changed by at most this part of the change of those with the value.
const OTHERS_PART_MAX: f64 = 0.25;

/// A value of an attribute at an operation.
#[derive(Clone, Copy)]
struct Group {
    operation: OperationId,
    value: u32,
}

/// The values of attributes whose requests changed at an operation while the others did not; the largest change first.
pub(super) fn attribute_changes(
    before: &PopulationSummary,
    after: &PopulationSummary,
    union: &UnionNames,
    settings: &CompareSettings,
) -> BTreeMap<OperationId, Vec<AttributeChange>> {
    let values = AttributeValues::new(union.names());
    let pair = |group: &Group, has_value: bool| {
        let is_included = |set: AttributeSetId| values.sets[set.index()].contains(&group.value) == has_value;
        let observations = |set: &PopulationSummary| {
            let mut all = set.operations[&group.operation].sample.observations_with(is_included);
            all.truncate(OBSERVATIONS_MAX);
            all
        };
        OperationPair { operation: group.operation, before: observations(before), after: observations(after) }
    };
    let is_described = |operation: &OperationId, value: u32| {
        let service = &values.values[value as usize].service;
        service.is_empty() || *service == union.names().operation_key(*operation).service
    };
    let common = after.operations.keys().filter(|operation| before.operations.contains_key(operation));
    let groups: Vec<Group> = common
        .flat_map(|&operation| values.compared().flatten().map(move |value| Group { operation, value }))
        .filter(|group| is_described(&group.operation, group.value))
        .collect();
    let pairs: Vec<OperationPair> = groups.iter().map(|group| pair(group, true)).collect();
    let mut all: BTreeMap<OperationId, Vec<AttributeChange>> = BTreeMap::new();
    for ((group, pair_with), shift) in groups.iter().zip(&pairs).zip(compare_replicas(&pairs)) {
        let Some(shift) = shift else { continue };
        let Some(change) = direction(&shift, settings) else { continue };
        let others = compare_replicas(&[pair(group, false)]).into_iter().flatten().next();
        if !others.is_some_and(|others| is_unmoved(&others, &shift)) {
            continue;
        }
        let value = &values.values[group.value as usize];
        all.entry(group.operation).or_default().push(AttributeChange {
            key: value.key.clone(),
            value: value.value.clone(),
            service: (!value.service.is_empty()).then(|| value.service.clone()),
            change,
            compared_before: pair_with.before.len() as u64,
            compared_after: pair_with.after.len() as u64,
            moved_share: shift.moved_share,
            shift_ns: shift.shift_ns,
            median_before_ns: shift.median_before,
            p_value: shift.p_adjusted,
        });
    }
    for changes in all.values_mut() {
        let size = |change: &AttributeChange| (change.shift_ns * change.moved_share).abs();
        changes.sort_by(|a, b| {
            size(b).total_cmp(&size(a)).then_with(|| (&a.key, &a.value).cmp(&(&b.key, &b.value)))
        });
    }
    all
}

fn is_unmoved(others: &ReplicaShift, shift: &ReplicaShift) -> bool {
    let size = |shift: &ReplicaShift| shift.shift_ns * shift.moved_share;
    size(others) / size(shift) <= OTHERS_PART_MAX
}
