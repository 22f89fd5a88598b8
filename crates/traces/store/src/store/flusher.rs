//! The flusher: closes traces and commits them to segments, one flush batch after the other.

use super::log_thread::LogCommand;
use super::write_path::WritePath;
use crate::clock::ClockWatch;
use crate::intake::{CloseCriteria, ClosedTraces};
use crate::problems::Severity;
use crate::{FlushBatch, Segments, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A request to write everything, with a channel for the result.
pub(super) type FlushRequest = oneshot::Sender<Result<(), StoreError>>;

/// How often idle traces are checked for.
const TICK: Duration = Duration::from_secs(1);

/// Approximate rows of one flush batch: 25 MB of rows.
const BATCH_ROWS: usize = 400_000;

/// With fewer rows than this, flushes are less frequent: fewer small files.
const BUSY_ROWS: usize = 20_000;

/// Ticks between flushes when there is little to write.
const QUIET_TICKS: u32 = 3;

/// A trace that spans keep coming for is cut after this, or after four times the idle time.
const OPEN_MAX: Duration = Duration::from_secs(300);

/// A log longer than this, or than twice the memory, is shortened by cutting the traces that hold it.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Why traces are closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlushReason {
    /// They are idle, or too old.
    Idle,
    /// Memory is tight: the oldest.
    Early,
    /// A flush was requested.
    All,
}

pub(super) struct Flusher {
    pub(super) path: Arc<WritePath>,
    pub(super) segments: Segments,
    pub(super) commands: Sender<LogCommand>,
    pub(super) requests: mpsc::Receiver<FlushRequest>,
    /// Closed traces that are not committed yet.
    pub(super) pending: Option<PendingFlush>,
    pub(super) watch: ClockWatch,
    /// Ticks since the last flush.
    pub(super) quiet: u32,
}

/// A flush batch to be committed.
pub(super) struct PendingFlush {
    batch: Arc<FlushBatch>,
    /// Bytes of the budget that it holds.
    bytes: usize,
    /// Whether there were more rows to flush than one flush batch should hold.
    more: bool,
}

/// Closes traces and packs them; `None` when there is nothing to write.
fn close_and_pack(path: &WritePath, reason: FlushReason) -> Option<PendingFlush> {
    let closed = close(path, reason)?;
    let (bytes, more) = (closed.bytes, closed.more);
    Some(PendingFlush { batch: Arc::new(closed.pack()), bytes, more })
}

fn close(path: &WritePath, reason: FlushReason) -> Option<ClosedTraces> {
    let now = path.clock.monotonic();
    let log_bytes = path.log_bytes.load(Ordering::Relaxed);
    let mut intake = path.intake();
    let come_by = |age: Duration| now.checked_sub(age).map_or(0, |arrival| intake.ages().come_by(arrival));
    let head = intake.head();
    let mut criteria = CloseCriteria {
        idle_through: come_by(path.idle),
        early_through: 0,
        old_through: come_by(OPEN_MAX.max(4 * path.idle)),
        rows_max: BATCH_ROWS,
    };
    if log_bytes > LOG_BYTES_MAX.max(2 * path.budget.max() as u64) {
        criteria.old_through = criteria.old_through.max(intake.middle());
    }
    match reason {
        FlushReason::Idle => {}
        FlushReason::Early => {
            criteria.early_through = head;
            criteria.rows_max = (intake.spans() / 2).clamp(1, BATCH_ROWS);
        }
        // A requested flush treats all traces as idle.
        FlushReason::All => criteria.idle_through = head,
    }
    intake.close(&criteria)
}

impl Flusher {
    /// Runs until all request senders are dropped.
    pub(super) async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let path = self.path.clone();
        loop {
            tokio::select! {
                requests = self.requests.recv() => match requests {
                    // The receiver may have stopped waiting.
                    Some(done) => { let _ = done.send(self.flush(FlushReason::All).await); }
                    None => return,
                },
                _ = path.tight.notified() => self.relieve().await,
                _ = ticks.tick() => self.tick().await,
            }
        }
    }

    async fn tick(&mut self) {
        self.check_clock();
        self.quiet += 1;
        if self.pending.is_some() || self.quiet >= QUIET_TICKS || self.is_busy() {
            // Reported as a problem, and tried again at the next tick.
            let _ = self.flush(FlushReason::Idle).await;
        }
    }

    fn is_busy(&self) -> bool {
        let intake = self.path.intake();
        intake.spans() + intake.samples() + intake.events() >= BUSY_ROWS
    }

    async fn relieve(&mut self) {
        while self.path.budget.is_tight() {
            let before = self.path.budget.used();
            if self.flush(FlushReason::Early).await.is_err() || self.path.budget.used() >= before {
                return;
            }
        }
    }

    async fn flush(&mut self, reason: FlushReason) -> Result<(), StoreError> {
        self.commit().await?;
        loop {
            let path = self.path.clone();
            let pending = tokio::task::spawn_blocking(move || close_and_pack(&path, reason)).await;
            let Some(pending) = pending.map_err(|error| StoreError::new(error.to_string()))? else {
                return Ok(());
            };
            let more = pending.more && reason != FlushReason::Early;
            self.pending = Some(pending);
            self.quiet = 0;
            self.commit().await?;
            if !more {
                return Ok(());
            }
        }
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let replay_from = pending.batch.position.replay_from;
        tracing::debug!(spans = pending.batch.spans.len(), "flush begins");
        if let Err(error) = self.segments.commit(pending.batch.clone()).await {
            let text = format!("segments cannot be written; retried every second: {error}");
            self.path.report("segments_unwritable", Severity::Blocks, text);
            return Err(error);
        }
        tracing::debug!("flush ended");
        self.path.problems.clear("segments_unwritable");
        self.path.budget.release(pending.bytes);
        self.pending = None;
        // The log's thread ends only when the store does.
        let _ = self.commands.send(LogCommand::Forget(replay_from));
        Ok(())
    }

    fn check_clock(&mut self) {
        match self.watch.check(&*self.path.clock) {
            Some(jump_ns) => {
                let direction = if jump_ns > 0 { "ahead" } else { "back" };
                let length = laggard_model::Nanos::from_ns(jump_ns.unsigned_abs());
                let text = format!(
                    "the wall clock jumped {direction} by {length}; nothing is deleted by its time for an hour unless it is \
                     certain"
                );
                self.path.report("clock_jumped", Severity::Warns, text);
            }
            None if !self.watch.is_uncertain() => self.path.problems.clear("clock_jumped"),
            None => {}
        }
    }
}
