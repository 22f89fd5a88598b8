//! Calls that are no longer made, made for the first time, or made more often, per call of the caller.
//!
//! A caller does different things in different requests, so its calls are compared by call path: the expected number of
//! calls is that at the rates which the baseline has on each path. Calls that failed say nothing, neither as callers nor
//! as repeated calls.

use crate::failures::FailureSettings;
use crate::failures::outcomes::{CallPaths, OutcomeTable, OutcomeTree, RequestNumbers};
use crate::failures::rates::{BlockCount, drop, rise, rise_of_frequent};
use crate::sites::{Blocks, Fast};
use laggard_model::OperationId;
use laggard_numeric::benjamini_hochberg;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Kind of change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallChangeKind {
    /// Made less often: the caller returns early.
    Missing,
    /// Never made before.
    New,
    /// Made more often.
    More,
}

/// Calls from one operation to another that changed.
#[derive(Clone, PartialEq, Debug)]
pub struct CallChange {
    /// How.
    pub kind: CallChangeKind,
    /// The calling operation.
    pub caller: OperationId,
    /// The operations that it calls more or less often, the largest difference first.
    pub callees: Vec<OperationId>,
    /// Calls of the caller in the window that did not fail.
    pub calls: u64,
    /// Share of them that call the first callee; for calls made more often, their number per call of the caller.
    pub rate: f64,
    /// The same in the baseline.
    pub usual_rate: f64,
    /// Adjusted over all pairs of caller and callee.
    pub p_adjusted: f64,
    /// Calls of the first callee less those expected from the baseline.
    pub difference: f64,
    /// Requests in which calls are missing, new, or repeated, ascending. Where the caller did not always make the call before,
    /// some of them are usual.
    pub hit: Vec<RequestNumbers>,
}

/// Minimum number of the caller's calls in the baseline for paths on which calls of failing callers are excluded.
const CALLER_CALLS_MIN: f64 = 5.0;
/// The rate of a path is extrapolated to at most this multiple of its calls in the baseline.
const EXTRAPOLATION_MAX: f64 = 20.0;
/// A call that was never made is new only if its caller was called so often in the baseline.
pub(super) const NEW_CALLER_CALLS_MIN: f64 = 20.0;
/// Calls are missing when there are no more than this part of those expected, or `factor_min` times as many calls of the
/// caller without them.
const MISSING_PART_MAX: f64 = 0.75;
/// Factors between rates up to which they are drift: of calls without the callee, and of calls with it.
pub(super) const DRIFT_FACTOR: f64 = 1.5;
const DRIFT_PART: f64 = 0.9;

/// Calls that changed, by kind and caller; those that hit the most requests first.
pub fn changed_calls(
    baseline: &OutcomeTable,
    window: &OutcomeTable,
    settings: &FailureSettings,
) -> Vec<CallChange> {
    let mut paths = CallPaths::default();
    let (before, now) = (Population::new(baseline, &mut paths), Population::new(window, &mut paths));
    let comparison = Comparison {
        usual: before.totals(paths.paths.len()),
        current: now.totals(paths.paths.len()),
        blocks: Blocks::choose(baseline.rows, window.rows),
        known: baseline.trees.iter().flat_map(|tree| tree.operation.iter().copied()).collect(),
        paths,
        before,
        now,
        settings,
    };
    let pairs = pairs_of(&comparison.paths, &comparison.usual, &comparison.current);
    let candidates: Vec<Option<CallChangeKind>> = pairs.iter().map(|pair| comparison.kind(pair)).collect();
    let p_value = |(pair, kind): (&Pair, &Option<CallChangeKind>)| {
        kind.map_or(1.0, |kind| comparison.p_value(pair, kind))
    };
    let p_values: Vec<f64> = pairs.iter().zip(&candidates).map(p_value).collect();
    let adjusted = benjamini_hochberg(&p_values);
    let changed = pairs.iter().zip(candidates).zip(adjusted).filter_map(|((pair, kind), p_adjusted)| {
        let kind = kind.filter(|_| p_adjusted <= settings.level)?;
        Some(comparison.change(pair, kind, p_adjusted))
    });
    by_caller(changed.collect())
}

/// One change per kind and caller: the figures are those of the callee with the largest difference.
pub(super) fn by_caller(mut changes: Vec<CallChange>) -> Vec<CallChange> {
    let size = |change: &CallChange| change.difference.abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.callees.cmp(&b.callees)));
    let mut joined: BTreeMap<(CallChangeKind, OperationId), CallChange> = BTreeMap::new();
    for change in changes {
        match joined.get_mut(&(change.kind, change.caller)) {
            None => {
                joined.insert((change.kind, change.caller), change);
            }
            Some(known) => {
                known.p_adjusted = known.p_adjusted.min(change.p_adjusted);
                known.callees.extend(change.callees);
                known.hit.extend(change.hit);
                known.hit.sort_unstable();
                known.hit.dedup();
            }
        }
    }
    let mut changes: Vec<CallChange> = joined.into_values().collect();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.caller.cmp(&b.caller)));
    changes
}

/// A caller and a callee, with the call paths on which the caller was called in both populations.
pub(super) struct Pair {
    pub(super) caller: OperationId,
    pub(super) callee: OperationId,
    /// By path of the caller: calls of the callee per call of the caller in the baseline.
    usual: HashMap<u32, Rates, Fast>,
    /// In the baseline, and in the window.
    earlier: PairCount,
    pub(super) later: PairCount,
}

/// Per call of the caller.
#[derive(Clone, Copy, Default)]
pub(super) struct Rates {
    /// Share of calls of the caller that call the callee.
    pub(super) with: f64,
    /// Calls of the callee that did not fail.
    good: f64,
}

/// Calls of a caller that did not fail, and its calls of a callee.
#[derive(Clone, Copy, Default)]
pub(super) struct PairCount {
    pub(super) callers: f64,
    /// Callers with at least one call of the callee.
    pub(super) with: f64,
    /// Calls of the callee that did not fail.
    good: f64,
    /// Rates expected from the baseline.
    pub(super) expected: Rates,
}

impl PairCount {
    pub(super) fn without(&self) -> f64 {
        self.callers - self.with
    }

    pub(super) fn add(&mut self, other: &PairCount) {
        self.callers += other.callers;
        self.with += other.with;
        self.good += other.good;
        self.expected.with += other.expected.with;
        self.expected.good += other.expected.good;
    }

    /// The events of a kind, and how many are expected.
    fn of_kind(&self, kind: CallChangeKind, counts_missing: bool, never_missing: bool) -> BlockCount {
        let (events, exposure) = match kind {
            CallChangeKind::Missing if counts_missing && never_missing => (self.without(), self.callers),
            CallChangeKind::Missing if counts_missing => (self.without(), self.callers - self.expected.with),
            CallChangeKind::Missing => (self.with, self.expected.with),
            CallChangeKind::New => (self.with, self.callers),
            CallChangeKind::More => (self.good, self.expected.good),
        };
        BlockCount { events, exposure }
    }
}

/// A table with the paths of its trees.
pub(super) struct Population<'a> {
    table: &'a OutcomeTable,
    trees: Vec<PathTree<'a>>,
    /// By path: the trees that have it, ascending.
    with_path: Vec<Vec<u32>>,
    /// By tree: its requests with failed calls, as indices into the table's.
    failed: Vec<Vec<u32>>,
}

struct PathTree<'a> {
    tree: &'a OutcomeTree,
    /// The path of every node.
    paths: Vec<u32>,
    /// Whether a node is its caller's first call of this operation.
    is_first: Vec<bool>,
}

/// By path: calls that did not fail; and below callers that did not fail, calls that are the first of their operation, and
/// calls that did not fail.
pub(super) struct PathTotals {
    good: Vec<f64>,
    first: Vec<f64>,
    good_below: Vec<f64>,
}

impl<'a> Population<'a> {
    pub(super) fn new(table: &'a OutcomeTable, paths: &mut CallPaths) -> Population<'a> {
        let trees = table.trees.iter().map(|tree| {
            let mut seen = HashSet::new();
            let is_first = tree
                .parent
                .iter()
                .zip(&tree.operation)
                .map(|(parent, operation)| seen.insert((parent, operation)));
            PathTree { tree, paths: paths.of_tree(tree), is_first: is_first.collect() }
        });
        let trees: Vec<PathTree<'a>> = trees.collect();
        let mut with_path: Vec<Vec<u32>> = vec![Vec::new(); paths.paths.len()];
        for (number, tree) in (0..).zip(&trees) {
            for &path in &tree.paths {
                let known = &mut with_path[path as usize];
                if known.last() != Some(&number) {
                    known.push(number);
                }
            }
        }
        let mut failed: Vec<Vec<u32>> = vec![Vec::new(); trees.len()];
        for (index, request) in (0..).zip(&table.failed) {
            failed[request.tree as usize].push(index);
        }
        Population { table, trees, with_path, failed }
    }

    pub(super) fn totals(&self, paths: usize) -> PathTotals {
        let mut totals =
            PathTotals { good: vec![0.0; paths], first: vec![0.0; paths], good_below: vec![0.0; paths] };
        let mut add = |tree: &PathTree<'_>, errors: &[u32], requests: f64| {
            for (node, &path) in tree.paths.iter().enumerate() {
                let path = path as usize;
                let is_good = !failed(errors, node as u32);
                if is_good {
                    totals.good[path] += requests;
                }
                if tree.tree.parent[node].is_some_and(|parent| !failed(errors, parent)) {
                    totals.first[path] += if tree.is_first[node] { requests } else { 0.0 };
                    totals.good_below[path] += if is_good { requests } else { 0.0 };
                }
            }
        };
        for (tree, requests) in
            self.trees.iter().zip(&self.table.clean).filter(|(_, requests)| !requests.is_empty())
        {
            add(tree, &[], requests.len() as f64);
        }
        for request in &self.table.failed {
            add(&self.trees[request.tree as usize], &request.errors, 1.0);
        }
        totals
    }

    /// Counts of every request with calls of the caller.
    pub(super) fn each_request(&self, pair: &Pair, mut count: impl FnMut(RequestNumbers, PairCount)) {
        let with_caller = pair.usual.keys().filter_map(|&path| self.with_path.get(path as usize));
        let with_caller: BTreeSet<u32> = with_caller.flatten().copied().collect();
        for number in with_caller {
            let tree = &self.trees[number as usize];
            let clean = &self.table.clean[number as usize];
            if !clean.is_empty() {
                let counts = tree.count(pair, &[]);
                clean.iter().for_each(|&request| count(request, counts));
            }
            for &index in &self.failed[number as usize] {
                let failed = &self.table.failed[index as usize];
                let counts = tree.count(pair, &failed.errors);
                if counts.callers > 0.0 {
                    count(failed.request, counts);
                }
            }
        }
    }

    /// The block of a request if all are cut into `blocks` blocks of equally many.
    pub(super) fn block(&self, request: RequestNumbers, blocks: usize) -> usize {
        self.table.block(request.row, blocks)
    }

    fn blocks(
        &self,
        pair: &Pair,
        blocks: usize,
        events: impl Fn(&PairCount) -> BlockCount,
    ) -> Vec<BlockCount> {
        let mut counts = vec![BlockCount::default(); blocks];
        self.each_request(pair, |request, count| {
            let (sum, count) = (&mut counts[self.block(request, blocks)], events(&count));
            sum.events += count.events;
            sum.exposure += count.exposure;
        });
        counts
    }
}

impl PathTree<'_> {
    fn count(&self, pair: &Pair, errors: &[u32]) -> PairCount {
        let mut count = PairCount::default();
        for (node, &operation) in self.tree.operation.iter().enumerate() {
            if operation == pair.caller
                && !failed(errors, node as u32)
                && let Some(usual) = pair.usual.get(&self.paths[node])
            {
                count.callers += 1.0;
                count.expected.with += usual.with;
                count.expected.good += usual.good;
            }
            if operation == pair.callee
                && let Some(parent) = self.tree.parent[node]
                && !failed(errors, parent)
                && pair.usual.contains_key(&self.paths[parent as usize])
            {
                count.with += f64::from(u8::from(self.is_first[node]));
                count.good += f64::from(u8::from(!failed(errors, node as u32)));
            }
        }
        count
    }
}

fn failed(errors: &[u32], node: u32) -> bool {
    !errors.is_empty() && errors.binary_search(&node).is_ok()
}

struct Comparison<'a> {
    paths: CallPaths,
    before: Population<'a>,
    now: Population<'a>,
    usual: PathTotals,
    current: PathTotals,
    blocks: Blocks,
    /// Operations of the baseline.
    known: BTreeSet<OperationId>,
    settings: &'a FailureSettings,
}

/// All callers with what they call, given the totals of the baseline and of the window.
pub(super) fn pairs_of(paths: &CallPaths, usual: &PathTotals, current: &PathTotals) -> Vec<Pair> {
    let mut pairs: BTreeMap<(OperationId, OperationId), Pair> = BTreeMap::new();
    for (path, step) in paths.paths.iter().enumerate() {
        let Some(caller_path) = step.caller else { continue };
        let (before, now) = (usual.good[caller_path as usize], current.good[caller_path as usize]);
        if before < CALLER_CALLS_MIN || now == 0.0 || now > EXTRAPOLATION_MAX * before {
            continue;
        }
        let caller = paths.paths[caller_path as usize].operation;
        let pair = pairs.entry((caller, step.operation)).or_insert_with(|| Pair {
            caller,
            callee: step.operation,
            usual: HashMap::default(),
            earlier: PairCount::default(),
            later: PairCount::default(),
        });
        let rates = Rates { with: usual.first[path] / before, good: usual.good_below[path] / before };
        pair.usual.insert(caller_path, rates);
        pair.earlier.callers += before;
        pair.earlier.with += usual.first[path];
        pair.earlier.good += usual.good_below[path];
        pair.later.callers += now;
        pair.later.with += current.first[path];
        pair.later.good += current.good_below[path];
        pair.later.expected.with += now * rates.with;
        pair.later.expected.good += now * rates.good;
    }
    pairs.into_values().collect()
}

impl Comparison<'_> {
    /// What has changed by enough to matter, if it is not chance.
    fn kind(&self, pair: &Pair) -> Option<CallChangeKind> {
        let (settings, now) = (self.settings, &pair.later);
        let enough =
            |calls: f64| calls >= settings.requests_min as f64 && calls >= settings.share_min * now.callers;
        let expected = now.expected;
        let is_missing = now.with <= MISSING_PART_MAX * expected.with
            || now.without() >= settings.factor_min * (now.callers - expected.with);
        if enough(expected.with - now.with) && is_missing {
            return Some(CallChangeKind::Missing);
        }
        if pair.earlier.with == 0.0 {
            let is_new = enough(now.with)
                && pair.earlier.callers >= NEW_CALLER_CALLS_MIN
                && self.known.contains(&pair.callee);
            return is_new.then_some(CallChangeKind::New);
        }
        let is_more = now.good >= settings.factor_min * expected.good && enough(now.good - expected.good);
        is_more.then_some(CallChangeKind::More)
    }

    fn p_value(&self, pair: &Pair, kind: CallChangeKind) -> f64 {
        // Of calls with and without the callee, the rarer ones say more.
        let counts_missing = 2.0 * pair.later.expected.with > pair.later.callers;
        let never_missing = pair.earlier.without() <= 0.0;
        let count = |count: &PairCount| count.of_kind(kind, counts_missing, never_missing);
        let before = self.before.blocks(pair, self.blocks.baseline, count);
        let now = self.now.blocks(pair, self.blocks.window, count);
        match kind {
            CallChangeKind::Missing if !counts_missing => drop(&before, &now, &self.blocks, DRIFT_PART),
            CallChangeKind::More => rise_of_frequent(&before, &now, self.blocks.batch, DRIFT_FACTOR),
            _ => rise(&before, &now, &self.blocks, DRIFT_FACTOR),
        }
    }

    fn change(&self, pair: &Pair, kind: CallChangeKind, p_adjusted: f64) -> CallChange {
        let (earlier, later) = (&pair.earlier, &pair.later);
        let is_more = kind == CallChangeKind::More;
        let mut hit = Vec::new();
        self.now.each_request(pair, |request, count| {
            let is_hit = match kind {
                CallChangeKind::Missing => count.without() > 0.0,
                CallChangeKind::New => count.with > 0.0,
                CallChangeKind::More => count.good > DRIFT_FACTOR * count.expected.good,
            };
            if is_hit {
                hit.push(request);
            }
        });
        hit.sort_unstable();
        let expected = if is_more { later.expected.good } else { later.expected.with };
        let made = if is_more { later.good } else { later.with };
        CallChange {
            kind,
            caller: pair.caller,
            callees: vec![pair.callee],
            calls: later.callers as u64,
            rate: made / later.callers,
            usual_rate: if earlier.callers > 0.0 { expected / later.callers } else { 0.0 },
            p_adjusted,
            difference: made - expected,
            hit,
        }
    }
}
