//! A question as start, add, merge, finish; and the engine that runs it on this machine's cores.

use crate::view::{RequestRange, RequestView};
use laggard_parallel::parallel_map;
use std::num::NonZeroUsize;

/// A computation over requests that may be split anywhere between requests.
///
/// ```text
///  range 0: start ─ add ─ add ──┐
///  range 1: start ─ add ────────┤ merge (in order) ─ finish ─► Output
///  range 2: start ─ add ─ add ──┘
/// ```
///
/// Laws, checked by `contract::check`: merging a fresh partial changes nothing;
/// merging is associative; any split of the requests gives the same output. Partials hold counts and columns,
/// never the requests themselves. Requests come by start, then trace.
pub trait Fold: Sync {
    /// The partial result for a range of requests; partial results are merged in order.
    type Partial: Send;
    /// The answer.
    type Output;

    /// A partial that has seen nothing.
    fn start(&self) -> Self::Partial;

    /// Takes the next request.
    fn add(&self, partial: &mut Self::Partial, request: &RequestView<'_>);

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

/// Maximum number of ranges that requests are split into: several times the cores of most machines.
const RANGES_MAX: usize = 32;

/// Minimum number of requests in a range, so that the cost of its partial is small.
const RANGE_REQUESTS_MIN: usize = 512;

impl LocalEngine {
    /// An engine with this number of threads.
    pub const fn new(threads: NonZeroUsize) -> LocalEngine {
        LocalEngine { threads }
    }

    /// How many threads it uses.
    pub const fn threads(self) -> NonZeroUsize {
        self.threads
    }

    /// Applies `work` to every item in parallel; results in the order of the items.
    pub fn map<P: Sync, A: Send>(self, items: &[P], work: impl Fn(&P) -> A + Sync) -> Vec<A> {
        parallel_map(items, self.threads, work)
    }

    /// Runs a fold. The answer does not depend on the number of threads: every range has its own partial,
    /// and partials merge in order.
    pub fn fold<F: Fold>(self, range: RequestRange<'_>, fold: &F) -> F::Output {
        let length = range.len().div_ceil(RANGES_MAX).max(RANGE_REQUESTS_MIN);
        let intervals: Vec<RequestRange<'_>> = (0..range.len())
            .step_by(length)
            .map(|from| range.part(from, (from + length).min(range.len())))
            .collect();
        let partials = parallel_map(&intervals, self.threads, |interval| {
            let mut partial = fold.start();
            interval.iter().for_each(|request| fold.add(&mut partial, &request));
            partial
        });
        let mut merged = fold.start();
        for partial in partials {
            fold.merge(&mut merged, partial);
        }
        fold.finish(merged)
    }
}
