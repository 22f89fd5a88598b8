//! The cheapest segmentation for a given penalty.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::CostTable;

/// Number of candidate points in a tile.
const TILE: usize = 16;

/// The cheapest segmentation for one penalty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CheapestPath {
    /// Indices of the candidate points it cuts at, from the first to the last.
    pub(crate) points: Vec<usize>,
    /// Its cost `Σ w1 + λ Σ w2`.
    pub(crate) cost: f64,
}

/// `w2` by length: `−(len/T) ln(len/T)`, the share of a segment in the entropy of the segmentation. (The paper omits the
/// division by `T`, which only rescales `λ`; with it, the paper's `λ = 1` is a sensible start.)
pub(crate) fn entropy_share(len: usize, windows: usize) -> f64 {
    let share = len as f64 / windows as f64;
    if share > 0.0 { -share * share.ln() } else { 0.0 }
}

/// Finds the cheapest segmentation for one penalty after another.
///
/// `W[l] = min_j W[j] + w1(j, l) + λ w2(j, l)`; of equal costs the longest last segment wins (smallest `j`). `O(K²)` for `K`
/// points at worst, but most pairs are pruned: a fit to more windows has no smaller sum of squares, so for
/// starts `j` in a tile `J` and ends `l` in a later tile `L`
///
/// ```text
/// W[j] + w1(j, l) + λ w2(j, l) ≥ min_J W + w1(max J, min L) + λ min(w2(shortest), w2(longest))
/// ```
///
/// (`w2` is concave in the length, so its minimum is at an end of the range). If that exceeds a known cost of every end in
/// `L`, no start in `J` is on a cheapest path to any of them, or ties with one. [`CostTable::rounding`] bounds the rounding of
/// `w1`. (Pruning a start for all later ends, as PELT does, would be invalid: it needs `w1(a, c) ≥ w1(a, b) + w1(b, c)`,
/// which does not hold for a root.)
#[derive(Clone, Debug)]
pub(crate) struct PathSearch<'a> {
    table: &'a CostTable,
    /// `w1(max J, min L)` at `L (L − 1) / 2 + J`.
    corners: Vec<f32>,
    /// `w2` by length in grid steps.
    shares: Vec<f64>,
    /// Costs from each point to the last one, which may be off the grid.
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
    search: &'a PathSearch<'a>,
    lambda: f64,
    /// `λ w2` by length in grid steps.
    penalty: Vec<f64>,
    best: Vec<f64>,
    from: Vec<usize>,
    /// The minimum of `best` in each finished tile.
    least: Vec<f64>,
}

/// Compiles the loops for the vector instructions of the processor.
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
    fn new(search: &'a PathSearch<'a>, lambda: f64) -> SearchState<'a> {
        let penalty: Vec<f64> = search.shares.iter().map(|share| lambda * share).collect();
        let mut best = vec![f64::INFINITY; penalty.len()];
        best[0] = 0.0;
        SearchState { search, lambda, from: vec![0; penalty.len()], penalty, best, least: Vec::new() }
    }

    /// Computes the costs of the points of a tile; those of all earlier points are known.
    #[inline(always)]
    fn finalize(&mut self, ends: Range<usize>) {
        // The tile that the previous tile's path starts from is tried first: its cost prunes most others.
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

    /// Whether a start in `tile` could cost no more than the best known for some of `ends`; `worst` is their maximum cost.
    #[inline(always)]
    fn may_matter(&self, tile: usize, ends: &Range<usize>, worst: f64) -> bool {
        let (first, last) = (tile * TILE, tile * TILE + TILE - 1);
        let (shortest, longest) = (ends.start - last, ends.end - 1 - first);
        let penalty = self.penalty[shortest].min(self.penalty[longest]);
        let known = self.least[tile] + penalty - self.search.table.rounding();
        let settled = self.least.len();
        if known + f64::from(self.search.corners[settled * (settled - 1) / 2 + tile]) > worst {
            return false;
        }
        let w1 = &self.search.table.row(last)[shortest - 1..][..ends.len()];
        // Without an early exit, so that it compiles to vector instructions.
        let best = w1.iter().zip(&self.best[ends.clone()]);
        best.fold(false, |any, (&w1, &best)| any | (known + f64::from(w1) <= best))
    }

    #[inline(always)]
    fn offer_tile(&mut self, tile: usize, ends: &Range<usize>) {
        for start in tile * TILE..(tile + 1) * TILE {
            self.offer(start, ends.clone());
        }
    }

    /// Updates the costs of `ends` with the segments from `start`.
    #[inline(always)]
    fn offer(&mut self, start: usize, ends: Range<usize>) {
        let (first, cost_before) = (ends.start - start, self.best[start]);
        let costs = self.search.table.row(start)[first - 1..].iter().zip(&self.penalty[first..]);
        let targets = self.best[ends.clone()].iter_mut().zip(&mut self.from[ends]);
        for ((&w1, &penalty), (best, from)) in costs.zip(targets) {
            let cost = cost_before + f64::from(w1) + penalty;
            let is_better = cost < *best || (cost == *best && start < *from);
            *best = if is_better { cost } else { *best };
            *from = if is_better { start } else { *from };
        }
    }

    /// The path to the last point.
    fn finish(self) -> CheapestPath {
        let (last, mut cost, mut point) = (self.best.len(), f64::INFINITY, 0);
        for (start, (&cost_before, segment)) in self.best.iter().zip(&self.search.to_last).enumerate() {
            let total = cost_before + segment.w1 + self.lambda * segment.w2;
            if total < cost {
                (cost, point) = (total, start);
            }
        }
        let mut cuts = vec![last, point];
        while point > 0 {
            point = self.from[point];
            cuts.push(point);
        }
        cuts.reverse();
        CheapestPath { points: cuts, cost }
    }
}

#[cfg(test)]
mod tests;
