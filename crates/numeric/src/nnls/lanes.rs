//! Eight least-squares problems at a time, one a lane of a vector.

use pulp::{Simd, WithSimd};

use super::{GRADIENT_MIN, PIVOT_MIN};
use crate::normal_equations::{packed_len, position};

/// Problems solved together.
pub(super) const LANES: usize = 8;

/// A number of each problem. Plain loops over the array become vector instructions.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub(super) struct Lanes(pub(super) [f64; LANES]);

impl Lanes {
    pub(super) const ZERO: Lanes = Lanes([0.0; LANES]);

    #[inline(always)]
    fn each(self, other: Lanes, op: impl Fn(f64, f64) -> f64) -> Lanes {
        let mut out = self;
        out.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = op(*a, b));
        out
    }

    #[inline(always)]
    fn times(self, other: Lanes) -> Lanes {
        self.each(other, |a, b| a * b)
    }

    /// `self − a·b`, rounded twice, so that every processor finds the same bits.
    #[inline(always)]
    fn less(self, a: Lanes, b: Lanes) -> Lanes {
        self.each(a.times(b), |value, product| value - product)
    }
}

/// Problems with a guess of which columns are active, checked or refuted all at once.
///
/// A guess is *confirmed* when least squares on its columns has only positive coefficients and no other column
/// has a positive gradient: the conditions of Karush, Kuhn and Tucker, which for this convex problem hold at
/// the minimum only. So a confirmed lane holds the answer, whatever the guess came from.
#[derive(Clone, Debug)]
pub(super) struct LaneProblems {
    columns: usize,
    /// Packed triangles of the problems, lane by lane: element `e` of lane `k` is `packed[e].0[k]`.
    pub(super) packed: Vec<Lanes>,
    /// Guessed columns of each lane, a bit a column.
    masks: [u64; LANES],
    /// Columns that are active in some lane, increasing.
    union: Vec<usize>,
    /// 1 where the lane has that column of the union active, else 0.
    active: Vec<Lanes>,
    /// The union's triangle under elimination, the response as last row.
    work: Vec<Lanes>,
    /// Column `k` of the unit-diagonal factor at `k · (q + 1)`, for `q` columns in the union; the last entry is
    /// the response's.
    factor: Vec<Lanes>,
    solution: Vec<Lanes>,
    /// Sums of squared residuals; may be negative by rounding.
    pub(super) sse: Lanes,
}

impl LaneProblems {
    /// Problems of `columns` columns, at most 64.
    pub(super) fn new(columns: usize) -> LaneProblems {
        assert!(columns <= 64, "a bit for every column");
        LaneProblems {
            columns,
            packed: vec![Lanes::ZERO; packed_len(columns)],
            masks: [0; LANES],
            union: Vec::with_capacity(columns),
            active: Vec::with_capacity(columns),
            work: vec![Lanes::ZERO; packed_len(columns)],
            factor: vec![Lanes::ZERO; columns * (columns + 1)],
            solution: vec![Lanes::ZERO; columns],
            sse: Lanes::ZERO,
        }
    }

    /// The guess of a lane.
    pub(super) fn mask(&self, lane: usize) -> u64 {
        self.masks[lane]
    }

    /// Changes the guess of a lane.
    pub(super) fn set_mask(&mut self, lane: usize, mask: u64) {
        if self.masks[lane] == mask {
            return;
        }
        self.masks[lane] = mask;
        let all = self.masks.iter().fold(0, |all, mask| all | mask);
        self.union.clear();
        self.union.extend((0..self.columns).filter(|column| all >> column & 1 == 1));
        self.active.clear();
        let bit = |mask: u64, column: usize| (mask >> column & 1) as f64;
        self.active.extend(self.union.iter().map(|&column| Lanes(self.masks.map(|mask| bit(mask, column)))));
    }

    /// Sets every lane's triangle to `upto` less its origin, and checks the guesses: 0 for each lane confirmed.
    #[inline(always)]
    fn check(&mut self, upto: &[f64], origins: &[Lanes]) -> Lanes {
        for ((out, &upto), origin) in self.packed.iter_mut().zip(upto).zip(origins) {
            *out = Lanes([upto; LANES]).each(*origin, |upto, origin| upto - origin);
        }
        let mut refuted = Lanes::ZERO;
        self.gather();
        self.eliminate(&mut refuted);
        self.substitute(&mut refuted);
        self.check_gradients(&mut refuted);
        refuted
    }

    #[inline(always)]
    fn gather(&mut self) {
        let mut work = self.work.iter_mut();
        for (a, &i) in self.union.iter().chain(std::iter::once(&self.columns)).enumerate() {
            let row = &self.packed[position(i, 0)..];
            for (&j, out) in self.union[..a].iter().zip(&mut work) {
                *out = row[j];
            }
            *work.next().expect("a place for the diagonal") = row[i];
        }
    }

    /// `L D Lᵀ` of the union with the response below. Where a lane lacks a column its inverse pivot is 0: the
    /// column's factor vanishes, and the others are as if it were not there.
    #[inline(always)]
    fn eliminate(&mut self, refuted: &mut Lanes) {
        let q = self.union.len();
        for k in 0..q {
            let square = self.packed[position(self.union[k], self.union[k])];
            let pivot = self.work[position(k, k)];
            let mut inverse = self.active[k];
            for lane in 0..LANES {
                let bad = pivot.0[lane] <= PIVOT_MIN * square.0[lane];
                let refutes = if bad { inverse.0[lane] } else { 0.0 };
                refuted.0[lane] += refutes;
                inverse.0[lane] = if bad { 0.0 } else { inverse.0[lane] / pivot.0[lane] };
            }
            let column = &mut self.factor[k * (q + 1)..(k + 1) * (q + 1)];
            for (i, out) in column.iter_mut().enumerate().skip(k + 1) {
                *out = self.work[position(i, k)].times(inverse);
            }
            for i in k + 1..=q {
                let row = &mut self.work[position(i, k)..=position(i, i)];
                let left = row[0];
                for (value, &right) in row[1..].iter_mut().zip(&column[k + 1..=i]) {
                    *value = value.less(left, right);
                }
            }
        }
        self.sse = self.work[position(q, q)];
    }

    #[inline(always)]
    fn substitute(&mut self, refuted: &mut Lanes) {
        let q = self.union.len();
        for k in (0..q).rev() {
            let column = &self.factor[k * (q + 1)..(k + 1) * (q + 1)];
            let mut value = column[q];
            for (&l, &z) in column[k + 1..q].iter().zip(&self.solution[k + 1..q]) {
                value = value.less(l, z);
            }
            for lane in 0..LANES {
                let positive = value.0[lane] > 0.0;
                refuted.0[lane] += if positive { 0.0 } else { self.active[k].0[lane] };
            }
            self.solution[k] = value;
        }
    }

    #[inline(always)]
    fn check_gradients(&mut self, refuted: &mut Lanes) {
        let response = position(self.columns, 0);
        let total = self.packed[position(self.columns, self.columns)];
        let limit = total.each(Lanes::ZERO, |total, _| GRADIENT_MIN * GRADIENT_MIN * total);
        let mut at = 0;
        for i in 0..self.columns {
            let mut gradient = self.packed[response + i];
            for (&j, &z) in self.union.iter().zip(&self.solution) {
                gradient = gradient.less(self.packed[position(i.max(j), i.min(j))], z);
            }
            let mut inside = Lanes::ZERO;
            if self.union.get(at) == Some(&i) {
                inside = self.active[at];
                at += 1;
            }
            let bound = limit.times(self.packed[position(i, i)]);
            for lane in 0..LANES {
                let g = gradient.0[lane];
                let steep = g.max(0.0) * g > bound.0[lane];
                refuted.0[lane] += if steep { 1.0 - inside.0[lane] } else { 0.0 };
            }
        }
    }
}

/// One check of all lanes, compiled for the processor at hand.
pub(super) struct Check<'a> {
    pub(super) problems: &'a mut LaneProblems,
    pub(super) upto: &'a [f64],
    pub(super) origins: &'a [Lanes],
}

impl WithSimd for Check<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        self.problems.check(self.upto, self.origins)
    }
}
