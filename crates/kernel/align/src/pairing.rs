//! Pairs each sample kind with a normal kind by silhouettes (Janecek et al., Algorithm 2 and Equation 1, without the
//! silhouettes of the normal points).

use crate::silhouette::{DistanceSums, distance, width};
use laggard_numeric::{Matrix, median};

/// The score of a normal kind for a sample kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairScore {
    /// Index of the normal kind.
    pub kind: usize,
    /// Mean silhouette of the sample kind's points when they have this kind's label; the published rule averages over
    /// the normal points too.
    pub score: f64,
}

/// Normal points with their kinds, ready to be compared with sample kinds.
pub struct NormalKinds<'a> {
    pub(crate) points: &'a Matrix,
    pub(crate) labels: &'a [Option<usize>],
    pub(crate) count: usize,
    /// Normal points to normal kinds.
    pub(crate) sums: DistanceSums,
}

impl<'a> NormalKinds<'a> {
    /// Rows of `points` (`n x d`) with labels below `count`; points without a label are ignored. `O(n^2 d)`.
    pub fn new(points: &'a Matrix, labels: &'a [Option<usize>], count: usize) -> NormalKinds<'a> {
        NormalKinds { points, labels, count, sums: DistanceSums::new(points, points, labels, count) }
    }

    /// Score of every normal kind for a sample kind (rows of `sample`), by kind. Empty when there are fewer than two
    /// kinds: a silhouette needs another one.
    pub fn scores(&self, sample: &Matrix) -> Vec<PairScore> {
        let mean = |(kind, sum)| PairScore { kind, score: sum / sample.rows() as f64 };
        self.sample_widths(sample).into_iter().enumerate().map(mean).collect()
    }

    /// Sum of the silhouettes of the sample kind's points when they belong to each kind; empty as for
    /// [`NormalKinds::scores`].
    pub(crate) fn sample_widths(&self, sample: &Matrix) -> Vec<f64> {
        if self.count < 2 || sample.rows() == 0 {
            return Vec::new();
        }
        let to_kinds = DistanceSums::new(sample, self.points, self.labels, self.count);
        let among = DistanceSums::new(sample, sample, &vec![Some(0); sample.rows()], 1);
        let silhouette = |kind, point| {
            let others = self.sums.size(kind) + sample.rows() - 1;
            let inside = to_kinds.sum(point, kind) + among.sum(point, 0);
            match to_kinds.nearest_other(point, Some(kind)) {
                Some(outside) if others > 0 => width(inside / others as f64, outside),
                _ => 0.0,
            }
        };
        let sum = |kind| (0..sample.rows()).map(|point| silhouette(kind, point)).sum();
        (0..self.count).map(sum).collect()
    }
}

/// The best score; ties: the smaller kind.
pub fn best_pair(scores: &[PairScore]) -> Option<PairScore> {
    let better = |best: PairScore, score: PairScore| if score.score > best.score { score } else { best };
    scores.iter().copied().filter(|score| score.score > f64::NEG_INFINITY).reduce(better)
}

/// Median of each column over the given rows.
pub(crate) fn median_point(points: &Matrix, rows: &[usize]) -> Vec<f64> {
    let column_median =
        |column| median(&mut rows.iter().map(|&row| points.get(row, column)).collect::<Vec<f64>>());
    (0..points.cols()).map(column_median).collect()
}

/// Distance of two points over the norm of the first; 0 when both are 0.
pub(crate) fn relative_distance(normal: &[f64], sample: &[f64]) -> f64 {
    let norm = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    let length = distance(normal, sample);
    if length == 0.0 { 0.0 } else { length / norm }
}
