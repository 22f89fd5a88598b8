//! A question as start, add, merge, finish; and the engine that runs it on this machine's cores.

use crate::Traces;
use laggard_model::SpanRow;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A computation over whole traces that may be split anywhere between traces.
///
/// ```text
///  bucket 0: start ─ add ─ add ──┐
///  bucket 1: start ─ add ────────┤ merge (in bucket order) ─ finish ─► Output
///  bucket 2: start ─ add ─ add ──┘
/// ```
///
/// Laws, checked by [`contract::check`](crate::contract::check): merging a fresh partial changes nothing;
/// merging is associative; any split of the traces gives the same output. Partials hold counts and columns,
/// never the spans themselves.
pub trait Fold: Sync {
    /// What one part of the traces amounts to.
    type Partial: Send;
    /// The answer.
    type Output;

    /// A partial that has seen nothing.
    fn start(&self) -> Self::Partial;

    /// Takes all rows of one trace, ordered by start then span id; never empty.
    fn add(&self, partial: &mut Self::Partial, trace: &[SpanRow]);

    /// Adds a later part to an earlier one.
    fn merge(&self, into: &mut Self::Partial, later: Self::Partial);

    /// The answer of everything merged.
    fn finish(&self, partial: Self::Partial) -> Self::Output;
}

/// Runs folds on the cores of this machine.
#[derive(Clone, Copy, Debug)]
pub struct LocalEngine {
    threads: NonZeroUsize,
}

impl LocalEngine {
    /// An engine with so many threads.
    pub const fn new(threads: NonZeroUsize) -> LocalEngine {
        LocalEngine { threads }
    }

    /// How many threads it uses.
    pub const fn threads(self) -> NonZeroUsize {
        self.threads
    }

    /// Runs a fold. The answer does not depend on the number of threads: every bucket has its own partial,
    /// and partials merge in bucket order.
    pub fn fold<F: Fold>(self, traces: &Traces, fold: &F) -> F::Output {
        let next = AtomicUsize::new(0);
        let buckets = traces.buckets();
        let partials: Mutex<Vec<(usize, F::Partial)>> = Mutex::new(Vec::with_capacity(buckets.len()));
        std::thread::scope(|scope| {
            for _ in 0..self.threads.get().min(buckets.len()) {
                scope.spawn(|| {
                    while let Some((at, bucket)) = take(&next, buckets) {
                        let mut partial = fold.start();
                        for trace in bucket.chunk_by(|a, b| a.trace == b.trace) {
                            fold.add(&mut partial, trace);
                        }
                        partials
                            .lock()
                            .expect("no thread panics while it holds the lock")
                            .push((at, partial));
                    }
                });
            }
        });
        let mut partials = partials.into_inner().expect("no thread panics while it holds the lock");
        partials.sort_unstable_by_key(|&(at, _)| at);
        let mut whole = fold.start();
        for (_, partial) in partials {
            fold.merge(&mut whole, partial);
        }
        fold.finish(whole)
    }
}

fn take<'a>(next: &AtomicUsize, buckets: &'a [Vec<SpanRow>]) -> Option<(usize, &'a [SpanRow])> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    buckets.get(at).map(|bucket| (at, bucket.as_slice()))
}
