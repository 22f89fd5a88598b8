//! What is known of each tenant's alerts while the server runs.

use super::book::{AlertBook, Changes, Span};
use super::kept;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use utoipa::ToSchema;

/// All tenants that were looked at or asked about.
pub(crate) struct AllWatched {
    data: PathBuf,
    tenants: RwLock<BTreeMap<Box<str>, Arc<Watched>>>,
}

impl AllWatched {
    pub(super) fn new(data: &Path) -> AllWatched {
        AllWatched { data: data.to_owned(), tenants: RwLock::default() }
    }

    /// The alerts of a tenant; reads its file the first time.
    pub(crate) fn of(&self, tenant: &str) -> Arc<Watched> {
        let known =
            self.tenants.read().expect("no thread panics while it holds the lock").get(tenant).cloned();
        if let Some(known) = known {
            return known;
        }
        let mut tenants = self.tenants.write().expect("no thread panics while it holds the lock");
        let fresh = || Arc::new(Watched::load(kept::file_of(&self.data, tenant)));
        tenants.entry(tenant.into()).or_insert_with(fresh).clone()
    }

    /// All that are known, with their names.
    pub(crate) fn all(&self) -> Vec<(Box<str>, Arc<Watched>)> {
        let tenants = self.tenants.read().expect("no thread panics while it holds the lock");
        tenants.iter().map(|(name, watched)| (name.clone(), watched.clone())).collect()
    }
}

/// The alerts of one tenant.
pub(crate) struct Watched {
    file: PathBuf,
    standing: Mutex<Standing>,
    /// Held while the file is written, so that what is newer is written later.
    saving: Mutex<SaveFailures>,
}

#[derive(Default)]
struct SaveFailures(u64);

/// Alerts, and how the looking goes.
#[derive(Clone, Default)]
pub(crate) struct Standing {
    pub(crate) book: AlertBook,
    /// The last look, also where it judged nothing.
    pub(crate) last: Option<Look>,
    /// The last look that judged a window.
    pub(crate) judged: Option<Look>,
    /// Looks since the start, by their outcome.
    pub(crate) looks: BTreeMap<LookOutcome, u64>,
    /// Seconds that looking took, since the start.
    pub(crate) seconds: f64,
}

/// One look.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Look {
    /// When, by the server's clock.
    pub(crate) at_ns: i64,
    pub(crate) outcome: LookOutcome,
    /// What came of it, in a sentence.
    pub(crate) text: String,
    /// How long it took.
    pub(crate) took_ns: u64,
    /// The window that was, or would have been judged.
    pub(crate) window: Option<Span>,
    /// What it was compared with.
    pub(crate) baseline: Option<Span>,
    /// Of so many traces one was looked at.
    pub(crate) kept_one_in: u64,
}

/// What came of a look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LookOutcome {
    /// The window was judged.
    Judged,
    /// Nothing came since the last look.
    NothingNew,
    /// What came last is too old to be about now.
    OldData,
    /// The window or its baseline has too few requests.
    TooLittleData,
    /// They hold more than fits into the memory for it.
    TooMuchData,
    /// Questions of people went first.
    Busy,
    /// The store could not be read.
    Unreadable,
    /// Our own fault; the log tells more.
    Failed,
}

impl LookOutcome {
    /// As JSON and metrics have it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            LookOutcome::Judged => "judged",
            LookOutcome::NothingNew => "nothing_new",
            LookOutcome::OldData => "old_data",
            LookOutcome::TooLittleData => "too_little_data",
            LookOutcome::TooMuchData => "too_much_data",
            LookOutcome::Busy => "busy",
            LookOutcome::Unreadable => "unreadable",
            LookOutcome::Failed => "failed",
        }
    }
}

impl LookOutcome {
    /// Whether another look at the same data would come to the same.
    pub(super) const fn is_final(self) -> bool {
        !matches!(self, LookOutcome::Busy | LookOutcome::Unreadable | LookOutcome::Failed)
    }
}

impl Watched {
    fn load(file: PathBuf) -> Watched {
        let standing = Standing { book: kept::load(&file), ..Standing::default() };
        Watched { file, standing: Mutex::new(standing), saving: Mutex::default() }
    }

    pub(crate) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().expect("no thread panics while it holds the lock")
    }

    /// Notes a look and what it did to the alerts.
    pub(super) fn note(&self, look: Look, step: impl FnOnce(&mut AlertBook) -> Changes) -> Changes {
        let mut standing = self.standing();
        *standing.looks.entry(look.outcome).or_default() += 1;
        standing.seconds += look.took_ns as f64 / 1e9;
        if look.outcome == LookOutcome::Judged {
            standing.judged = Some(look.clone());
        }
        standing.last = Some(look);
        step(&mut standing.book)
    }

    /// Writes the file; for a thread that may wait. What cannot be written is told once, and tried again next time.
    pub(super) fn save(&self) {
        let mut failures = self.saving.lock().expect("no thread panics while it holds the lock");
        let book = self.standing().book.clone();
        match kept::save(&self.file, &book) {
            Ok(()) if failures.0 > 0 => {
                tracing::info!(file = %self.file.display(), "alerts are kept again");
                failures.0 = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if failures.0 == 0 {
                    tracing::error!(file = %self.file.display(), %error, "alerts cannot be kept; after a restart they may be told again");
                }
                failures.0 += 1;
            }
        }
    }

    /// Times in a row that the file could not be written.
    pub(crate) fn save_failures(&self) -> u64 {
        self.saving.lock().expect("no thread panics while it holds the lock").0
    }
}
