//! What an iteration does to one block of rows.

use super::products::add_gram;
use super::shrinkage::Shrinkage;
use super::stripes::{Block, Scratch, Sums};

/// Numbers of one step from penalty `mu` to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// `mu / mu_next`, by which `X - L = Y/mu` becomes `Y/mu_next`.
    pub(super) ratio: f64,
    /// `lambda / mu_next`, by which the next sparse part is shrunk.
    pub(super) cut: f64,
}

/// Lanes of a sum of squares: independent additions that the compiler may do at once.
const LANES: usize = 8;

impl Block<'_> {
    /// Adds the block to the Gram matrix of `M`.
    pub(super) fn survey(self, cols: usize, sums: &mut Sums) {
        add_gram(self.m, cols, &mut sums.gram);
    }

    /// The first entry-wise sparse part, `soft(M + Y/mu, cut)` with `Y/mu = weight M` and `L = 0`.
    pub(super) fn start_entries(self, cols: usize, weight: f64, cut: f64, sums: &mut Sums) {
        for ((&m, x), e) in self.m.iter().zip(self.x.iter_mut()).zip(self.e.iter_mut()) {
            let multiplier = weight * m;
            *e = soft(m + multiplier, cut);
            *x = m - *e + multiplier;
        }
        add_gram(self.x, cols, &mut sums.gram);
    }

    /// One whole iteration with an entry-wise sparse part: residual of the current parts, then the next
    /// `E`, `X` and Gram matrix.
    pub(super) fn advance_entries(
        self,
        cols: usize,
        shrinkage: &Shrinkage,
        step: Step,
        sums: &mut Sums,
        scratch: &mut Scratch,
    ) {
        let low_rank = self.low_rank(cols, shrinkage, scratch);
        sums.residual_square += residual_square(self.m, low_rank, self.e);
        for (((&m, &l), x), e) in self.m.iter().zip(low_rank).zip(self.x.iter_mut()).zip(self.e.iter_mut()) {
            let multiplier = step.ratio * (*x - l);
            *e = soft(m - l + multiplier, step.cut);
            *x = m - *e + multiplier;
        }
        add_gram(self.x, cols, &mut sums.gram);
    }

    /// The same with a row-wise sparse part. `weight` as in [`Block::start_entries`] while there is no
    /// shrinkage yet.
    pub(super) fn advance_rows(
        self,
        cols: usize,
        from: Departure<'_>,
        step: Step,
        sums: &mut Sums,
        scratch: &mut Scratch,
    ) {
        let m = self.m;
        let (x, e) = self.depart(cols, from, step, sums, scratch);
        for ((m, x), e) in m.chunks(cols).zip(x.chunks_mut(cols)).zip(e.chunks_mut(cols)) {
            let norm = e.iter().map(|value| value * value).sum::<f64>().sqrt();
            let factor = soft_factor(norm, step.cut);
            for ((m, x), e) in m.iter().zip(x).zip(e) {
                *e *= factor;
                *x += m - *e;
            }
        }
        add_gram(x, cols, &mut sums.gram);
    }

    /// First half of an iteration with a column-wise sparse part: `X` becomes `Y/mu_next`, `E` what is to
    /// be shrunk, whose columns are measured.
    pub(super) fn measure_columns(
        self,
        cols: usize,
        from: Departure<'_>,
        step: Step,
        sums: &mut Sums,
        scratch: &mut Scratch,
    ) {
        let (_, e) = self.depart(cols, from, step, sums, scratch);
        for row in e.chunks(cols) {
            sums.column_squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
    }

    /// Second half: shrinks each column by its factor, completes `X` and adds to its Gram matrix.
    pub(super) fn shrink_columns(self, cols: usize, factors: &[f64], sums: &mut Sums) {
        for ((m, x), e) in self.m.chunks(cols).zip(self.x.chunks_mut(cols)).zip(self.e.chunks_mut(cols)) {
            for (((m, x), e), factor) in m.iter().zip(x).zip(e).zip(factors) {
                *e *= factor;
                *x += m - *e;
            }
        }
        add_gram(self.x, cols, &mut sums.gram);
    }

    /// Residual of the current parts; changes nothing.
    pub(super) fn probe(self, cols: usize, shrinkage: &Shrinkage, sums: &mut Sums, scratch: &mut Scratch) {
        let low_rank = self.low_rank(cols, shrinkage, scratch);
        sums.residual_square += residual_square(self.m, low_rank, self.e);
    }

    /// Residual of the current parts; leaves `L` in place of `X`.
    pub(super) fn conclude(self, cols: usize, shrinkage: &Shrinkage, sums: &mut Sums, scratch: &mut Scratch) {
        let low_rank = self.low_rank(cols, shrinkage, scratch);
        sums.residual_square += residual_square(self.m, low_rank, self.e);
        self.x.copy_from_slice(low_rank);
    }

    fn low_rank<'s>(&self, cols: usize, shrinkage: &Shrinkage, scratch: &'s mut Scratch) -> &'s [f64] {
        let out = &mut scratch.low_rank[..self.x.len()];
        shrinkage.apply(self.x, cols, &mut scratch.coordinates, out);
        out
    }
}

/// Where the multiplier comes from.
#[derive(Clone, Copy)]
pub(super) enum Departure<'a> {
    /// Before the first iteration: `Y/mu = weight M`, `L = 0`.
    Start { weight: f64 },
    /// From the parts of an iteration.
    Iterate(&'a Shrinkage),
}

impl<'a> Block<'a> {
    /// `X` becomes `Y/mu_next` and `E` becomes `M - L + Y/mu_next`; the residual is measured before.
    fn depart(
        self,
        cols: usize,
        from: Departure<'_>,
        step: Step,
        sums: &mut Sums,
        scratch: &mut Scratch,
    ) -> (&'a mut [f64], &'a mut [f64]) {
        match from {
            Departure::Start { weight } => {
                for ((&m, x), e) in self.m.iter().zip(self.x.iter_mut()).zip(self.e.iter_mut()) {
                    *x = weight * m;
                    *e = m + *x;
                }
            }
            Departure::Iterate(shrinkage) => {
                let low_rank = self.low_rank(cols, shrinkage, scratch);
                sums.residual_square += residual_square(self.m, low_rank, self.e);
                let arrays = self.m.iter().zip(low_rank).zip(self.x.iter_mut()).zip(self.e.iter_mut());
                for (((&m, &l), x), e) in arrays {
                    *x = step.ratio * (*x - l);
                    *e = m - l + *x;
                }
            }
        }
        (self.x, self.e)
    }
}

/// `sign(v) max(|v| - cut, 0)`, written so that it becomes a minimum, a maximum and a subtraction.
fn soft(v: f64, cut: f64) -> f64 {
    let capped = if v > cut { cut } else { v };
    v - if capped < -cut { -cut } else { capped }
}

/// `max(0, 1 - cut / norm)`, by which a vector of that norm is shrunk.
pub(super) fn soft_factor(norm: f64, cut: f64) -> f64 {
    if norm > cut { 1.0 - cut / norm } else { 0.0 }
}

/// `|m - l - e|^2`, summed in lanes.
fn residual_square(m: &[f64], l: &[f64], e: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for ((m, l), e) in m.chunks(LANES).zip(l.chunks(LANES)).zip(e.chunks(LANES)) {
        for (((lane, m), l), e) in lanes.iter_mut().zip(m).zip(l).zip(e) {
            let difference = m - l - e;
            *lane += difference * difference;
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_thresholding() {
        assert_eq!([3.0, -3.0, 0.5, -0.5, 0.0].map(|v| soft(v, 1.0)), [2.0, -2.0, 0.0, 0.0, 0.0]);
        assert_eq!([soft_factor(4.0, 1.0), soft_factor(1.0, 1.0), soft_factor(0.0, 1.0)], [0.75, 0.0, 0.0]);
    }

    #[test]
    fn residuals_of_any_length() {
        let ones = [1.0; 19];
        assert_eq!(residual_square(&ones, &[3.0; 19], &ones), 19.0 * 9.0);
    }
}
