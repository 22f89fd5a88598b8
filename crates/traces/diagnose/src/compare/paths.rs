//! Two tries side by side: the differential call tree.

use super::fold::PopulationSummary;
use super::path_trie::{PathNode, PathTimes};
use super::settings::CompareSettings;
use crate::population::UnionNames;
use laggard_localize::compare::{compare_histograms, fisher_exact};
use laggard_model::OperationId;
use laggard_report::{Change, OperationChange, PathChange, PathFigures};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The name of pooled calls.
const OTHER: &str = "(other)";

/// If all self time changes by less than this, relative to before, no shares of the change are reported.
const CHANGE_LEAST: f64 = 0.01;

/// All paths of both sets in depth-first pre-order; siblings by the time spent in and below them, the most
/// first, then by handle.
pub(super) fn path_changes(
    before: &PopulationSummary,
    after: &PopulationSummary,
    union: &UnionNames,
    settings: &CompareSettings,
) -> Vec<PathChange> {
    let requests = [before, after].map(complete);
    let mut list = List { union, requests, rows: vec![], tests: vec![] };
    let entries = [before, after].map(|set| set.paths.entries());
    let mut order: Vec<(f64, OperationId)> = keys(entries)
        .into_iter()
        .map(|id| (heaviness(entries.map(|set| set.get(&id)), requests), id))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, id) in order {
        let nodes = entries.map(|set| set.get(&id));
        let entering = nodes.map(|node| node.map_or(0, |node| node.times.requests));
        list.add(id, nodes, None, entering);
    }
    list.judge(settings);
    list.share(requests);
    list.rows.into_iter().map(|row| row.change).collect()
}

/// Direction of a path whose test is significant.
fn change_of(row: &PathChange, change_min: f64) -> Change {
    let (before, after) = (row.before.self_p50_ns as f64, row.after.self_p50_ns as f64);
    match (row.before.calls, row.after.calls) {
        (0, _) => Change::New,
        (_, 0) => Change::Vanished,
        _ if (after - before).abs() < change_min * before.max(1.0) => Change::None,
        _ if after > before => Change::Slower,
        _ => Change::Faster,
    }
}

/// One path of many may have too few calls for a test of its own. If its operation is slower or faster overall,
/// and the path moved the same way and far enough, it gets the operation's result.
pub(super) fn inherit(paths: &mut [PathChange], operations: &[OperationChange], change_min: f64) {
    let moved: HashMap<(&str, &str, &str), Change> = operations
        .iter()
        .filter(|operation| matches!(operation.change, Change::Slower | Change::Faster))
        .map(|operation| {
            (
                (operation.service.as_str(), operation.operation.as_str(), operation.kind.as_str()),
                operation.change,
            )
        })
        .collect();
    for path in paths {
        let key = (path.service.as_str(), path.operation.as_str(), path.kind.as_str());
        let in_both_sets = path.before.calls > 0 && path.after.calls > 0;
        if in_both_sets
            && path.change == Change::None
            && moved.get(&key) == Some(&change_of(path, change_min))
        {
            path.change = moved[&key];
        }
    }
}

/// Complete requests.
pub(super) fn complete(set: &PopulationSummary) -> u64 {
    set.requests - set.partial
}

type Pair<'a> = [Option<&'a PathNode>; 2];

fn keys(maps: [&BTreeMap<OperationId, PathNode>; 2]) -> BTreeSet<OperationId> {
    maps.iter().flat_map(|map| map.keys().copied()).collect()
}

/// Time spent in and below, per request, the larger of both sets.
fn heaviness(nodes: Pair<'_>, requests: [u64; 2]) -> f64 {
    let mean = |index: usize| nodes[index].map_or(0.0, |node| tree_ns(node) / requests[index].max(1) as f64);
    mean(0).max(mean(1))
}

/// Call trees are at most 256 deep, and so is the recursion.
fn tree_ns(node: &PathNode) -> f64 {
    let below: f64 = node.below.values().map(tree_ns).sum();
    node.times.self_ns as f64 + node.pooled.self_ns as f64 + below
}

/// For a path in both sets: whether its times moved. For another: whether its absence can be chance.
fn path_test(times: [Option<&PathTimes>; 2], entering: [u64; 2]) -> f64 {
    match times {
        [Some(before), Some(after)] => compare_histograms(&before.per_call, &after.per_call),
        [before, after] => {
            let requests = |times: Option<&PathTimes>| times.map_or(0, |times| times.requests);
            fisher_exact(requests(before), entering[0], requests(after), entering[1])
        }
    }
}

struct Row {
    change: PathChange,
    /// Self time over all requests of each set, nanoseconds.
    self_ns: [f64; 2],
}

struct List<'a> {
    union: &'a UnionNames,
    rows: Vec<Row>,
    /// Complete requests of each set.
    requests: [u64; 2],
    /// Rows with the p-value of their test.
    tests: Vec<(usize, f64)>,
}

impl List<'_> {
    /// Adds a path and what is below; returns the time in and below it, over all requests of each set.
    fn add(&mut self, id: OperationId, nodes: Pair<'_>, parent: Option<u32>, entering: [u64; 2]) -> [f64; 2] {
        let row_index = self.rows.len();
        let times = nodes.map(|node| node.map(|node| &node.times));
        self.push(Some(id), times, parent, entering);
        let entering_requests = if parent.is_none() { self.requests } else { entering };
        self.tests.push((row_index, path_test(times, entering_requests)));
        let mut tree = self.rows[row_index].self_ns;
        let empty = BTreeMap::new();
        let below = nodes.map(|node| node.map_or(&empty, |node| &node.below));
        let mut order: Vec<(f64, OperationId)> = keys(below)
            .into_iter()
            .map(|child| (heaviness(below.map(|map| map.get(&child)), entering), child))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, child) in order {
            let added = self.add(child, below.map(|map| map.get(&child)), Some(row_index as u32), entering);
            tree = [tree[0] + added[0], tree[1] + added[1]];
        }
        let pooled = nodes.map(|node| node.map(|node| &node.pooled).filter(|pooled| pooled.calls > 0));
        if pooled.iter().any(Option::is_some) {
            self.push(None, pooled, Some(row_index as u32), entering);
            let added = self.rows[self.rows.len() - 1].self_ns;
            tree = [tree[0] + added[0], tree[1] + added[1]];
        }
        let row = &mut self.rows[row_index].change;
        row.before.tree_ns = tree[0] / entering[0].max(1) as f64;
        row.after.tree_ns = tree[1] / entering[1].max(1) as f64;
        tree
    }

    fn push(
        &mut self,
        id: Option<OperationId>,
        times: [Option<&PathTimes>; 2],
        parent: Option<u32>,
        entering: [u64; 2],
    ) {
        let key = id.map(|id| self.union.names().operation_key(id));
        let figures = |set: usize| {
            times[set].map_or_else(PathFigures::default, |times| {
                let self_ns = times.self_ns as f64 / entering[set].max(1) as f64;
                PathFigures {
                    requests: times.requests,
                    calls: times.calls,
                    self_ns,
                    tree_ns: self_ns,
                    self_p50_ns: times.per_call.quantile(0.5).unwrap_or(0),
                }
            })
        };
        let change = PathChange {
            parent,
            service: key.map_or_else(String::new, |key| key.service.to_owned()),
            operation: key.map_or(OTHER, |key| key.operation).to_owned(),
            kind: key.map_or("", |key| key.kind.name()).to_owned(),
            before: figures(0),
            after: figures(1),
            share: None,
            p_value: None,
            change: Change::None,
        };
        let self_ns = times.map(|times| times.map_or(0.0, |times| times.self_ns as f64));
        self.rows.push(Row { change, self_ns });
    }

    fn judge(&mut self, settings: &CompareSettings) {
        let p: Vec<f64> = self.tests.iter().map(|&(_, p)| p).collect();
        let adjusted = laggard_numeric::benjamini_hochberg(&p);
        for (&(row_index, _), p) in self.tests.iter().zip(adjusted) {
            let row = &mut self.rows[row_index].change;
            row.p_value = Some(p);
            if p <= settings.level {
                row.change = change_of(row, settings.change_min);
            }
        }
    }

    /// Shares of the change of all self time per request.
    fn share(&mut self, requests: [u64; 2]) {
        let mean = |row: &Row, index: usize| row.self_ns[index] / requests[index].max(1) as f64;
        let change = |row: &Row| mean(row, 1) - mean(row, 0);
        let all_before: f64 = self.rows.iter().map(|row| mean(row, 0)).sum();
        let all: f64 = self.rows.iter().map(change).sum();
        if requests.contains(&0) || all.abs() < CHANGE_LEAST * all_before {
            return;
        }
        for row in &mut self.rows {
            row.change.share = Some(change(row) / all);
        }
    }
}
