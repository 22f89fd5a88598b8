//! Orders points: each next point is the one with the smallest reachability.

use super::blocks::{Blocks, LANES};
use super::rounded;
use laggard_numeric::Matrix;
use pulp::Arch;

/// Points in the order in which they were reached.
pub(super) struct ReachabilityOrder {
    pub(super) ordering: Vec<usize>,
    pub(super) reachability: Vec<f64>,
    pub(super) predecessor: Vec<Option<usize>>,
}

/// The layout is rebuilt for the remaining points after one in this number of its points is ordered.
const DONE_SHARE: usize = 8;

/// Relative and absolute rounding margins: a squared distance beyond them cannot become smaller than the reachability.
const MARGIN_RELATIVE: f64 = 1e-9;
const MARGIN_ABSOLUTE: f64 = 1e-14;

/// Orders all points. The first is point 0.
pub(super) fn order(points: &Matrix, core_distances: &[f64]) -> ReachabilityOrder {
    let n = points.rows();
    let mut ordered = ReachabilityOrder {
        ordering: Vec::with_capacity(n),
        reachability: vec![f64::INFINITY; n],
        predecessor: vec![None; n],
    };
    let mut remaining: Vec<usize> = (0..n).collect();
    let arch = Arch::new();
    while !remaining.is_empty() {
        let steps = remaining.len().div_ceil(DONE_SHARE);
        let mut layout = PointLayout::new(points, &remaining, &ordered.reachability);
        arch.dispatch(|| walk(&mut layout, steps, points, core_distances, &mut ordered));
        remaining = layout.remaining();
    }
    ordered
}

/// Orders `steps` points of a layout.
#[inline(always)]
fn walk(
    layout: &mut PointLayout,
    steps: usize,
    points: &Matrix,
    core_distances: &[f64],
    ordered: &mut ReachabilityOrder,
) {
    for _ in 0..steps {
        let point = layout.pop_nearest();
        ordered.ordering.push(point);
        let core = core_distances[point];
        for block in 0..layout.blocks.count() {
            layout.reach(block, point, points.row(point), core, ordered);
        }
    }
}

/// Points not yet ordered, ascending, with their current reachability.
struct PointLayout {
    blocks: Blocks,
    /// Reachability; infinite if the point is ordered.
    reachability: Vec<f64>,
    /// Squared distance that a new one must be below to reduce the reachability; negative if the point is ordered.
    limit: Vec<f64>,
    /// By block: the smallest reachability and the first lane that has it.
    least: Vec<BlockMinimum>,
}

#[derive(Clone, Copy)]
struct BlockMinimum {
    reachability: f64,
    lane: usize,
}

impl PointLayout {
    fn new(points: &Matrix, rows: &[usize], known: &[f64]) -> PointLayout {
        let blocks = Blocks::gather(points, rows);
        let known_reachability = |&row: &usize| known.get(row).copied();
        let reachability: Vec<f64> =
            blocks.rows().iter().map(|row| known_reachability(row).unwrap_or(f64::INFINITY)).collect();
        let limit = blocks.rows().iter().map(|row| known_reachability(row).map_or(-1.0, limit)).collect();
        let least = reachability.chunks_exact(LANES).map(least).collect();
        PointLayout { blocks, reachability, limit, least }
    }

    /// Removes and returns the point of smallest reachability (ties: the first).
    fn pop_nearest(&mut self) -> usize {
        let mut best = 0;
        for (block, least) in self.least.iter().enumerate() {
            if least.reachability < self.least[best].reachability {
                best = block;
            }
        }
        let mut position = best * LANES + self.least[best].lane;
        if self.reachability[position].is_infinite() {
            position = self
                .limit
                .iter()
                .position(|&limit| limit >= 0.0)
                .expect("the layout has points that are not ordered");
        }
        self.reachability[position] = f64::INFINITY;
        self.limit[position] = -1.0;
        let block = position / LANES;
        self.least[block] = least(&self.reachability[block * LANES..][..LANES]);
        self.blocks.rows()[position]
    }

    /// Reduces the reachability of the points of a block that are nearer from `point`.
    #[inline(always)]
    fn reach(
        &mut self,
        block: usize,
        point: usize,
        from: &[f64],
        core: f64,
        ordered: &mut ReachabilityOrder,
    ) {
        let squares = self.blocks.squared_distances(block, from);
        let limits = &self.limit[block * LANES..][..LANES];
        let core_square = core * core;
        let mut is_any = false;
        for (&square, &limit) in squares.iter().zip(limits) {
            is_any |= (square < limit) & (core_square < limit);
        }
        if is_any {
            self.reach_exactly(block, &squares, point, core, ordered);
        }
    }

    fn reach_exactly(
        &mut self,
        block: usize,
        squares: &[f64; LANES],
        point: usize,
        core: f64,
        ordered: &mut ReachabilityOrder,
    ) {
        for (lane, &square) in squares.iter().enumerate() {
            let position = block * LANES + lane;
            if self.limit[position] < 0.0 {
                continue;
            }
            let distance = rounded(core.max(square.sqrt()));
            if distance < self.reachability[position] {
                let row = self.blocks.rows()[position];
                self.reachability[position] = distance;
                self.limit[position] = limit(distance);
                ordered.reachability[row] = distance;
                ordered.predecessor[row] = Some(point);
            }
        }
        self.least[block] = least(&self.reachability[block * LANES..][..LANES]);
    }

    /// Points not yet ordered, ascending.
    fn remaining(&self) -> Vec<usize> {
        let rows = self.blocks.rows().iter().zip(&self.limit);
        rows.filter(|(_, limit)| **limit >= 0.0).map(|(row, _)| *row).collect()
    }
}

fn limit(reachability: f64) -> f64 {
    let distance = reachability * (1.0 + MARGIN_RELATIVE) + MARGIN_ABSOLUTE;
    distance * distance
}

fn least(reachability: &[f64]) -> BlockMinimum {
    let mut minimum = BlockMinimum { reachability: f64::INFINITY, lane: 0 };
    for (lane, &value) in reachability.iter().enumerate() {
        if value < minimum.reachability {
            minimum = BlockMinimum { reachability: value, lane };
        }
    }
    minimum
}
