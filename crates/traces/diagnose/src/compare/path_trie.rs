//! All call trees of a population merged: one node per call path.
//!
//! ```text
//! request 1: list > read, read      list   requests 2, calls 2
//! request 2: list > read > lookup   └ read requests 2, calls 3
//!                                     └ lookup requests 1, calls 1
//! ```
//! Repetitions of a call share one path.
//! Repetitions of a call fall together by themselves: they have one path.

use laggard_localize::compare::TimeHistogram;
use laggard_model::{CallTree, OperationId};
use std::collections::{BTreeMap, HashMap};

/// Calls and times at one path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathTimes {
    /// Requests that have the path; unknown, and 0, for pooled calls.
    pub requests: u64,
    /// Calls.
    pub calls: u64,
    /// Self time over all calls, nanoseconds.
    pub self_ns: u128,
    /// Inclusive time over all calls, nanoseconds; 0 for pooled calls, whose times contain each other.
    pub inclusive_ns: u128,
    /// Self time per call, a request's mean, in bins; empty for pooled calls.
    pub per_call: TimeHistogram,
}

impl PathTimes {
    /// Adds those of the same path in another part.
    pub fn merge(&mut self, other: &PathTimes) {
        self.requests += other.requests;
        self.calls += other.calls;
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
        self.inclusive_ns = self.inclusive_ns.saturating_add(other.inclusive_ns);
        self.per_call.merge(&other.per_call);
    }

    fn add_request(&mut self, calls: u64, self_ns: u128, inclusive_ns: u128) {
        self.requests += 1;
        self.calls += calls;
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.inclusive_ns = self.inclusive_ns.saturating_add(inclusive_ns);
        self.per_call.add(u64::try_from(self_ns / u128::from(calls.max(1))).unwrap_or(u64::MAX));
    }

    /// Adds as pooled calls, of which only number and self time are recorded.
    fn pool(&mut self, other: &PathTimes) {
        self.calls += other.calls;
        self.self_ns = self.self_ns.saturating_add(other.self_ns);
    }
}

/// One path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathNode {
    /// Calls and times at the path.
    pub times: PathTimes,
    /// Calls below that did not fit into the limit, pooled.
    pub pooled: PathTimes,
    /// The paths below, by what is called.
    pub below: BTreeMap<OperationId, PathNode>,
}

/// All paths of a population. Its size is limited: when there are more paths than allowed, the deepest level
/// is pooled into `(other)` under each caller, and so on, until the rest fits (entries always stay). The depth
/// that remains depends on the set of paths only, so any split of the requests gives the same trie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathTrie {
    entries: BTreeMap<OperationId, PathNode>,
    /// Paths by depth; entries are at depth 0.
    at_depth: Vec<usize>,
    /// Paths deeper than this are pooled.
    depth_max: usize,
    paths_max: usize,
}

impl PathTrie {
    /// An empty trie with a limit.
    pub fn new(paths_max: usize) -> PathTrie {
        PathTrie { entries: BTreeMap::new(), at_depth: vec![], depth_max: usize::MAX, paths_max }
    }

    /// The paths that requests start with.
    pub fn entries(&self) -> &BTreeMap<OperationId, PathNode> {
        &self.entries
    }

    /// The depth below which calls were pooled, if any had to be.
    pub fn pooled_below(&self) -> Option<usize> {
        (self.depth_max != usize::MAX).then_some(self.depth_max)
    }

    /// Adds one request.
    pub fn add(&mut self, tree: &CallTree) {
        let request = RequestPaths::of(tree, self.depth_max);
        let Some(&entry) = tree.operation.first() else { return };
        request.add_to(0, self.entries.entry(entry).or_default(), 0, &mut self.at_depth);
        self.fit();
    }

    /// Adds the paths of another part.
    pub fn merge(&mut self, other: PathTrie) {
        self.depth_max = self.depth_max.min(other.depth_max);
        for (operation, node) in other.entries {
            match self.entries.get_mut(&operation) {
                Some(mine) => merge_node(mine, node),
                None => {
                    self.entries.insert(operation, node);
                }
            }
        }
        self.recount();
        self.fit();
    }

    fn fit(&mut self) {
        if self.at_depth.iter().sum::<usize>() <= self.paths_max {
            return;
        }
        let mut remaining = 0;
        let fitting = self.at_depth.iter().take_while(|&&paths| {
            remaining += paths;
            remaining <= self.paths_max
        });
        self.depth_max = self.depth_max.min(fitting.count().saturating_sub(1));
        self.recount();
    }

    /// Pools paths that are too deep and counts the others.
    fn recount(&mut self) {
        self.at_depth.clear();
        for node in self.entries.values_mut() {
            recount_node(node, 0, self.depth_max, &mut self.at_depth);
        }
    }
}

/// Call trees are at most 256 deep, and so are the recursions below.
fn merge_node(into: &mut PathNode, other: PathNode) {
    into.times.merge(&other.times);
    into.pooled.merge(&other.pooled);
    for (operation, node) in other.below {
        match into.below.get_mut(&operation) {
            Some(mine) => merge_node(mine, node),
            None => {
                into.below.insert(operation, node);
            }
        }
    }
}

fn recount_node(node: &mut PathNode, depth: usize, depth_max: usize, at_depth: &mut Vec<usize>) {
    if at_depth.len() == depth {
        at_depth.push(0);
    }
    at_depth[depth] += 1;
    if depth == depth_max {
        for below in std::mem::take(&mut node.below).into_values() {
            pool_all(&below, &mut node.pooled);
        }
    }
    for below in node.below.values_mut() {
        recount_node(below, depth + 1, depth_max, at_depth);
    }
}

fn pool_all(node: &PathNode, into: &mut PathTimes) {
    into.pool(&node.times);
    into.pool(&node.pooled);
    node.below.values().for_each(|below| pool_all(below, into));
}

/// The paths of one request, callers before callees.
#[derive(Default)]
struct RequestPaths {
    paths: Vec<RequestPath>,
    /// By caller's path and operation.
    index: HashMap<(u32, OperationId), u32>,
    /// The path of each node, or the deepest path above it that is in the trie.
    of_node: Vec<u32>,
    depth_of_node: Vec<usize>,
}

struct RequestPath {
    operation: OperationId,
    calls: u64,
    self_ns: u128,
    inclusive_ns: u128,
    pooled_calls: u64,
    pooled_self_ns: u128,
    below: Vec<u32>,
}

impl RequestPaths {
    fn of(tree: &CallTree, depth_max: usize) -> RequestPaths {
        let mut request = RequestPaths::default();
        for node in 0..tree.len() {
            request.add(tree, node, depth_max);
        }
        request
    }

    /// Adds a node; its parent was added before.
    fn add(&mut self, tree: &CallTree, node: usize, depth_max: usize) {
        let (self_ns, inclusive_ns) = (tree.self_time[node].ns(), tree.inclusive_time[node].ns());
        let caller = tree.parent[node].map(|parent| parent as usize);
        let depth = caller.map_or(0, |parent| self.depth_of_node[parent] + 1);
        self.depth_of_node.push(depth);
        if let Some(parent) = caller.filter(|_| depth > depth_max) {
            let above = self.of_node[parent];
            self.of_node.push(above);
            let path = &mut self.paths[above as usize];
            path.pooled_calls += 1;
            path.pooled_self_ns += u128::from(self_ns);
            return;
        }
        let path_number = self.path(caller.map(|parent| self.of_node[parent]), tree.operation[node]);
        self.of_node.push(path_number);
        let path = &mut self.paths[path_number as usize];
        path.calls += 1;
        path.self_ns += u128::from(self_ns);
        path.inclusive_ns += u128::from(inclusive_ns);
    }

    fn path(&mut self, above: Option<u32>, operation: OperationId) -> u32 {
        let new = self.paths.len() as u32;
        let number = *self.index.entry((above.unwrap_or(u32::MAX), operation)).or_insert(new);
        if number == new {
            self.paths.push(RequestPath {
                operation,
                calls: 0,
                self_ns: 0,
                inclusive_ns: 0,
                pooled_calls: 0,
                pooled_self_ns: 0,
                below: vec![],
            });
            if let Some(above) = above {
                self.paths[above as usize].below.push(new);
            }
        }
        number
    }

    fn add_to(&self, number: u32, node: &mut PathNode, depth: usize, at_depth: &mut Vec<usize>) {
        let path = &self.paths[number as usize];
        if node.times.calls == 0 {
            if at_depth.len() <= depth {
                at_depth.push(0);
            }
            at_depth[depth] += 1;
        }
        node.times.add_request(path.calls, path.self_ns, path.inclusive_ns);
        node.pooled.calls += path.pooled_calls;
        node.pooled.self_ns = node.pooled.self_ns.saturating_add(path.pooled_self_ns);
        for &below in &path.below {
            let operation = self.paths[below as usize].operation;
            self.add_to(below, node.below.entry(operation).or_default(), depth + 1, at_depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Nanos, ReplicaId, Status};

    /// Nodes as (operation, parent, self time); inclusive times are the sums.
    fn tree(nodes: &[(usize, Option<u32>, u64)]) -> CallTree {
        let mut inclusive: Vec<u64> = nodes.iter().map(|node| node.2).collect();
        for index in (1..nodes.len()).rev() {
            inclusive[nodes[index].1.unwrap() as usize] += inclusive[index];
        }
        CallTree {
            operation: nodes.iter().map(|node| OperationId::from_index(node.0)).collect(),
            parent: nodes.iter().map(|node| node.1).collect(),
            replica: nodes.iter().map(|_| ReplicaId::from_index(0)).collect(),
            status: vec![Status::Unset; nodes.len()],
            self_time: nodes.iter().map(|node| Nanos::from_ns(node.2)).collect(),
            path_time: nodes.iter().map(|node| Nanos::from_ns(node.2)).collect(),
            inclusive_time: inclusive.into_iter().map(Nanos::from_ns).collect(),
            order_group: vec![0; nodes.len()],
        }
    }

    fn node<'a>(trie: &'a PathTrie, path: &[usize]) -> &'a PathNode {
        let mut node = &trie.entries()[&OperationId::from_index(path[0])];
        for &step in &path[1..] {
            node = &node.below[&OperationId::from_index(step)];
        }
        node
    }

    #[test]
    fn requests_are_merged() {
        let mut trie = PathTrie::new(100);
        trie.add(&tree(&[(0, None, 10), (1, Some(0), 4), (1, Some(0), 6)]));
        trie.add(&tree(&[(0, None, 20), (1, Some(0), 8), (2, Some(1), 100)]));
        let read = &node(&trie, &[0, 1]).times;
        assert_eq!((read.requests, read.calls, read.self_ns, read.inclusive_ns), (2, 3, 18, 118));
        assert_eq!((read.per_call.quantile(0.5), read.per_call.quantile(1.0)), (Some(5), Some(8)));
        assert_eq!(node(&trie, &[0]).times.inclusive_ns, 20 + 128);
        assert_eq!(node(&trie, &[0, 1, 2]).times.requests, 1);
        assert_eq!(trie.pooled_below(), None);
    }

    #[test]
    fn the_deepest_level_is_pooled_beyond_the_limit() {
        let requests = [
            tree(&[(0, None, 1), (1, Some(0), 2), (2, Some(1), 4), (3, Some(2), 8)]),
            tree(&[(0, None, 1), (1, Some(0), 2), (4, Some(1), 16)]),
            tree(&[(0, None, 1), (5, Some(0), 2)]),
        ];
        let trie_of_all = requests.iter().fold(PathTrie::new(4), |mut trie, request| {
            trie.add(request);
            trie
        });
        assert_eq!(trie_of_all.pooled_below(), Some(1));
        let pooled = &node(&trie_of_all, &[0, 1]).pooled;
        assert_eq!((pooled.calls, pooled.self_ns), (3, 28));
        for cut in 0..=3 {
            let part = |range: &[CallTree]| {
                range.iter().fold(PathTrie::new(4), |mut trie, request| {
                    trie.add(request);
                    trie
                })
            };
            let mut left = part(&requests[..cut]);
            left.merge(part(&requests[cut..]));
            assert_eq!(left, trie_of_all, "cut after {cut}");
        }
    }

    #[test]
    fn entry_paths_are_retained_even_above_the_limit() {
        let mut trie = PathTrie::new(1);
        (0..3).for_each(|index| trie.add(&tree(&[(index, None, 1), (9, Some(0), 1)])));
        assert_eq!((trie.entries().len(), trie.pooled_below()), (3, Some(0)));
        assert_eq!(node(&trie, &[2]).pooled.calls, 1);
    }
}
