//! Ends work that nobody waits for any longer.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
}

/// The cancellation of some work. A handle: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    /// 0 as long as it is not canceled, else one more than the index of the reason.
    reason: Arc<AtomicU8>,
}

/// Why work was canceled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelReason {
    /// Nobody waits for it any longer.
    Unwanted,
    /// The process would need more memory than it may.
    Memory,
    /// It took too long.
    Time,
}

impl CancelReason {
    const ALL: [CancelReason; 3] = [CancelReason::Unwanted, CancelReason::Memory, CancelReason::Time];
}

/// The work was canceled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Canceled(pub CancelReason);

impl std::fmt::Display for Canceled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            CancelReason::Unwanted => "canceled",
            CancelReason::Memory => "canceled: not enough memory",
            CancelReason::Time => "canceled: it took too long",
        })
    }
}

impl std::error::Error for Canceled {}

impl Cancellation {
    /// Cancels the work: it ends at its next check. The first reason counts.
    pub fn cancel(&self, reason: CancelReason) {
        let _ = self.reason.compare_exchange(0, reason as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Why it is canceled; `None` if it is not.
    pub fn reason(&self) -> Option<CancelReason> {
        let reason = self.reason.load(Ordering::Relaxed);
        CancelReason::ALL.get(usize::from(reason).checked_sub(1)?).copied()
    }

    /// Does work that can be canceled. What it changed elsewhere before it was canceled remains.
    ///
    /// # Errors
    /// When it was canceled at one of its checks.
    ///
    /// # Panics
    /// When the work does.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, Canceled> {
        catch_unwind(AssertUnwindSafe(|| self.enter(work))).map_err(|payload| {
            match payload.downcast::<Canceled>() {
                Ok(canceled) => *canceled,
                Err(payload) => resume_unwind(payload),
            }
        })
    }

    /// Does work on this thread as part of what can be canceled.
    fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = CURRENT.with(|current| current.replace(Some(self.clone())));
        let _restored = Restored(before);
        work()
    }
}

/// Sets the cancellation of a thread back, also after a panic.
struct Restored(Option<Cancellation>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

/// The cancellation that the work of this thread belongs to, for work that it starts on other threads.
pub(crate) fn current() -> Option<Cancellation> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Does part of the work of another thread.
pub(crate) fn on_behalf_of<R>(cancellation: Option<&Cancellation>, work: impl FnOnce() -> R) -> R {
    match cancellation {
        Some(cancellation) => cancellation.enter(work),
        None => work(),
    }
}

/// Unwinds this thread if its work is canceled. To be called in loops that may take longer than a tenth of a second; costs some
/// nanoseconds. Destructors run as in a panic, but nothing is printed.
pub fn check_canceled() {
    if let Some(reason) = CURRENT.with(|current| current.borrow().as_ref().and_then(Cancellation::reason)) {
        resume_unwind(Box::new(Canceled(reason)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_first_check_once_it_is_canceled() {
        let cancellation = Cancellation::default();
        let mut done = 0;
        let result = cancellation.run(|| {
            loop {
                check_canceled();
                done += 1;
                if done == 3 {
                    cancellation.cancel(CancelReason::Memory);
                    cancellation.cancel(CancelReason::Unwanted);
                }
            }
        });
        assert_eq!((result, done), (Err::<(), Canceled>(Canceled(CancelReason::Memory)), 3));
        check_canceled(); // The thread itself is not canceled.
        assert_eq!(Cancellation::default().run(|| 7), Ok(7));
    }

    #[test]
    fn inner_work_has_its_own_cancellation_and_the_outer_one_is_restored() {
        let (outer, inner) = (Cancellation::default(), Cancellation::default());
        let result = outer.run(|| {
            inner.cancel(CancelReason::Time);
            assert_eq!(inner.run(check_canceled), Err(Canceled(CancelReason::Time)));
            check_canceled();
            outer.cancel(CancelReason::Unwanted);
            check_canceled();
        });
        assert_eq!(result, Err(Canceled(CancelReason::Unwanted)));
    }

    #[test]
    fn panics_of_the_work_are_not_caught() {
        let caught = catch_unwind(|| Cancellation::default().run(|| panic!("on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(current().is_none(), "it is restored");
    }
}
