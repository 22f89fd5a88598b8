//! State, progress, and cancellation of a job.

use crate::api::problem::ApiError;
use crate::api::running::Stop;
use laggard_params::ReadProgress;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Handle;
use tokio::sync::watch;
use utoipa::ToSchema;

/// The state of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// In the queue.
    Waiting,
    Running,
    Done,
    /// The result says why.
    Failed,
    #[serde(rename = "cancelled")]
    Canceled,
}

impl JobState {
    pub(crate) const fn has_ended(self) -> bool {
        !matches!(self, JobState::Waiting | JobState::Running)
    }
}

/// State and progress at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobProgress {
    pub(crate) state: JobState,
    /// The current step, in a few words.
    pub(crate) stage: &'static str,
    /// Finished units of the stage.
    pub(crate) done: u64,
    /// All units of the stage; 0 when unknown.
    pub(crate) total: u64,
}

/// Progress of a running job.
pub(crate) struct Progress {
    progress: watch::Sender<JobProgress>,
    pub(super) stop: Stop,
    events: AtomicU64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let progress = JobProgress { state: JobState::Waiting, stage: "waiting", done: 0, total: 0 };
        Progress { progress: watch::Sender::new(progress), stop: Stop::default(), events: AtomicU64::new(0) }
    }

    /// Begins a stage; ends the job here when it is canceled.
    ///
    /// # Errors
    /// When it is canceled.
    pub(crate) fn stage(&self, stage: &'static str, total: u64) -> Result<(), ApiError> {
        self.check()?;
        self.progress.send_modify(|progress| *progress = JobProgress { stage, done: 0, total, ..*progress });
        Ok(())
    }

    /// Sets the finished units of the stage.
    pub(crate) fn done(&self, done: u64) {
        self.progress.send_modify(|progress| progress.done = done);
    }

    /// Sets the finished units of the stage, and all of them.
    pub(crate) fn part(&self, done: u64, total: u64) {
        self.progress.send_modify(|progress| *progress = JobProgress { done, total, ..*progress });
    }

    /// Ends the job here when it is canceled.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn check(&self) -> Result<(), ApiError> {
        self.stop.check()
    }

    /// Does the work of the job, until it is canceled.
    ///
    /// # Errors
    /// When it is, and those of the work.
    pub(super) fn run<R>(&self, work: impl FnOnce(&Progress) -> Result<R, ApiError>) -> Result<R, ApiError> {
        self.stop.run(|| work(self))
    }

    /// Waits for something on this thread, which does not belong to the runtime.
    ///
    /// # Errors
    /// When the job is canceled meanwhile, and those of what is awaited.
    pub(crate) fn wait_for<T>(
        &self,
        handle: &Handle,
        awaited: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        handle.block_on(self.stop.wait_for(awaited))
    }

    pub(super) fn set_state(&self, state: JobState) {
        self.progress.send_modify(|progress| progress.state = state);
    }

    pub(crate) fn progress(&self) -> JobProgress {
        *self.progress.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<JobProgress> {
        self.progress.subscribe()
    }
}

impl ReadProgress for Progress {
    fn events(&self, more: u64) {
        let so_far = self.events.fetch_add(more, Ordering::Relaxed) + more;
        self.done(so_far);
    }
}
