//! The entry-wise part of an iteration, with vector instructions.

use pulp::{Simd, WithSimd};

use super::block::BlockStep;

/// One step of rows of an entry-wise sparse part, given their `L`: measures the residual and replaces
/// `E` and `X` by the next ones. The output is `|M - L - E|_F^2` before that.
pub(super) struct AdvanceEntries<'a> {
    pub(super) cols: usize,
    pub(super) step: BlockStep,
    /// Rows of `cols`.
    pub(super) m: &'a [f64],
    /// Rows of `stride`, zeros beyond `cols`.
    pub(super) low_rank: &'a [f64],
    pub(super) stride: usize,
    /// Rows of `cols`.
    pub(super) x: &'a mut [f64],
    /// Rows of `cols`.
    pub(super) e: &'a mut [f64],
    /// A copy of the new `X` in rows of `stride`, zeros beyond `cols`.
    pub(super) copy: &'a mut [f64],
}

impl WithSimd for AdvanceEntries<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let law = Law::new(simd, self.step);
        let mut squares = simd.splat_f64s(0.0);
        let rows = self.m.chunks_exact(self.cols).zip(self.low_rank.chunks_exact(self.stride));
        let state = self.x.chunks_exact_mut(self.cols).zip(self.e.chunks_exact_mut(self.cols));
        for (((m, l), (x, e)), copy) in rows.zip(state).zip(self.copy.chunks_exact_mut(self.stride)) {
            let ((m, m_rest), (l, _)) = (S::as_simd_f64s(m), S::as_simd_f64s(l));
            let ((x, x_rest), (e, e_rest)) = (S::as_mut_simd_f64s(x), S::as_mut_simd_f64s(e));
            let (copy, _) = S::as_mut_simd_f64s(copy);
            for ((((m, l), x), e), copy) in m.iter().zip(l).zip(x).zip(e).zip(copy.iter_mut()) {
                let next = law.advance(simd, *m, *x, *l, *e);
                squares = simd.mul_add_f64s(next.gap, next.gap, squares);
                (*x, *e, *copy) = (next.x, next.e, next.x);
            }
            if !m_rest.is_empty() {
                // Zeros fill up the vectors, and the padded rows are long enough for a full vector.
                let load = |rest: &[f64]| simd.partial_load_f64s(rest);
                let next = law.advance(simd, load(m_rest), load(x_rest), l[m.len()], load(e_rest));
                squares = simd.mul_add_f64s(next.gap, next.gap, squares);
                simd.partial_store_f64s(x_rest, next.x);
                simd.partial_store_f64s(e_rest, next.e);
                copy[m.len()] = next.x;
            }
        }
        simd.reduce_sum_f64s(squares)
    }
}

/// The constants of a step as vectors.
struct Law<S: Simd> {
    ratio: S::f64s,
    cut: S::f64s,
    minus_cut: S::f64s,
}

/// Result of a step for a vector of entries. Zeros stay zeros.
struct NextRows<S: Simd> {
    gap: S::f64s,
    e: S::f64s,
    x: S::f64s,
}

impl<S: Simd> Law<S> {
    #[inline(always)]
    fn new(simd: S, step: BlockStep) -> Law<S> {
        Law {
            ratio: simd.splat_f64s(step.ratio),
            cut: simd.splat_f64s(step.cut),
            minus_cut: simd.splat_f64s(-step.cut),
        }
    }

    #[inline(always)]
    fn advance(&self, simd: S, m: S::f64s, x: S::f64s, l: S::f64s, e: S::f64s) -> NextRows<S> {
        let rest = simd.sub_f64s(m, l);
        let multiplier = simd.mul_f64s(self.ratio, simd.sub_f64s(x, l));
        let target = simd.add_f64s(rest, multiplier);
        // soft(t, c) = t - min(max(t, -c), c)
        let clamped = simd.min_f64s(simd.max_f64s(target, self.minus_cut), self.cut);
        let sparse = simd.sub_f64s(target, clamped);
        let x = simd.add_f64s(simd.sub_f64s(m, sparse), multiplier);
        NextRows { gap: simd.sub_f64s(rest, e), e: sparse, x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robust_pca::padded::stride_for;
    use crate::robust_pca::processors::{Processor, processors};

    const STEP: BlockStep = BlockStep { ratio: 0.5, cut: 2.0 };

    /// Everything a step changes, and its output.
    struct Outcome {
        x: Vec<f64>,
        e: Vec<f64>,
        copy: Vec<f64>,
        squares: f64,
    }

    /// Integers, so that sums are exact in any order.
    fn value(i: usize, factor: usize) -> f64 {
        ((i * factor) % 17) as f64 - 8.0
    }

    fn advance(cols: usize, processor: Processor) -> Outcome {
        let (stride, count) = (stride_for(cols), 3 * cols);
        let array = |factor| (0..count).map(|i| value(i, factor)).collect::<Vec<_>>();
        let mut low_rank = vec![0.0; 3 * stride];
        for i in 0..count {
            low_rank[i / cols * stride + i % cols] = value(i, 5);
        }
        let (m, mut x, mut e, mut copy) = (array(3), array(7), array(11), vec![0.0; 3 * stride]);
        let squares = processor.run(AdvanceEntries {
            cols,
            step: STEP,
            m: &m,
            low_rank: &low_rank,
            stride,
            x: &mut x,
            e: &mut e,
            copy: &mut copy,
        });
        Outcome { x, e, copy, squares }
    }

    #[test]
    fn a_step_follows_its_definition() {
        for (cols, processor) in (1..20).flat_map(|cols| processors().map(move |processor| (cols, processor)))
        {
            let found = advance(cols, processor);
            let mut squares = 0.0;
            for i in 0..3 * cols {
                let (m, x, l, e) = (value(i, 3), value(i, 7), value(i, 5), value(i, 11));
                let multiplier = 0.5 * (x - l);
                let target = m - l + multiplier;
                let sparse = target.signum() * (target.abs() - 2.0).max(0.0);
                assert_eq!((found.e[i], found.x[i]), (sparse, m - sparse + multiplier));
                assert_eq!(found.copy[i / cols * stride_for(cols) + i % cols], found.x[i]);
                squares += (m - l - e) * (m - l - e);
            }
            assert_eq!(found.squares, squares);
            let nonzero = |values: &[f64]| values.iter().filter(|value| **value != 0.0).count();
            assert_eq!(nonzero(&found.copy), nonzero(&found.x), "the padding stays zero");
        }
    }
}
