//! The memory budget for open data.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Notify};

/// What the stores of one process use together: they share their limits. A handle: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    inner: Arc<SharedUse>,
}

#[derive(Debug)]
struct SharedUse {
    /// Bytes of open data.
    open: AtomicUsize,
    freed: Notify,
    /// Stores that are open.
    stores: AtomicUsize,
    /// Held by the store that compacts: each job needs the memory of a segment's spans.
    compacting: Mutex<()>,
    /// Bytes that a job may need.
    compaction: AtomicUsize,
}

impl Default for SharedUse {
    fn default() -> SharedUse {
        SharedUse {
            open: AtomicUsize::new(0),
            freed: Notify::new(),
            stores: AtomicUsize::new(0),
            compacting: Mutex::new(()),
            compaction: AtomicUsize::new(usize::MAX),
        }
    }
}

impl SharedMemory {
    /// Counts a store as open, until the guard is dropped.
    pub(crate) fn open_store(&self) -> OpenStore {
        self.inner.stores.fetch_add(1, Ordering::Relaxed);
        OpenStore { memory: self.clone() }
    }

    /// The part of each open store of something that they share.
    pub(crate) fn part_of(&self, bytes: usize) -> usize {
        bytes / self.inner.stores.load(Ordering::Relaxed).max(1)
    }

    /// Sets how much memory a compaction may need from now on, bytes; unlimited at first. With less it merges fewer spans at a
    /// time, and with too little for that it waits.
    pub fn set_compaction_bytes(&self, bytes: usize) {
        self.inner.compaction.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn compaction_bytes(&self) -> usize {
        self.inner.compaction.load(Ordering::Relaxed)
    }

    /// The turn of one store to compact; the next one's when it is dropped.
    pub(crate) async fn compaction_turn(&self) -> MutexGuard<'_, ()> {
        self.inner.compacting.lock().await
    }
}

/// An open store among those that share memory.
#[derive(Debug)]
pub(crate) struct OpenStore {
    memory: SharedMemory,
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.memory.inner.stores.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A limit on bytes of memory of all stores together, and the bytes that one of them uses.
#[derive(Debug)]
pub(crate) struct Budget {
    max: usize,
    used: AtomicUsize,
    /// Bytes of batches that wait for memory: they are in memory, too.
    waiting: AtomicUsize,
    all: SharedMemory,
}

/// The limit was still exceeded when the wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BudgetError;

impl Budget {
    pub(crate) fn new(max: usize, all: SharedMemory) -> Budget {
        let (used, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Budget { max, used, waiting, all }
    }

    /// Reserves bytes; waits up to `patience` for them, unless too many bytes are waiting already.
    pub(crate) async fn acquire(&self, bytes: usize, patience: Duration) -> Result<(), BudgetError> {
        if self.try_acquire(bytes) {
            return Ok(());
        }
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let _guard = WaitingGuard { budget: self, bytes };
        if waiting > self.max / 4 {
            return Err(BudgetError);
        }
        let wait = async {
            loop {
                let freed = self.all.inner.freed.notified();
                tokio::pin!(freed);
                // Registers first, so that bytes released in between are not missed.
                freed.as_mut().enable();
                if self.try_acquire(bytes) {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(patience, wait).await.map_err(|_| BudgetError)
    }

    fn try_acquire(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|&used| used <= self.max);
        let acquired = self.all.inner.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if acquired {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }
        acquired
    }

    /// Reserves bytes regardless of the limit.
    pub(crate) fn force(&self, bytes: usize) {
        self.all.inner.open.fetch_add(bytes, Ordering::Relaxed);
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.all.inner.open.fetch_sub(bytes, Ordering::Relaxed);
        self.all.inner.freed.notify_waiters();
    }

    /// What all stores share.
    pub(crate) fn shared(&self) -> &SharedMemory {
        &self.all
    }

    /// Bytes that this store uses.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Whether data should go to segments before they are idle.
    pub(crate) fn is_tight(&self) -> bool {
        self.all.inner.open.load(Ordering::Relaxed) > self.max / 4 * 3
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.release(self.used());
    }
}

/// Decrements the waiting bytes when the wait ends, also if its future is dropped.
struct WaitingGuard<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.budget.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_memory_then_gives_up() {
        let budget = Arc::new(Budget::new(100, SharedMemory::default()));
        assert_eq!(budget.acquire(90, Duration::ZERO).await, Ok(()));
        assert!(budget.is_tight());
        assert_eq!(budget.acquire(20, Duration::from_millis(5)).await, Err(BudgetError));
        assert_eq!(budget.acquire(30, Duration::from_secs(60)).await, Err(BudgetError), "more than may wait");
        let waiting = budget.clone();
        let waiter = tokio::spawn(async move { waiting.acquire(20, Duration::from_secs(60)).await });
        tokio::task::yield_now().await;
        budget.release(50);
        assert_eq!(waiter.await.unwrap(), Ok(()));
        assert_eq!((budget.used(), budget.waiting.load(Ordering::Relaxed)), (60, 0));
    }
    #[tokio::test]
    async fn stores_share_their_limit_and_return_what_they_used() {
        let all = SharedMemory::default();
        let (first, second) = (Budget::new(100, all.clone()), Budget::new(100, all.clone()));
        assert_eq!(first.acquire(80, Duration::ZERO).await, Ok(()));
        assert_eq!(second.acquire(30, Duration::ZERO).await, Err(BudgetError));
        assert!(second.is_tight() && second.used() == 0);
        drop(first);
        assert_eq!(second.acquire(30, Duration::ZERO).await, Ok(()));
        let stores = [all.open_store(), all.open_store()];
        assert_eq!(all.part_of(100), 50);
        drop(stores);
        assert_eq!(all.part_of(100), 100);
    }
}
