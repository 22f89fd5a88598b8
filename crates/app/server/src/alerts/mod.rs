//! Continuous detection, and whom it tells (`docs/manual/alerts.md`).
//!
//! ```text
//! store ─ reading ─► looks: window, baselines ─ judge: diagnose ─► book: pending, firing, resolved ─ kept: a file
//!                                                                    │
//!                      receivers: webhook, Alertmanager, program ◄── due ── message
//! ```

mod book;
mod due;
mod judge;
mod kept;
mod looks;
mod message;
mod program;
mod reading;
mod receivers;
mod tell;
mod watch;
mod watched;

pub use book::{ALERTS_MAX, Alert, AlertBook, AlertState, Changes, Rules, Span, Told};
pub use judge::{Found, JudgeSettings, Judgment, SlowCategory, TooFew, judge};
pub use looks::Detection;
pub(crate) use receivers::{Receiver, root_certificates};
pub(crate) use watched::{AllWatched, Look, Standing, Watched};

use crate::settings::{AlertSettings, CheckedSettings};
use crate::shared::AppState;
use laggard_model::Timestamp;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What every tenant's alerts have in common.
pub(crate) struct Alerts {
    pub(crate) settings: AlertSettings,
    pub(crate) detection: Detection,
    /// Where people reach the pages, without a slash at its end.
    pub(crate) pages: String,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) watched: AllWatched,
    stopping: CancellationToken,
}

impl Alerts {
    /// `address`: where API and pages are reached on this machine, for links of a server that is told no other.
    ///
    /// # Errors
    /// When a receiver cannot be made of the settings.
    pub(crate) fn new(
        settings: &CheckedSettings,
        address: &str,
        stopping: CancellationToken,
    ) -> Result<Arc<Alerts>, String> {
        let given = &settings.raw.alerts;
        let pages = given.pages.clone().unwrap_or_else(|| address.to_owned());
        Ok(Arc::new(Alerts {
            detection: given.detection(),
            pages: pages.trim_end_matches('/').to_owned(),
            receivers: receivers::receivers(given, &settings.alerts)?,
            watched: AllWatched::new(&settings.raw.data),
            settings: given.clone(),
            stopping,
        }))
    }

    /// Messages that a receiver has yet to get: alerts it has to be told of.
    pub(crate) fn waiting(&self, receiver: &Receiver, at: Timestamp) -> usize {
        let all = self.watched.all();
        let of = |watched: &Watched| {
            due::waiting(&watched.standing().book, receiver.name, receiver.repeat_after, at)
        };
        all.iter().map(|(_, watched)| of(watched)).sum()
    }

    fn wake(&self) {
        self.receivers.iter().for_each(|receiver| receiver.woken.notify_one());
    }
}

/// Starts looking and telling; both end when the server stops.
pub(crate) fn start(state: &AppState) {
    // Their files are read before anybody asks.
    state.tenants.all().iter().for_each(|tenant| drop(state.alerts.watched.of(&tenant.name)));
    if !state.alerts.settings.enabled {
        return;
    }
    tokio::spawn(watch::run(state.clone()));
    for at in 0..state.alerts.receivers.len() {
        tokio::spawn(tell::run(state.clone(), at));
    }
}

/// Writes down what was told last: a message that arrived just before the end is not sent again after it.
pub(crate) async fn finish(state: &AppState) {
    let alerts = state.alerts.clone();
    let saving = tokio::task::spawn_blocking(move || {
        let known =
            alerts.watched.all().into_iter().filter(|(_, watched)| !watched.standing().book.is_empty());
        known.for_each(|(_, watched)| watched.save());
    });
    if let Err(error) = saving.await {
        tracing::error!(%error, "alerts could not be kept");
    }
}
