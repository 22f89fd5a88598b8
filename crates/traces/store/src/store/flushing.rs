//! The flusher: closes traces and commits them to segments, one parcel after the other.

use super::write_path::WritePath;
use super::writing::Order;
use crate::clock::ClockWatch;
use crate::intake::{Closed, Want};
use crate::problems::Gravity;
use crate::{Parcel, Segments, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Who asks for everything to be written, and waits for it.
pub(super) type FlushOrder = oneshot::Sender<Result<(), StoreError>>;

/// How often idle traces are looked for.
const TICK: Duration = Duration::from_secs(1);

/// Rows of one parcel, about: 25 MB of rows.
const PARCEL_ROWS: usize = 400_000;

/// With fewer rows than this at a time, parcels come less often: fewer small files.
const BUSY_ROWS: usize = 20_000;

/// Ticks between parcels when there is little to write.
const QUIET_TICKS: u32 = 3;

/// A trace that spans keep coming for is cut after this, or after four times the idle time.
const OPEN_MAX: Duration = Duration::from_secs(300);

/// A log longer than this, or than twice the memory, is shortened by cutting the traces that hold it.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Why traces are closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aim {
    /// They are idle, or too old.
    Idle,
    /// Memory is tight: the oldest.
    Early,
    /// Somebody asked.
    All,
}

pub(super) struct Flushing {
    pub(super) path: Arc<WritePath>,
    pub(super) segments: Segments,
    pub(super) orders: Sender<Order>,
    pub(super) asked: mpsc::Receiver<FlushOrder>,
    /// What is closed and not committed yet.
    pub(super) pending: Option<Pending>,
    pub(super) watch: ClockWatch,
    /// Ticks since the last parcel.
    pub(super) quiet: u32,
}

/// A parcel that is to be committed.
pub(super) struct Pending {
    parcel: Arc<Parcel>,
    /// Bytes of the budget that it holds.
    bytes: usize,
    /// Whether there was more to take than one parcel should hold.
    more: bool,
}

/// Closes traces and packs them; `None` when there is nothing to write.
fn take(path: &WritePath, aim: Aim) -> Option<Pending> {
    let closed = close(path, aim)?;
    let (bytes, more) = (closed.bytes, closed.more);
    Some(Pending { parcel: Arc::new(closed.pack()), bytes, more })
}

fn close(path: &WritePath, aim: Aim) -> Option<Closed> {
    let now = path.clock.monotonic();
    let log_bytes = path.log_bytes.load(Ordering::Relaxed);
    let mut intake = path.intake();
    let come_by = |age: Duration| now.checked_sub(age).map_or(0, |at| intake.ages().come_by(at));
    let head = intake.head();
    let mut want = Want {
        idle_through: come_by(path.idle),
        early_through: 0,
        old_through: come_by(OPEN_MAX.max(4 * path.idle)),
        rows_max: PARCEL_ROWS,
    };
    if log_bytes > LOG_BYTES_MAX.max(2 * path.budget.max() as u64) {
        want.old_through = want.old_through.max(intake.middle());
    }
    match aim {
        Aim::Idle => {}
        Aim::Early => {
            want.early_through = head;
            want.rows_max = (intake.spans() / 2).clamp(1, PARCEL_ROWS);
        }
        // As if they were idle: nobody who asks wants to hear that they were not.
        Aim::All => want.idle_through = head,
    }
    intake.close(&want)
}

impl Flushing {
    /// Works until nobody can ask any more.
    pub(super) async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let path = self.path.clone();
        loop {
            tokio::select! {
                asked = self.asked.recv() => match asked {
                    // Whoever does not wait any more does not need the answer.
                    Some(done) => { let _ = done.send(self.flush(Aim::All).await); }
                    None => return,
                },
                _ = path.tight.notified() => self.relieve().await,
                _ = ticks.tick() => self.tick().await,
            }
        }
    }

    async fn tick(&mut self) {
        self.look_at_clock();
        self.quiet += 1;
        if self.pending.is_some() || self.quiet >= QUIET_TICKS || self.is_busy() {
            // Told as a problem, and tried again at the next tick.
            let _ = self.flush(Aim::Idle).await;
        }
    }

    fn is_busy(&self) -> bool {
        let intake = self.path.intake();
        intake.spans() + intake.samples() >= BUSY_ROWS
    }

    async fn relieve(&mut self) {
        while self.path.budget.is_tight() {
            let before = self.path.budget.used();
            if self.flush(Aim::Early).await.is_err() || self.path.budget.used() >= before {
                return;
            }
        }
    }

    async fn flush(&mut self, aim: Aim) -> Result<(), StoreError> {
        self.commit().await?;
        loop {
            let path = self.path.clone();
            let taken = tokio::task::spawn_blocking(move || take(&path, aim)).await;
            let Some(taken) = taken.map_err(|error| StoreError::new(error.to_string()))? else {
                return Ok(());
            };
            let more = taken.more && aim != Aim::Early;
            self.pending = Some(taken);
            self.quiet = 0;
            self.commit().await?;
            if !more {
                return Ok(());
            }
        }
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        let Some(pending) = &self.pending else { return Ok(()) };
        let replay_from = pending.parcel.position.replay_from;
        tracing::debug!(spans = pending.parcel.spans.len(), "flush begins");
        if let Err(error) = self.segments.commit(pending.parcel.clone()).await {
            let text = format!("segments cannot be written, tried again every second: {error}");
            self.path.tell("segments_unwritable", Gravity::Blocks, text);
            return Err(error);
        }
        tracing::debug!("flush ended");
        self.path.problems.clear("segments_unwritable");
        self.path.budget.give(pending.bytes);
        self.pending = None;
        // The log's thread ends only when the store does.
        let _ = self.orders.send(Order::Forget(replay_from));
        Ok(())
    }

    fn look_at_clock(&mut self) {
        match self.watch.look(&*self.path.clock) {
            Some(jump_ns) => {
                let way = if jump_ns > 0 { "ahead" } else { "back" };
                let length = laggard_model::Nanos::from_ns(jump_ns.unsigned_abs());
                let text = format!(
                    "the wall clock jumped {way} by {length}; nothing is deleted by its time for an hour unless it is \
                     certain"
                );
                self.path.tell("clock_jumped", Gravity::Warns, text);
            }
            None if !self.watch.mistrusts() => self.path.problems.clear("clock_jumped"),
            None => {}
        }
    }
}
