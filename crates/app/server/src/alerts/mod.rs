//! Continuous detection of slow operations and servers in trouble, and notifications about them (`docs/manual/alerts.md`).
//!
//! ```text
//! store ─ store_reader ─► detection: window, baselines ─ evaluate: diagnose ─► lifecycle: pending, firing, resolved
//!                                                                                 │       └─ storage: a file
//!    receivers: webhook, chat, … ◄── delivery ◄── pending_notifications ◄── incidents: alerts of one cause, one verdict
//! ```

mod chat;
mod delivery;
mod detection;
mod evaluate;
mod finding;
mod incidents;
mod interval;
mod kind;
mod lifecycle;
mod message;
mod notify;
mod objective_finding;
mod objectives;
mod owners;
mod pending_notifications;
#[cfg(test)]
mod power_loss_tests;
mod program;
mod receivers;
mod schedule;
mod servers;
mod state;
mod storage;
mod store_reader;
mod tenant_alerts;

pub use detection::Detection;
pub(crate) use evaluate::suspect_factor;
pub use evaluate::{
    Evaluation, EvaluationSettings, Finding, FindingCaller, Recovery, SlowCategory, TooFewRequests,
    WindowEvaluation, evaluate,
};
pub use finding::{AlertFinding, FullTime, ServerEvidence, ServerFinding, ServerSubject, TransactionCost};
pub(crate) use incidents::SILENCES_MAX;
pub use incidents::{
    IncidentHistory, IncidentNotification, IncidentRecord, IncidentSize, IncidentState, IncidentVerdict,
    PastIncident, Silence, UnconfirmedNotification,
};
pub use kind::{AlertKind, AlertSource};
pub use lifecycle::{ALERTS_MAX, Alert, AlertList, AlertState, Changes, Interval, Rules};
pub use objective_finding::{
    BurningObjective, ObjectiveCause, ObjectiveEvaluation, ObjectiveFinding, ObjectiveSeverity,
    ObjectiveSubject,
};
pub(crate) use owners::{Owner, Owners};
pub use pending_notifications::notify_at_once;
pub use servers::{ServerDetection, ServerEvaluation};
pub(crate) use state::Alerts;
pub(crate) use storage::{stored_incident_files, stored_incidents};
pub(crate) use tenant_alerts::{DetectionState, EvaluationRecord};

use std::sync::Arc;

/// Starts evaluations and notifications; both end when the server stops.
pub(crate) fn start(alerts: &Arc<Alerts>) {
    // Files are read before the first request for alerts.
    alerts.tenants.all().iter().for_each(|tenant| drop(alerts.tenant_alerts.tenant(&tenant.name)));
    if !alerts.settings.enabled {
        return;
    }
    tokio::spawn(schedule::run(alerts.clone()));
    for index in 0..alerts.receivers.len() {
        tokio::spawn(notify::run(alerts.clone(), index));
    }
}

/// Saves all alerts, so that a notification sent just before the end is not repeated after a restart.
pub(crate) async fn finish(alerts: &Arc<Alerts>) {
    let alerts = alerts.clone();
    let saving = tokio::task::spawn_blocking(move || {
        let mut all = alerts.tenant_alerts.all();
        all.retain(|(_, alerts)| !alerts.state().alerts.is_empty());
        all.iter().for_each(|(_, alerts)| alerts.save());
    });
    if let Err(error) = saving.await {
        tracing::error!(%error, "alerts could not be saved");
    }
}
