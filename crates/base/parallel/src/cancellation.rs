//! Ends work that nobody waits for any longer.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static CURRENT: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
}

/// The cancellation of some work. A handle: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    is_canceled: Arc<AtomicBool>,
}

/// The work was canceled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Canceled;

impl std::fmt::Display for Canceled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("canceled")
    }
}

impl std::error::Error for Canceled {}

impl Cancellation {
    /// Cancels the work: it ends at its next check.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
    }

    /// Whether it is canceled.
    pub fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
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
    if CURRENT.with(|current| current.borrow().as_ref().is_some_and(Cancellation::is_canceled)) {
        resume_unwind(Box::new(Canceled));
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
                    cancellation.cancel();
                }
            }
        });
        assert_eq!((result, done), (Err::<(), Canceled>(Canceled), 3));
        check_canceled(); // The thread itself is not canceled.
        assert_eq!(Cancellation::default().run(|| 7), Ok(7));
    }

    #[test]
    fn inner_work_has_its_own_cancellation_and_the_outer_one_is_restored() {
        let (outer, inner) = (Cancellation::default(), Cancellation::default());
        let result = outer.run(|| {
            inner.cancel();
            assert_eq!(inner.run(check_canceled), Err(Canceled));
            check_canceled();
            outer.cancel();
            check_canceled();
        });
        assert_eq!(result, Err(Canceled));
    }

    #[test]
    fn panics_of_the_work_are_not_caught() {
        let caught = catch_unwind(|| Cancellation::default().run(|| panic!("on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(current().is_none(), "it is restored");
    }
}
