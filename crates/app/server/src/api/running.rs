//! Work that runs for clients, so that it can be ended: by them, or because it takes too long or too much memory.

use super::problem::{ApiError, ProblemKind};
use laggard_parallel::{CancelReason, Canceled, Cancellation};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How much work a question is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobSize {
    /// Takes a fraction of a second: it has a thread of its own, so that it never waits for a long one.
    Short,
    /// May take long.
    Long,
}

/// Ends some work, whether it computes or waits. A handle: clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    cancellation: Cancellation,
    /// The same for what is awaited.
    token: CancellationToken,
}

impl Stop {
    pub(crate) fn cancel(&self, reason: CancelReason) {
        self.cancellation.cancel(reason);
        self.token.cancel();
    }

    /// Why it is canceled; `None` if it is not.
    pub(crate) fn reason(&self) -> Option<CancelReason> {
        self.cancellation.reason()
    }

    /// Ends the work here when it is canceled.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        self.reason().map_or(Ok(()), |reason| Err(ApiError::from(Canceled(reason))))
    }

    /// Does work until it is canceled.
    ///
    /// # Errors
    /// When it is, and those of the work.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> Result<R, ApiError>) -> Result<R, ApiError> {
        self.cancellation.run(work).unwrap_or_else(|canceled| Err(canceled.into()))
    }

    /// Waits until it is canceled.
    ///
    /// # Errors
    /// When it is, and those of what is awaited.
    pub(crate) async fn wait_for<T>(
        &self,
        awaited: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        tokio::select! {
            result = awaited => result,
            () = self.token.cancelled() => Err(Canceled(self.reason().unwrap_or(CancelReason::Unwanted)).into()),
        }
    }
}

impl From<Canceled> for ApiError {
    fn from(canceled: Canceled) -> ApiError {
        match canceled.0 {
            CancelReason::Unwanted => ApiError::new(ProblemKind::Canceled, "the question was canceled"),
            CancelReason::Memory => ApiError::new(
                ProblemKind::Busy,
                "the answer needs more memory than is left within the limit (`memory`); ask again when fewer \
                 questions are being answered, or choose a shorter window",
            ),
            CancelReason::Time => ApiError::new(
                ProblemKind::TooMuchData,
                "the answer took longer than `limits.run_time`; choose a shorter window",
            ),
        }
    }
}

/// Runs blocking work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ApiError::new(ProblemKind::Internal, "the answer could not be computed; see the log"))
}

/// Work that may need much time or memory. When memory is short, large work is ended first, and of that the newest: it has the
/// least to lose.
#[derive(Debug, Default)]
pub(crate) struct RunningWork {
    running: Mutex<BTreeMap<u64, Running>>,
    begun: AtomicU64,
    /// Work that was ended since the start, for lack of memory and of time.
    ended: [AtomicU64; 2],
}

#[derive(Debug)]
struct Running {
    since: Instant,
    size: JobSize,
    stop: Stop,
}

/// Work is listed until this is dropped.
pub(crate) struct Listed<'a> {
    work: &'a RunningWork,
    number: u64,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.work.running().remove(&self.number);
    }
}

impl RunningWork {
    /// Lists work that begins.
    pub(crate) fn begin(&self, size: JobSize, stop: &Stop) -> Listed<'_> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        self.running().insert(number, Running { since: Instant::now(), size, stop: stop.clone() });
        Listed { work: self, number }
    }

    /// Ends what has run for longer than a time.
    pub(crate) fn end_overdue(&self, longest: Duration) {
        for running in self.running().values().filter(|running| running.since.elapsed() > longest) {
            self.end(running, CancelReason::Time);
        }
    }

    /// Ends the newest of the large work; where there is none, and `also_short`, the newest of all. Whether it has ended any.
    pub(crate) fn end_newest(&self, also_short: bool) -> bool {
        let all = self.running();
        let running = || all.values().rev().filter(|running| running.stop.reason().is_none());
        let newest = running()
            .find(|running| running.size == JobSize::Long)
            .or_else(|| running().next().filter(|_| also_short));
        newest.inspect(|running| self.end(running, CancelReason::Memory)).is_some()
    }

    /// How much was ended since the start, with the reason.
    pub(crate) fn ended(&self) -> [(&'static str, u64); 2] {
        let count = |index: usize| self.ended[index].load(Ordering::Relaxed);
        [("memory", count(0)), ("time", count(1))]
    }

    fn end(&self, running: &Running, reason: CancelReason) {
        if running.stop.reason().is_none() {
            running.stop.cancel(reason);
            self.ended[usize::from(reason == CancelReason::Time)].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<u64, Running>> {
        self.running.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_large_work_is_ended_first_and_each_once() {
        let work = RunningWork::default();
        let stops = [(); 4].map(|()| Stop::default());
        let sizes = [JobSize::Long, JobSize::Long, JobSize::Short];
        let _running: Vec<Listed<'_>> =
            sizes.into_iter().zip(&stops).map(|(size, stop)| work.begin(size, stop)).collect();
        drop(work.begin(JobSize::Long, &stops[3]));
        let ended = || stops.each_ref().map(|stop| stop.reason().is_some());
        assert!(work.end_newest(true));
        assert_eq!(ended(), [false, true, false, false], "a short one has little memory");
        assert!(work.end_newest(false) && !work.end_newest(false));
        assert_eq!(ended(), [true, true, false, false]);
        assert!(work.end_newest(true) && !work.end_newest(true));
        assert_eq!(stops[0].check().unwrap_err().kind(), ProblemKind::Busy);
        work.end_overdue(Duration::ZERO);
        assert_eq!(work.ended(), [("memory", 3), ("time", 0)]);
    }

    #[test]
    fn work_that_takes_too_long_is_ended() {
        let (work, stop) = (RunningWork::default(), Stop::default());
        let _running = work.begin(JobSize::Long, &stop);
        work.end_overdue(Duration::from_secs(3600));
        stop.check().unwrap();
        work.end_overdue(Duration::ZERO);
        assert_eq!(stop.check().unwrap_err().kind(), ProblemKind::TooMuchData);
        assert_eq!(work.ended(), [("memory", 0), ("time", 1)]);
    }
}
