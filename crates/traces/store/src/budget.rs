//! The memory budget for open data.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// A limit on bytes of memory, and the bytes in use.
#[derive(Debug)]
pub(crate) struct Budget {
    max: usize,
    used: AtomicUsize,
    /// Bytes of batches that wait for memory: they are in memory, too.
    waiting: AtomicUsize,
    freed: Notify,
}

/// The limit was still exceeded when the wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BudgetError;

impl Budget {
    pub(crate) fn new(max: usize) -> Budget {
        let (used, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Budget { max, used, waiting, freed: Notify::new() }
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
                let freed = self.freed.notified();
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
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Reserves bytes regardless of the limit.
    pub(crate) fn force(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.freed.notify_waiters();
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Whether data should go to segments before they are idle.
    pub(crate) fn is_tight(&self) -> bool {
        self.used() > self.max / 4 * 3
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
        let budget = std::sync::Arc::new(Budget::new(100));
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
}
