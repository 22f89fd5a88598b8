//! How a job tells how far it is, and hears that nobody wants it any more.

use crate::api::problem::Problem;
use laggard_params::ReadProgress;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::watch;
use utoipa::ToSchema;

/// What a job is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    /// Others are before it.
    Waiting,
    /// It is being answered.
    Running,
    /// There is an answer.
    Done,
    /// There is none, and the result says why.
    Failed,
    /// Somebody canceled it.
    #[serde(rename = "cancelled")]
    Canceled,
}

impl JobState {
    /// Whether nothing will change any more.
    pub(crate) const fn has_ended(self) -> bool {
        !matches!(self, JobState::Waiting | JobState::Running)
    }
}

/// State and progress at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    pub(crate) state: JobState,
    /// What it is at.
    pub(crate) stage: &'static str,
    /// How much of the stage is done.
    pub(crate) done: u64,
    /// Of how much; 0 when that is not known.
    pub(crate) total: u64,
}

/// A job's own view of itself.
pub(crate) struct Progress {
    standing: watch::Sender<Standing>,
    canceled: AtomicBool,
    events: AtomicU64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let standing = Standing { state: JobState::Waiting, stage: "waiting", done: 0, total: 0 };
        Progress {
            standing: watch::Sender::new(standing),
            canceled: AtomicBool::new(false),
            events: AtomicU64::new(0),
        }
    }

    /// Begins a stage; ends the job here when it is canceled.
    ///
    /// # Errors
    /// When it is canceled.
    pub(crate) fn stage(&self, stage: &'static str, total: u64) -> Result<(), Problem> {
        self.check()?;
        self.standing.send_modify(|standing| *standing = Standing { stage, done: 0, total, ..*standing });
        Ok(())
    }

    /// Tells how much of the stage is done.
    pub(crate) fn done(&self, done: u64) {
        self.standing.send_modify(|standing| standing.done = done);
    }

    /// Ends the job here when it is canceled.
    ///
    /// # Errors
    /// When it is.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.canceled.load(Ordering::Relaxed) { Err(Problem::canceled()) } else { Ok(()) }
    }

    pub(super) fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    pub(super) fn set_state(&self, state: JobState) {
        self.standing.send_modify(|standing| standing.state = state);
    }

    pub(crate) fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }
}

impl ReadProgress for Progress {
    fn events(&self, more: u64) {
        let so_far = self.events.fetch_add(more, Ordering::Relaxed) + more;
        self.done(so_far);
    }

    fn is_stopped(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }
}
