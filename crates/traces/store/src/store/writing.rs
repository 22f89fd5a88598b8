//! The log's thread: whatever waits is written as one group, made durable at once, taken in, acknowledged.

use super::write_path::WritePath;
use crate::intake::{self, Part};
use crate::log::Log;
use crate::problems::Gravity;
use crate::{AppendError, StoreError};
use laggard_engine::Batch;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::sync::oneshot;

/// What the thread is asked for.
pub(super) enum Order {
    /// To make a batch durable and take it in.
    Append(Box<Append>),
    /// To delete what is before this record.
    Forget(u64),
    /// To answer once everything before is done.
    Barrier(oneshot::Sender<()>),
    End,
}

/// A batch that waits to be acknowledged.
pub(super) struct Append {
    pub(super) batch: Batch,
    /// Bytes of the budget that are taken for it.
    pub(super) reserved: usize,
    pub(super) done: oneshot::Sender<Result<(), AppendError>>,
}

/// A group is written when it is this long: memory that is there twice.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// How often a full disk is tried again.
const PROBE_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Writing {
    orders: Receiver<Order>,
    log: Log,
    path: Arc<WritePath>,
}

enum Next {
    Go,
    End,
}

impl Writing {
    pub(super) fn new(orders: Receiver<Order>, log: Log, path: Arc<WritePath>) -> Writing {
        Writing { orders, log, path }
    }

    /// Works until it is told to end, or nobody is left who could tell.
    pub(super) fn run(mut self) {
        loop {
            self.path.log_bytes.store(self.log.bytes(), Ordering::Relaxed);
            let first = match self.next_order() {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => {
                    self.probe();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Next::End = self.group(first) {
                return;
            }
        }
    }

    fn next_order(&self) -> Result<Order, RecvTimeoutError> {
        if self.path.log_fails() {
            return self.orders.recv_timeout(PROBE_EVERY);
        }
        self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Gathers what waits behind an order, and does it all.
    fn group(&mut self, first: Order) -> Next {
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(order) = next.take() {
            match order {
                Order::Append(append) => {
                    self.log.push(&append.batch);
                    group.push(*append);
                }
                Order::Forget(replay_from) => {
                    self.write(&mut group);
                    self.forget(replay_from);
                }
                Order::Barrier(done) => {
                    self.write(&mut group);
                    let _ = done.send(());
                }
                Order::End => {
                    self.write(&mut group);
                    return Next::End;
                }
            }
            if self.log.group_bytes() < GROUP_BYTES_MAX {
                next = self.orders.try_recv().ok();
            }
        }
        self.write(&mut group);
        Next::Go
    }

    fn write(&mut self, group: &mut Vec<Append>) {
        if group.is_empty() {
            return;
        }
        let group = std::mem::take(group);
        match self.log.commit() {
            Ok(first) => {
                self.recovered();
                self.take(first, group);
            }
            Err(error) => self.refuse(&error, group),
        }
    }

    fn take(&mut self, first: u64, group: Vec<Append>) {
        let mut acknowledged = Vec::with_capacity(group.len());
        let mut intake = self.path.intake();
        for (number, append) in (first..).zip(group) {
            let before = intake.bytes();
            intake.take(number, &append.batch, Part::All);
            let taken = intake.bytes() - before;
            self.path.budget.give(append.reserved.saturating_sub(taken));
            let spans = append.batch.spans.len() + append.batch.calls.len() / 2;
            self.path.spans_appended.fetch_add(spans as u64, Ordering::Relaxed);
            acknowledged.push(append.done);
        }
        intake.note_time(self.path.clock.monotonic());
        drop(intake);
        for done in acknowledged {
            // Whoever does not wait any more does not need the answer.
            let _ = done.send(Ok(()));
        }
        if self.path.budget.is_tight() {
            self.path.tight.notify_one();
        }
    }

    fn refuse(&mut self, error: &io::Error, group: Vec<Append>) {
        self.path.log_fails.store(true, Ordering::Relaxed);
        let (name, text) = told(error);
        self.path.tell(name, Gravity::Blocks, text.clone());
        for append in group {
            self.path.budget.give(append.reserved);
            let _ = append.done.send(Err(AppendError::Storage(StoreError::new(text.clone()))));
        }
    }

    fn probe(&mut self) {
        match self.log.probe() {
            Ok(()) => self.recovered(),
            Err(error) => {
                let (name, text) = told(&error);
                self.path.tell(name, Gravity::Blocks, text);
            }
        }
    }

    fn recovered(&mut self) {
        if self.path.log_fails.swap(false, Ordering::Relaxed) {
            self.path.problems.clear(DISK_FULL);
            self.path.problems.clear(LOG_UNWRITABLE);
        }
    }

    fn forget(&mut self, replay_from: u64) {
        match self.log.forget(replay_from) {
            Ok(()) => self.path.problems.clear("log_kept"),
            Err(error) => {
                let text =
                    format!("an old file of the write-ahead log cannot be deleted, tried again: {error}");
                self.path.tell("log_kept", Gravity::Warns, text);
            }
        }
    }
}

const DISK_FULL: &str = "disk_full";
const LOG_UNWRITABLE: &str = "log_unwritable";

fn told(error: &io::Error) -> (&'static str, String) {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    if full.contains(&error.kind()) {
        let text =
            format!("no room for the write-ahead log, nothing is taken; tried again every second: {error}");
        return (DISK_FULL, text);
    }
    let text =
        format!("the write-ahead log cannot be written, nothing is taken; tried again every second: {error}");
    (LOG_UNWRITABLE, text)
}

/// The most budget one batch may take, bytes: half of the memory, and what a record can hold.
pub(super) fn batch_bytes_max(memory_bytes: usize) -> usize {
    (memory_bytes / 2).min(1 << 29)
}

/// What a batch takes of the budget until it is taken in, bytes.
pub(super) fn reserved_for(batch: &Batch) -> usize {
    intake::bytes_max(batch)
}
