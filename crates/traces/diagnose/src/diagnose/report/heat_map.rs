//! The heat map of a report: suspect operations by replica.

use super::context::Context;
use crate::diagnose::answer::Suspect;
use laggard_model::ReplicaId;
use laggard_report::{ReplicaHeatCell, ReplicaHeatMap};
use std::collections::BTreeMap;

/// Most rows and columns.
const ROWS_MAX: usize = 12;
// Limit: replicas in the heat map | omitted, with their number
const COLUMNS_MAX: usize = 120;

/// The factor of a replica whose calls take their usual time.
const USUAL: f64 = 1.0;

/// Operation x replica over the first suspects: culprits first, then the slowest.
pub(crate) fn heat_map(context: &Context<'_>) -> Option<ReplicaHeatMap> {
    let rows: Vec<_> = context.answer.suspects.iter().take(ROWS_MAX).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns: BTreeMap<_, (bool, f64)> = BTreeMap::new();
    for replica in rows.iter().flat_map(|row| &row.replicas) {
        let column = columns.entry(replica.replica).or_insert((false, 0.0));
        column.0 |= replica.is_culprit;
        column.1 = column.1.max(replica.factor.unwrap_or(USUAL));
    }
    let names = context.requests.names();
    let mut order: Vec<_> = columns.into_iter().collect();
    order.sort_by(|(a, (a_culprit, a_factor)), (b, (b_culprit, b_factor))| {
        (b_culprit.cmp(a_culprit).then(b_factor.total_cmp(a_factor)))
            .then_with(|| names.replica_name(*a).cmp(names.replica_name(*b)))
    });
    let omitted = order.len().saturating_sub(COLUMNS_MAX);
    order.truncate(COLUMNS_MAX);
    let cell_of = |row: &Suspect, replica: ReplicaId| {
        row.replicas.iter().find(|figures| figures.replica == replica).map(|figures| ReplicaHeatCell {
            calls: figures.calls,
            slow: figures.slow_calls,
            factor: figures.factor,
            flagged: figures.is_culprit && !row.culprits.is_empty(),
        })
    };
    Some(ReplicaHeatMap {
        operations: rows.iter().map(|row| context.operation_text(row.operation)).collect(),
        replicas: order.iter().map(|(replica, _)| names.replica_name(*replica).to_owned()).collect(),
        replicas_omitted: omitted as u64,
        cells: rows.iter().flat_map(|row| order.iter().map(|&(replica, _)| cell_of(row, replica))).collect(),
    })
}
