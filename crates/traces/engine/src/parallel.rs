//! Work that splits into pieces of its own, on several threads; answers come in the order of the pieces.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers for some pieces, which stay.
pub(crate) fn in_parallel<P: Sync, A: Send>(
    pieces: &[P],
    threads: NonZeroUsize,
    work: impl Fn(&P) -> A + Sync,
) -> Vec<A> {
    let next = AtomicUsize::new(0);
    run(pieces.len(), threads, || {
        let at = next.fetch_add(1, Ordering::Relaxed);
        pieces.get(at).map(|piece| (at, work(piece)))
    })
}

/// Answers for some pieces, which are let go of one by one.
pub(crate) fn in_order<P: Send, A: Send>(
    pieces: Vec<P>,
    threads: NonZeroUsize,
    work: impl Fn(P) -> A + Sync,
) -> Vec<A> {
    let count = pieces.len();
    let waiting = Mutex::new(pieces.into_iter().enumerate());
    run(count, threads, || {
        let (at, piece) = waiting.lock().expect("no thread panics while it holds the lock").next()?;
        Some((at, work(piece)))
    })
}

/// Calls `step` on every thread until it has nothing more; answers by their number.
fn run<A: Send>(count: usize, threads: NonZeroUsize, step: impl Fn() -> Option<(usize, A)> + Sync) -> Vec<A> {
    let done = Mutex::new(Vec::with_capacity(count));
    let work = || {
        while let Some(answer) = step() {
            done.lock().expect("no thread panics while it holds the lock").push(answer);
        }
    };
    match threads.get().min(count) {
        0 | 1 => work(),
        threads => std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
    }
    let mut done = done.into_inner().expect("no thread panics while it holds the lock");
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, answer)| answer).collect()
}
