//! The state of the iteration, cut into stripes of rows for threads and blocks of rows for the cache.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::thread;

use nalgebra::DMatrix;

use super::padded::{LANES_MAX, Padded, stride_for};

/// Bytes of one intermediate array of a block: two of them, and the rows of the state they are made from,
/// fit into a small second-level cache.
const BLOCK_BYTES: usize = 1 << 16;
/// Fewest rows of a block that keep a matrix product busy.
const BLOCK_ROWS_MIN: usize = 16;
/// Most stripes: enough for threads to even out, few enough for their sums to stay small.
const STRIPES_MAX: usize = 64;

/// The arrays of the iteration, each `rows x cols`, and what the passes over them add up.
pub(super) struct StripeState {
    /// The matrix to decompose.
    pub(super) m: Vec<f64>,
    /// `M - E + Y/mu`.
    pub(super) x: Vec<f64>,
    /// The sparse part.
    pub(super) e: Vec<f64>,
    partition: Partition,
    sums: Vec<StripeSums>,
}

/// How the rows are cut. It depends on the shape only, never on the number of threads: sums are computed
/// within blocks, over the blocks of a stripe, and over the stripes, always in the same order.
#[derive(Clone, Copy)]
struct Partition {
    cols: usize,
    block_rows: usize,
    stripe_rows: usize,
}

/// A few rows of the state.
pub(super) struct RowBlock<'a> {
    pub(super) m: &'a [f64],
    pub(super) x: &'a mut [f64],
    pub(super) e: &'a mut [f64],
}

/// Buffers for intermediate results, reused from block to block.
pub(super) struct Scratch {
    /// `L`.
    pub(super) low_rank: Padded,
    /// The next `X`.
    pub(super) next: Padded,
    /// `X` in the basis of its largest singular vectors; rows as long as they need to be.
    pub(super) coordinates: Vec<f64>,
}

/// Sums of a pass over the rows.
pub(super) struct StripeSums {
    /// Upper triangle of `X'X`.
    pub(super) gram: Padded,
    /// `|M - L - E|_F^2`.
    pub(super) residual_square: f64,
    /// Squared norms of columns.
    pub(super) column_squares: Vec<f64>,
}

struct Stripe<'a> {
    block: RowBlock<'a>,
    sums: &'a mut StripeSums,
}

impl Partition {
    fn new(rows: usize, cols: usize) -> Partition {
        let cached = BLOCK_BYTES / (size_of::<f64>() * stride_for(cols));
        // Small matrices are cut as well, so that threads have something to share.
        let block_rows = cached.min(rows.div_ceil(8)).max(BLOCK_ROWS_MIN).next_multiple_of(8);
        // The sums of all stripes together take at most a quarter of the matrix (or two sums).
        let stripes = (rows / (4 * cols)).clamp(2, STRIPES_MAX);
        let stripe_rows = rows.div_ceil(stripes).next_multiple_of(block_rows);
        Partition { cols, block_rows, stripe_rows }
    }
}

impl StripeState {
    /// Starts with `X = E = 0`. Requires `m` to hold complete rows of `cols > 0`, at least one.
    pub(super) fn new(m: Vec<f64>, cols: usize) -> StripeState {
        let rows = m.len() / cols;
        let partition = Partition::new(rows, cols);
        let sums = (0..rows.div_ceil(partition.stripe_rows)).map(|_| StripeSums::new(cols)).collect();
        StripeState { x: vec![0.0; m.len()], e: vec![0.0; m.len()], m, partition, sums }
    }

    /// Runs `work` on all blocks. Sums start from zero; read them afterwards.
    pub(super) fn pass<F>(&mut self, threads: NonZeroUsize, work: F)
    where
        F: Fn(RowBlock<'_>, &mut StripeSums, &mut Scratch) + Sync,
    {
        laggard_parallel::check_canceled();
        let partition = self.partition;
        let workers = threads.get().min(self.sums.len());
        let queue = Mutex::new(self.stripes());
        let next = || queue.lock().expect("taking a stripe cannot panic").next();
        let drain = || {
            let mut scratch = Scratch::new(partition);
            while let Some(stripe) = next() {
                stripe.work_through(partition, &work, &mut scratch);
            }
        };
        thread::scope(|scope| {
            for _ in 1..workers {
                // Where no thread is to be had, those there are do the work.
                let _ = thread::Builder::new().spawn_scoped(scope, drain);
            }
            drain();
        });
    }

    fn stripes(&mut self) -> impl Iterator<Item = Stripe<'_>> {
        let length = self.partition.stripe_rows * self.partition.cols;
        let arrays = self.m.chunks(length).zip(self.x.chunks_mut(length)).zip(self.e.chunks_mut(length));
        arrays.zip(&mut self.sums).map(|(((m, x), e), sums)| Stripe { block: RowBlock { m, x, e }, sums })
    }

    /// `X'X` as the last pass added it up.
    pub(super) fn gram(&self) -> DMatrix<f64> {
        let cols = self.partition.cols;
        let (first, others) = self.sums.split_first().expect("there is a stripe");
        let (stride, mut total) = (first.gram.stride, first.gram.data.clone());
        for sums in others {
            total.iter_mut().zip(&sums.gram.data).for_each(|(total, part)| *total += part);
        }
        DMatrix::from_fn(cols, cols, |i, j| total[i.min(j) * stride + i.max(j)])
    }

    /// `|M - L - E|_F` as the last pass added it up.
    pub(super) fn residual_norm(&self) -> f64 {
        self.sums.iter().map(|sums| sums.residual_square).sum::<f64>().sqrt()
    }

    /// Norms of the columns as the last pass added them up.
    pub(super) fn column_norms(&self) -> Vec<f64> {
        let column = |j| self.sums.iter().map(|sums| sums.column_squares[j]).sum::<f64>().sqrt();
        (0..self.partition.cols).map(column).collect()
    }
}

impl Stripe<'_> {
    fn work_through<F>(self, partition: Partition, work: &F, scratch: &mut Scratch)
    where
        F: Fn(RowBlock<'_>, &mut StripeSums, &mut Scratch),
    {
        self.sums.reset();
        let length = partition.block_rows * partition.cols;
        let RowBlock { m, x, e } = self.block;
        for ((m, x), e) in m.chunks(length).zip(x.chunks_mut(length)).zip(e.chunks_mut(length)) {
            work(RowBlock { m, x, e }, self.sums, scratch);
        }
    }
}

impl Scratch {
    fn new(partition: Partition) -> Scratch {
        let block = || Padded::zeros(partition.block_rows, partition.cols);
        Scratch { low_rank: block(), next: block(), coordinates: block().data }
    }

    /// Rows of `L` without their padding.
    pub(super) fn low_rank_rows(&self) -> impl Iterator<Item = &[f64]> {
        let Padded { cols, stride, data } = &self.low_rank;
        data.chunks_exact(*stride).map(|row| &row[..*cols])
    }
}

impl StripeSums {
    fn new(cols: usize) -> StripeSums {
        let gram = Padded::zeros(cols.next_multiple_of(LANES_MAX), cols);
        StripeSums { gram, residual_square: 0.0, column_squares: vec![0.0; cols] }
    }

    fn reset(&mut self) {
        self.gram.data.fill(0.0);
        self.residual_square = 0.0;
        self.column_squares.fill(0.0);
    }
}
