//! Rounds: every source is fetched, several at a time; sources that failed are retried after longer and longer pauses.

use crate::client::ClientSettings;
use crate::fetch::Fetcher;
use crate::state::State;
use crate::visit::{VisitContext, visit};
use crate::{CollectError, Delivered, Destination, Source};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How sources are fetched.
#[derive(Clone, Debug)]
pub struct CollectSettings {
    /// The state file.
    pub state: PathBuf,
    /// Token, root certificates, and the longest time for a response of a host.
    pub client: ClientSettings,
    /// Sources fetched at the same time, from 1.
    pub parallel: usize,
    /// Most bytes of a chunk, which bounds memory and the longest line.
    pub chunk_bytes_max: usize,
    /// Most bytes of one file in one round, in chunks.
    pub round_bytes_max: u64,
    /// Most bytes of a file that is read completely or from its start.
    pub whole_bytes_max: u64,
    /// The line with the column names, sent in front of every chunk; if absent, that of each file, where it has one.
    pub header: Option<String>,
    /// The suffix of a rotated log, like `.1`: its unread end is fetched from there.
    pub rotated: Option<String>,
    /// Whether every changed file is read completely.
    pub whole: bool,
    /// Pause after a host's first failure; twice as long after each further one.
    pub pause: Duration,
}

/// Longest pause after failures.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// The result of one source in a round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceStatus {
    /// Name of the source.
    pub name: String,
    /// Bytes delivered.
    pub bytes: u64,
    /// Files that were rotated away or truncated since the last round.
    pub rotations: u32,
    /// Of these, those whose unread end, if there was one, is lost.
    pub remainders_lost: u32,
    /// Bytes of lines that are too long.
    pub skipped: u64,
    /// Whether a chunk may have been delivered twice, because the first delivery had no response.
    pub repeated: bool,
    /// Records that the destination could not read, by cause.
    pub losses: Vec<(String, u64)>,
    /// Warnings for the user.
    pub cautions: Vec<String>,
    /// Why it stopped early.
    pub failure: Option<CollectError>,
    /// Consecutive failures.
    pub failures: u32,
    /// Pause before the next try after a failure.
    pub retry_in: Option<Duration>,
}

impl SourceStatus {
    pub(crate) fn add(&mut self, delivered: Delivered) {
        self.cautions.extend(delivered.caution);
        for (name, count) in delivered.losses {
            match self.losses.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.losses.push((name, count)),
            }
        }
    }
}

/// The result of a round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Sources that were fetched, in their configured order.
    pub sources: Vec<SourceStatus>,
    /// Sources that were not fetched because their pause after a failure is not over.
    pub waiting: usize,
}

/// A source with its failures.
struct SourceState {
    source: Source,
    failures: u32,
    not_before: Option<Instant>,
}

/// Collects from sources into a destination.
pub struct Collector<D> {
    settings: CollectSettings,
    fetcher: Fetcher,
    destination: D,
    state: Mutex<State>,
    whole_file_lock: Mutex<()>,
    sources: Vec<SourceState>,
}

impl<D: Destination> Collector<D> {
    /// Reads the state; sends no request yet.
    ///
    /// # Errors
    /// When two sources have one name, the state cannot be used, or the certificates cannot be read.
    pub fn new(
        settings: CollectSettings,
        sources: Vec<Source>,
        destination: D,
    ) -> Result<Collector<D>, CollectError> {
        let mut names = BTreeSet::new();
        if let Some(duplicate) = sources.iter().find(|source| !names.insert(&source.name)) {
            let name = &duplicate.name;
            return Err(CollectError::Settings(format!(
                "two files are named {name}; name them, as in {name}-2=URL"
            )));
        }
        let fetcher = Fetcher::new(&settings.client, settings.chunk_bytes_max, settings.whole_bytes_max)?;
        let state = Mutex::new(State::open(&settings.state, destination.identity())?);
        let new = |source| SourceState { source, failures: 0, not_before: None };
        let sources = sources.into_iter().map(new).collect();
        Ok(Collector { settings, fetcher, destination, state, whole_file_lock: Mutex::new(()), sources })
    }

    /// Fetches from every source whose pause is over.
    ///
    /// # Errors
    /// [`CollectError::State`] when the state cannot be written: going on would collect bytes twice.
    pub fn round(&mut self) -> Result<Round, CollectError> {
        let now = Instant::now();
        let is_ready = |source: &SourceState| source.not_before.is_none_or(|time| time <= now);
        let ready: Vec<usize> =
            (0..self.sources.len()).filter(|&index| is_ready(&self.sources[index])).collect();
        let (next, statuses) = (AtomicUsize::new(0), Mutex::new(vec![None; ready.len()]));
        let workers = self.settings.parallel.clamp(1, ready.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let position = next.fetch_add(1, Ordering::SeqCst);
                        let Some(&index) = ready.get(position) else { return };
                        let status = self.collect(&self.sources[index].source);
                        statuses.lock().expect("no thread panics with it")[position] = Some(status);
                    }
                });
            }
        });
        let statuses = statuses.into_inner().expect("no thread panics with it");
        let mut round = Round { sources: Vec::new(), waiting: self.sources.len() - ready.len() };
        for (index, status) in std::iter::zip(ready, statuses.into_iter().flatten()) {
            if let Some(failure @ CollectError::State(_)) = status.failure {
                return Err(failure);
            }
            round.sources.push(self.schedule_retry(index, status));
        }
        Ok(round)
    }

    /// Sets the pause of a source that failed.
    fn schedule_retry(&mut self, index: usize, mut status: SourceStatus) -> SourceStatus {
        let source = &mut self.sources[index];
        let Some(failure) = &status.failure else {
            (source.failures, source.not_before) = (0, None);
            return status;
        };
        let doubled = self.settings.pause.saturating_mul(1 << source.failures.min(16));
        let pause = failure.retry_after().unwrap_or_default().max(doubled).min(PAUSE_MAX);
        source.failures += 1;
        source.not_before = Some(Instant::now() + pause);
        (status.failures, status.retry_in) = (source.failures, Some(pause));
        status
    }

    /// Collects the new bytes of a source, up to the limit of a round.
    fn collect(&self, source: &Source) -> SourceStatus {
        let known = self.lock().known(&source.name, &source.url);
        let context = VisitContext {
            settings: &self.settings,
            fetcher: &self.fetcher,
            destination: &self.destination,
            state: &self.state,
            whole_file_lock: &self.whole_file_lock,
        };
        visit(&context, source, known)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
