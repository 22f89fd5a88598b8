//! The published pairing of kinds (Janecek et al., Algorithm 2 and Equation 1): silhouettes of all points.

use crate::pairing::{NormalKinds, PairScore, best_pair};
use crate::silhouette::{DistanceSums, width};
use laggard_numeric::Matrix;

impl NormalKinds<'_> {
    /// As [`NormalKinds::scores`], over the points of the sample kind and all normal points that have a kind.
    pub fn published_scores(&self, sample: &Matrix) -> Vec<PairScore> {
        let from_normal = DistanceSums::new(self.points, sample, &vec![Some(0); sample.rows()], 1);
        let score = |(kind, own)| {
            let (mut sum, mut points) = (own, sample.rows());
            for (point, label) in self.labels.iter().enumerate() {
                let Some(label) = *label else { continue };
                sum += self.normal_width(point, label, kind, sample.rows(), &from_normal);
                points += 1;
            }
            PairScore { kind, score: sum / points as f64 }
        };
        self.sample_widths(sample).into_iter().enumerate().map(score).collect()
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

/// The best score above 0, with which the listing starts.
pub fn best_published_pair(scores: &[PairScore]) -> Option<PairScore> {
    best_pair(scores).filter(|best| best.score > 0.0)
}
