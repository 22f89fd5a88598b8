//! Jobs: requests that are being answered, and answers that are stored for a while.
//!
//! ```text
//! submit ─► waiting (bounded), by client in turn ─► one of a few threads ─► answer, stored (bounded in number, bytes, time)
//!                 └─ cancel ───────────────────────────┘ checked by everything that may take long
//! ```
//!
//! One thread answers short questions only.

mod progress;
mod queue;
pub(crate) mod routes;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use progress::{JobProgress, JobState, Progress};

use super::answers::{Answer, Form, FormParameters};
use super::client_id::ClientId;
use super::parameters::now;
use super::problem::{ApiError, ProblemKind};
use super::running::{JobSize, RunningWork};
use crate::operations::ProcessMemory;
use laggard_model::Timestamp;
use laggard_parallel::{CancelReason, Canceled};
use queue::{FairQueue, QueuedJob};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use table::JobTable;

/// How many jobs there can be, and how long answers stay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobLimits {
    /// Answered at a time, besides a short one.
    pub(crate) threads: usize,
    pub(crate) waiting_max: usize,
    pub(crate) waiting_of_client_max: usize,
    /// Ended jobs that are stored.
    pub(crate) stored_max: usize,
    /// Bytes of all answers together, by the size of their JSON.
    pub(crate) stored_bytes_max: usize,
    /// Nanoseconds that an ended job is stored.
    pub(crate) stored_ns_max: i64,
}

impl Default for JobLimits {
    fn default() -> JobLimits {
        JobLimits {
            threads: 2,
            waiting_max: 64,
            waiting_of_client_max: 32,
            stored_max: 200,
            stored_bytes_max: 256 << 20,
            stored_ns_max: 3_600_000_000_000,
        }
    }
}

impl JobLimits {
    /// The default limits, as far as the memory of the process allows. An answer in memory is several times as large as its JSON.
    pub(crate) fn within(memory: &ProcessMemory) -> JobLimits {
        let limits = JobLimits::default();
        let stored_bytes_max = memory.at_most_an_eighth(4 * limits.stored_bytes_max) / 4;
        JobLimits { stored_bytes_max, ..limits }
    }
}

/// The name of a job: not to be guessed, sixteen hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct JobId(u64);

impl JobId {
    fn new() -> JobId {
        // The standard library draws the keys of its hash from the system's source of randomness.
        JobId(RandomState::new().build_hasher().finish())
    }

    pub(crate) fn parse(text: &str) -> Option<JobId> {
        let digits = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(text, 16).ok().filter(|_| digits).map(JobId)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One question on its way.
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) tenant: Box<str>,
    /// Its last words in the API: `diagnose`, `kernel/path`, ...
    pub(crate) question: &'static str,
    pub(crate) created: Timestamp,
    pub(crate) progress: Progress,
    ended: OnceLock<Ended>,
}

/// How a job ended.
struct Ended {
    outcome: Result<Answer, ApiError>,
    at: Timestamp,
    bytes: usize,
}

impl Ended {
    fn with(outcome: Result<Answer, ApiError>) -> Ended {
        let bytes = outcome.as_ref().map_or(0, bytes_of);
        Ended { outcome, at: now(), bytes }
    }
}

impl Job {
    /// The answer, or why there is none; `None` before the end.
    pub(crate) fn outcome(&self) -> Option<Result<&Answer, &ApiError>> {
        self.ended.get().map(|ended| ended.outcome.as_ref())
    }
}

/// The work of a job.
type Work = Box<dyn FnOnce(&Progress) -> Result<Answer, ApiError> + Send>;

/// All jobs. A handle: clones are the same.
#[derive(Clone)]
pub(crate) struct Jobs {
    shared: Arc<Shared>,
}

struct Shared {
    limits: JobLimits,
    running: Arc<RunningWork>,
    memory: Arc<ProcessMemory>,
    table: Mutex<JobQueue>,
    woken: Condvar,
}

#[derive(Default)]
struct JobQueue {
    jobs: JobTable,
    waiting: FairQueue,
    /// Threads that answer any question, and those that answer short ones.
    threads: [usize; 2],
}

/// A question to be answered.
#[derive(Clone, Copy)]
pub(crate) struct NewJob<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) client: ClientId,
    pub(crate) question: &'static str,
    pub(crate) size: JobSize,
}

impl Jobs {
    pub(crate) fn new(limits: JobLimits, running: Arc<RunningWork>, memory: Arc<ProcessMemory>) -> Jobs {
        let shared = Shared { limits, running, memory, table: Mutex::default(), woken: Condvar::new() };
        Jobs { shared: Arc::new(shared) }
    }

    /// Takes a question; it is answered in its client's turn.
    ///
    /// # Errors
    /// When too many wait.
    pub(crate) fn submit(
        &self,
        new: NewJob<'_>,
        work: impl FnOnce(&Progress) -> Result<Answer, ApiError> + Send + 'static,
    ) -> Result<Arc<Job>, ApiError> {
        let limits = &self.shared.limits;
        let mut table = self.table();
        if !table.waiting.has_room(new.client, limits) {
            return Err(ApiError::new(ProblemKind::Busy, "too many questions wait for their turn"));
        }
        let job = Arc::new(Job {
            id: JobId::new(),
            tenant: new.tenant.into(),
            question: new.question,
            created: now(),
            progress: Progress::new(),
            ended: OnceLock::new(),
        });
        table.jobs.insert(job.clone());
        table.jobs.expire(limits, now());
        let (client, size) = (new.client, new.size);
        table.waiting.push(QueuedJob { job: job.clone(), client, size, work: Box::new(work) });
        for (only_short, threads_max) in [(false, limits.threads), (true, 1)] {
            let threads = &mut table.threads[usize::from(only_short)];
            if *threads < threads_max && (size == JobSize::Short || !only_short) {
                *threads += 1;
                let shared = self.shared.clone();
                std::thread::spawn(move || {
                    if !only_short {
                        lower_priority();
                    }
                    shared.run(only_short);
                });
            }
        }
        // Not every thread may take it.
        self.shared.woken.notify_all();
        Ok(job)
    }

    /// A tenant's job.
    pub(crate) fn get(&self, tenant: &str, id: JobId) -> Option<Arc<Job>> {
        let mut table = self.table();
        table.jobs.expire(&self.shared.limits, now());
        table.jobs.get(id).filter(|job| &*job.tenant == tenant)
    }

    /// A tenant's jobs, the latest first.
    pub(crate) fn list(&self, tenant: &str) -> Vec<Arc<Job>> {
        let mut table = self.table();
        table.jobs.expire(&self.shared.limits, now());
        table.jobs.of_tenant(tenant)
    }

    /// How many are in each state: waiting, running, ended.
    pub(crate) fn counts(&self) -> JobCounts {
        let table = self.table();
        let states = table.jobs.states();
        let count = |state: JobState| states.iter().filter(|&&known| known == state).count();
        JobCounts {
            waiting: count(JobState::Waiting),
            running: count(JobState::Running),
            total: table.jobs.submitted,
        }
    }

    /// Cancels a job. One that runs ends at its next check.
    pub(crate) fn cancel(&self, job: &Job) {
        job.progress.stop.cancel(CancelReason::Unwanted);
        let mut table = self.table();
        if table.waiting.remove(job) {
            let canceled = Err(ApiError::from(Canceled(CancelReason::Unwanted)));
            table.jobs.end(job, Ended::with(canceled), JobState::Canceled);
        }
    }

    /// Cancels all: the server stops.
    pub(crate) fn cancel_all(&self) {
        let all = self.table().jobs.all();
        all.iter().filter(|job| !job.progress.progress().state.has_ended()).for_each(|job| self.cancel(job));
    }

    fn table(&self) -> MutexGuard<'_, JobQueue> {
        self.shared.table()
    }
}

/// Numbers of jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JobCounts {
    pub(crate) waiting: usize,
    pub(crate) running: usize,
    /// Since the start.
    pub(crate) total: u64,
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, JobQueue> {
        self.table.lock().expect("no thread panics while it holds the lock")
    }

    /// Answers waiting questions until there is none for a while.
    fn run(&self, only_short: bool) {
        loop {
            let mut table = self.table();
            let Some(queued) = table.waiting.pop(only_short, &self.limits, &self.memory) else {
                let waited =
                    self.woken.wait_timeout(table, IDLE).expect("no thread panics while it holds the lock");
                table = waited.0;
                // What waits may be for other threads, which take it; a new question starts threads again.
                if waited.1.timed_out() && (only_short || table.waiting.is_empty()) {
                    table.threads[usize::from(only_short)] -= 1;
                    return;
                }
                continue;
            };
            drop(table);
            let QueuedJob { job, client, size, work } = queued;
            job.progress.set_state(JobState::Running);
            if self.memory.is_short() {
                job.progress.stop.cancel(CancelReason::Memory);
            }
            let listed = self.running.begin(size, &job.progress.stop);
            let outcome = answer(&job, work);
            drop(listed);
            let is_unwanted = job.progress.stop.reason() == Some(CancelReason::Unwanted);
            let state = match &outcome {
                _ if is_unwanted => JobState::Canceled,
                Ok(_) => JobState::Done,
                Err(_) => JobState::Failed,
            };
            let ended = Ended::with(if is_unwanted { job.progress.check().and(outcome) } else { outcome });
            let mut table = self.table();
            table.waiting.end(client, size);
            table.jobs.end(&job, ended, state);
            table.jobs.expire(&self.limits, now());
            drop(table);
            // The client's next one may run now, on any thread.
            self.woken.notify_all();
        }
    }
}

/// A thread without work for so long ends.
const IDLE: std::time::Duration = std::time::Duration::from_secs(10);

/// Makes this thread, and those that it starts, nicer: where all want the processors, each gets a third of what a thread gets that
/// receives telemetry or answers a page. Only on Linux; elsewhere a process has one niceness.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(5) {
        tracing::debug!(%error, "the priority of a thread for long questions cannot be lowered");
    }
}

/// A bug in one answer must not end the thread for all.
fn answer(job: &Job, work: Work) -> Result<Answer, ApiError> {
    let work = || job.progress.run(work);
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!(job = %job.id, question = job.question, "answering panicked");
        Err(ApiError::new(ProblemKind::Internal, "answering failed; the log tells more"))
    })
}

/// How large an answer is, by its JSON.
fn bytes_of(answer: &Answer) -> usize {
    let form: Result<Form, ApiError> = FormParameters::default().form();
    form.and_then(|form| answer.render(&form)).map_or(0, |json| json.len())
}
