//! The alerts of each tenant and the progress of their evaluations, while the server runs.

use super::incidents::PastIncident;
use super::lifecycle::{AlertList, Changes, Interval};
use super::servers::schedule::StorageHistory;
use super::storage;
use crate::durable_files::{FileCalls, disk};
use crate::line_log::LineLog;
use laggard_model::{DurationHistogram, Nanos};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use utoipa::ToSchema;

/// Tenants whose alerts were loaded.
pub(crate) struct AllTenantAlerts {
    data: PathBuf,
    tenants: RwLock<BTreeMap<Box<str>, Arc<TenantAlerts>>>,
}

impl AllTenantAlerts {
    pub(super) fn new(data: &Path) -> AllTenantAlerts {
        AllTenantAlerts { data: data.to_owned(), tenants: RwLock::default() }
    }

    /// The alerts of a tenant; reads its file the first time.
    pub(crate) fn tenant(&self, tenant: &str) -> Arc<TenantAlerts> {
        let known =
            self.tenants.read().expect("no thread panics while it holds the lock").get(tenant).cloned();
        if let Some(known) = known {
            return known;
        }
        let mut tenants = self.tenants.write().expect("no thread panics while it holds the lock");
        let fresh = || Arc::new(TenantAlerts::load(storage::file_of(&self.data, tenant), disk()));
        tenants.entry(tenant.into()).or_insert_with(fresh).clone()
    }

    /// All that are loaded, by name.
    pub(crate) fn all(&self) -> Vec<(Box<str>, Arc<TenantAlerts>)> {
        let tenants = self.tenants.read().expect("no thread panics while it holds the lock");
        tenants.iter().map(|(name, tenant_alerts)| (name.clone(), tenant_alerts.clone())).collect()
    }
}

/// The alerts of one tenant.
pub(crate) struct TenantAlerts {
    file: PathBuf,
    files: Arc<dyn FileCalls>,
    state: Mutex<DetectionState>,
    /// Only evaluations use it, one at a time.
    storage: Mutex<StorageHistory>,
    /// Times in a row that the file could not be written. Locked while it is written, so that saves do not overtake
    /// each other.
    save_failures: Mutex<u64>,
    /// The file of incidents that are history; `None` if it cannot be read.
    past: Mutex<Option<LineLog<Arc<PastIncident>>>>,
}

/// Alerts, and the evaluations since the start of the server.
#[derive(Clone, Default)]
pub(crate) struct DetectionState {
    pub(crate) alerts: AlertList,
    /// The last evaluation, even if it was skipped.
    pub(crate) last: Option<EvaluationRecord>,
    /// The last one that was not skipped.
    pub(crate) last_evaluated: Option<EvaluationRecord>,
    /// The last evaluation of servers, even if it was skipped, with the windows that were evaluated last.
    pub(crate) last_servers: Option<EvaluationRecord>,
    /// Whether objectives were evaluated.
    pub(crate) objectives_evaluated: bool,
    pub(crate) outcomes: BTreeMap<EvaluationOutcome, u64>,
    /// How long each took.
    pub(crate) durations: DurationHistogram,
}

/// One evaluation.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct EvaluationRecord {
    /// Its time, by the server's clock.
    pub(crate) at_ns: i64,
    pub(crate) outcome: EvaluationOutcome,
    /// The outcome in a sentence.
    pub(crate) text: String,
    pub(crate) took_ns: u64,
    /// The window that was, or would have been evaluated.
    pub(crate) window: Option<Interval>,
    pub(crate) baseline: Option<Interval>,
    /// One in this number of requests was evaluated.
    pub(crate) sampled_one_in: u64,
}

/// The outcome of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EvaluationOutcome {
    /// The window was evaluated.
    Evaluated,
    /// No new requests since the last evaluation.
    NothingNew,
    /// The latest requests are older than the window.
    OldData,
    /// The window or its baseline has too few requests.
    TooLittleData,
    /// They exceed `alerts.memory`.
    TooMuchData,
    /// Too many queries were running.
    Busy,
    /// Another server evaluates.
    Elsewhere,
    /// The store could not be read.
    Unreadable,
    /// A bug; see the log.
    Failed,
}

impl EvaluationOutcome {
    /// The name in JSON and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            EvaluationOutcome::Evaluated => "evaluated",
            EvaluationOutcome::NothingNew => "nothing_new",
            EvaluationOutcome::OldData => "old_data",
            EvaluationOutcome::TooLittleData => "too_little_data",
            EvaluationOutcome::TooMuchData => "too_much_data",
            EvaluationOutcome::Busy => "busy",
            EvaluationOutcome::Elsewhere => "elsewhere",
            EvaluationOutcome::Unreadable => "unreadable",
            EvaluationOutcome::Failed => "failed",
        }
    }
}

impl EvaluationOutcome {
    /// Whether another evaluation of the same data would have the same outcome.
    pub(super) const fn is_final(self) -> bool {
        use EvaluationOutcome::{Busy, Elsewhere, Failed, Unreadable};
        !matches!(self, Busy | Elsewhere | Unreadable | Failed)
    }
}

impl TenantAlerts {
    pub(super) fn load(file: PathBuf, files: Arc<dyn FileCalls>) -> TenantAlerts {
        let mut alerts = storage::load(&file);
        let past = storage::load_history(&file, files.clone());
        if let Some(past) = &past {
            storage::add_history(&mut alerts, past);
        }
        TenantAlerts {
            file,
            files,
            state: Mutex::new(DetectionState { alerts, ..DetectionState::default() }),
            storage: Mutex::default(),
            save_failures: Mutex::default(),
            past: Mutex::new(past),
        }
    }

    /// Lines of the file of earlier incidents that could not be read.
    pub(crate) fn damaged(&self) -> u64 {
        let past = self.past.lock().expect("no thread panics while it holds the lock");
        past.as_ref().map_or(0, LineLog::damaged)
    }

    /// Moves incidents that became history into their file, before the file of alerts is written without them.
    fn save_history(&self) -> io::Result<()> {
        let retired: Vec<PastIncident> = self.state().alerts.retired.clone();
        let mut past = self.past.lock().expect("no thread panics while it holds the lock");
        let Some(past) = past.as_mut().filter(|_| !retired.is_empty()) else { return Ok(()) };
        storage::append_history(past, &retired)?;
        let mut state = self.state();
        state.alerts.retired.retain(|incident| !retired.contains(incident));
        storage::add_history(&mut state.alerts, past);
        Ok(())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, DetectionState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    pub(super) fn storage(&self) -> MutexGuard<'_, StorageHistory> {
        // State left incomplete by a panic is read from disk again.
        self.storage.lock().unwrap_or_else(|poisoned| {
            let mut history = poisoned.into_inner();
            *history = StorageHistory::default();
            history
        })
    }

    /// Records an evaluation and applies it to the alerts.
    pub(super) fn record(
        &self,
        record: EvaluationRecord,
        apply: impl FnOnce(&mut AlertList) -> Changes,
    ) -> Changes {
        let mut state = self.state();
        *state.outcomes.entry(record.outcome).or_default() += 1;
        state.durations.add(Nanos::from_ns(record.took_ns));
        if record.outcome == EvaluationOutcome::Evaluated {
            state.last_evaluated = Some(record.clone());
        }
        state.last = Some(record);
        apply(&mut state.alerts)
    }

    /// Records an evaluation of servers and applies it to the alerts.
    pub(super) fn record_servers(
        &self,
        record: EvaluationRecord,
        apply: impl FnOnce(&mut AlertList) -> Changes,
    ) -> Changes {
        let mut state = self.state();
        state.durations.add(Nanos::from_ns(record.took_ns));
        state.last_servers = Some(record);
        apply(&mut state.alerts)
    }

    /// Writes the file; blocks. Only the first of several failures is logged, and the next save tries again.
    pub(crate) fn save(&self) {
        let mut failures = self.save_failures.lock().expect("no thread panics while it holds the lock");
        tracing::debug!("alert save begins");
        let history = self.save_history();
        let alerts = self.state().alerts.clone();
        let saved = history.and_then(|()| storage::save(&self.file, &alerts, &*self.files));
        tracing::debug!("alert save ended");
        match saved {
            Ok(()) if *failures > 0 => {
                tracing::info!(file = %self.file.display(), "alerts are saved again");
                *failures = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if *failures == 0 {
                    tracing::error!(file = %self.file.display(), %error, "alerts cannot be saved; after a restart, notifications may be repeated");
                }
                *failures += 1;
            }
        }
    }

    /// Times in a row that the file could not be written.
    pub(crate) fn save_failures(&self) -> u64 {
        *self.save_failures.lock().expect("no thread panics while it holds the lock")
    }
}
