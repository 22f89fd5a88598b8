//! Memory that open data may take.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Bytes that are taken, and a limit.
#[derive(Debug)]
pub(crate) struct Budget {
    max: usize,
    used: AtomicUsize,
    /// Bytes of batches that wait for room: they are in memory, too.
    waiting: AtomicUsize,
    freed: Notify,
}

/// There was no room in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl Budget {
    pub(crate) fn new(max: usize) -> Budget {
        let (used, waiting) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Budget { max, used, waiting, freed: Notify::new() }
    }

    /// Takes bytes; waits for them for a while, unless too many wait already.
    pub(crate) async fn take(&self, bytes: usize, patience: Duration) -> Result<(), Full> {
        if self.try_take(bytes) {
            return Ok(());
        }
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let _leave = Leave { budget: self, bytes };
        if waiting > self.max / 4 {
            return Err(Full);
        }
        let wait = async {
            loop {
                let freed = self.freed.notified();
                tokio::pin!(freed);
                // Before looking, so that nothing is missed that is given back in between.
                freed.as_mut().enable();
                if self.try_take(bytes) {
                    return;
                }
                freed.await;
            }
        };
        tokio::time::timeout(patience, wait).await.map_err(|_| Full)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|&used| used <= self.max);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Takes bytes that are there whatever the limit says.
    pub(crate) fn force(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn give(&self, bytes: usize) {
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

/// Counts a waiting batch out, also when its sender stops waiting.
struct Leave<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.budget.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_room_then_gives_up() {
        let budget = std::sync::Arc::new(Budget::new(100));
        assert_eq!(budget.take(90, Duration::ZERO).await, Ok(()));
        assert!(budget.is_tight());
        assert_eq!(budget.take(20, Duration::from_millis(5)).await, Err(Full));
        assert_eq!(budget.take(30, Duration::from_secs(60)).await, Err(Full), "more than may wait");
        let waiting = budget.clone();
        let waiter = tokio::spawn(async move { waiting.take(20, Duration::from_secs(60)).await });
        tokio::task::yield_now().await;
        budget.give(50);
        assert_eq!(waiter.await.unwrap(), Ok(()));
        assert_eq!((budget.used(), budget.waiting.load(Ordering::Relaxed)), (60, 0));
    }
}
