//! Rounds: every host is asked, some at a time, and whatever failed waits longer.

use crate::client::ClientSettings;
use crate::fetch::Fetcher;
use crate::state::State;
use crate::visit::{Tools, visit};
use crate::{CollectError, Delivered, Destination, Source};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How hosts are asked.
#[derive(Clone, Debug)]
pub struct CollectSettings {
    /// Where the state is kept.
    pub state: PathBuf,
    /// Token, authorities and the longest time for one answer of a host.
    pub client: ClientSettings,
    /// Hosts asked at the same time, from 1.
    pub parallel: usize,
    /// Most bytes taken at a time, which bounds memory and the longest line.
    pub piece_bytes_max: usize,
    /// Most bytes taken of one file in one round, in pieces.
    pub round_bytes_max: u64,
    /// Most bytes of a file that is taken as a whole, or that must be read from its start.
    pub whole_bytes_max: u64,
    /// The line that names columns, put in front of every piece for a server; if absent, that of each file, where it has one.
    pub header: Option<String>,
    /// What the name of a log ends with when it has been rotated, `.1`: there its rest is looked for.
    pub rotated: Option<String>,
    /// Whether every file is taken as a whole when it has changed.
    pub whole: bool,
    /// Pause after a host's first failure; twice as long after each further one.
    pub pause: Duration,
}

/// Longest pause after failures.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// What happened in a round to one source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// Bytes taken and delivered.
    pub bytes: u64,
    /// Files that were rotated away or cut short since the last round.
    pub rotations: u32,
    /// Of these, those whose rest, if there was one, could not be read any more.
    pub rests_lost: u32,
    /// Bytes of lines that are too long, passed over.
    pub passed_over: u64,
    /// Whether a piece may have been delivered twice, because nobody knows whether it was the first time.
    pub repeated: bool,
    /// Records that the destination could not read, by cause.
    pub losses: Vec<(String, u64)>,
    /// What somebody should know, in words.
    pub cautions: Vec<String>,
    /// Why it came no further.
    pub failure: Option<CollectError>,
    /// How many times in a row it failed.
    pub failures: u32,
    /// After how long it is asked again, after a failure.
    pub asked_again: Option<Duration>,
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

/// What happened in a round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Sources that were asked, in the order in which they were given.
    pub sources: Vec<SourceStatus>,
    /// Sources that were not asked, because they failed a short while ago.
    pub waiting: usize,
}

/// A source, and how it fared.
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
    whole_turn: Mutex<()>,
    asked: Vec<SourceState>,
}

impl<D: Destination> Collector<D> {
    /// Reads the state; asks nobody yet.
    ///
    /// # Errors
    /// When two sources have one name, the state cannot be used, or the certificates cannot be read.
    pub fn new(
        settings: CollectSettings,
        sources: Vec<Source>,
        destination: D,
    ) -> Result<Collector<D>, CollectError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = sources.iter().find(|source| !names.insert(&source.name)) {
            let name = &twice.name;
            return Err(CollectError::Settings(format!(
                "two files are called {name}: give names, as in {name}-2=URL"
            )));
        }
        let fetcher = Fetcher::new(&settings.client, settings.piece_bytes_max, settings.whole_bytes_max)?;
        let state = Mutex::new(State::open(&settings.state, destination.identity())?);
        let asked = |source| SourceState { source, failures: 0, not_before: None };
        let asked = sources.into_iter().map(asked).collect();
        Ok(Collector { settings, fetcher, destination, state, whole_turn: Mutex::new(()), asked })
    }

    /// Asks every source that is due, once.
    ///
    /// # Errors
    /// [`CollectError::State`] when the state cannot be written: going on would take bytes twice.
    pub fn round(&mut self) -> Result<Round, CollectError> {
        let now = Instant::now();
        let due = |asked: &SourceState| asked.not_before.is_none_or(|time| time <= now);
        let due: Vec<usize> = (0..self.asked.len()).filter(|&at| due(&self.asked[at])).collect();
        let (next, told) = (AtomicUsize::new(0), Mutex::new(vec![None; due.len()]));
        let workers = self.settings.parallel.clamp(1, due.len().max(1));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(&at) = due.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let status = self.collect(&self.asked[at].source);
                        let place = due.binary_search(&at).expect("it is one of them, in order");
                        told.lock().expect("no thread panics with it")[place] = Some(status);
                    }
                });
            }
        });
        let told = told.into_inner().expect("no thread panics with it");
        let mut round = Round { sources: Vec::new(), waiting: self.asked.len() - due.len() };
        for (at, status) in std::iter::zip(due, told.into_iter().flatten()) {
            if let Some(failure @ CollectError::State(_)) = status.failure {
                return Err(failure);
            }
            round.sources.push(self.judged(at, status));
        }
        Ok(round)
    }

    /// Lets a source that failed wait.
    fn judged(&mut self, at: usize, mut status: SourceStatus) -> SourceStatus {
        let asked = &mut self.asked[at];
        let Some(failure) = &status.failure else {
            (asked.failures, asked.not_before) = (0, None);
            return status;
        };
        let doubled = self.settings.pause.saturating_mul(1 << asked.failures.min(16));
        let pause = failure.retry_after().unwrap_or_default().max(doubled).min(PAUSE_MAX);
        asked.failures += 1;
        asked.not_before = Some(Instant::now() + pause);
        (status.failures, status.asked_again) = (asked.failures, Some(pause));
        status
    }

    /// Takes what a source has, up to the limit of a round.
    fn collect(&self, source: &Source) -> SourceStatus {
        let known = self.lock().known(&source.name, &source.url);
        let tools = Tools {
            settings: &self.settings,
            fetcher: &self.fetcher,
            destination: &self.destination,
            state: &self.state,
            whole_turn: &self.whole_turn,
        };
        visit(&tools, source, known)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
