//! OPTICS: points in an order in which dense neighborhoods are dents of the reachability plot (Ankerst, Breunig,
//! Kriegel, Sander, *OPTICS: ordering points to identify the clustering structure*, SIGMOD 1999), and the dents as clusters
//! with the correction by predecessors (Schubert, Gertz, *Improving the cluster structure extracted from OPTICS plots*,
//! LWDA 2018).

mod blocks;
mod core_distances;
mod ordering;
mod steep;

use laggard_numeric::Matrix;
use std::num::NonZeroUsize;

/// Settings of [`optics`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpticsSettings {
    /// Minimum number of points of a dense neighborhood, including the point itself, and of a cluster; >= 2.
    pub points_min: usize,
    /// Relative drop of reachability that is steep, in (0, 1).
    pub steepness: f64,
    /// Whether the end of a cluster is moved back to a point that was reached from within it.
    pub is_predecessor_corrected: bool,
    /// Number of threads; the result does not depend on it.
    pub threads: NonZeroUsize,
}

impl Default for OpticsSettings {
    fn default() -> OpticsSettings {
        OpticsSettings {
            points_min: 5,
            steepness: 0.05,
            is_predecessor_corrected: true,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// Points in order, and their clusters. Points are row indices of the input matrix.
#[derive(Clone, PartialEq, Debug)]
pub struct Optics {
    /// Points in the order in which they were reached.
    pub ordering: Vec<usize>,
    /// By point: distance to the `points_min`-th nearest, itself included.
    pub core_distances: Vec<f64>,
    /// By point: the distance at which it was reached; infinite for the first.
    pub reachability: Vec<f64>,
    /// By point: the point from which it was reached; `None` for the first.
    pub predecessor: Vec<Option<usize>>,
    /// Clusters, including nested ones, as positions in `ordering`; inner clusters before those that contain them.
    pub clusters: Vec<Dent>,
    /// By point: the innermost cluster's number, or `None`: noise.
    pub labels: Vec<Option<usize>>,
}

/// A dent in the reachability plot: positions in the ordering, both inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dent {
    /// Its first position.
    pub first: usize,
    /// Its last.
    pub last: usize,
}

/// Orders the rows of `points` (`n x d`, finite, Euclidean) and extracts clusters; `None` when there are fewer than
/// `points_min`.
///
/// Distances are rounded to 15 decimals so that ties are ties; of equal reachabilities the smallest index goes first.
/// `O(n^2 d)` time, `O(n d)` memory.
pub fn optics(points: &Matrix, settings: &OpticsSettings) -> Option<Optics> {
    let points_min = settings.points_min.max(2);
    if points.rows() < points_min {
        return None;
    }
    let core_distances = core_distances::core_distances(points, points_min, settings.threads);
    let ordered = ordering::order(points, &core_distances);
    let clusters = steep::clusters(&ordered, settings);
    let labels = labels(&ordered.ordering, &clusters);
    let ordering::ReachabilityOrder { ordering, reachability, predecessor } = ordered;
    Some(Optics { ordering, core_distances, reachability, predecessor, clusters, labels })
}

/// Rounds to 15 decimals, half to even.
fn rounded(distance: f64) -> f64 {
    const SCALE: f64 = 1e15;
    let scaled = distance * SCALE;
    if scaled.is_finite() { scaled.round_ties_even() / SCALE } else { distance }
}

/// Labels clusters in order; a cluster without labeled points gets the next label.
fn labels(ordering: &[usize], clusters: &[Dent]) -> Vec<Option<usize>> {
    let mut by_position = vec![None; ordering.len()];
    let mut next = 0;
    for cluster in clusters {
        let inside = &mut by_position[cluster.first..=cluster.last];
        if inside.iter().any(Option::is_some) {
            continue;
        }
        inside.fill(Some(next));
        next += 1;
    }
    let mut labels = vec![None; ordering.len()];
    for (&point, label) in ordering.iter().zip(by_position) {
        labels[point] = label;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(positions: &[f64]) -> Matrix {
        Matrix::from_row_major(positions.len(), 1, positions.to_vec())
    }

    fn clusters_of_two(positions: &[f64]) -> Option<Optics> {
        optics(&line(positions), &OpticsSettings { points_min: 2, ..OpticsSettings::default() })
    }

    #[test]
    fn two_pairs_on_a_line_are_two_clusters() {
        // Two pairs on a line: from 0 to 1 (1), from 1 to 10 (9), from 10 to 12 (2).
        let optics_result = clusters_of_two(&[0.0, 10.0, 1.0, 12.0]).unwrap();
        assert_eq!(optics_result.ordering, [0, 2, 1, 3]);
        assert_eq!(optics_result.core_distances, [1.0, 2.0, 1.0, 2.0]);
        assert_eq!(optics_result.reachability, [f64::INFINITY, 9.0, 1.0, 2.0]);
        assert_eq!(optics_result.predecessor, [None, Some(2), Some(0), Some(1)]);
        assert_eq!(optics_result.labels, [Some(0), Some(1), Some(0), Some(1)]);
    }

    #[test]
    fn fewer_points_than_a_cluster_needs_are_no_clusters() {
        assert_eq!(clusters_of_two(&[1.0]), None);
        assert_eq!(optics(&Matrix::zeros(0, 3), &OpticsSettings::default()), None);
    }

    #[test]
    fn huge_values_are_ordered() {
        let optics_result = clusters_of_two(&[f64::MAX, -f64::MAX, 0.0, 1.0]).unwrap();
        let mut all = optics_result.ordering.clone();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    }
}
