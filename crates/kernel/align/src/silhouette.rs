//! Silhouettes: how well points fit their clusters (Rousseeuw, *Silhouettes*, J. Comput. Appl. Math. 20, 1987).

use laggard_numeric::Matrix;

/// Sums of distances from every point to every cluster, from which silhouettes are computed.
pub(crate) struct DistanceSums {
    /// Row a point, column a cluster.
    sums: Matrix,
    sizes: Vec<usize>,
}

impl DistanceSums {
    /// From each row of `from` to the rows of `to` that have each label (below `clusters`). `O(n m d)`.
    pub(crate) fn new(from: &Matrix, to: &Matrix, labels: &[Option<usize>], clusters: usize) -> DistanceSums {
        let mut sums = Matrix::zeros(from.rows(), clusters);
        let mut sizes = vec![0; clusters];
        labels.iter().flatten().for_each(|&label| sizes[label] += 1);
        for point in 0..from.rows() {
            for (other, label) in labels.iter().enumerate() {
                if let Some(label) = *label {
                    sums.row_mut(point)[label] += distance(from.row(point), to.row(other));
                }
            }
        }
        DistanceSums { sums, sizes }
    }

    /// Sum of distances from a point to a cluster.
    pub(crate) fn sum(&self, point: usize, cluster: usize) -> f64 {
        self.sums.get(point, cluster)
    }

    /// Points of a cluster.
    pub(crate) fn size(&self, cluster: usize) -> usize {
        self.sizes[cluster]
    }

    /// Smallest mean distance from a point to a cluster other than `own`; `None` if there is no other.
    pub(crate) fn nearest_other(&self, point: usize, own: Option<usize>) -> Option<f64> {
        let others = (0..self.sizes.len()).filter(|&other| Some(other) != own && self.sizes[other] > 0);
        others.map(|other| self.sum(point, other) / self.sizes[other] as f64).reduce(f64::min)
    }
}

/// `(out - in) / max(in, out)`, from mean distances to the own and to the nearest other cluster; 0 for 0/0.
pub(crate) fn width(inside: f64, outside: f64) -> f64 {
    let largest = inside.max(outside);
    if largest > 0.0 { (outside - inside) / largest } else { 0.0 }
}

/// Silhouette of every row of `points` (`n x d`), -1 to 1; 0 for a point alone in its cluster, and for all if there is
/// one cluster. Labels are below `clusters`. `O(n^2 d)` time.
pub fn silhouettes(points: &Matrix, labels: &[usize], clusters: usize) -> Vec<f64> {
    let optional_labels: Vec<Option<usize>> = labels.iter().copied().map(Some).collect();
    let sums = DistanceSums::new(points, points, &optional_labels, clusters);
    let silhouette = |point: usize| {
        let own = labels[point];
        let others = sums.size(own) - 1;
        match sums.nearest_other(point, Some(own)) {
            Some(outside) if others > 0 => width(sums.sum(point, own) / others as f64, outside),
            _ => 0.0,
        }
    };
    (0..points.rows()).map(silhouette).collect()
}

/// Euclidean distance.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silhouettes_of_three_points() {
        // On a line: 0 and 1 against 5. Of 0: in 1, out 5; of 1: in 1, out 4; 5 is alone.
        let points = Matrix::from_row_major(3, 1, vec![0.0, 1.0, 5.0]);
        assert_eq!(silhouettes(&points, &[0, 0, 1], 2), [0.8, 0.75, 0.0]);
        assert_eq!(silhouettes(&points, &[0, 0, 0], 1), [0.0; 3]);
        assert_eq!(silhouettes(&Matrix::zeros(2, 2), &[0, 1], 2), [0.0; 2]);
    }
}
