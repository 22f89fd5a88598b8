//! The cheapest way to cut, for a given penalty.

use super::CostTable;

/// The cheapest segmentation for one penalty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CheapestPath {
    /// Indices of the candidate points it cuts at, from the first to the last.
    pub(crate) points: Vec<usize>,
    /// Its cost `Σ w1 + λ Σ w2`.
    pub(crate) cost: f64,
}

/// `w2` by length: `−(len/T) ln(len/T)`, the share of a segment in the entropy of the segmentation. (The print
/// leaves out the division by `T`; it only rescales `λ`, and makes the paper's `λ = 1` a sensible start.)
pub(crate) fn entropy_share(len: usize, windows: usize) -> f64 {
    let share = len as f64 / windows as f64;
    if share > 0.0 { -share * share.ln() } else { 0.0 }
}

/// Minimises `Σ w1 + λ Σ w2` over all segmentations, `W[l] = min_j W[j] + w1(j, l) + λ w2(j, l)`; of equal costs the
/// longest last segment wins (smallest `j`). `O(K²)` for `K` points.
pub(crate) fn cheapest_path(table: &CostTable, lambda: f64) -> CheapestPath {
    let points = table.points();
    let (last, windows) = (points.len() - 1, points[points.len() - 1]);
    let penalty: Vec<f64> = (0..=windows).map(|len| lambda * entropy_share(len, windows)).collect();
    let mut best = vec![f64::INFINITY; last + 1];
    let mut from = vec![0_usize; last + 1];
    best[0] = 0.0;
    // Forwards: a point's cost is final once all points before it have offered theirs.
    for j in 0..last {
        let upto = best[j];
        let ends = points[j + 1..].iter().zip(table.row(j));
        let found = best[j + 1..].iter_mut().zip(&mut from[j + 1..]);
        for ((&end, &w1), (best, from)) in ends.zip(found) {
            let cost = upto + f64::from(w1) + penalty[end - points[j]];
            if cost < *best {
                (*best, *from) = (cost, j);
            }
        }
    }
    CheapestPath { points: walk_back(&from), cost: best[last] }
}

fn walk_back(from: &[usize]) -> Vec<usize> {
    let mut points = vec![from.len() - 1];
    while let Some(&point) = points.last()
        && point > 0
    {
        points.push(from[point]);
    }
    points.reverse();
    points
}
