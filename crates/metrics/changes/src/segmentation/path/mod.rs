//! The cheapest way to cut, for a given penalty.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::CostTable;

/// Candidate points treated together.
const TILE: usize = 16;

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

/// Finds the cheapest segmentation for one penalty after another.
///
/// `W[l] = min_j W[j] + w1(j, l) + λ w2(j, l)`; of equal costs the longest last segment wins (smallest `j`). `O(K²)` for `K`
/// points at worst, but most pairs are never looked at: a fit to more windows has no smaller sum of squares, so for
/// starts `j` in a tile `J` and ends `l` in a later tile `L`
///
/// ```text
/// W[j] + w1(j, l) + λ w2(j, l) ≥ min_J W + w1(max J, min L) + λ min(w2(shortest), w2(longest))
/// ```
///
/// (`w2` is concave in the length, so least at an end of the range). Where that exceeds a cost already found for
/// every end in `L`, no start in `J` can be on a cheapest path to any of them, nor tie with one. Rounding of
/// `w1` is allowed for by [`CostTable::rounding`]. (Dropping a start for good, as PELT does, would not be valid:
/// that needs `w1(a, c) ≥ w1(a, b) + w1(b, c)`, which a root is not.)
#[derive(Clone, Debug)]
pub(crate) struct PathSearch<'a> {
    table: &'a CostTable,
    /// `w1(max J, min L)` at `L (L − 1) / 2 + J`.
    corners: Vec<f32>,
    /// `w2` by length in grid steps.
    shares: Vec<f64>,
    /// `w1` and `w2` from each point to the last, which may be off the grid.
    to_last: Vec<LastSegment>,
}

#[derive(Clone, Copy, Debug)]
struct LastSegment {
    w1: f64,
    w2: f64,
}

impl<'a> PathSearch<'a> {
    /// Searches in `table`.
    pub(crate) fn new(table: &'a CostTable) -> PathSearch<'a> {
        let points = table.points();
        let (last, windows) = (points.len() - 1, points[points.len() - 1]);
        let corner = |tile: usize, ends: usize| {
            let start = tile * TILE + TILE - 1;
            table.row(start)[ends * TILE - start - 1]
        };
        let tiles = 0..last.div_ceil(TILE);
        let corners = tiles.flat_map(|ends| (0..ends).map(move |tile| corner(tile, ends))).collect();
        let step = points[1] - points[0];
        let shares = (0..last).map(|steps| entropy_share(steps * step, windows)).collect();
        let to_last = |start: usize| LastSegment {
            w1: f64::from(table.row(start)[last - start - 1]),
            w2: entropy_share(windows - points[start], windows),
        };
        PathSearch { table, corners, shares, to_last: (0..last).map(to_last).collect() }
    }

    /// Minimizes `Σ w1 + λ Σ w2` over all segmentations.
    pub(crate) fn cheapest(&self, lambda: f64) -> CheapestPath {
        Arch::new().dispatch(SearchState::new(self, lambda))
    }
}

struct SearchState<'a> {
    of: &'a PathSearch<'a>,
    lambda: f64,
    /// `λ w2` by length in grid steps.
    penalty: Vec<f64>,
    best: Vec<f64>,
    from: Vec<usize>,
    /// The least of `best` in each settled tile.
    least: Vec<f64>,
}

/// The loops are plain; in here they are compiled for the processor at hand.
impl WithSimd for SearchState<'_> {
    type Output = CheapestPath;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) -> CheapestPath {
        let last = self.best.len();
        for start in (0..last).step_by(TILE) {
            self.finalize(start..(start + TILE).min(last));
        }
        self.finish()
    }
}

impl<'a> SearchState<'a> {
    fn new(of: &'a PathSearch<'a>, lambda: f64) -> SearchState<'a> {
        let penalty: Vec<f64> = of.shares.iter().map(|share| lambda * share).collect();
        let mut best = vec![f64::INFINITY; penalty.len()];
        best[0] = 0.0;
        SearchState { of, lambda, from: vec![0; penalty.len()], penalty, best, least: Vec::new() }
    }

    /// Finds the costs of the points of a tile; all before are known.
    #[inline(always)]
    fn finalize(&mut self, ends: Range<usize>) {
        // Where the tile before came from is the best guess, and a good cost to measure the others by.
        let guess = ends.start.checked_sub(1).map(|before| self.from[before] / TILE);
        if let Some(guess) = guess {
            self.offer_tile(guess, &ends);
        }
        let mut worst = self.worst(&ends);
        for tile in (0..self.least.len()).rev().filter(|&tile| Some(tile) != guess) {
            if self.may_matter(tile, &ends, worst) {
                self.offer_tile(tile, &ends);
                worst = self.worst(&ends);
            }
        }
        for start in ends.clone() {
            self.offer(start, start + 1..ends.end);
        }
        self.least.push(self.best[ends].iter().copied().fold(f64::INFINITY, f64::min));
    }

    #[inline(always)]
    fn worst(&self, ends: &Range<usize>) -> f64 {
        self.best[ends.clone()].iter().copied().fold(0.0, f64::max)
    }

    /// Whether a start in `tile` could be as good as what is known for some of `ends`, of which `worst` is the worst.
    #[inline(always)]
    fn may_matter(&self, tile: usize, ends: &Range<usize>, worst: f64) -> bool {
        let (first, last) = (tile * TILE, tile * TILE + TILE - 1);
        let (shortest, longest) = (ends.start - last, ends.end - 1 - first);
        let penalty = self.penalty[shortest].min(self.penalty[longest]);
        let known = self.least[tile] + penalty - self.of.table.rounding();
        let settled = self.least.len();
        if known + f64::from(self.of.corners[settled * (settled - 1) / 2 + tile]) > worst {
            return false;
        }
        let w1 = &self.of.table.row(last)[shortest - 1..][..ends.len()];
        // Without an early end, so that it is vector instructions.
        let best = w1.iter().zip(&self.best[ends.clone()]);
        best.fold(false, |any, (&w1, &best)| any | (known + f64::from(w1) <= best))
    }

    #[inline(always)]
    fn offer_tile(&mut self, tile: usize, ends: &Range<usize>) {
        for start in tile * TILE..(tile + 1) * TILE {
            self.offer(start, ends.clone());
        }
    }

    /// Offers a start to ends after it.
    #[inline(always)]
    fn offer(&mut self, start: usize, ends: Range<usize>) {
        let (first, upto) = (ends.start - start, self.best[start]);
        let costs = self.of.table.row(start)[first - 1..].iter().zip(&self.penalty[first..]);
        let found = self.best[ends.clone()].iter_mut().zip(&mut self.from[ends]);
        for ((&w1, &penalty), (best, from)) in costs.zip(found) {
            let cost = upto + f64::from(w1) + penalty;
            let better = cost < *best || (cost == *best && start < *from);
            *best = if better { cost } else { *best };
            *from = if better { start } else { *from };
        }
    }

    /// The last point, from everywhere.
    fn finish(self) -> CheapestPath {
        let (last, mut cost, mut at) = (self.best.len(), f64::INFINITY, 0);
        for (start, (&upto, segment)) in self.best.iter().zip(&self.of.to_last).enumerate() {
            let total = upto + segment.w1 + self.lambda * segment.w2;
            if total < cost {
                (cost, at) = (total, start);
            }
        }
        let mut cuts = vec![last, at];
        while at > 0 {
            at = self.from[at];
            cuts.push(at);
        }
        cuts.reverse();
        CheapestPath { points: cuts, cost }
    }
}

#[cfg(test)]
mod tests;
