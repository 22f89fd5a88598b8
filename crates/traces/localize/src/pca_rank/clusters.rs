//! Incremental clustering by call sequence, and major and minor clusters (Mi 2012 §4.1, Algorithm 1).

use crate::cloud_diag::settings::Mode;
use laggard_numeric::levenshtein_within;
use std::collections::HashMap;
use std::hash::Hash;

/// Groups equal sequences; groups in order of first appearance, members growing. The distance to a cluster's
/// centroid must be zero to join, so this is a map. `O(total length)`.
pub fn cluster_sequences<T: Hash + Eq>(sequences: &[Vec<T>]) -> Vec<Vec<usize>> {
    let mut cluster_of: HashMap<&[T], usize> = HashMap::new();
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for (index, sequence) in sequences.iter().enumerate() {
        let cluster = *cluster_of.entry(sequence).or_insert(clusters.len());
        if cluster == clusters.len() {
            clusters.push(Vec::new());
        }
        clusters[cluster].push(index);
    }
    clusters
}

/// A cluster as input of Algorithm 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterSize<'a, T> {
    /// Called operations, in order.
    pub sequence: &'a [T],
    /// Number of requests.
    pub requests: u64,
}

/// What became of a minor cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinorFate {
    /// Joined to this major cluster.
    Joins(usize),
    /// No major cluster is similar enough.
    Unlike,
    /// There were too many clusters to compare it with all of them.
    NotCompared,
}

/// Major clusters and what became of the others; all are indices into the input.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MajorClusters {
    /// Largest first.
    pub majors: Vec<usize>,
    /// Minor clusters, largest first, with their fates.
    pub minors: Vec<(usize, MinorFate)>,
}

/// Most cells of edit-distance tables in total; beyond it minor clusters are not compared. Without
/// a limit, requests that all differ would need time quadratic in their number.
const CELLS_MAX: u64 = 400_000_000;

/// Algorithm 1: clusters are major, largest first, until they hold more than `coverage` of the requests; each
/// other joins the major cluster, no longer than itself, at the smallest edit distance (of several, the
/// largest cluster). Without such a major cluster it joins the largest one in paper mode, as the listing's
/// initial index has it, and none in robust mode.
///
/// Robust mode also leaves a cluster alone whose distance is more than half of the major's length: most of its
/// values at the major's positions would be missing.
pub fn major_clusters<T: PartialEq>(
    clusters: &[ClusterSize<'_, T>],
    coverage: f64,
    mode: Mode,
) -> MajorClusters {
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(clusters[cluster].requests));
    let total: u64 = clusters.iter().map(|cluster| cluster.requests).sum();
    let mut covered = 0;
    let mut majors = 0;
    while majors < order.len() && covered as f64 <= coverage * total as f64 {
        covered += clusters[order[majors]].requests;
        majors += 1;
    }
    let minors = order.split_off(majors);
    let mut search = Search { clusters, majors: &order, mode, cells_left: CELLS_MAX };
    let minors = minors.into_iter().map(|minor| (minor, search.fate(minor))).collect();
    MajorClusters { minors, majors: order }
}

struct Search<'a, 'b, T> {
    clusters: &'a [ClusterSize<'b, T>],
    majors: &'a [usize],
    mode: Mode,
    cells_left: u64,
}

impl<T: PartialEq> Search<'_, '_, T> {
    fn fate(&mut self, minor: usize) -> MinorFate {
        let sequence = self.clusters[minor].sequence;
        let mut best: Option<(usize, usize)> = None;
        for &major in self.majors {
            let candidate = self.clusters[major].sequence;
            let Some(longer_by) = sequence.len().checked_sub(candidate.len()) else { continue };
            let mut limit = match self.mode {
                Mode::Paper => sequence.len(),
                Mode::Robust => candidate.len() / 2,
            };
            if let Some((_, distance)) = best {
                // Only a strictly smaller distance replaces the best.
                limit = limit.min(distance.saturating_sub(1));
            }
            if longer_by > limit {
                continue;
            }
            let cells = (2 * limit + 1).min(sequence.len()) as u64 * sequence.len() as u64 + 1;
            if cells > self.cells_left {
                return MinorFate::NotCompared;
            }
            self.cells_left -= cells;
            if let Some(distance) = levenshtein_within(candidate, sequence, limit) {
                best = Some((major, distance));
                if distance == 0 {
                    break;
                }
            }
        }
        match (best, self.mode, self.majors.first()) {
            (Some((major, _)), ..) => MinorFate::Joins(major),
            (None, Mode::Paper, Some(&largest)) => MinorFate::Joins(largest),
            (None, ..) => MinorFate::Unlike,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes<'a>(clusters: &'a [(&'a str, u64)]) -> Vec<ClusterSize<'a, u8>> {
        clusters.iter().map(|&(text, requests)| ClusterSize { sequence: text.as_bytes(), requests }).collect()
    }

    #[test]
    fn the_cluster_that_crosses_the_share_is_major() {
        let clustered = major_clusters(&sizes(&[("abc", 50), ("abd", 30), ("xy", 20)]), 0.5, Mode::Robust);
        // 50 of 100 is not more than half, so the second is needed.
        assert_eq!(clustered.majors, [0, 1]);
        assert_eq!(clustered.minors, [(2, MinorFate::Unlike)]);
    }

    #[test]
    fn ties_go_to_the_larger_and_only_shorter_majors_are_joined() {
        let clusters = [("abcd", 40), ("abce", 40), ("abcf", 5), ("abc", 4)];
        let clustered = major_clusters(&sizes(&clusters), 0.75, Mode::Robust);
        assert_eq!(clustered.minors, [(2, MinorFate::Joins(0)), (3, MinorFate::Unlike)]);
        let clustered = major_clusters(&sizes(&clusters), 0.75, Mode::Paper);
        assert_eq!(clustered.minors, [(2, MinorFate::Joins(0)), (3, MinorFate::Joins(0))]);
    }

    #[test]
    fn thousands_of_single_requests_are_limited() {
        let sequences: Vec<Vec<u32>> = (0..3000_u32)
            .map(|index| (0..60).map(|k| index.wrapping_mul(2_654_435_761) >> (k % 20)).collect())
            .collect();
        let clusters: Vec<_> =
            sequences.iter().map(|sequence| ClusterSize { sequence, requests: 1 }).collect();
        let clustered = major_clusters(&clusters[..300], 0.75, Mode::Robust);
        assert_eq!(clustered.majors.len() + clustered.minors.len(), 300);
        assert_eq!(cluster_sequences(&sequences).len(), 3000);
        assert_eq!(major_clusters::<u32>(&[], 0.75, Mode::Paper), MajorClusters::default());
    }
}
