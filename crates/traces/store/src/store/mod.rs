//! The store: appending, and views of stored and open data.

mod flusher;
mod log_thread;
mod maintenance;
mod timed_files;
mod write_path;

#[cfg(test)]
mod tests;

use crate::clock::{Clock, ClockWatch, SystemClock};
use crate::intake::RecordPart;
use crate::log::{Disk, LogFiles, lost_batch};
use crate::recovery::recover;
use crate::{
    AppendError, LogPosition, SegmentFigures, Segments, StoreError, StoreSettings, StoreState, View, Views,
};
use flusher::{FlushRequest, Flusher};
use laggard_engine::Batch;
use laggard_model::Nanos;
use log_thread::{Append, LogCommand, LogThread, batch_bytes_max, reserved_for};
use object_store::ObjectStore;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;
use timed_files::{SharedDurations, TimedFiles};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use write_path::WritePath;

/// The data of one tenant. A handle: clones are the same store.
#[derive(Clone)]
pub struct Store {
    shared: Arc<StoreInner>,
}

struct StoreInner {
    path: Arc<WritePath>,
    segments: Segments,
    commands: Sender<LogCommand>,
    flushes: mpsc::Sender<FlushRequest>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// How long a batch waits for memory.
const PATIENCE: Duration = Duration::from_secs(2);

/// When a sender should retry after the store was out of memory.
const COME_BACK: Duration = Duration::from_secs(1);

impl Store {
    /// Opens a store, or makes a new one: segments in `objects`, the write-ahead log in `folder`. Needs a tokio
    /// runtime, for work in the background.
    ///
    /// # Errors
    /// When the folder is not a readable store of a known version.
    pub async fn open(
        settings: StoreSettings,
        objects: Arc<dyn ObjectStore>,
        folder: &Path,
    ) -> Result<Store, StoreError> {
        let clock = Arc::new(SystemClock::default());
        Store::open_with_clock(settings, objects, folder, clock).await
    }

    /// As [`Store::open`], with clocks of the caller's.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_with_clock(
        settings: StoreSettings,
        objects: Arc<dyn ObjectStore>,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Store, StoreError> {
        let disk = Disk::open(folder).map_err(|error| {
            let folder = folder.display();
            StoreError::new(format!("{folder}: the folder of the write-ahead log cannot be made: {error}"))
        })?;
        Store::open_over(settings, objects, Arc::new(disk), clock).await
    }

    async fn open_over(
        settings: StoreSettings,
        objects: Arc<dyn ObjectStore>,
        files: Arc<dyn LogFiles>,
        clock: Arc<dyn Clock>,
    ) -> Result<Store, StoreError> {
        let (segments, position) = Segments::open(objects, &settings).await?;
        let has_stored = position != LogPosition::default();
        let log_syncs = SharedDurations::default();
        let (timer, durations) = (clock.clone(), log_syncs.clone());
        let files = Arc::new(TimedFiles { files, clock: timer, durations });
        tracing::debug!(replay_from = position.replay_from, "replay begins");
        let recovered = tokio::task::spawn_blocking(move || recover(files, &position)).await;
        let recovered = recovered.map_err(|error| StoreError::new(error.to_string()))??;
        tracing::debug!(spans = recovered.intake.spans(), "replay ended");
        let mut intake = recovered.intake;
        if has_stored && settings.claim.as_ref().is_some_and(|claim| claim.log_elsewhere().is_some()) {
            let head = intake.head();
            intake.ingest(head, &lost_batch(1), RecordPart::All);
        }
        intake.record_time(clock.monotonic());
        let path = Arc::new(WritePath::new(intake, &settings, clock, log_syncs));
        path.report_replay(&recovered.findings);
        path.report_log_elsewhere();
        let (commands, ordered) = std::sync::mpsc::channel();
        let writing = LogThread::new(ordered, recovered.log, path.clone());
        std::thread::Builder::new()
            .name("laggard-log".to_owned())
            .spawn(move || writing.run())
            .map_err(|error| StoreError::new(format!("no thread for the write-ahead log: {error}")))?;
        let (flushes, requests) = mpsc::channel(16);
        let flushing = Flusher {
            watch: ClockWatch::new(&*path.clock),
            path: path.clone(),
            segments: segments.clone(),
            commands: commands.clone(),
            requests,
            pending: None,
            quiet: 0,
        };
        let upkeep =
            maintenance::run(path.clone(), segments.clone(), Duration::from_nanos(settings.upkeep.ns()));
        let tasks = vec![tokio::spawn(flushing.run()), tokio::spawn(upkeep)];
        Ok(Store { shared: Arc::new(StoreInner { path, segments, commands, flushes, tasks }) })
    }

    /// Takes a batch; returns once it would survive a loss of power.
    ///
    /// # Errors
    /// When it was rejected; see [`AppendError`].
    pub async fn append(&self, batch: Batch) -> Result<(), AppendError> {
        let path = &self.shared.path;
        if path.is_closing() {
            return Err(AppendError::Closing);
        }
        if let Some(lost) = path.taken_over() {
            return Err(AppendError::Storage(StoreError::new(lost.text)));
        }
        if batch.is_empty() {
            return Ok(());
        }
        let (reserved, bytes_max) = (reserved_for(&batch), batch_bytes_max(path.budget.max()));
        if reserved > bytes_max {
            return Err(AppendError::TooLarge { bytes: reserved, bytes_max });
        }
        if path.budget.acquire(reserved, PATIENCE).await.is_err() {
            path.tight.notify_one();
            return Err(AppendError::Busy(COME_BACK));
        }
        let (done, answer) = oneshot::channel();
        let order = LogCommand::Append(Box::new(Append { batch, reserved, done }));
        if self.shared.commands.send(order).is_err() {
            path.budget.release(reserved);
            return Err(AppendError::Closing);
        }
        answer.await.unwrap_or(Err(AppendError::Closing))
    }

    /// A snapshot of the stored data, without open traces.
    pub fn view(&self) -> View {
        self.shared.segments.view()
    }

    /// Snapshots of the stored data, the newest each time.
    pub fn views(&self) -> Views {
        self.shared.segments.views()
    }

    /// Evicts what is cached of the stored data from memory.
    pub fn release_memory(&self) {
        self.shared.segments.release_memory();
    }

    /// Evicts what is cached of the stored data and has not been used for this long.
    pub fn expire_memory(&self, idle: Duration) {
        self.shared.segments.expire_memory(idle);
    }

    /// How long data is kept after it arrived; `None` for ever.
    pub fn keep_for(&self) -> Option<Nanos> {
        self.shared.segments.keep_for()
    }

    /// Sizes and problems of the store.
    pub fn state(&self) -> StoreState {
        let path = &self.shared.path;
        let mut state = self.figures().into_state();
        let mut problems = path.problems.list();
        problems.append(&mut state.problems);
        let taken_over = path.taken_over();
        let (open_traces, open_spans) = {
            let intake = path.intake();
            (intake.traces() as u64, intake.spans() as u64)
        };
        StoreState {
            accepts: !path.is_closing() && !path.log_fails() && taken_over.is_none(),
            problems: problems.into_iter().chain(taken_over).collect(),
            spans_appended: path.spans_appended.load(Ordering::Relaxed),
            open_traces,
            open_spans,
            open_bytes: path.budget.used() as u64,
            log_bytes: path.log_bytes.load(Ordering::Relaxed),
            log_syncs: path.log_syncs.current(),
            compactions: path.compactions.current(),
            ..state
        }
    }

    /// Sizes and times of the segments.
    pub fn figures(&self) -> SegmentFigures {
        self.shared.segments.figures()
    }

    /// Flushes all open traces into segments.
    ///
    /// # Errors
    /// When a segment or the manifest cannot be written.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let ended = || StoreError::new("the store is closed");
        let (done, answer) = oneshot::channel();
        self.shared.flushes.send(done).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }

    /// Runs compaction and retention now.
    ///
    /// # Errors
    /// When a segment or the manifest cannot be written.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let StoreInner { path, segments, .. } = &*self.shared;
        maintenance::compact(path, segments).await?;
        segments.retain(path.clock.wall()).await
    }

    /// Flushes open data and closes the store. From now on appends are rejected.
    ///
    /// # Errors
    /// As [`Store::flush`]; what could not be written is in the log, and open again the next time.
    pub async fn close(&self) -> Result<(), StoreError> {
        if self.shared.path.closing.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.barrier().await;
        let flushed = self.flush().await;
        self.barrier().await;
        self.shared.tasks.iter().for_each(JoinHandle::abort);
        // A thread that has ended needs no shutdown command.
        let _ = self.shared.commands.send(LogCommand::End);
        flushed
    }

    /// Waits until the log thread has handled all earlier commands.
    async fn barrier(&self) {
        let (done, answer) = oneshot::channel();
        if self.shared.commands.send(LogCommand::Barrier(done)).is_ok() {
            let _ = answer.await;
        }
    }
}
