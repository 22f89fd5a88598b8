//! Pairs each sample kind with a normal kind (Janecek et al., Algorithm 2 and Equation 1).

use crate::AlignMode;
use crate::silhouette::{DistanceSums, distance, width};
use laggard_numeric::{Matrix, median};

/// The score of a normal kind for a sample kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairScore {
    /// Index of the normal kind.
    pub kind: usize,
    /// Mean silhouette with the sample kind's points given this kind's label: of all points (paper), or of the sample
    /// kind's points only (robust).
    pub score: f64,
}

/// Normal points with their kinds, ready to be compared with sample kinds.
pub struct NormalKinds<'a> {
    points: &'a Matrix,
    labels: &'a [Option<usize>],
    count: usize,
    /// Normal points to normal kinds.
    sums: DistanceSums,
}

impl<'a> NormalKinds<'a> {
    /// Rows of `points` (`n x d`) with labels below `count`; points without a label are ignored. `O(n^2 d)`.
    pub fn new(points: &'a Matrix, labels: &'a [Option<usize>], count: usize) -> NormalKinds<'a> {
        NormalKinds { points, labels, count, sums: DistanceSums::new(points, points, labels, count) }
    }

    /// Score of every normal kind for a sample kind (rows of `sample`), by kind. Empty when there are fewer than two
    /// kinds: a silhouette needs another one.
    pub fn scores(&self, sample: &Matrix, mode: AlignMode) -> Vec<PairScore> {
        if self.count < 2 || sample.rows() == 0 {
            return Vec::new();
        }
        let to_kinds = DistanceSums::new(sample, self.points, self.labels, self.count);
        let one_label = vec![Some(0); sample.rows()];
        let among = DistanceSums::new(sample, sample, &one_label, 1);
        let from_normal = DistanceSums::new(self.points, sample, &one_label, 1);
        let score = |kind| {
            let own = self.sample_widths(kind, sample.rows(), &to_kinds, &among);
            let (mut sum, mut points) = (own, sample.rows());
            if mode.is_paper() {
                for (point, label) in self.labels.iter().enumerate() {
                    let Some(label) = *label else { continue };
                    sum += self.normal_width(point, label, kind, sample.rows(), &from_normal);
                    points += 1;
                }
            }
            PairScore { kind, score: sum / points as f64 }
        };
        (0..self.count).map(score).collect()
    }

    /// Sum of the silhouettes of the sample kind's points when they belong to `kind`.
    fn sample_widths(&self, kind: usize, rows: usize, to_kinds: &DistanceSums, among: &DistanceSums) -> f64 {
        let silhouette = |point| {
            let others = self.sums.size(kind) + rows - 1;
            let inside = to_kinds.sum(point, kind) + among.sum(point, 0);
            match to_kinds.nearest_other(point, Some(kind)) {
                Some(outside) if others > 0 => width(inside / others as f64, outside),
                _ => 0.0,
            }
        };
        (0..rows).map(silhouette).sum()
    }

    /// Silhouette of a normal point when `rows` sample points belong to `kind`.
    fn normal_width(&self, point: usize, own: usize, kind: usize, rows: usize, sample: &DistanceSums) -> f64 {
        let added = |other: usize| if other == kind { (sample.sum(point, 0), rows) } else { (0.0, 0) };
        let mean = |other: usize, self_count: usize| {
            let (sum, more) = added(other);
            let size = self.sums.size(other) + more - self_count;
            (size > 0).then(|| (self.sums.sum(point, other) + sum) / size as f64)
        };
        let outside =
            (0..self.count).filter(|&other| other != own).filter_map(|other| mean(other, 0)).reduce(f64::min);
        match (mean(own, 1), outside) {
            (Some(inside), Some(outside)) => width(inside, outside),
            _ => 0.0,
        }
    }
}

/// The best score; ties: the smaller kind. Paper modes: only scores above 0, with which the listing starts.
pub fn best_pair(scores: &[PairScore], mode: AlignMode) -> Option<PairScore> {
    let mut best: Option<PairScore> = None;
    for &score in scores {
        let limit = best.map_or(if mode.is_paper() { 0.0 } else { f64::NEG_INFINITY }, |best| best.score);
        if score.score > limit {
            best = Some(score);
        }
    }
    best
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
