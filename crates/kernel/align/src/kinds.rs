//! Kinds of executions: dense clusters, and the assignment of executions outside clusters.

use crate::silhouette::distance;
use crate::{AlignSettings, KindOrigin, OpticsSettings, optics};
use laggard_numeric::{Matrix, quantile_nearest_rank};

/// Kinds of one set.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Kinds {
    /// The kind of each point; `None`: no kind.
    pub(crate) labels: Vec<Option<usize>>,
    /// The origin of each kind.
    pub(crate) origins: Vec<KindOrigin>,
}

impl Kinds {
    /// Points of a kind, ascending.
    pub(crate) fn members(&self, kind: usize) -> Vec<usize> {
        (0..self.labels.len()).filter(|&point| self.labels[point] == Some(kind)).collect()
    }

    fn single_kind(points: usize) -> Kinds {
        Kinds { labels: vec![Some(0); points], origins: vec![KindOrigin::Whole] }
    }
}

/// Maximum distance of a point to join a cluster, as a multiple of the members' usual distance.
const REACH: f64 = 2.0;

/// Quantile of the members' distances that counts as their usual distance.
const USUAL_SHARE: f64 = 0.9;

/// The published rule: dense clusters; other points are noise. One kind if there are too few points.
pub(crate) fn dense_kinds(points: &Matrix, settings: &AlignSettings) -> Kinds {
    let clustering = optics(
        points,
        &OpticsSettings {
            points_min: settings.cluster_points_min,
            steepness: settings.steepness,
            is_predecessor_corrected: true,
            threads: settings.threads,
        },
    );
    let Some(clustering) = clustering else { return Kinds::single_kind(points.rows()) };
    let count = clustering.labels.iter().flatten().max().map_or(0, |largest| largest + 1);
    Kinds { labels: clustering.labels, origins: vec![KindOrigin::Dense; count] }
}

/// As [`dense_kinds`]; then noise points join the cluster whose members are about as near. Remaining points that are
/// near one another form rare kinds.
pub(crate) fn all_kinds(points: &Matrix, settings: &AlignSettings) -> Kinds {
    let mut kinds = dense_kinds(points, settings);
    if kinds.origins.first() == Some(&KindOrigin::Whole) {
        return kinds;
    }
    if kinds.origins.is_empty() {
        return Kinds::single_kind(points.rows());
    }
    let neighbors = settings.cluster_points_min - 1;
    let radius = absorb_near(points, &mut kinds, neighbors);
    add_rare_kinds(points, &mut kinds, radius);
    kinds
}

/// Distance from a point to the `neighbors`-th nearest of others; infinite if there are fewer.
fn reach_of(points: &Matrix, from: usize, others: &[usize], neighbors: usize) -> f64 {
    let distances = others
        .iter()
        .filter(|&&other| other != from)
        .map(|&other| distance(points.row(from), points.row(other)));
    let mut distances: Vec<f64> = distances.collect();
    if distances.len() < neighbors || neighbors == 0 {
        return f64::INFINITY;
    }
    *distances.select_nth_unstable_by(neighbors - 1, f64::total_cmp).1
}

/// The usual distance of a cluster's members to their neighbors in it.
fn usual_reach(points: &Matrix, members: &[usize], neighbors: usize) -> f64 {
    let mut reaches: Vec<f64> =
        members.iter().map(|&from| reach_of(points, from, members, neighbors)).collect();
    reaches.sort_by(f64::total_cmp);
    quantile_nearest_rank(&reaches, USUAL_SHARE)
}

/// Points without a kind join the nearest cluster within [`REACH`]. Returns the largest usual distance of a cluster.
fn absorb_near(points: &Matrix, kinds: &mut Kinds, neighbors: usize) -> f64 {
    let members: Vec<Vec<usize>> = (0..kinds.origins.len()).map(|kind| kinds.members(kind)).collect();
    let usual: Vec<f64> = members.iter().map(|members| usual_reach(points, members, neighbors)).collect();
    for point in 0..points.rows() {
        if kinds.labels[point].is_some() {
            continue;
        }
        let mut best = None;
        let mut least = REACH;
        for kind in 0..members.len() {
            let reach =
                reach_of(points, point, &members[kind], neighbors) / usual[kind].max(f64::MIN_POSITIVE);
            if reach <= least && best.is_none_or(|_| reach < least) {
                (best, least) = (Some(kind), reach);
            }
        }
        kinds.labels[point] = best;
    }
    usual.into_iter().fold(0.0, f64::max)
}

/// Groups the remaining points: those connected within `radius` are a rare kind.
fn add_rare_kinds(points: &Matrix, kinds: &mut Kinds, radius: f64) {
    for point in 0..points.rows() {
        if kinds.labels[point].is_some() {
            continue;
        }
        let kind = kinds.origins.len();
        kinds.origins.push(KindOrigin::Rare);
        kinds.labels[point] = Some(kind);
        let mut open = vec![point];
        while let Some(from) = open.pop() {
            for other in 0..points.rows() {
                if kinds.labels[other].is_none() && distance(points.row(from), points.row(other)) <= radius {
                    kinds.labels[other] = Some(kind);
                    open.push(other);
                }
            }
        }
    }
}
