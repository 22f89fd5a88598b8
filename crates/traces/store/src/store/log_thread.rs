//! The log thread: writes all waiting batches as one group, makes it durable, ingests it, acknowledges it.

use super::write_path::WritePath;
use crate::intake::{self, RecordPart};
use crate::log::WriteAheadLog;
use crate::problems::Severity;
use crate::{AppendError, StoreError};
use laggard_engine::Batch;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::sync::oneshot;

/// A command for the log thread.
pub(super) enum LogCommand {
    /// Make a batch durable and ingest it.
    Append(Box<Append>),
    /// Delete what is before this record.
    Forget(u64),
    /// Respond once everything before is done.
    Barrier(oneshot::Sender<()>),
    End,
}

/// A batch that waits to be acknowledged.
pub(super) struct Append {
    pub(super) batch: Batch,
    /// Bytes of the budget reserved for it.
    pub(super) reserved: usize,
    pub(super) done: oneshot::Sender<Result<(), AppendError>>,
}

/// A group is written at this length, since its memory is used twice.
const GROUP_BYTES_MAX: usize = 16 << 20;

/// How often a full disk is tried again.
const PROBE_EVERY: Duration = Duration::from_secs(1);

pub(super) struct LogThread {
    commands: Receiver<LogCommand>,
    log: WriteAheadLog,
    path: Arc<WritePath>,
}

enum Next {
    Go,
    End,
}

impl LogThread {
    pub(super) fn new(commands: Receiver<LogCommand>, log: WriteAheadLog, path: Arc<WritePath>) -> LogThread {
        LogThread { commands, log, path }
    }

    /// Runs until an `End` command, or until all senders are dropped.
    pub(super) fn run(mut self) {
        loop {
            self.path.log_bytes.store(self.log.bytes(), Ordering::Relaxed);
            let first = match self.next_command() {
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

    fn next_command(&self) -> Result<LogCommand, RecvTimeoutError> {
        if self.path.log_fails() {
            return self.commands.recv_timeout(PROBE_EVERY);
        }
        self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Collects all waiting commands, and runs them.
    fn group(&mut self, first: LogCommand) -> Next {
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(order) = next.take() {
            match order {
                LogCommand::Append(append) => {
                    self.log.push(&append.batch);
                    group.push(*append);
                }
                LogCommand::Forget(replay_from) => {
                    self.write(&mut group);
                    self.forget(replay_from);
                }
                LogCommand::Barrier(done) => {
                    self.write(&mut group);
                    let _ = done.send(());
                }
                LogCommand::End => {
                    self.write(&mut group);
                    return Next::End;
                }
            }
            if self.log.group_bytes() < GROUP_BYTES_MAX {
                next = self.commands.try_recv().ok();
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
                self.ingest(first, group);
            }
            Err(error) => self.reject(&error, group),
        }
    }

    fn ingest(&mut self, first: u64, group: Vec<Append>) {
        let mut acknowledged = Vec::with_capacity(group.len());
        let mut intake = self.path.intake();
        for (number, append) in (first..).zip(group) {
            let before = intake.bytes();
            intake.ingest(number, &append.batch, RecordPart::All);
            let used = intake.bytes() - before;
            self.path.budget.release(append.reserved.saturating_sub(used));
            let spans = append.batch.spans.len() + append.batch.calls.len() / 2;
            self.path.spans_appended.fetch_add(spans as u64, Ordering::Relaxed);
            acknowledged.push(append.done);
        }
        intake.record_time(self.path.clock.monotonic());
        drop(intake);
        for done in acknowledged {
            // The receiver may have stopped waiting.
            let _ = done.send(Ok(()));
        }
        if self.path.budget.is_tight() {
            self.path.tight.notify_one();
        }
    }

    fn reject(&mut self, error: &io::Error, group: Vec<Append>) {
        self.path.log_fails.store(true, Ordering::Relaxed);
        let (name, text) = describe(error);
        self.path.report(name, Severity::Blocks, text.clone());
        for append in group {
            self.path.budget.release(append.reserved);
            let _ = append.done.send(Err(AppendError::Storage(StoreError::new(text.clone()))));
        }
    }

    fn probe(&mut self) {
        match self.log.probe() {
            Ok(()) => self.recovered(),
            Err(error) => {
                let (name, text) = describe(&error);
                self.path.report(name, Severity::Blocks, text);
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
                let text = format!("an old file of the write-ahead log cannot be deleted; retried: {error}");
                self.path.report("log_kept", Severity::Warns, text);
            }
        }
    }
}

const DISK_FULL: &str = "disk_full";
const LOG_UNWRITABLE: &str = "log_unwritable";

fn describe(error: &io::Error) -> (&'static str, String) {
    let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    if full.contains(&error.kind()) {
        let text = format!(
            "disk full: the write-ahead log cannot grow, and data are rejected; retried every second: {error}"
        );
        return (DISK_FULL, text);
    }
    let text = format!(
        "the write-ahead log cannot be written, and data are rejected; retried every second: {error}"
    );
    (LOG_UNWRITABLE, text)
}

/// The most budget one batch may take, bytes: half of the memory, and what a record can hold.
pub(super) fn batch_bytes_max(memory_bytes: usize) -> usize {
    (memory_bytes / 2).min(1 << 29)
}

/// Bytes of the budget reserved for a batch until it is ingested.
pub(super) fn reserved_for(batch: &Batch) -> usize {
    intake::bytes_max(batch)
}
