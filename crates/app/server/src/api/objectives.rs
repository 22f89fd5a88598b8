//! `/api/v1/objectives`: service level objectives, their error budgets, and how fast those are used up.

use super::parameters::now;
use super::problem::ProblemDocument;
use crate::alerts::{AlertState, ObjectiveCause, ObjectiveSeverity};
use crate::api::state::AppState;
use crate::objectives::ObjectiveFigures;
use crate::settings::ObjectiveSettings;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// All objectives of a tenant.
#[derive(Serialize, ToSchema)]
pub(crate) struct Objectives {
    /// The time of the figures, by the server's clock.
    at_ns: i64,
    /// In the order of the configuration.
    objectives: Vec<ObjectiveRow>,
}

/// One objective.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectiveRow {
    name: String,
    /// The service at which its requests enter.
    service: String,
    /// The operation by which they enter; absent for all of the service.
    operation: Option<String>,
    /// A request that takes longer is bad.
    limit_ns: Option<u64>,
    /// Whether a request whose entry fails is bad.
    without_error: bool,
    /// Share of requests that are to be good.
    target: f64,
    /// Length of its period.
    period_ns: u64,
    /// Firing and pending alerts.
    alerts: Vec<ObjectiveAlert>,
    /// The slow operation that explains the most bad requests of the last hour.
    cause: Option<ObjectiveCause>,
    #[serde(flatten)]
    figures: ObjectiveFigures,
}

/// An alert of an objective.
#[derive(Serialize, ToSchema)]
pub(crate) struct ObjectiveAlert {
    id: String,
    state: AlertState,
    severity: ObjectiveSeverity,
    /// The finding in a sentence.
    summary: String,
    since_ns: i64,
}

/// Service level objectives
#[utoipa::path(
    get, path = "/api/v1/objectives", tag = "alerts",
    responses((status = 200, body = Objectives), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn objectives(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
) -> Json<Objectives> {
    let now = now();
    let of_tenant = state.objectives.of_tenant(&tenant.name);
    let settings = of_tenant.settings().iter().enumerate();
    let rows = settings.map(|(index, objective)| {
        let (figures, cause) = of_tenant.figures(index, now);
        row(objective, alerts(&state, &tenant, objective), cause, figures)
    });
    Json(Objectives { at_ns: now.unix_ns(), objectives: rows.collect() })
}

fn row(
    objective: &ObjectiveSettings,
    alerts: Vec<ObjectiveAlert>,
    cause: Option<ObjectiveCause>,
    figures: ObjectiveFigures,
) -> ObjectiveRow {
    ObjectiveRow {
        name: objective.name.clone(),
        service: objective.service.clone(),
        operation: objective.operation.clone(),
        limit_ns: objective.limit.map(|limit| limit.nanos().ns()),
        without_error: objective.without_error,
        target: objective.target,
        period_ns: objective.period().ns(),
        alerts,
        cause,
        figures,
    }
}

/// The active alerts of an objective, the firing ones first.
fn alerts(state: &AppState, tenant: &Tenant, objective: &ObjectiveSettings) -> Vec<ObjectiveAlert> {
    let tenant_alerts = state.alerts.tenant_alerts.tenant(&tenant.name);
    let detection = tenant_alerts.state();
    let all = detection.alerts.active.iter().filter_map(|alert| {
        let finding = alert.finding.objective().filter(|finding| finding.objective == objective.name)?;
        Some(ObjectiveAlert {
            id: alert.id.clone(),
            state: alert.state,
            severity: finding.severity,
            summary: alert.finding.summary(),
            since_ns: alert.since_ns,
        })
    });
    let mut all: Vec<ObjectiveAlert> = all.collect();
    all.sort_by_key(|alert| (alert.state != AlertState::Firing, alert.severity));
    all
}
