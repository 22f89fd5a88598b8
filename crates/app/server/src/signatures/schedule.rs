//! Computes the signatures of releases and days as they pass.

use super::periods::{SignaturePeriod, periods};
use crate::api::{AppState, ProblemKind, TenantQueries, signature_of_store};
use crate::tenants::Tenant;
use laggard_model::Timestamp;
use laggard_report::SignatureVerdict;
use laggard_system::now;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often it looks for periods that have passed.
const EVERY: Duration = Duration::from_secs(5 * 60);

/// Attempts by tenant and period, and whether the period was over: what has too few samples is tried once more when it is.
type Attempts = BTreeSet<(Box<str>, String, bool)>;

/// Runs until the server stops.
pub(crate) async fn keep_signatures(state: AppState) {
    let mut attempts = Attempts::new();
    loop {
        tokio::select! {
            () = state.stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        if !state.tenants.only_receives() {
            store_due(&state, now(), &mut attempts).await;
        }
    }
}

/// Stores what is due, one after the other, and nothing while memory is tight.
pub(crate) async fn store_due(state: &AppState, at: Timestamp, attempts: &mut Attempts) {
    let mut current = Attempts::new();
    for tenant in state.tenants.all() {
        for period in periods(&tenant.events.all(), at) {
            if state.memory.is_tight() || state.stopping.is_cancelled() {
                return;
            }
            let attempt = (tenant.name.clone(), period.id(), period.is_over(at));
            current.insert(attempt.clone());
            if tenant.signatures.is_due(&period, at) && attempts.insert(attempt) {
                store(state, &tenant, period, at).await;
            }
        }
    }
    attempts.retain(|attempt| current.contains(attempt));
}

/// Computes and stores the signature of a period, if its samples suffice for one.
async fn store(state: &AppState, tenant: &Arc<Tenant>, period: SignaturePeriod, at: Timestamp) {
    let _turn = state.api.background_turn().await;
    let (tenant_queries, tenant) = (TenantQueries::of(state, tenant), tenant.clone());
    let computing = tokio::task::spawn_blocking(move || {
        let SignaturePeriod { since, until, .. } = period.clone().so_far(at);
        let signature = signature_of_store(&tenant_queries, &period.service, &period.version, since, until);
        let signature = match signature {
            Ok(signature) if signature.verdict == SignatureVerdict::Usable => signature,
            Ok(_) => return,
            Err(reason) if reason.kind() == ProblemKind::TooLittleData => return,
            Err(reason) => {
                let reason = reason.detail();
                tracing::warn!(tenant = %tenant.name, service = period.service, reason, "a release or day has no signature");
                return;
            }
        };
        match tenant.signatures.store(&period, &signature, at) {
            Ok(()) => {
                tracing::info!(service = period.service, version = period.version, "a signature was stored");
            }
            Err(error) => {
                tracing::error!(%error, "a signature could not be stored; it is tried after a restart")
            }
        }
    });
    if let Err(error) = computing.await {
        tracing::error!(%error, "a signature could not be computed");
    }
}
