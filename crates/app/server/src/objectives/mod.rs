//! Service level objectives: which share of requests is bad, how fast that uses up the error budget, and which slow
//! operation is the cause (`docs/manual/objectives.md`).
//!
//! ```text
//! store ─ schedule: blocks written since ─► count ─► tenant_objectives: counts by block ─ storage: a file
//!                                                        │
//!            alerts: pending, firing, resolved ◄─ rules ◄┴─► figures ─► GET /api/v1/objectives
//!                        └─ slow operations ─► cause
//! ```

mod block;
mod burn;
mod cause;
mod count;
mod figures;
mod rules;
mod schedule;
mod storage;
mod tenant_objectives;
#[cfg(test)]
mod tests;

pub(crate) use figures::ObjectiveFigures;
#[cfg(test)]
pub(crate) use schedule::evaluate_tenant;
pub(crate) use tenant_objectives::TenantObjectives;

use crate::alerts::Alerts;
use crate::settings::{CheckedSettings, ObjectiveSettings};
use crate::tenants::Tenants;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The objectives of all tenants.
pub(crate) struct Objectives {
    settings: Vec<ObjectiveSettings>,
    /// Time between evaluations.
    every: Duration,
    data: PathBuf,
    tenants: Arc<Tenants>,
    alerts: Arc<Alerts>,
    /// Limits the queries that run at a time, those of people included.
    queries: Arc<Semaphore>,
    stopping: CancellationToken,
    by_tenant: Mutex<BTreeMap<Box<str>, Arc<TenantObjectives>>>,
}

impl Objectives {
    pub(crate) fn new(
        settings: &CheckedSettings,
        tenants: Arc<Tenants>,
        alerts: Arc<Alerts>,
        queries: Arc<Semaphore>,
        stopping: CancellationToken,
    ) -> Arc<Objectives> {
        Arc::new(Objectives {
            settings: settings.raw.objectives.clone(),
            every: settings.raw.alerts.every.duration(),
            data: settings.raw.data.clone(),
            tenants,
            alerts,
            queries,
            stopping,
            by_tenant: Mutex::default(),
        })
    }

    /// The objectives of a tenant; reads its file the first time.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Arc<TenantObjectives> {
        let mut by_tenant = self.by_tenant.lock().expect("no thread panics while it holds the lock");
        if let Some(known) = by_tenant.get(tenant) {
            return known.clone();
        }
        let of_tenant = |objective: &&ObjectiveSettings| {
            objective.tenants.is_empty() || objective.tenants.iter().any(|name| name == tenant)
        };
        let settings: Vec<ObjectiveSettings> = self.settings.iter().filter(of_tenant).cloned().collect();
        let file = storage::file_of(&self.data, tenant);
        let fresh = Arc::new(TenantObjectives::load(file, settings));
        by_tenant.insert(tenant.into(), fresh.clone());
        fresh
    }

    /// Those that were read, by the name of the tenant.
    pub(crate) fn all(&self) -> Vec<(Box<str>, Arc<TenantObjectives>)> {
        let by_tenant = self.by_tenant.lock().expect("no thread panics while it holds the lock");
        by_tenant.iter().map(|(name, objectives)| (name.clone(), objectives.clone())).collect()
    }
}

/// Starts the evaluations, which end when the server stops.
pub(crate) fn start(objectives: &Arc<Objectives>) {
    tokio::spawn(schedule::run(objectives.clone()));
}

/// Saves all counts.
pub(crate) async fn finish(objectives: &Arc<Objectives>) {
    let objectives = objectives.clone();
    let saving = tokio::task::spawn_blocking(move || {
        objectives.all().iter().for_each(|(_, objectives)| objectives.save());
    });
    if let Err(error) = saving.await {
        tracing::error!(%error, "counts of objectives could not be saved");
    }
}
