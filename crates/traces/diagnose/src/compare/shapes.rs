//! New, vanished, more and less frequent shapes, and what distinguishes them.

use super::fold::{CategorySummary, PopulationSummary};
use super::paths::complete;
use super::settings::CompareSettings;
use crate::population::{Population, UnionNames};
use laggard_localize::compare::{PathCalls, PathDifference, ShapeProfile, fisher_exact, nearest};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::benjamini_hochberg;
use laggard_report::{ShapeChange, ShapeDifference, ShapeFate};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Shapes of the other set that are candidates for the nearest: the most frequent with the same entry.
const CANDIDATES: usize = 200;

/// … and only as many as have this many paths together, so that huge trees do not take minutes.
const CANDIDATE_PATHS: usize = 200_000;

// Limit: call-tree shapes listed in a comparison | the least frequent are left out
/// Shapes listed; those beyond are the least frequent.
const SHAPES_MAX: usize = 500;

// Limit: differences listed of a new call tree | the rest is left out
/// Most differences listed per shape.
const DIFFERENCES_MAX: usize = 20;

/// One shape in both sets.
struct ComparedShape<'a> {
    id: Fingerprint,
    /// Before, after.
    sets: [Option<&'a CategorySummary>; 2],
    p_value: f64,
}

impl ComparedShape<'_> {
    fn requests(&self, index: usize) -> u64 {
        self.sets[index].map_or(0, |category| category.latency.count())
    }

    fn any(&self) -> &CategorySummary {
        self.sets[0].or(self.sets[1]).expect("a shape is listed because a set has it")
    }

    fn entry(&self) -> OperationId {
        self.any().positions[0].operation
    }
}

/// Shapes that are new, have vanished, or whose share changed beyond chance; the most requests first.
pub(super) fn shape_changes(
    sets: [&PopulationSummary; 2],
    populations: [&Population<'_>; 2],
    union: &UnionNames,
    settings: &CompareSettings,
) -> Vec<ShapeChange> {
    let all = tested(sets);
    let mut listed: Vec<&ComparedShape<'_>> = all
        .iter()
        .filter(|shape| shape.requests(0).min(shape.requests(1)) == 0 || shape.p_value <= settings.level)
        .collect();
    listed.sort_by_key(|shape| {
        let requests = shape.requests(0) + shape.requests(1);
        (shape.p_value > settings.level, std::cmp::Reverse(requests), shape.id)
    });
    listed.truncate(SHAPES_MAX);
    let mut relatives = Relatives { all: &all, paths: Paths::default(), profiles: HashMap::new() };
    let mut changes = Vec::with_capacity(listed.len());
    for shape in listed {
        changes.push(shape_change(shape, &mut relatives, sets, populations, union, settings));
    }
    changes
}

/// Shapes of both sets.
pub(super) fn shapes_seen(sets: [&PopulationSummary; 2]) -> u64 {
    sets.iter().flat_map(|set| set.categories.keys()).collect::<BTreeSet<_>>().len() as u64
}

fn tested<'a>(sets: [&'a PopulationSummary; 2]) -> Vec<ComparedShape<'a>> {
    let ids: BTreeSet<Fingerprint> = sets.iter().flat_map(|set| set.categories.keys().copied()).collect();
    let [all_before, all_after] = sets.map(complete);
    let mut shapes: Vec<ComparedShape<'a>> = ids
        .into_iter()
        .map(|id| ComparedShape { id, sets: sets.map(|set| set.categories.get(&id)), p_value: 1.0 })
        .collect();
    let test = |shapes: &ComparedShape<'_>| {
        fisher_exact(shapes.requests(0), all_before, shapes.requests(1), all_after)
    };
    let adjusted = benjamini_hochberg(&shapes.iter().map(test).collect::<Vec<f64>>());
    shapes.iter_mut().zip(adjusted).for_each(|(shapes, p)| shapes.p_value = p);
    shapes
}

fn shape_change(
    shape: &ComparedShape<'_>,
    relatives: &mut Relatives<'_>,
    sets: [&PopulationSummary; 2],
    populations: [&Population<'_>; 2],
    union: &UnionNames,
    settings: &CompareSettings,
) -> ShapeChange {
    let [all_before, all_after] = sets.map(|set| complete(set).max(1) as f64);
    let grown = shape.requests(1) as f64 / all_after > shape.requests(0) as f64 / all_before;
    let fate = match (shape.requests(0), shape.requests(1)) {
        (0, _) => ShapeFate::New,
        (_, 0) => ShapeFate::Vanished,
        _ if grown => ShapeFate::Grown,
        _ => ShapeFate::Shrunk,
    };
    let relative = match fate {
        ShapeFate::New => relatives.nearest(shape, 1),
        ShapeFate::Vanished => relatives.nearest(shape, 0),
        ShapeFate::Grown | ShapeFate::Shrunk => None,
    };
    let key = union.names().operation_key(shape.entry());
    let latency = |set: usize| shape.sets[set].map(|category| category.latency.mean());
    let from = if fate == ShapeFate::Vanished { 0 } else { 1 };
    let examples = shape.sets[from].map_or(&[][..], |category| &category.examples);
    ShapeChange {
        id: shape.id.short(),
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        fate,
        requests_before: shape.requests(0),
        requests_after: shape.requests(1),
        latency_before_ns: latency(0),
        latency_after_ns: latency(1),
        p_value: shape.p_value,
        significant: shape.p_value <= settings.level,
        nearest: relative.as_ref().map(|relative| relative.id.short()),
        similarity: relative.as_ref().map(|relative| relative.similarity),
        differences: relative.map_or_else(Vec::new, |relative| {
            let shown = relative.differences.iter().take(DIFFERENCES_MAX);
            shown.map(|difference| relatives.paths.view(difference, fate, union)).collect()
        }),
        trace_ids: examples.iter().map(|&(_, trace)| populations[from].requests.trace_text(trace)).collect(),
    }
}

/// Call paths by number; a caller's is smaller than its callees'.
#[derive(Default)]
struct Paths {
    numbers: HashMap<(Option<u32>, OperationId), u32>,
    steps: Vec<(Option<u32>, OperationId)>,
}

impl Paths {
    fn number(&mut self, caller: Option<u32>, operation: OperationId) -> u32 {
        let new = self.steps.len() as u32;
        let number = *self.numbers.entry((caller, operation)).or_insert(new);
        if number == new {
            self.steps.push((caller, operation));
        }
        number
    }

    fn profile(&mut self, category: &CategorySummary) -> ShapeProfile {
        let mut of_position: Vec<u32> = Vec::with_capacity(category.positions.len());
        let mut paths: BTreeMap<u32, PathCalls> = BTreeMap::new();
        for (index, position) in category.positions.iter().enumerate() {
            let parent = position.parent.map(|parent| of_position[parent as usize]);
            let path = self.number(parent, position.operation);
            of_position.push(path);
            let calls = category.calls_per_request(index);
            paths.entry(path).or_insert(PathCalls { path, parent, calls: 0.0 }).calls += calls;
        }
        ShapeProfile { paths: paths.into_values().collect() }
    }

    /// A difference, turned from "shape against its relative" into "before against after".
    fn view(&self, difference: &PathDifference, fate: ShapeFate, union: &UnionNames) -> ShapeDifference {
        let (path, relative, shape) = match *difference {
            PathDifference::Added { path, calls } => (path, 0.0, calls),
            PathDifference::Removed { path, calls } => (path, calls, 0.0),
            PathDifference::Calls { path, from, to } => (path, from, to),
        };
        let turned = fate == ShapeFate::Vanished;
        let (calls_before, calls_after) = if turned { (shape, relative) } else { (relative, shape) };
        let mut steps = Vec::new();
        let mut next = Some(path);
        while let Some(step) = next {
            let (caller, operation) = self.steps[step as usize];
            let key = union.names().operation_key(operation);
            steps.push(format!("{} {}", key.service, key.operation));
            next = caller;
        }
        steps.reverse();
        ShapeDifference { path: steps, calls_before, calls_after }
    }
}

/// Finds the nearest shape of the other set.
struct Relatives<'a> {
    all: &'a [ComparedShape<'a>],
    paths: Paths,
    /// Candidates of the other set by own set and entry: index into `all`, and profile.
    profiles: HashMap<(usize, OperationId), Vec<(usize, ShapeProfile)>>,
}

struct Relative {
    id: Fingerprint,
    similarity: f64,
    differences: Vec<PathDifference>,
}

impl Relatives<'_> {
    /// `own` is the only set that has the shape.
    fn nearest(&mut self, shape: &ComparedShape<'_>, own: usize) -> Option<Relative> {
        let entry = shape.entry();
        if !self.profiles.contains_key(&(own, entry)) {
            let candidates = self.candidates(entry, 1 - own);
            self.profiles.insert((own, entry), candidates);
        }
        let profile = self.paths.profile(shape.any());
        let candidates = &self.profiles[&(own, entry)];
        let nearest_candidate = nearest(&profile, candidates.iter().map(|(_, profile)| profile))?;
        Some(Relative {
            id: self.all[candidates[nearest_candidate.candidate].0].id,
            similarity: nearest_candidate.similarity,
            differences: nearest_candidate.differences,
        })
    }

    fn candidates(&mut self, entry: OperationId, set: usize) -> Vec<(usize, ShapeProfile)> {
        let mut indices: Vec<usize> = (0..self.all.len())
            .filter(|&index| self.all[index].sets[set].is_some() && self.all[index].entry() == entry)
            .collect();
        indices.sort_by_key(|&index| (std::cmp::Reverse(self.all[index].requests(set)), self.all[index].id));
        indices.truncate(CANDIDATES);
        let mut candidates: Vec<(usize, ShapeProfile)> = Vec::with_capacity(indices.len());
        let mut paths = 0;
        for index in indices {
            paths += self.all[index].any().positions.len();
            if paths > CANDIDATE_PATHS && !candidates.is_empty() {
                break;
            }
            let category = self.all[index].sets[set].expect("candidates are of this set");
            candidates.push((index, self.paths.profile(category)));
        }
        candidates
    }
}
