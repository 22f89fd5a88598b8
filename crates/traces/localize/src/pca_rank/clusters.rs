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

/// Handling of a minor cluster.
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

/// Most cells of edit-distance tables in total, for a method that is chosen for them. Without a limit, requests that all
/// differ would need time quadratic in their number.
pub(crate) const CELLS_MAX: u64 = 400_000_000;

/// Algorithm 1: clusters are major, largest first, until they hold more than `coverage` of the requests, and all that
/// have at least `alone_min` requests; each other joins the major cluster, no longer than itself, at the smallest edit
/// distance (of several, the largest cluster). Without such a major cluster it joins the largest one in paper mode, as
/// the listing's initial index has it, and none in robust mode.
///
/// Robust mode also leaves a cluster alone whose distance is more than half of the major's length: most of its
/// values at the major's positions would be missing.
///
/// Once edit-distance tables have had `cells_max` cells in total, the other minor clusters are not compared.
pub fn major_clusters<T: Ord + Copy>(
    clusters: &[ClusterSize<'_, T>],
    coverage: f64,
    alone_min: u64,
    mode: Mode,
    cells_max: u64,
) -> MajorClusters {
    let mut order: Vec<usize> = (0..clusters.len()).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(clusters[cluster].requests));
    let total: u64 = clusters.iter().map(|cluster| cluster.requests).sum();
    let mut covered = 0;
    let mut majors = 0;
    while let Some(&next) = order.get(majors) {
        let requests = clusters[next].requests;
        if covered as f64 > coverage * total as f64 && requests < alone_min {
            break;
        }
        covered += requests;
        majors += 1;
    }
    let minors = order.split_off(majors);
    let sorted = if minors.is_empty() { Vec::new() } else { clusters.iter().map(sorted).collect() };
    let mut search = Search { clusters, sorted, majors: &order, mode, cells_left: cells_max };
    let minors = minors.into_iter().map(|minor| (minor, search.fate(minor))).collect();
    MajorClusters { minors, majors: order }
}

fn sorted<T: Ord + Copy>(cluster: &ClusterSize<'_, T>) -> Vec<T> {
    let mut calls = cluster.sequence.to_vec();
    calls.sort_unstable();
    calls
}

struct Search<'a, 'b, T> {
    clusters: &'a [ClusterSize<'b, T>],
    /// The sequences, sorted.
    sorted: Vec<Vec<T>>,
    majors: &'a [usize],
    mode: Mode,
    cells_left: u64,
}

impl<T: Ord + Copy> Search<'_, '_, T> {
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
            let compared = sequence.len() as u64 + 1;
            if compared > self.cells_left {
                return MinorFate::NotCompared;
            }
            self.cells_left -= compared;
            if distance_exceeds(&self.sorted[minor], &self.sorted[major], limit) {
                continue;
            }
            let cells = (2 * limit + 1).min(sequence.len()) as u64 * sequence.len() as u64;
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

/// Whether more than `limit` elements of one sorted sequence are missing in the other. Then the edit distance is beyond
/// `limit` as well, because one edit adds or removes at most one element of each. `O(a.len() + b.len())`.
fn distance_exceeds<T: Ord>(a: &[T], b: &[T], limit: usize) -> bool {
    let (mut i, mut j, mut only_a, mut only_b) = (0, 0, 0, 0);
    while let (Some(of_a), Some(of_b)) = (a.get(i), b.get(j)) {
        let (moves_a, moves_b) = (of_a <= of_b, of_b <= of_a);
        i += usize::from(moves_a);
        j += usize::from(moves_b);
        only_a += usize::from(!moves_b);
        only_b += usize::from(!moves_a);
        if only_a.max(only_b) > limit {
            return true;
        }
    }
    (only_a + a.len() - i).max(only_b + b.len() - j) > limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes<'a>(clusters: &'a [(&'a str, u64)]) -> Vec<ClusterSize<'a, u8>> {
        clusters.iter().map(|&(text, requests)| ClusterSize { sequence: text.as_bytes(), requests }).collect()
    }

    #[test]
    fn the_cluster_that_reaches_the_share_is_major() {
        let clustered = major_clusters(
            &sizes(&[("abc", 50), ("abd", 30), ("xy", 20)]),
            0.5,
            u64::MAX,
            Mode::Robust,
            CELLS_MAX,
        );
        // 50 of 100 is not more than half, so the second is needed.
        assert_eq!(clustered.majors, [0, 1]);
        assert_eq!(clustered.minors, [(2, MinorFate::Unlike)]);
    }

    #[test]
    fn clusters_with_enough_requests_are_not_merged() {
        let clusters = [("abc", 90), ("abcd", 12), ("abce", 9)];
        let minors =
            |alone_min| major_clusters(&sizes(&clusters), 0.5, alone_min, Mode::Robust, CELLS_MAX).minors;
        assert_eq!(minors(10), [(2, MinorFate::Joins(0))]);
        assert_eq!(minors(u64::MAX), [(1, MinorFate::Joins(0)), (2, MinorFate::Joins(0))]);
    }

    #[test]
    fn ties_go_to_the_larger_and_only_shorter_majors_are_joined() {
        let clusters = [("abcd", 40), ("abce", 40), ("abcf", 5), ("abc", 4)];
        let clustered = major_clusters(&sizes(&clusters), 0.75, u64::MAX, Mode::Robust, CELLS_MAX);
        assert_eq!(clustered.minors, [(2, MinorFate::Joins(0)), (3, MinorFate::Unlike)]);
        let clustered = major_clusters(&sizes(&clusters), 0.75, u64::MAX, Mode::Paper, CELLS_MAX);
        assert_eq!(clustered.minors, [(2, MinorFate::Joins(0)), (3, MinorFate::Joins(0))]);
    }

    #[test]
    fn sequences_that_differ_by_more_have_a_larger_distance() {
        let words: Vec<Vec<u8>> = (0..243_u32)
            .map(|word| {
                let digits = (0..5).map(|at| (word / 3_u32.pow(at) % 3) as u8);
                digits.take(word as usize % 6).collect()
            })
            .collect();
        let mut skipped = 0;
        for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
            for limit in 0..4 {
                let [of_a, of_b] = [a, b].map(|sequence| sorted(&ClusterSize { sequence, requests: 1 }));
                let is_beyond = distance_exceeds(&of_a, &of_b, limit);
                assert!(!is_beyond || levenshtein_within(a, b, limit).is_none(), "{a:?} {b:?} {limit}");
                skipped += u32::from(is_beyond);
            }
        }
        assert!(skipped > 10_000, "{skipped}");
        assert!(distance_exceeds(b"ab", b"", 1) && !distance_exceeds(b"ab", b"", 2));
    }

    #[test]
    fn clusters_beyond_the_limit_are_not_compared() {
        let clusters = [("abcd", 40), ("abce", 5), ("abcf", 4)];
        let fates =
            |cells_max| major_clusters(&sizes(&clusters), 0.5, u64::MAX, Mode::Robust, cells_max).minors;
        assert_eq!(fates(50), [(1, MinorFate::Joins(0)), (2, MinorFate::Joins(0))]);
        assert_eq!(fates(30), [(1, MinorFate::Joins(0)), (2, MinorFate::NotCompared)]);
    }

    #[test]
    fn thousands_of_single_requests_are_limited() {
        let sequences: Vec<Vec<u32>> = (0..3000_u32)
            .map(|index| (0..60).map(|k| index.wrapping_mul(2_654_435_761) >> (k % 20)).collect())
            .collect();
        let clusters: Vec<_> =
            sequences.iter().map(|sequence| ClusterSize { sequence, requests: 1 }).collect();
        let clustered = major_clusters(&clusters[..300], 0.75, u64::MAX, Mode::Robust, CELLS_MAX);
        assert_eq!(clustered.majors.len() + clustered.minors.len(), 300);
        assert_eq!(cluster_sequences(&sequences).len(), 3000);
        assert_eq!(
            major_clusters::<u32>(&[], 0.75, u64::MAX, Mode::Paper, CELLS_MAX),
            MajorClusters::default()
        );
    }
}
