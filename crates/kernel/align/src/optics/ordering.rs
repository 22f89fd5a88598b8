//! From point to point, always to the one that is reached at the smallest distance.

use super::blocks::{Blocks, LANES};
use super::rounded;
use laggard_numeric::Matrix;
use pulp::Arch;

/// Points in the order in which they were reached.
pub(super) struct Ordered {
    pub(super) ordering: Vec<usize>,
    pub(super) reachability: Vec<f64>,
    pub(super) predecessor: Vec<Option<usize>>,
}

/// Points left are laid out anew when this share of a layout is done.
const DONE_SHARE: usize = 8;

/// Relative and absolute room for rounding: a squared distance beyond it cannot become smaller than the reachability.
const ROOM_RELATIVE: f64 = 1e-9;
const ROOM_ABSOLUTE: f64 = 1e-14;

/// Orders all points. The first is point 0.
pub(super) fn order(points: &Matrix, core_distances: &[f64]) -> Ordered {
    let n = points.rows();
    let mut ordered = Ordered {
        ordering: Vec::with_capacity(n),
        reachability: vec![f64::INFINITY; n],
        predecessor: vec![None; n],
    };
    let mut left: Vec<usize> = (0..n).collect();
    let arch = Arch::new();
    while !left.is_empty() {
        let steps = left.len().div_ceil(DONE_SHARE);
        let mut layout = Layout::new(points, &left, &ordered.reachability);
        arch.dispatch(|| walk(&mut layout, steps, points, core_distances, &mut ordered));
        left = layout.left();
    }
    ordered
}

/// Takes so many points of a layout.
#[inline(always)]
fn walk(layout: &mut Layout, steps: usize, points: &Matrix, core_distances: &[f64], ordered: &mut Ordered) {
    for _ in 0..steps {
        let point = layout.take();
        ordered.ordering.push(point);
        let core = core_distances[point];
        for block in 0..layout.blocks.count() {
            layout.reach(block, point, points.row(point), core, ordered);
        }
    }
}

/// Points not yet taken, in ascending order, with what is known of each.
struct Layout {
    blocks: Blocks,
    /// Reachability; infinite where the point is taken.
    reachability: Vec<f64>,
    /// Squared distance from which on a point cannot be reached better; negative where it is taken.
    limit: Vec<f64>,
    /// By block: the smallest reachability and the first lane that has it.
    least: Vec<Least>,
}

#[derive(Clone, Copy)]
struct Least {
    reachability: f64,
    lane: usize,
}

impl Layout {
    fn new(points: &Matrix, rows: &[usize], known: &[f64]) -> Layout {
        let blocks = Blocks::gather(points, rows);
        let of = |&row: &usize| known.get(row).copied();
        let reachability: Vec<f64> =
            blocks.rows().iter().map(|row| of(row).unwrap_or(f64::INFINITY)).collect();
        let limit = blocks.rows().iter().map(|row| of(row).map_or(-1.0, limit)).collect();
        let least = reachability.chunks_exact(LANES).map(least).collect();
        Layout { blocks, reachability, limit, least }
    }

    /// The point of smallest reachability (ties: the first), which is taken.
    fn take(&mut self) -> usize {
        let mut best = 0;
        for (block, least) in self.least.iter().enumerate() {
            if least.reachability < self.least[best].reachability {
                best = block;
            }
        }
        let mut at = best * LANES + self.least[best].lane;
        if self.reachability[at].is_infinite() {
            at = self
                .limit
                .iter()
                .position(|&limit| limit >= 0.0)
                .expect("a layout is left before it is empty");
        }
        self.reachability[at] = f64::INFINITY;
        self.limit[at] = -1.0;
        let block = at / LANES;
        self.least[block] = least(&self.reachability[block * LANES..][..LANES]);
        self.blocks.rows()[at]
    }

    /// Reaches the points of a block from `point`, where that is nearer than before.
    #[inline(always)]
    fn reach(&mut self, block: usize, point: usize, from: &[f64], core: f64, ordered: &mut Ordered) {
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
        ordered: &mut Ordered,
    ) {
        for (lane, &square) in squares.iter().enumerate() {
            let at = block * LANES + lane;
            if self.limit[at] < 0.0 {
                continue;
            }
            let distance = rounded(core.max(square.sqrt()));
            if distance < self.reachability[at] {
                let row = self.blocks.rows()[at];
                self.reachability[at] = distance;
                self.limit[at] = limit(distance);
                ordered.reachability[row] = distance;
                ordered.predecessor[row] = Some(point);
            }
        }
        self.least[block] = least(&self.reachability[block * LANES..][..LANES]);
    }

    /// Points not taken, ascending.
    fn left(&self) -> Vec<usize> {
        let rows = self.blocks.rows().iter().zip(&self.limit);
        rows.filter(|(_, limit)| **limit >= 0.0).map(|(row, _)| *row).collect()
    }
}

fn limit(reachability: f64) -> f64 {
    let distance = reachability * (1.0 + ROOM_RELATIVE) + ROOM_ABSOLUTE;
    distance * distance
}

fn least(reachability: &[f64]) -> Least {
    let mut found = Least { reachability: f64::INFINITY, lane: 0 };
    for (lane, &value) in reachability.iter().enumerate() {
        if value < found.reachability {
            found = Least { reachability: value, lane };
        }
    }
    found
}
