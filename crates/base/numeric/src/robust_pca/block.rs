//! One iteration on a block of rows.

use pulp::Arch;

use super::entries::AdvanceEntries;
use super::products::AddGram;
use super::shrinkage::Shrinkage;
use super::stripes::{RowBlock, Scratch, StripeSums};

/// Numbers of one step from penalty `mu` to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockStep {
    /// `mu / mu_next`, by which `X - L = Y/mu` becomes `Y/mu_next`.
    pub(super) ratio: f64,
    /// `lambda / mu_next`, by which the next sparse part is shrunk.
    pub(super) cut: f64,
}

/// Lanes of a sum of squares: independent additions that may be done at once.
const LANES: usize = 8;

impl RowBlock<'_> {
    /// Sets `X = M` and adds to its Gram matrix.
    pub(super) fn begin(self, arch: Arch, cols: usize, sums: &mut StripeSums, scratch: &mut Scratch) {
        self.x.copy_from_slice(self.m);
        self.add_gram(arch, cols, sums, scratch);
    }

    fn add_gram(&self, arch: Arch, cols: usize, sums: &mut StripeSums, scratch: &mut Scratch) {
        let (stride, rows) = (scratch.next.stride, self.x.chunks_exact(cols));
        for (from, to) in rows.zip(scratch.next.data.chunks_exact_mut(stride)) {
            to[..cols].copy_from_slice(from);
        }
        let used = &scratch.next.data[..self.rows(cols) * stride];
        arch.dispatch(AddGram { block: used, gram: &mut sums.gram });
    }

    /// One complete iteration with an entry-wise sparse part: residual of the current parts, then the next
    /// `E`, `X` and Gram matrix.
    pub(super) fn advance_entries(
        self,
        arch: Arch,
        shrinkage: &Shrinkage,
        step: BlockStep,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        let (cols, stride) = (scratch.low_rank.cols, scratch.low_rank.stride);
        shrinkage.apply(arch, self.x, scratch);
        let used = self.rows(cols) * stride;
        let copy = &mut scratch.next.data[..used];
        let low_rank = &scratch.low_rank.data[..used];
        let RowBlock { m, x, e } = self;
        let advance = AdvanceEntries { cols, step, m, low_rank, stride, x, e, copy };
        sums.residual_square += arch.dispatch(advance);
        arch.dispatch(AddGram { block: &scratch.next.data[..used], gram: &mut sums.gram });
    }

    /// The same with a row-wise sparse part.
    pub(super) fn advance_rows(
        mut self,
        arch: Arch,
        shrinkage: &Shrinkage,
        step: BlockStep,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        let cols = scratch.low_rank.cols;
        self.depart(arch, shrinkage, step, sums, scratch);
        for ((m, x), e) in self.m.chunks(cols).zip(self.x.chunks_mut(cols)).zip(self.e.chunks_mut(cols)) {
            let norm = e.iter().map(|value| value * value).sum::<f64>().sqrt();
            let factor = soft_factor(norm, step.cut);
            for ((m, x), e) in m.iter().zip(x).zip(e) {
                *e *= factor;
                *x += m - *e;
            }
        }
        self.add_gram(arch, cols, sums, scratch);
    }

    /// First half of an iteration with a column-wise sparse part: `X` becomes `Y/mu_next`, `E` what is to
    /// be shrunk, whose columns are measured.
    pub(super) fn measure_columns(
        mut self,
        arch: Arch,
        shrinkage: &Shrinkage,
        step: BlockStep,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        self.depart(arch, shrinkage, step, sums, scratch);
        for row in self.e.chunks(scratch.low_rank.cols) {
            sums.column_squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
    }

    /// Second half: shrinks each column by its factor, completes `X` and adds to its Gram matrix.
    pub(super) fn shrink_columns(
        self,
        arch: Arch,
        factors: &[f64],
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        let cols = factors.len();
        for ((m, x), e) in self.m.chunks(cols).zip(self.x.chunks_mut(cols)).zip(self.e.chunks_mut(cols)) {
            for (((m, x), e), factor) in m.iter().zip(x).zip(e).zip(factors) {
                *e *= factor;
                *x += m - *e;
            }
        }
        self.add_gram(arch, cols, sums, scratch);
    }

    /// Residual of the current parts; changes nothing.
    pub(super) fn probe(
        &self,
        arch: Arch,
        shrinkage: &Shrinkage,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        let cols = scratch.low_rank.cols;
        shrinkage.apply(arch, self.x, scratch);
        for ((m, e), l) in self.m.chunks(cols).zip(self.e.chunks(cols)).zip(scratch.low_rank_rows()) {
            sums.residual_square += residual_square(m, l, e);
        }
    }

    /// Residual of the current parts; overwrites `X` with `L`.
    pub(super) fn conclude(
        self,
        arch: Arch,
        shrinkage: &Shrinkage,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        self.probe(arch, shrinkage, sums, scratch);
        for (x, l) in self.x.chunks_mut(scratch.low_rank.cols).zip(scratch.low_rank_rows()) {
            x.copy_from_slice(l);
        }
    }

    /// `X` becomes `Y/mu_next` and `E` becomes `M - L + Y/mu_next`; the residual is measured before.
    fn depart(
        &mut self,
        arch: Arch,
        shrinkage: &Shrinkage,
        step: BlockStep,
        sums: &mut StripeSums,
        scratch: &mut Scratch,
    ) {
        let cols = scratch.low_rank.cols;
        self.probe(arch, shrinkage, sums, scratch);
        let state = self.m.chunks(cols).zip(self.x.chunks_mut(cols)).zip(self.e.chunks_mut(cols));
        for (((m, x), e), l) in state.zip(scratch.low_rank_rows()) {
            for (((m, x), e), l) in m.iter().zip(x).zip(e).zip(l) {
                *x = step.ratio * (*x - l);
                *e = m - l + *x;
            }
        }
    }

    fn rows(&self, cols: usize) -> usize {
        self.m.len() / cols
    }
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
    fn factors_of_soft_thresholding() {
        assert_eq!([soft_factor(4.0, 1.0), soft_factor(1.0, 1.0), soft_factor(0.0, 1.0)], [0.75, 0.0, 0.0]);
    }

    #[test]
    fn residuals_of_any_length() {
        let ones = [1.0; 19];
        assert_eq!(residual_square(&ones, &[3.0; 19], &ones), 19.0 * 9.0);
    }
}
