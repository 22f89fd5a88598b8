//! Eight least-squares problems at a time, one a lane of a vector.

use pulp::{Simd, WithSimd};

use super::{GRADIENT_MIN, PIVOT_MIN};
use crate::normal_equations::{packed_len, position};

/// Problems solved together.
pub(super) const LANES: usize = 8;

/// A number of each problem.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub(super) struct Lanes(pub(super) [f64; LANES]);

impl Lanes {
    pub(super) const ZERO: Lanes = Lanes([0.0; LANES]);

    /// `op` on vectors of whatever length the processor has; they all divide [`LANES`].
    #[inline(always)]
    fn zip_with<S: Simd>(self, other: Lanes, op: impl Fn(S::f64s, S::f64s) -> S::f64s) -> Lanes {
        let mut out = self;
        let (values, _) = S::as_mut_simd_f64s(&mut out.0);
        for (a, b) in values.iter_mut().zip(S::as_simd_f64s(&other.0).0) {
            *a = op(*a, *b);
        }
        out
    }

    #[inline(always)]
    fn plus<S: Simd>(self, simd: S, other: Lanes) -> Lanes {
        self.zip_with::<S>(other, |a, b| simd.add_f64s(a, b))
    }

    #[inline(always)]
    fn minus<S: Simd>(self, simd: S, other: Lanes) -> Lanes {
        self.zip_with::<S>(other, |a, b| simd.sub_f64s(a, b))
    }

    #[inline(always)]
    fn times<S: Simd>(self, simd: S, other: Lanes) -> Lanes {
        self.zip_with::<S>(other, |a, b| simd.mul_f64s(a, b))
    }

    #[inline(always)]
    fn div<S: Simd>(self, simd: S, other: Lanes) -> Lanes {
        self.zip_with::<S>(other, |a, b| simd.div_f64s(a, b))
    }

    /// `self − a·b`, rounded twice, so that every processor computes the same bits.
    #[inline(always)]
    fn sub_mul<S: Simd>(self, simd: S, a: Lanes, b: Lanes) -> Lanes {
        self.minus(simd, a.times(simd, b))
    }

    /// Where `self > limit`: `value`; else 0, as where one is not a number.
    #[inline(always)]
    fn where_above<S: Simd>(self, simd: S, limit: Lanes, value: Lanes) -> Lanes {
        let mut out = value;
        let (values, _) = S::as_mut_simd_f64s(&mut out.0);
        let pairs = S::as_simd_f64s(&self.0).0.iter().zip(S::as_simd_f64s(&limit.0).0);
        for (value, (a, b)) in values.iter_mut().zip(pairs) {
            *value = simd.select_f64s(simd.greater_than_f64s(*a, *b), *value, simd.splat_f64s(0.0));
        }
        out
    }
}

/// Problems with a guess of which columns are active, checked or refuted all at once.
///
/// A guess is *confirmed* when least squares on its columns has only positive coefficients and no other column
/// has a positive gradient: the conditions of Karush, Kuhn and Tucker, which for this convex problem hold at
/// the minimum only. So a confirmed lane holds the answer, whatever the guess came from.
#[derive(Clone, Debug)]
pub(super) struct LaneGuesses {
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
    /// Gradients `Xᵀ(y − Xc)` by column.
    gradient: Vec<Lanes>,
    /// Above 0 where a guessed column depends on those before.
    dependent: Lanes,
    /// Sums of squared residuals; may be negative by rounding.
    pub(super) sse: Lanes,
}

impl LaneGuesses {
    /// Problems of `columns` columns, at most 64.
    pub(super) fn new(columns: usize) -> LaneGuesses {
        assert!(columns <= 64, "a bit for every column");
        LaneGuesses {
            columns,
            packed: vec![Lanes::ZERO; packed_len(columns)],
            masks: [0; LANES],
            union: Vec::with_capacity(columns),
            active: Vec::with_capacity(columns),
            work: vec![Lanes::ZERO; packed_len(columns)],
            factor: vec![Lanes::ZERO; columns * (columns + 1)],
            solution: vec![Lanes::ZERO; columns],
            gradient: vec![Lanes::ZERO; columns],
            dependent: Lanes::ZERO,
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

    /// A better guess for a lane that was refuted: without the columns that came out negative; or if none did, with the
    /// steepest in. None when a column depends on others, which is for a careful solver.
    pub(super) fn improve(&mut self, lane: usize) -> Option<()> {
        if self.dependent.0[lane] > 0.0 {
            return None;
        }
        let mut mask = self.masks[lane];
        for (&column, solution) in self.union.iter().zip(&self.solution) {
            if solution.0[lane] <= 0.0 {
                mask &= !(1 << column);
            }
        }
        if mask == self.masks[lane] {
            mask |= 1 << self.steepest(lane)?;
        }
        self.set_mask(lane, mask);
        Some(())
    }

    /// The column outside with the largest gradient by columns of unit length.
    fn steepest(&self, lane: usize) -> Option<usize> {
        let outside = (0..self.columns).filter(|column| self.masks[lane] >> column & 1 == 0);
        let steepness = |column: usize| {
            let gradient = self.gradient[column].0[lane];
            gradient.max(0.0) * gradient / self.packed[position(column, column)].0[lane]
        };
        let best = outside.map(|column| (column, steepness(column))).filter(|(_, value)| *value > 0.0);
        best.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(column, _)| column)
    }

    /// Sets every lane's triangle to `upto` less its origin.
    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, upto: &[f64], origins: &[Lanes]) {
        for ((out, &upto), origin) in self.packed.iter_mut().zip(upto).zip(origins) {
            *out = Lanes([upto; LANES]).minus(simd, *origin);
        }
    }

    /// Checks the guesses: 0 for each lane confirmed.
    #[inline(always)]
    fn check<S: Simd>(&mut self, simd: S) -> Lanes {
        self.gather();
        self.eliminate(simd);
        let negative = self.substitute(simd);
        let steep = self.check_gradients(simd);
        self.dependent.plus(simd, negative).plus(simd, steep)
    }

    #[inline(always)]
    fn gather(&mut self) {
        let mut work = self.work.iter_mut();
        for (a, &i) in self.union.iter().chain(std::iter::once(&self.columns)).enumerate() {
            let row = &self.packed[position(i, 0)..];
            for (&j, out) in self.union[..a].iter().zip(&mut work) {
                *out = row[j];
            }
            *work.next().expect("a slot for the diagonal") = row[i];
        }
    }

    /// `L D Lᵀ` of the union with the response below. Where a lane lacks a column its inverse pivot is 0: the
    /// column's factor vanishes, and the others are unaffected.
    #[inline(always)]
    fn eliminate<S: Simd>(&mut self, simd: S) {
        let q = self.union.len();
        self.dependent = Lanes::ZERO;
        for k in 0..q {
            let square = self.packed[position(self.union[k], self.union[k])];
            let (pivot, active) = (self.work[position(k, k)], self.active[k]);
            let least = square.times(simd, Lanes([PIVOT_MIN; LANES]));
            let independent = pivot.where_above(simd, least, active);
            self.dependent = self.dependent.plus(simd, active.minus(simd, independent));
            let inverse = pivot.where_above(simd, least, active.div(simd, pivot));
            let column = &mut self.factor[k * (q + 1)..(k + 1) * (q + 1)];
            for (i, out) in column.iter_mut().enumerate().skip(k + 1) {
                *out = self.work[position(i, k)].times(simd, inverse);
            }
            for i in k + 1..=q {
                let (left, row) =
                    self.work[position(i, k)..=position(i, i)].split_first_mut().expect("not empty");
                for (value, &right) in row.iter_mut().zip(&column[k + 1..=i]) {
                    *value = value.sub_mul(simd, *left, right);
                }
            }
        }
        self.sse = self.work[position(q, q)];
    }

    /// The coefficients; above 0 for each lane that has one at or below 0.
    #[inline(always)]
    fn substitute<S: Simd>(&mut self, simd: S) -> Lanes {
        let q = self.union.len();
        let mut negative = Lanes::ZERO;
        for k in (0..q).rev() {
            let column = &self.factor[k * (q + 1)..(k + 1) * (q + 1)];
            let mut value = column[q];
            for (&l, &z) in column[k + 1..q].iter().zip(&self.solution[k + 1..q]) {
                value = value.sub_mul(simd, l, z);
            }
            let positive = value.where_above(simd, Lanes::ZERO, self.active[k]);
            negative = negative.plus(simd, self.active[k].minus(simd, positive));
            self.solution[k] = value;
        }
        negative
    }

    /// Above 0 for each lane where a column outside has a gradient that counts.
    #[inline(always)]
    fn check_gradients<S: Simd>(&mut self, simd: S) -> Lanes {
        let response = position(self.columns, 0);
        let total = self.packed[position(self.columns, self.columns)];
        let limit = total.times(simd, Lanes([GRADIENT_MIN * GRADIENT_MIN; LANES]));
        let (mut offset, mut found) = (0, Lanes::ZERO);
        for i in 0..self.columns {
            let mut gradient = self.packed[response + i];
            for (&j, &z) in self.union.iter().zip(&self.solution) {
                gradient = gradient.sub_mul(simd, self.packed[position(i.max(j), i.min(j))], z);
            }
            let mut outside = Lanes([1.0; LANES]);
            if self.union.get(offset) == Some(&i) {
                outside = outside.minus(simd, self.active[offset]);
                offset += 1;
            }
            let bound = limit.times(simd, self.packed[position(i, i)]);
            let upwards = gradient.where_above(simd, Lanes::ZERO, gradient);
            let steep = upwards.times(simd, upwards).where_above(simd, bound, outside);
            found = found.plus(simd, steep);
            self.gradient[i] = gradient;
        }
        found
    }
}

/// One check of all lanes, compiled for the current processor; with new sums first, if provided.
pub(super) struct Check<'a> {
    pub(super) problems: &'a mut LaneGuesses,
    /// The sums up to the end of the intervals, and those before each start.
    pub(super) sums: Option<(&'a [f64], &'a [Lanes])>,
}

impl WithSimd for Check<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        if let Some((upto, origins)) = self.sums {
            self.problems.load(simd, upto, origins);
        }
        self.problems.check(simd)
    }
}
