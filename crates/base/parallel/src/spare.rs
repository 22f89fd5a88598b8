//! Threads that several pieces of work share.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many more threads may work. A handle: clones share one number. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct SpareThreads {
    free: Arc<AtomicUsize>,
}

impl SpareThreads {
    /// This many threads.
    pub fn new(threads: usize) -> SpareThreads {
        SpareThreads { free: Arc::new(AtomicUsize::new(threads)) }
    }

    /// As many threads as there are, of which the caller's is one.
    pub fn beside_caller(threads: NonZeroUsize) -> SpareThreads {
        SpareThreads::new(threads.get() - 1)
    }

    /// Takes one thread, if there is one.
    pub fn take(&self) -> bool {
        let one_less = |free: usize| free.checked_sub(1);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Returns threads that were taken, or that do nothing else any more.
    pub fn give(&self, threads: usize) {
        self.free.fetch_add(threads, Ordering::Relaxed);
    }
}
