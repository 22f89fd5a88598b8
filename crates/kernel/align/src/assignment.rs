//! Executions as points, the kinds of the normal ones, and the kind of each sample execution.

use crate::chance::chance_of_share;
use crate::kinds::{Kinds, all_kinds};
use crate::pairing::{NormalKinds, PairScore, best_pair, median_point, relative_distance};
use crate::silhouette::distance;
use crate::tail::EmpiricalTail;
use crate::vectors::{StateVectors, state_vectors};
use crate::{AlignSettings, StateId, StateSequence};
use laggard_numeric::{Matrix, benjamini_hochberg};
use std::collections::BTreeSet;

/// Points of the robust mode: `ln(1 + count)` of entries into each state and of each pair of successive states. Pairs
/// distinguish kinds that enter the same states in a different order.
pub(crate) fn robust_points(
    sets: [&[&StateSequence]; 2],
    vectors: [&StateVectors; 2],
    states: &[StateId],
) -> [Matrix; 2] {
    let pairs = pairs_of(sets);
    let points = |set: &[&StateSequence], vectors: &StateVectors| {
        let columns = states.len() + pairs.len();
        let mut points = Matrix::zeros(set.len(), columns);
        for (index, sequence) in set.iter().enumerate() {
            let row = points.row_mut(index);
            row[..states.len()].copy_from_slice(vectors.counts.row(index));
            for pair in changes(sequence) {
                if let Ok(column) = pairs.binary_search(&pair) {
                    row[states.len() + column] += 1.0;
                }
            }
            row.iter_mut().for_each(|value| *value = value.ln_1p());
        }
        points
    };
    [points(sets[0], vectors[0]), points(sets[1], vectors[1])]
}

/// Pairs of successive, different states, as they occur.
fn changes(sequence: &StateSequence) -> impl Iterator<Item = [StateId; 2]> {
    sequence.states().windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| [pair[0], pair[1]])
}

/// With more pairs of states than this, only states are counted: each pair is a column.
const PAIRS_MAX: usize = 1024;

fn pairs_of(sets: [&[&StateSequence]; 2]) -> Vec<[StateId; 2]> {
    let all: BTreeSet<[StateId; 2]> =
        sets.into_iter().flatten().flat_map(|sequence| changes(sequence)).collect();
    if all.len() > PAIRS_MAX { Vec::new() } else { all.into_iter().collect() }
}

/// The normal kinds, and the kind of every execution.
pub(crate) struct KindAssignments {
    /// Normal kinds, largest first.
    pub(crate) kinds: Kinds,
    /// By sample execution.
    pub(crate) sample: Vec<KindAssignment>,
}

/// The normal kind of a sample execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindAssignment {
    /// The normal kind that fits best.
    pub(crate) kind: usize,
    /// Its silhouette there; `None` with one kind.
    pub(crate) score: Option<f64>,
    /// Distance from the kind's median over the norm of that.
    pub(crate) distance: f64,
    /// Whether no normal execution is similar.
    pub(crate) is_new: bool,
}

/// Distance beyond which an execution may be of a new kind. Ours; the distances of normal executions from their own
/// kinds decide.
const NEW_DISTANCE: f64 = 0.35;

/// Probability up to which more executions of a sample are of a rare normal kind than chance explains. Ours.
const CROWDED_CHANCE: f64 = 1e-3;

/// P-value below which an execution still fits no kind after one of its states is left out.
const STILL_NEW: f64 = 0.01;

/// Both sets as sequences, vectors, and points.
#[derive(Clone, Copy)]
pub(crate) struct PointViews<'a> {
    pub(crate) sets: [&'a [&'a StateSequence]; 2],
    pub(crate) states: &'a [StateId],
    /// [`robust_points`].
    pub(crate) points: &'a [Matrix; 2],
}

/// Finds the normal kinds and pairs every sample execution with one.
pub(crate) fn assignments(views: PointViews<'_>, settings: &AlignSettings) -> KindAssignments {
    let points = views.points;
    let kinds = largest_first(all_kinds(&points[0], settings));
    let count = kinds.origins.len();
    let normal = NormalKinds::new(&points[0], &kinds.labels, count);
    let members: Vec<Vec<usize>> = (0..count).map(|kind| kinds.members(kind)).collect();
    let medians: Vec<Vec<f64>> = members.iter().map(|rows| median_point(&points[0], rows)).collect();
    let adjusted = benjamini_hochberg(&new_p_values(points, &members, settings.cluster_points_min - 1));
    let assignment = |index: usize, left_out: &BTreeSet<usize>| {
        let sequence = Matrix::from_row_major(1, points[1].cols(), points[1].row(index).to_vec());
        let scores: Vec<PairScore> =
            normal.scores(&sequence).into_iter().filter(|score| !left_out.contains(&score.kind)).collect();
        let pair = best_pair(&scores);
        let kind = pair.map_or(0, |pair| pair.kind);
        let distance = relative_distance(&medians[kind], points[1].row(index));
        let is_new = distance > NEW_DISTANCE && adjusted[index] <= settings.false_alarm;
        KindAssignment { kind, score: pair.map(|pair| pair.score), distance, is_new }
    };
    let mut sample: Vec<KindAssignment> =
        (0..points[1].rows()).map(|index| assignment(index, &BTreeSet::new())).collect();
    let crowded = crowded_kinds(&members, &sample, points[0].rows(), settings);
    for (index, assigned) in sample.iter_mut().enumerate() {
        if crowded.contains(&assigned.kind) {
            *assigned = assignment(index, &crowded);
        }
    }
    reassign_changed(views, &members, settings, &mut sample);
    KindAssignments { sample, kinds }
}

/// Kinds of too few normal executions for a cluster that far more of the sample would be of than chance explains: one normal
/// execution that was disturbed is no reason to call all of a sample usual that is disturbed in the same way. Never all kinds.
fn crowded_kinds(
    members: &[Vec<usize>],
    sample: &[KindAssignment],
    normal: usize,
    settings: &AlignSettings,
) -> BTreeSet<usize> {
    let is_crowded = |kind: &usize| {
        let count = sample.iter().filter(|assignment| assignment.kind == *kind).count();
        let of_kind = (members[*kind].len(), count);
        of_kind.0 < settings.cluster_points_min
            && chance_of_share(of_kind, (normal, sample.len())) <= CROWDED_CHANCE
    };
    let has_cluster = members.iter().any(|members| members.len() >= settings.cluster_points_min);
    (0..members.len()).filter(|kind| has_cluster && is_crowded(kind)).collect()
}

/// An execution that fits a kind once one of its states is left out is of that kind, with much more of the state: it
/// has changed, but is not new.
fn reassign_changed(
    views: PointViews<'_>,
    members: &[Vec<usize>],
    settings: &AlignSettings,
    sample: &mut [KindAssignment],
) {
    for &state in views.states {
        if !sample.iter().any(|assignment| assignment.is_new) {
            return;
        }
        let without = |set: &[&StateSequence]| set.iter().map(|sequence| sequence.without(state)).collect();
        let sets: [Vec<StateSequence>; 2] = views.sets.map(without);
        let sets: [Vec<&StateSequence>; 2] = [sets[0].iter().collect(), sets[1].iter().collect()];
        let vectors = [state_vectors(&sets[0], views.states), state_vectors(&sets[1], views.states)];
        let points = robust_points([&sets[0], &sets[1]], [&vectors[0], &vectors[1]], views.states);
        let p_values = new_p_values(&points, members, settings.cluster_points_min - 1);
        for (assignment, p_value) in sample.iter_mut().zip(p_values) {
            assignment.is_new &= p_value <= STILL_NEW;
        }
    }
}

/// Numbers kinds by size, the largest 0 (ties: the one with the smallest member).
fn largest_first(kinds: Kinds) -> Kinds {
    let members: Vec<Vec<usize>> = (0..kinds.origins.len()).map(|kind| kinds.members(kind)).collect();
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&kind| (std::cmp::Reverse(members[kind].len()), members[kind].first().copied()));
    let mut labels = vec![None; kinds.labels.len()];
    for (number, &kind) in order.iter().enumerate() {
        members[kind].iter().for_each(|&point| labels[point] = Some(number));
    }
    Kinds { labels, origins: order.iter().map(|&kind| kinds.origins[kind]).collect() }
}

/// By sample execution: probability of being so far from every normal kind, for a normal execution that is left out of
/// its own.
fn new_p_values(points: &[Matrix; 2], members: &[Vec<usize>], neighbors: usize) -> Vec<f64> {
    let from_all = |from: &[f64], left_out: Option<usize>| {
        let to = |rows: &Vec<usize>| {
            let others = rows.iter().filter(|&&row| Some(row) != left_out);
            let mut distances: Vec<f64> = others.map(|&row| distance(from, points[0].row(row))).collect();
            let nearest = neighbors.min(distances.len()).checked_sub(1)?;
            Some(*distances.select_nth_unstable_by(nearest, f64::total_cmp).1)
        };
        members.iter().filter_map(to).reduce(f64::min).map(f64::ln_1p)
    };
    let normal: Vec<f64> =
        (0..points[0].rows()).filter_map(|index| from_all(points[0].row(index), Some(index))).collect();
    let scale = crate::reference::ReferenceScale::from_values(&mut normal.clone());
    let Some(scale) = scale else { return vec![1.0; points[1].rows()] };
    let Some(tail) = EmpiricalTail::new(normal.iter().map(|x| scale.score(*x, 0.0, 0.05)).collect()) else {
        return vec![1.0; points[1].rows()];
    };
    let p = |index: usize| {
        from_all(points[1].row(index), None)
            .map_or(1.0, |distances| tail.p_value(scale.score(distances, 0.0, 0.05)))
    };
    (0..points[1].rows()).map(p).collect()
}
