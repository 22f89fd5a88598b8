//! One pass over a population: its categories, call paths and samples of every operation.

use super::path_trie::PathTrie;
use super::settings::CompareSettings;
use crate::population::Selected;
use laggard_assembly::ShapePosition;
use laggard_engine::{Fold, LocalEngine, RequestView, StructureShapes};
use laggard_localize::compare::{Moments, OperationObservation};
use laggard_model::{
    AttributeSetId, CallTree, Fingerprint, FingerprintBuilder, OperationId, ReplicaId, Timestamp, TraceId,
};
use std::collections::BTreeMap;

/// Example traces per category.
const EXAMPLES: usize = 3;

/// Merges the complete requests of a population into categories, call paths and samples.
#[derive(Clone, Debug)]
pub struct PopulationFold<'a> {
    selected: Selected<'a>,
    shapes: &'a StructureShapes,
    /// Positions of each of the shapes' categories, in unified handles.
    positions: Vec<Vec<ShapePosition>>,
    paths_max: usize,
    observations_max: usize,
}

/// The result of the fold, in unified handles.
#[derive(Clone, PartialEq, Debug)]
pub struct PopulationSummary {
    /// Categories by shape.
    pub categories: BTreeMap<Fingerprint, CategorySummary>,
    /// All call paths.
    pub paths: PathTrie,
    /// Operations that complete requests call.
    pub operations: BTreeMap<OperationId, OperationSummary>,
    /// The same on each replica.
    pub replicas: BTreeMap<(OperationId, ReplicaId), ReplicaSummary>,
    /// Complete and partial selected requests.
    pub requests: u64,
    /// Partial ones among them.
    pub partial: u64,
    /// Start of the earliest and the latest complete request.
    pub extent: Option<(Timestamp, Timestamp)>,
}

/// One category.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CategorySummary {
    /// Its call tree's positions.
    pub positions: Vec<ShapePosition>,
    /// Calls at each position, over all requests.
    pub calls: Vec<u64>,
    /// Latencies of its requests.
    pub latency: Moments,
    /// A few of its traces, by hash.
    pub examples: Vec<(u64, TraceId)>,
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationSummary {
    /// Requests that call it.
    pub requests: u64,
    /// Calls.
    pub calls: u64,
    /// Self time over all calls, nanoseconds.
    pub self_ns: u128,
    /// A sample of those requests.
    pub sample: Sample,
}

/// One operation on one replica.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplicaSummary {
    /// Calls.
    pub calls: u64,
    /// A sample of the requests that call it there.
    pub sample: Sample,
}

/// Most requests of an operation on one replica that are compared.
const REPLICA_OBSERVATIONS_MAX: usize = 300;

/// The observations with the smallest hashes of their requests: a fair sample that does not depend on the order
/// or the split of the requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    observations: Vec<(u64, OperationObservation, AttributeSetId)>,
}

/// The figures of a request that a sample of it needs.
#[derive(Clone, Copy)]
struct SampledRequest {
    hash: u64,
    attributes: AttributeSetId,
}

impl Sample {
    fn add(&mut self, request: SampledRequest, observation: OperationObservation, most: usize) {
        self.observations.push((request.hash, observation, request.attributes));
        // Cutting only at twice the size keeps the cost per observation constant.
        if self.observations.len() > 2 * most {
            self.cut(most);
        }
    }

    fn merge(&mut self, other: Sample, most: usize) {
        self.observations.extend(other.observations);
        if self.observations.len() > 2 * most {
            self.cut(most);
        }
    }

    fn cut(&mut self, most: usize) {
        self.observations.sort_unstable();
        self.observations.truncate(most);
    }

    /// The observations, in the order of their hashes.
    pub fn observations(&self) -> Vec<OperationObservation> {
        self.observations.iter().map(|&(_, observation, _)| observation).collect()
    }

    /// Those of requests with some attributes.
    pub(super) fn observations_with(
        &self,
        is_included: impl Fn(AttributeSetId) -> bool,
    ) -> Vec<OperationObservation> {
        let included = self.observations.iter().filter(|(_, _, attributes)| is_included(*attributes));
        included.map(|&(_, observation, _)| observation).collect()
    }
}

impl Fold for PopulationFold<'_> {
    type Partial = PopulationSummary;
    type Output = PopulationSummary;

    fn start(&self) -> PopulationSummary {
        PopulationSummary {
            categories: BTreeMap::new(),
            paths: PathTrie::new(self.paths_max),
            operations: BTreeMap::new(),
            replicas: BTreeMap::new(),
            requests: 0,
            partial: 0,
            extent: None,
        }
    }

    fn add(&self, partial: &mut PopulationSummary, request: &RequestView<'_>) {
        if !self.selected.includes(request) {
            return;
        }
        partial.requests += 1;
        if !request.is_complete() {
            partial.partial += 1;
            return;
        }
        let tree = self.selected.call_tree(request);
        let hash = hash(request.trace(), request.start());
        partial.extent = join(partial.extent, Some((request.start(), request.start())));
        partial.paths.add(&tree);
        let category = self.shapes.category_of(request.structure());
        let id = self.shapes.categories()[category].id;
        let sampled = SampledRequest { hash, attributes: self.selected.attributes(request) };
        self.add_operations(partial, &tree, id, sampled);
        let known = partial.categories.entry(id).or_insert_with(|| CategorySummary {
            positions: self.positions[category].clone(),
            calls: vec![0; self.positions[category].len()],
            ..CategorySummary::default()
        });
        known.add(request, self.shapes.positions_of(request.structure()), hash);
    }

    fn merge(&self, into: &mut PopulationSummary, later: PopulationSummary) {
        for (id, category) in later.categories {
            into.categories.entry(id).or_default().merge(category);
        }
        into.paths.merge(later.paths);
        for (id, operation) in later.operations {
            let merged = into.operations.entry(id).or_default();
            merged.requests += operation.requests;
            merged.calls += operation.calls;
            merged.self_ns = merged.self_ns.saturating_add(operation.self_ns);
            merged.sample.merge(operation.sample, self.observations_max);
        }
        for (key, replica) in later.replicas {
            let merged = into.replicas.entry(key).or_default();
            merged.calls += replica.calls;
            merged.sample.merge(replica.sample, REPLICA_OBSERVATIONS_MAX);
        }
        into.requests += later.requests;
        into.partial += later.partial;
        into.extent = join(into.extent, later.extent);
    }

    fn finish(&self, mut partial: PopulationSummary) -> PopulationSummary {
        partial.operations.values_mut().for_each(|operation| operation.sample.cut(self.observations_max));
        partial.replicas.values_mut().for_each(|replica| replica.sample.cut(REPLICA_OBSERVATIONS_MAX));
        partial
    }
}

impl<'a> PopulationFold<'a> {
    /// A fold over the requests that were selected.
    pub fn new(
        selected: Selected<'a>,
        settings: &CompareSettings,
        engine: LocalEngine,
    ) -> PopulationFold<'a> {
        let shapes = selected.range().requests().shapes(settings.rule, engine.threads());
        PopulationFold {
            positions: shapes.categories().iter().map(|shape| selected.positions(&shape.positions)).collect(),
            shapes,
            selected,
            paths_max: settings.paths_max,
            observations_max: settings.observations_max,
        }
    }

    fn add_operations(
        &self,
        partial: &mut PopulationSummary,
        tree: &CallTree,
        category: Fingerprint,
        request: SampledRequest,
    ) {
        let entry = tree.operation[0];
        let call = |node: usize| ((tree.operation[node], tree.replica[node]), tree.self_time[node].ns());
        let mut calls: Vec<((OperationId, ReplicaId), u64)> = (0..tree.len()).map(call).collect();
        calls.sort_unstable();
        for of_operation in calls.chunk_by(|((first, _), _), ((second, _), _)| first == second) {
            let id = of_operation[0].0.0;
            let mut total = (0_u64, 0_u32);
            for of_replica in of_operation.chunk_by(|(first, _), (second, _)| first == second) {
                let self_ns = of_replica.iter().fold(0_u64, |sum, (_, self_ns)| sum.saturating_add(*self_ns));
                let count = of_replica.len() as u32;
                let observation = OperationObservation::new(category, entry, (self_ns, count));
                self.add_replica(partial, of_replica[0].0, observation, request);
                total = (total.0.saturating_add(self_ns), total.1 + count);
            }
            let operation = partial.operations.entry(id).or_default();
            operation.requests += 1;
            operation.calls += u64::from(total.1);
            operation.self_ns = operation.self_ns.saturating_add(u128::from(total.0));
            let observation = OperationObservation::new(category, entry, total);
            operation.sample.add(request, observation, self.observations_max);
        }
    }

    fn add_replica(
        &self,
        partial: &mut PopulationSummary,
        key: (OperationId, ReplicaId),
        observation: OperationObservation,
        request: SampledRequest,
    ) {
        let known = partial.replicas.entry(key).or_default();
        known.calls += u64::from(observation.calls);
        known.sample.add(request, observation, REPLICA_OBSERVATIONS_MAX);
    }
}

impl CategorySummary {
    fn add(&mut self, request: &RequestView<'_>, positions: &[u32], hash: u64) {
        positions.iter().for_each(|&position| self.calls[position as usize] += 1);
        self.latency.add(request.latency().ns());
        self.examples.push((hash, request.trace()));
        self.retain_examples();
    }

    fn merge(&mut self, other: CategorySummary) {
        if self.positions.is_empty() {
            *self = other;
            return;
        }
        self.latency.merge(other.latency);
        self.calls.iter_mut().zip(&other.calls).for_each(|(merged, theirs)| *merged += theirs);
        self.examples.extend(other.examples);
        self.retain_examples();
    }

    fn retain_examples(&mut self) {
        self.examples.sort_unstable();
        self.examples.dedup();
        self.examples.truncate(EXAMPLES);
    }

    /// Mean calls per request at a position.
    pub fn calls_per_request(&self, position: usize) -> f64 {
        self.calls[position] as f64 / self.latency.count().max(1) as f64
    }
}

fn join(
    a: Option<(Timestamp, Timestamp)>,
    b: Option<(Timestamp, Timestamp)>,
) -> Option<(Timestamp, Timestamp)> {
    let (Some((first, last)), Some((other_first, other_last))) = (a, b) else { return a.or(b) };
    Some((first.min(other_first), last.max(other_last)))
}

/// A hash of a request that is independent of its times.
fn hash(trace: TraceId, start: Timestamp) -> u64 {
    let mut builder = FingerprintBuilder::new();
    builder.word(trace.value() as u64);
    builder.word((trace.value() >> 64) as u64);
    builder.word(start.unix_ns() as u64);
    builder.finish().value() as u64
}
