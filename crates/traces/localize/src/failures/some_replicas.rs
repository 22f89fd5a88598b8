//! Operations that only some replicas of a service perform, although the others run the calling operation as well.
//!
//! ```text
//!   a1: store ─ scan      a2: store ─ scan      a3: store      a4: store
//! ```
//!
//! Calls are compared by call path, and only calls within a replica: which replica is called over the network is up to
//! balancing and sharding. A single replica that does more is often a leader by design, so at least two must perform the
//! operation, and two not.

use crate::failures::FailureSettings;
use crate::failures::outcomes::{CallPaths, OutcomeTable, RequestNumbers};
use crate::failures::rates::{BlockCount, consecutive};
use crate::sites::{Blocks, Fast};
use laggard_model::{OperationId, ReplicaId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An operation that only some replicas perform.
#[derive(Clone, PartialEq, Debug)]
pub struct SomeReplicas {
    /// The operation that they perform.
    pub operation: OperationId,
    /// Those that do, ascending.
    pub replicas: Vec<ReplicaId>,
    /// Those that run a calling operation and never perform it, ascending.
    pub others: Vec<ReplicaId>,
    /// Calls of the calling operations on `replicas`.
    pub calls: u64,
    /// Share of them that perform it.
    pub rate: f64,
    /// Of the hypothesis that all replicas perform it at one rate, times the number of tests.
    pub p_adjusted: f64,
    /// Requests in which it is performed, ascending.
    pub hit: Vec<RequestNumbers>,
}

/// Fewest replicas of either kind.
const REPLICAS_MIN: usize = 2;
/// Fewest calls per replica that performs the operation.
const CALLS_PER_REPLICA_MIN: usize = 5;
/// The operation is performed in at least this part of the blocks of time with calls that could.
const BLOCKS_SHARE_MIN: f64 = 0.5;

/// Which of the operations in question only some replicas perform; those that hit the most requests first. `replicas_of`
/// returns the replicas of a request's calls, by the caller's number of the request; those are by node.
pub fn performed_by_some<Replicas: Fn(u32) -> ReplicaId>(
    table: &OutcomeTable,
    operations: &BTreeSet<OperationId>,
    settings: &FailureSettings,
    replicas_of: impl Fn(u32) -> Replicas,
) -> Vec<SomeReplicas> {
    let mut paths = CallPaths::default();
    let trees: Vec<Vec<u32>> = table.trees.iter().map(|tree| paths.of_tree(tree)).collect();
    let search = Search { table, trees, replicas_of };
    let operations: Vec<OperationId> = operations.iter().copied().collect();
    let counts = search.count(&operations);
    let counted = operations.iter().zip(counts).filter_map(|(&operation, counts)| Some((operation, counts?)));
    let mut found: Vec<SomeReplicas> = counted
        .filter_map(|(operation, counts)| test(operation, &counts, operations.len()))
        .map(|found| SomeReplicas { hit: search.hit(found.operation), ..found })
        .collect();
    let matters =
        |found: &SomeReplicas| found.hit.len() >= settings.requests_min && found.rate >= settings.share_min;
    found.retain(|found| found.p_adjusted <= settings.level && matters(found));
    found.sort_by(|a, b| b.hit.len().cmp(&a.hit.len()).then(a.operation.cmp(&b.operation)));
    found
}

struct Search<'a, F> {
    table: &'a OutcomeTable,
    /// The call path of every node, by tree.
    trees: Vec<Vec<u32>>,
    replicas_of: F,
}

/// A call that may perform the operation.
struct Caller {
    node: u32,
    path: u32,
    /// The call of the operation, if it does.
    called: Option<u32>,
}

impl Caller {
    /// The replica of the call; `None` if it calls the operation on another one.
    fn replica(&self, replica_of: &impl Fn(u32) -> ReplicaId) -> Option<ReplicaId> {
        let replica = replica_of(self.node);
        self.called.is_none_or(|called| replica_of(called) == replica).then_some(replica)
    }
}

/// Calls on one call path by one replica, and how many of them perform the operation.
#[derive(Clone, Copy, Default)]
struct Calls {
    all: f64,
    with: f64,
}

#[derive(Clone)]
struct Counts {
    calls: HashMap<(u32, ReplicaId), Calls, Fast>,
    blocks: Vec<BlockCount>,
}

impl<F: Fn(u32) -> Replicas, Replicas: Fn(u32) -> ReplicaId> Search<'_, F> {
    /// Counts of each operation, on the call paths that ever call it; `None` if a call of it leaves the replica.
    fn count(&self, operations: &[OperationId]) -> Vec<Option<Counts>> {
        let blocks = Blocks::choose(self.table.rows, self.table.rows).window;
        let none = Counts { calls: HashMap::default(), blocks: vec![BlockCount::default(); blocks] };
        let mut counts = vec![Some(none); operations.len()];
        let paths: Vec<BTreeSet<u32>> =
            operations.iter().map(|&operation| self.paths_to(operation)).collect();
        for (index, requests) in self.table.clean.iter().enumerate() {
            let of_operation = |number: usize| TreeCallers {
                number,
                callers: self.callers(index, operations[number], &paths[number]),
            };
            let in_question = (0..operations.len()).filter(|&number| counts[number].is_some());
            let mut all: Vec<TreeCallers> = in_question.map(of_operation).collect();
            all.retain(|own| !own.callers.is_empty());
            for &request in if all.is_empty() { &[][..] } else { &requests[..] } {
                let replica_of = (self.replicas_of)(request.number);
                let block = self.table.block(request.row, blocks);
                for own in &all {
                    let counted = counts[own.number].as_mut();
                    if counted.and_then(|counts| own.add(counts, block, &replica_of)).is_none() {
                        counts[own.number] = None;
                    }
                }
            }
        }
        counts
    }

    /// The requests that perform an operation on the call paths that ever call it.
    fn hit(&self, operation: OperationId) -> Vec<RequestNumbers> {
        let paths = self.paths_to(operation);
        let performs = |tree: &usize| {
            self.table.trees[*tree].nodes_of(operation).next().is_some()
                && !self.callers(*tree, operation, &paths).is_empty()
        };
        let trees = (0..self.table.trees.len()).filter(performs);
        let mut hit: Vec<RequestNumbers> =
            trees.flat_map(|tree| self.table.clean[tree].iter().copied()).collect();
        hit.sort_unstable();
        hit
    }

    /// The call paths that ever call an operation.
    fn paths_to(&self, operation: OperationId) -> BTreeSet<u32> {
        let trees = self.table.trees.iter().zip(&self.trees);
        trees
            .flat_map(|(tree, paths)| {
                tree.nodes_of(operation).filter_map(|node| Some(paths[tree.parent[node as usize]? as usize]))
            })
            .collect()
    }

    /// The calls of a tree on these paths.
    fn callers(&self, tree: usize, operation: OperationId, paths: &BTreeSet<u32>) -> Vec<Caller> {
        let of_nodes = (0..).zip(&self.trees[tree]).filter(|(_, path)| paths.contains(path));
        let tree = &self.table.trees[tree];
        let own: Vec<u32> = tree.nodes_of(operation).collect();
        let called = |node| own.iter().copied().find(|&below| tree.parent[below as usize] == Some(node));
        of_nodes.map(|(node, &path)| Caller { node, path, called: called(node) }).collect()
    }
}

/// The calls of a tree that may perform an operation.
struct TreeCallers {
    /// Number of the operation.
    number: usize,
    callers: Vec<Caller>,
}

impl TreeCallers {
    /// Counts the calls of a request; `None` if one leaves the replica.
    fn add(&self, counts: &mut Counts, block: usize, replica_of: &impl Fn(u32) -> ReplicaId) -> Option<()> {
        let block = &mut counts.blocks[block];
        for caller in &self.callers {
            let replica = caller.replica(replica_of)?;
            let with = f64::from(u8::from(caller.called.is_some()));
            let calls = counts.calls.entry((caller.path, replica)).or_default();
            (calls.all, calls.with) = (calls.all + 1.0, calls.with + with);
            (block.exposure, block.events) = (block.exposure + 1.0, block.events + with);
        }
        Some(())
    }
}

/// `hit` is left empty.
fn test(operation: OperationId, counts: &Counts, tests: usize) -> Option<SomeReplicas> {
    let calls: BTreeMap<(u32, ReplicaId), Calls> =
        counts.calls.iter().map(|(&key, &calls)| (key, calls)).collect();
    let mut performing: BTreeMap<ReplicaId, bool> = BTreeMap::new();
    for (&(_, replica), calls) in &calls {
        *performing.entry(replica).or_default() |= calls.with > 0.0;
    }
    let (replicas, others): (Vec<_>, Vec<_>) = performing.iter().partition(|&(_, &performs)| performs);
    let [replicas, others] = [replicas, others]
        .map(|part| part.into_iter().map(|(&replica, _)| replica).collect::<Vec<ReplicaId>>());
    let (mut all, mut with) = (0.0, 0.0);
    for ((_, replica), calls) in &calls {
        if performing[replica] {
            (all, with) = (all + calls.all, with + calls.with);
        }
    }
    let few = replicas.len().min(others.len()) < REPLICAS_MIN
        || with < (CALLS_PER_REPLICA_MIN * replicas.len()) as f64;
    let possible = counts.blocks.iter().filter(|block| block.exposure > 0.0).count() as f64;
    let lasting = counts.blocks.iter().filter(|block| block.events > 0.0).count() as f64;
    if few || lasting < BLOCKS_SHARE_MIN * possible {
        return None;
    }
    let choices = ln_choose(performing.len(), replicas.len()) + (tests as f64).ln();
    let ln_p = ln_p_none(&calls, &performing) / consecutive(&counts.blocks);
    Some(SomeReplicas {
        operation,
        replicas,
        others,
        calls: all as u64,
        rate: with / all,
        p_adjusted: (ln_p + choices).exp().min(1.0),
        hit: Vec::new(),
    })
}

/// Logarithm of the probability that replicas which never perform the operation would not, at the rate of all on each path.
fn ln_p_none(calls: &BTreeMap<(u32, ReplicaId), Calls>, performing: &BTreeMap<ReplicaId, bool>) -> f64 {
    let mut by_path: BTreeMap<u32, (Calls, f64)> = BTreeMap::new();
    for (&(path, replica), calls) in calls {
        let (sum, without) = by_path.entry(path).or_default();
        (sum.all, sum.with) = (sum.all + calls.all, sum.with + calls.with);
        *without += if performing[&replica] { 0.0 } else { calls.all };
    }
    let path =
        |(sum, without): &(Calls, f64)| without * (1.0 - sum.with / sum.all).max(f64::MIN_POSITIVE).ln();
    by_path.values().filter(|(_, without)| *without > 0.0).map(path).sum()
}

/// `ln C(n, k)`.
fn ln_choose(n: usize, k: usize) -> f64 {
    (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::outcomes::OutcomeTree;

    const REQUESTS: u32 = 600;

    fn operation(index: usize) -> OperationId {
        OperationId::from_index(index)
    }

    /// Requests on ten replicas in turn: `store`, with `scan` below it where `scans` says so.
    fn table(scans: impl Fn(u32) -> bool) -> OutcomeTable {
        let tree = |operations: &[usize]| OutcomeTree {
            operation: operations.iter().map(|&index| operation(index)).collect(),
            parent: (0..operations.len() as u32).map(|node| node.checked_sub(1)).collect(),
        };
        let all = (0..REQUESTS).map(|number| RequestNumbers { row: number, number });
        let (with, without) = all.partition(|request| scans(request.number));
        OutcomeTable {
            trees: vec![tree(&[0]), tree(&[0, 1])],
            clean: vec![without, with],
            failed: Vec::new(),
            rows: REQUESTS as usize,
        }
    }

    fn performers(scans: impl Fn(u32) -> bool, callee: impl Fn(u32) -> u32) -> Vec<SomeReplicas> {
        let callee = &callee;
        let replicas_of = |number: u32| {
            let replica = number % 10;
            move |node| ReplicaId::from_index(if node == 0 { replica } else { callee(replica) } as usize)
        };
        performed_by_some(
            &table(scans),
            &BTreeSet::from([operation(1)]),
            &FailureSettings::default(),
            replicas_of,
        )
    }

    #[test]
    fn three_of_ten_replicas_perform_it() {
        let found = performers(|number| number % 10 < 3 && number % 4 > 0, |replica| replica);
        let indices: Vec<usize> = found[0].replicas.iter().map(|replica| replica.index()).collect();
        assert_eq!((indices, found[0].others.len(), found[0].calls), (vec![0, 1, 2], 7, 180));
        assert!((found[0].rate - 2.0 / 3.0).abs() < 1e-9, "{}", found[0].rate);
        assert_eq!(found[0].hit.len(), 120);
    }

    #[test]
    fn chance_leaders_balancing_and_restarts_are_not_named() {
        let same = |replica| replica;
        assert_eq!(performers(|number| number % 43 == 0, same), [], "rare calls miss replicas by chance");
        assert_eq!(performers(|number| number % 10 == 7, same), [], "a leader");
        assert_eq!(
            performers(|number| number % 10 < 3, |replica| 20 + replica),
            [],
            "calls of other replicas"
        );
        assert_eq!(performers(|number| number % 10 < 3 && number < 150, same), [], "at the start only");
    }
}
