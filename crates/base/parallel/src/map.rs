//! Applies a function to many items on several threads.

use crate::cancellation::{check_canceled, current, on_behalf_of};
use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Applies `work` to every item, on at most `threads` threads; results in the order of the items.
pub fn parallel_map<T: Sync, R: Send>(
    items: &[T],
    threads: NonZeroUsize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    run(items.len(), threads, || {
        let index = next.fetch_add(1, Ordering::Relaxed);
        items.get(index).map(|item| (index, work(item)))
    })
}

/// The same with owned items; each is dropped as soon as it is done.
pub fn parallel_map_owned<T: Send, R: Send>(
    items: Vec<T>,
    threads: NonZeroUsize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let count = items.len();
    let waiting = Mutex::new(items.into_iter().enumerate());
    run(count, threads, || {
        let (index, item) = lock(&waiting).next()?;
        Some((index, work(item)))
    })
}

/// Calls `step` on every thread until it has nothing more; results by their number. A panic on any thread is that of the caller.
fn run<R: Send>(count: usize, threads: NonZeroUsize, step: impl Fn() -> Option<(usize, R)> + Sync) -> Vec<R> {
    let done = Mutex::new(Vec::with_capacity(count));
    let work = || {
        while let Some(result) = step() {
            lock(&done).push(result);
            check_canceled();
        }
    };
    check_canceled();
    match threads.get().min(count) {
        0 | 1 => work(),
        threads => on_threads(threads, work),
    }
    let mut done = done.into_inner().expect("no thread panics while it holds the lock");
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn on_threads(threads: usize, work: impl Fn() + Sync) {
    let cancellation = current();
    let panic: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let caught = catch_unwind(AssertUnwindSafe(|| on_behalf_of(cancellation.as_ref(), &work)));
                if let Err(payload) = caught {
                    lock(&panic).get_or_insert(payload);
                }
            });
        }
    });
    if let Some(payload) = panic.into_inner().expect("no thread panics while it holds the lock") {
        resume_unwind(payload);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelReason, Canceled, Cancellation};

    fn numbers_of_threads() -> impl Iterator<Item = NonZeroUsize> {
        [1, 2, 7].into_iter().filter_map(NonZeroUsize::new)
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let squares: Vec<usize> = items.iter().map(|item| item * item).collect();
        for threads in numbers_of_threads() {
            assert_eq!(parallel_map(&items, threads, |item| item * item), squares);
            assert_eq!(parallel_map_owned(items.clone(), threads, |item| item * item), squares);
        }
        assert!(parallel_map(&[0; 0], NonZeroUsize::MIN, |item| *item).is_empty());
    }

    #[test]
    fn canceled_work_takes_no_further_items() {
        let items: Vec<usize> = (0..1_000).collect();
        for threads in numbers_of_threads() {
            let cancellation = Cancellation::default();
            let done = AtomicUsize::new(0);
            let result = cancellation.run(|| {
                parallel_map(&items, threads, |_| {
                    cancellation.cancel(CancelReason::Unwanted);
                    done.fetch_add(1, Ordering::Relaxed);
                })
            });
            assert_eq!(result, Err(Canceled(CancelReason::Unwanted)));
            assert!(done.load(Ordering::Relaxed) <= threads.get());
        }
    }

    #[test]
    fn work_within_work_is_canceled_too() {
        let items = [0; 4];
        let two = NonZeroUsize::new(2).expect("not zero");
        let cancellation = Cancellation::default();
        let result = cancellation.run(|| {
            parallel_map(&items, two, |_| {
                parallel_map(&items, two, |_| {
                    cancellation.cancel(CancelReason::Unwanted);
                    check_canceled();
                    panic!("it goes on");
                })
            })
        });
        assert_eq!(result, Err(Canceled(CancelReason::Unwanted)));
    }

    #[test]
    fn a_panic_has_its_own_message() {
        let two = NonZeroUsize::new(2).expect("not zero");
        let caught = catch_unwind(|| parallel_map(&[1, 2, 3], two, |item| assert!(*item != 2, "on purpose")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    }
}
