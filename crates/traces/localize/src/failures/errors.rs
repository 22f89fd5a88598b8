//! Operations whose calls fail more often than before, from some time of the window on, or on some replicas only.

use crate::failures::FailureSettings;
use crate::failures::outcomes::{OutcomeTable, RequestNumbers};
use crate::failures::rates::{BlockCount, rise, total};
use crate::sites::{Blocks, CulpritSettings, ReplicaRate, find_frequent_culprits};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::benjamini_hochberg;
use std::collections::BTreeMap;

/// An operation in which errors start more often than before.
#[derive(Clone, PartialEq, Debug)]
pub struct ErrorRise {
    /// Where errors start.
    pub operation: OperationId,
    /// Calls in the window.
    pub calls: u64,
    /// Share of them in which an error starts, 0..1.
    pub rate: f64,
    /// The same in the baseline, or before the onset; of the other replicas, if replicas are compared.
    pub usual_rate: f64,
    /// Adjusted over all operations.
    pub p_adjusted: f64,
    /// Requests in which an error starts there, ascending.
    pub hit: Vec<RequestNumbers>,
    /// The replicas that differ from the others; empty where the comparison is with a baseline.
    pub replicas: Vec<ReplicaId>,
}

/// Factor between rates up to which they are drift.
const DRIFT_FACTOR: f64 = 1.5;

/// Operations in which errors start more often than in the baseline; those that hit the most requests first.
pub fn error_rises(
    baseline: &OutcomeTable,
    window: &OutcomeTable,
    settings: &FailureSettings,
) -> Vec<ErrorRise> {
    let blocks = Blocks::choose(baseline.rows, window.rows);
    let mut rises: Vec<ErrorRise> = starts(window)
        .into_iter()
        .map(|(operation, hit)| {
            let counts = |table: &OutcomeTable, blocks| block_counts(table, operation, blocks);
            let (before, now) = (counts(baseline, blocks.baseline), counts(window, blocks.window));
            let (earlier, later) = (total(&before), total(&now));
            ErrorRise {
                operation,
                calls: later.exposure as u64,
                rate: later.events / later.exposure,
                usual_rate: earlier.events / earlier.exposure.max(1.0),
                // An operation that is new altogether is found by its time.
                p_adjusted: if earlier.exposure > 0.0 {
                    rise(&before, &now, &blocks, DRIFT_FACTOR)
                } else {
                    1.0
                },
                hit,
                replicas: Vec::new(),
            }
        })
        .collect();
    let p_values: Vec<f64> = rises.iter().map(|rise| rise.p_adjusted).collect();
    for (rise, p_adjusted) in rises.iter_mut().zip(benjamini_hochberg(&p_values)) {
        rise.p_adjusted = p_adjusted;
    }
    rises.retain(|rise| rise.p_adjusted <= settings.level && rise.matters(settings));
    by_hit(rises)
}

/// Fewest blocks before and after an onset.
pub(super) const SIDE_BLOCKS_MIN: usize = 3;

/// Without a baseline: operations in which errors start more often from some time of the window on. `onset` returns the first
/// row of requests from then on; it gets the ascending rows of requests that call the operation, and whether an error starts there.
/// As the time is selected, p-values are multiplied by the number of blocks.
pub fn errors_since(
    window: &OutcomeTable,
    settings: &FailureSettings,
    onset: impl Fn(&[(u32, bool)]) -> Option<u32>,
) -> Vec<ErrorRise> {
    let blocks = Blocks::choose(window.rows, window.rows).window;
    let starts = starts(window);
    let tested = (starts.len() * blocks) as f64;
    let frequent = starts.into_iter().filter(|(_, hit)| hit.len() >= settings.requests_min);
    let risen = frequent.filter_map(|(operation, hit)| {
        let first = onset(&rows_of(window, operation, &hit))?;
        let (before, after) = sides(&block_counts(window, operation, blocks), window.block(first, blocks))?;
        let batch = after.len().min(before.len() / SIDE_BLOCKS_MIN);
        let parts = Blocks { baseline: before.len(), window: after.len(), batch };
        let (earlier, later) = (total(&before), total(&after));
        let rise = ErrorRise {
            operation,
            calls: later.exposure as u64,
            rate: later.events / later.exposure.max(1.0),
            usual_rate: earlier.events / earlier.exposure.max(1.0),
            p_adjusted: (tested * rise(&before, &after, &parts, DRIFT_FACTOR)).min(1.0),
            hit: hit.into_iter().filter(|request| request.row >= first).collect(),
            replicas: Vec::new(),
        };
        let is_tested = earlier.exposure > 0.0 && rise.p_adjusted <= settings.level;
        (is_tested && rise.matters(settings)).then_some(rise)
    });
    by_hit(risen.collect())
}

/// Blocks before and after the one that has the onset.
fn sides(counts: &[BlockCount], onset: usize) -> Option<(Vec<BlockCount>, Vec<BlockCount>)> {
    let (before, after) = (counts[..onset].to_vec(), counts[(onset + 1).min(counts.len())..].to_vec());
    (before.len().min(after.len()) >= SIDE_BLOCKS_MIN).then_some((before, after))
}

/// Rows of the requests that call an operation, ascending, and whether they are hit.
fn rows_of(table: &OutcomeTable, operation: OperationId, hit: &[RequestNumbers]) -> Vec<(u32, bool)> {
    let calls_it = |tree: u32| table.trees[tree as usize].operation.contains(&operation);
    let clean = (0..).zip(&table.clean).filter(|(tree, _)| calls_it(*tree));
    let clean = clean.flat_map(|(_, requests)| requests.iter().map(|request| request.row));
    let failed = table.failed.iter().filter(|failed| calls_it(failed.tree));
    let mut rows: Vec<u32> = clean.chain(failed.map(|failed| failed.request.row)).collect();
    rows.sort_unstable();
    let is_hit = |row: u32| hit.binary_search_by_key(&row, |request| request.row).is_ok();
    rows.into_iter().map(|row| (row, is_hit(row))).collect()
}

/// How often errors start in an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorRate {
    /// Where errors start.
    pub operation: OperationId,
    /// Share of its calls, 0..1.
    pub rate: f64,
    /// Requests in which an error starts there.
    pub requests: u64,
}

/// Operations in which errors start in at least `share_min` of the calls and `requests_min` requests, whatever is usual; those that
/// hit the most requests first.
pub fn frequent_errors(table: &OutcomeTable, settings: &FailureSettings) -> Vec<ErrorRate> {
    let rates = starts(table).into_iter().map(|(operation, hit)| {
        let all = total(&block_counts(table, operation, 1));
        ErrorRate { operation, rate: all.events / all.exposure.max(1.0), requests: hit.len() as u64 }
    });
    let is_frequent =
        |rate: &ErrorRate| rate.rate >= settings.share_min && rate.requests >= settings.requests_min as u64;
    let mut rates: Vec<ErrorRate> = rates.filter(is_frequent).collect();
    rates.sort_by(|a, b| b.requests.cmp(&a.requests).then(a.operation.cmp(&b.operation)));
    rates
}

/// Operations in which errors start more often on some replicas than on the others. `replica_of` returns the replica of
/// a call, by the caller's number of the request and the node.
pub fn uneven_errors(
    window: &OutcomeTable,
    settings: &FailureSettings,
    culprits: &CulpritSettings,
    replica_of: impl Fn(u32, u32) -> ReplicaId,
) -> Vec<ErrorRise> {
    let blocks = Blocks::choose(window.rows, window.rows);
    let starts = starts(window);
    let tested = starts.len().max(1) as f64;
    let uneven = starts.into_iter().filter(|(_, hit)| hit.len() >= settings.requests_min);
    let uneven = uneven.filter_map(|(operation, hit)| {
        let by_replica = by_replica(window, operation, blocks.window, &replica_of);
        let rate = |(&replica, counts): (&ReplicaId, &Vec<BlockCount>)| {
            let all = total(counts);
            ReplicaRate { replica, calls: all.exposure as u64, slow: all.events as u64 }
        };
        let rates: Vec<ReplicaRate> = by_replica.iter().map(rate).collect();
        let replicas: Vec<ReplicaId> =
            find_frequent_culprits(&rates, culprits).iter().map(|culprit| culprit.replica).collect();
        if replicas.is_empty() || replicas.len() == rates.len() {
            return None;
        }
        let (mut theirs, mut others) =
            (vec![BlockCount::default(); blocks.window], vec![BlockCount::default(); blocks.window]);
        for (replica, counts) in &by_replica {
            let into = if replicas.contains(replica) { &mut theirs } else { &mut others };
            for (sum, count) in into.iter_mut().zip(counts) {
                *sum = total(&[*sum, *count]);
            }
        }
        let (all, usual) = (total(&theirs), total(&others));
        let p_value = rise(&others, &theirs, &blocks, DRIFT_FACTOR);
        let rise = ErrorRise {
            operation,
            calls: all.exposure as u64,
            rate: all.events / all.exposure.max(1.0),
            usual_rate: usual.events / usual.exposure.max(1.0),
            p_adjusted: (p_value * tested).min(1.0),
            hit,
            replicas,
        };
        (rise.p_adjusted <= settings.level && rise.matters(settings)).then_some(rise)
    });
    by_hit(uneven.collect())
}

impl ErrorRise {
    fn matters(&self, settings: &FailureSettings) -> bool {
        self.hit.len() >= settings.requests_min
            && self.rate - self.usual_rate >= settings.share_min
            && self.rate >= settings.factor_min * self.usual_rate
    }
}

fn by_hit(mut rises: Vec<ErrorRise>) -> Vec<ErrorRise> {
    rises.sort_by(|a, b| b.hit.len().cmp(&a.hit.len()).then(a.operation.cmp(&b.operation)));
    rises
}

/// Requests in which an error starts, by operation.
fn starts(table: &OutcomeTable) -> BTreeMap<OperationId, Vec<RequestNumbers>> {
    let mut starts: BTreeMap<OperationId, Vec<RequestNumbers>> = BTreeMap::new();
    for failed in &table.failed {
        let tree = &table.trees[failed.tree as usize];
        for node in tree.error_starts(&failed.errors) {
            starts.entry(tree.operation[node as usize]).or_default().push(failed.request);
        }
    }
    for hit in starts.values_mut() {
        hit.sort_unstable();
        hit.dedup();
    }
    starts
}

/// Calls of an operation (exposure) and errors that start there (events), by block.
fn block_counts(table: &OutcomeTable, operation: OperationId, blocks: usize) -> Vec<BlockCount> {
    let mut counts = vec![BlockCount::default(); blocks];
    for (tree, requests) in table.trees.iter().zip(&table.clean) {
        let calls = tree.operation.iter().filter(|&&called| called == operation).count() as f64;
        if calls > 0.0 {
            for request in requests {
                counts[table.block(request.row, blocks)].exposure += calls;
            }
        }
    }
    for failed in &table.failed {
        let tree = &table.trees[failed.tree as usize];
        let is_here = |&node: &u32| tree.operation[node as usize] == operation;
        let count = &mut counts[table.block(failed.request.row, blocks)];
        count.exposure += (0..tree.operation.len() as u32).filter(is_here).count() as f64;
        count.events += tree.error_starts(&failed.errors).filter(is_here).count() as f64;
    }
    counts
}

/// The same by replica.
pub(crate) fn by_replica(
    table: &OutcomeTable,
    operation: OperationId,
    blocks: usize,
    replica_of: &impl Fn(u32, u32) -> ReplicaId,
) -> BTreeMap<ReplicaId, Vec<BlockCount>> {
    let mut counts: BTreeMap<ReplicaId, Vec<BlockCount>> = BTreeMap::new();
    let mut add = |request: RequestNumbers, node: u32, count: BlockCount| {
        let replica = replica_of(request.number, node);
        let counts = counts.entry(replica).or_insert_with(|| vec![BlockCount::default(); blocks]);
        let block = &mut counts[table.block(request.row, blocks)];
        *block = total(&[*block, count]);
    };
    let call = BlockCount { events: 0.0, exposure: 1.0 };
    for (tree, requests) in table.trees.iter().zip(&table.clean) {
        for node in tree.nodes_of(operation) {
            requests.iter().for_each(|&request| add(request, node, call));
        }
    }
    for failed in &table.failed {
        let tree = &table.trees[failed.tree as usize];
        tree.nodes_of(operation).for_each(|node| add(failed.request, node, call));
        let starts = tree.error_starts(&failed.errors);
        for node in starts.filter(|&node| tree.operation[node as usize] == operation) {
            add(failed.request, node, BlockCount { events: 1.0, exposure: 0.0 });
        }
    }
    counts
}
