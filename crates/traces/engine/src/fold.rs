//! A question as start, add, merge, finish; and the engine that runs it on this machine's cores.

use crate::parallel::in_parallel;
use crate::view::{RequestRange, RequestView};
use std::num::NonZeroUsize;

/// A computation over requests that may be split anywhere between requests.
///
/// ```text
///  stretch 0: start ─ add ─ add ──┐
///  stretch 1: start ─ add ────────┤ merge (in order) ─ finish ─► Output
///  stretch 2: start ─ add ─ add ──┘
/// ```
///
/// Laws, checked by [`contract::check`](crate::contract::check): merging a fresh partial changes nothing;
/// merging is associative; any split of the requests gives the same output. Partials hold counts and columns,
/// never the requests themselves. Requests come by start, then trace.
pub trait Fold: Sync {
    /// What one part of the requests amounts to.
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

/// Requests are cut into so many stretches: several times the cores of most machines.
const STRETCHES: usize = 32;

/// … unless there would be fewer in each than this: a stretch has to pay for its partial.
const STRETCH_REQUESTS_MIN: usize = 512;

impl LocalEngine {
    /// An engine with so many threads.
    pub const fn new(threads: NonZeroUsize) -> LocalEngine {
        LocalEngine { threads }
    }

    /// How many threads it uses.
    pub const fn threads(self) -> NonZeroUsize {
        self.threads
    }

    /// Answers for some pieces of work, in their order.
    pub fn map<P: Sync, A: Send>(self, pieces: &[P], work: impl Fn(&P) -> A + Sync) -> Vec<A> {
        in_parallel(pieces, self.threads, work)
    }

    /// Runs a fold. The answer does not depend on the number of threads: every stretch has its own partial,
    /// and partials merge in order.
    pub fn fold<F: Fold>(self, range: RequestRange<'_>, fold: &F) -> F::Output {
        let length = range.len().div_ceil(STRETCHES).max(STRETCH_REQUESTS_MIN);
        let stretches: Vec<RequestRange<'_>> = (0..range.len())
            .step_by(length)
            .map(|from| range.part(from, (from + length).min(range.len())))
            .collect();
        let partials = in_parallel(&stretches, self.threads, |stretch| {
            let mut partial = fold.start();
            stretch.iter().for_each(|request| fold.add(&mut partial, &request));
            partial
        });
        let mut whole = fold.start();
        for partial in partials {
            fold.merge(&mut whole, partial);
        }
        fold.finish(whole)
    }
}
