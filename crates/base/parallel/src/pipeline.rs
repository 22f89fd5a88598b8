//! Work on items that arrive one after the other.

use crate::cancellation::{Cancellation, current, on_behalf_of};
use crate::spare::SpareThreads;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Applies a function to items as they arrive, on several threads; results are in the order of the items.
///
/// ```text
/// push(item) ─► queue ─► threads ─► next(), in the order of push
/// ```
///
/// The threads end with the pipeline; what has not been started by then is dropped.
pub struct Pipeline<T, R> {
    work: Arc<dyn Fn(T) -> R + Send + Sync>,
    spare: SpareThreads,
    queue: Option<Sender<Job<T, R>>>,
    jobs: Arc<Mutex<Receiver<Job<T, R>>>>,
    /// Of the items that are not taken yet, the oldest first.
    results: VecDeque<Receiver<std::thread::Result<R>>>,
    threads: Vec<JoinHandle<()>>,
    cancellation: Option<Cancellation>,
}

struct Job<T, R> {
    item: T,
    result: SyncSender<std::thread::Result<R>>,
}

/// Items per thread that may be waiting, being worked on, or done and not taken yet.
const ITEMS_PER_THREAD: usize = 2;

impl<T: Send + 'static, R: Send + 'static> Pipeline<T, R> {
    /// A pipeline with one thread, which starts with the first item, and further ones as long as there are spare ones.
    pub fn new(spare: SpareThreads, work: impl Fn(T) -> R + Send + Sync + 'static) -> Pipeline<T, R> {
        let (queue, jobs) = channel();
        Pipeline {
            work: Arc::new(work),
            spare,
            queue: Some(queue),
            jobs: Arc::new(Mutex::new(jobs)),
            results: VecDeque::new(),
            threads: Vec::new(),
            cancellation: current(),
        }
    }

    /// Queues an item.
    pub fn push(&mut self, item: T) {
        let may_start =
            self.threads.is_empty() || (self.results.len() >= self.threads.len() && self.spare.take());
        if may_start {
            self.start_thread();
        }
        let (result, receiver) = sync_channel(1);
        self.results.push_back(receiver);
        if let Some(queue) = &self.queue {
            // The pipeline itself has the other end.
            let _ = queue.send(Job { item, result });
        }
    }

    /// Whether there are so many items that the oldest result should be taken before the next item comes.
    pub fn is_full(&self) -> bool {
        self.results.len() > ITEMS_PER_THREAD * self.threads.len()
    }

    /// The oldest result if it is there.
    pub fn try_next(&mut self) -> Option<R> {
        let done = match self.results.front()?.try_recv() {
            Err(TryRecvError::Empty) => return None,
            done => done.expect("a thread answers for every item"),
        };
        self.results.pop_front();
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// The oldest result, waiting for it; `None` when all have been taken. A panic of the work is that of the caller.
    pub fn next_result(&mut self) -> Option<R> {
        let done = self.results.pop_front()?.recv().expect("a thread answers for every item");
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    fn start_thread(&mut self) {
        let (work, jobs) = (Arc::clone(&self.work), Arc::clone(&self.jobs));
        let cancellation = self.cancellation.clone();
        self.threads.push(std::thread::spawn(move || {
            // Held only while it waits; the next thread waits for the lock instead.
            let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            while let Ok(Job { item, result }) = next() {
                let done =
                    catch_unwind(AssertUnwindSafe(|| on_behalf_of(cancellation.as_ref(), || work(item))));
                // Nobody waits for it any more when the pipeline is dropped.
                let _ = result.send(done);
            }
        }));
    }
}

impl<T, R> Drop for Pipeline<T, R> {
    fn drop(&mut self) {
        self.queue = None;
        {
            let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            while jobs.try_recv().is_ok() {}
        }
        self.spare.give(self.threads.len().saturating_sub(1));
        for thread in self.threads.drain(..) {
            // Its panics have been passed on with the results.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelReason, Canceled, check_canceled};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for spare in [0, 3] {
            let mut pipeline = Pipeline::new(SpareThreads::new(spare), |item: u64| {
                std::thread::sleep(std::time::Duration::from_micros(item * 37 % 500));
                item
            });
            let mut results = Vec::new();
            for item in 0..300 {
                pipeline.push(item);
                while pipeline.is_full() {
                    results.extend(pipeline.next_result());
                }
                results.extend(pipeline.try_next());
                assert!(pipeline.results.len() <= ITEMS_PER_THREAD * (spare + 1));
            }
            results.extend(std::iter::from_fn(|| pipeline.next_result()));
            assert_eq!(results, (0..300).collect::<Vec<_>>());
        }
    }

    #[test]
    fn spare_threads_are_shared_and_returned() {
        let spare = SpareThreads::new(2);
        let start = |items| {
            let mut pipeline = Pipeline::new(spare.clone(), |item: u64| item);
            (0..items).for_each(|item| pipeline.push(item));
            pipeline
        };
        let (first, second) = (start(9), start(9));
        assert_eq!((first.threads.len(), second.threads.len()), (3, 1));
        drop(first);
        assert_eq!(start(9).threads.len(), 3);
        drop(second);
        assert_eq!(start(9).threads.len(), 3);
    }

    #[test]
    fn a_panic_of_the_work_is_that_of_the_caller() {
        let mut pipeline = Pipeline::new(SpareThreads::new(1), |item: u64| assert!(item != 2, "on purpose"));
        (0..4).for_each(|item| pipeline.push(item));
        let caught = catch_unwind(AssertUnwindSafe(|| while pipeline.next_result().is_some() {}));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    }

    #[test]
    fn canceled_work_ends_and_what_was_not_started_is_dropped() {
        let cancellation = Cancellation::default();
        let started = Arc::new(AtomicUsize::new(0));
        let result = cancellation.run(|| {
            let counter = Arc::clone(&started);
            let mut pipeline: Pipeline<usize, ()> = Pipeline::new(SpareThreads::new(1), move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
                loop {
                    check_canceled();
                }
            });
            (0..100).for_each(|item| pipeline.push(item));
            cancellation.cancel(CancelReason::Unwanted);
            check_canceled();
            pipeline.next_result()
        });
        assert_eq!(result.err(), Some(Canceled(CancelReason::Unwanted)));
        assert!(started.load(Ordering::Relaxed) <= 100);
    }
}
