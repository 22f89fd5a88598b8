//! Runs independent work items on several threads; results are in the order of the items.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `work` to borrowed items.
pub(crate) fn in_parallel<P: Sync, A: Send>(
    items: &[P],
    threads: NonZeroUsize,
    work: impl Fn(&P) -> A + Sync,
) -> Vec<A> {
    let next = AtomicUsize::new(0);
    run(items.len(), threads, || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        items.get(index).map(|item| (index, work(item)))
    })
}

/// Applies `work` to owned items; each is dropped as soon as it is done.
pub(crate) fn in_order<P: Send, A: Send>(
    items: Vec<P>,
    threads: NonZeroUsize,
    work: impl Fn(P) -> A + Sync,
) -> Vec<A> {
    let count = items.len();
    let waiting = Mutex::new(items.into_iter().enumerate());
    run(count, threads, || {
        let (index, item) = waiting.lock().expect("no thread panics while it holds the lock").next()?;
        Some((index, work(item)))
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
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, answer)| answer).collect()
}
