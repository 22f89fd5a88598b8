//! `/api/v1/alerts`: operations that became slower and servers in trouble, found by continuous detection.

use super::parameters::{ListRange, Query, lasted_in, list_range, now, shorten};
use super::problem::{ApiError, ProblemDocument};
use crate::alerts::{
    Alert, AlertFinding, AlertKind, AlertState, DetectionState, EvaluationRecord, Interval, ServerEvidence,
    SlowCategory,
};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_params::Moment;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Listed alerts by default, and at most.
const LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 2_000;

/// Which alerts to list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertParameters {
    /// Only alerts not resolved before this.
    since: Option<Moment>,
    /// Only alerts that began no later than this.
    until: Option<Moment>,
    /// Only alerts in this state.
    #[param(inline)]
    state: Option<AlertState>,
    /// Most alerts (1 to 2000; default 1000).
    #[param(minimum = 1, maximum = 2_000)]
    limit: Option<u64>,
}

/// Alerts, and the progress of detection.
#[derive(Serialize, ToSchema)]
pub(crate) struct Alerts {
    /// Whether detection is on.
    enabled: bool,
    /// Time between evaluations.
    every_ns: u64,
    /// Length of the evaluated window.
    window_ns: u64,
    /// The last evaluation; absent before the first.
    last: Option<EvaluationRecord>,
    /// The last evaluation that was not skipped.
    last_evaluated: Option<EvaluationRecord>,
    /// The last evaluation of servers, by their samples; absent before the first.
    last_servers: Option<EvaluationRecord>,
    /// Firing alerts, regardless of the parameters.
    firing: u64,
    /// Pending alerts.
    pending: u64,
    receivers: Vec<AlertReceiverRow>,
    /// Firing ones first, then pending, then resolved, the latest first.
    alerts: Vec<AlertRow>,
    /// Matching alerts that are not listed.
    omitted: u64,
}

/// A receiver of notifications.
#[derive(Serialize, ToSchema)]
pub(crate) struct AlertReceiverRow {
    name: String,
    /// Delivered messages since the start of the server.
    sent: u64,
    /// Failed messages; they are retried.
    failed: u64,
}

/// One alert.
#[derive(Serialize, ToSchema)]
pub(crate) struct AlertRow {
    id: String,
    kind: AlertKind,
    state: AlertState,
    /// The service of the suspected operation, or the server's tier.
    service: String,
    /// The suspected operation; empty for an alert about a server.
    operation: String,
    /// The server, for an alert about one.
    server: Option<String>,
    /// The problem of the server.
    evidence: Option<ServerEvidence>,
    /// The name of the objective, for an alert about one.
    objective: Option<String>,
    /// The page with the evidence, with its windows: a path with a query.
    page: String,
    /// Other operations of the service that make requests slower or fail, the most suspicious first.
    other_operations: Vec<String>,
    /// The finding in a sentence.
    summary: String,
    /// Requests it makes slow, by call tree.
    categories: Vec<SlowCategory>,
    /// Suspected replicas.
    replicas: Vec<String>,
    /// Since when, as far as known.
    since_ns: i64,
    /// Its first finding.
    first_ns: i64,
    fired_ns: Option<i64>,
    resolved_ns: Option<i64>,
    /// Why it was resolved, in a sentence.
    ended: Option<String>,
    /// Time of a call over the time of such calls before, or on the other replicas.
    factor: Option<f64>,
    /// Time that it adds to a slow call.
    effect_ns: u64,
    /// Time that it adds to the affected requests, as a share of the rest.
    slower: f64,
    /// Requests it made slow, of those that called it.
    requests_hit: u64,
    requests_seen: u64,
    /// Some of the slowest traces.
    traces: Vec<String>,
    /// Window and baseline of the latest finding.
    window: Interval,
    baseline: Interval,
}

/// What is, or recently was, slower or more expensive than before
#[utoipa::path(
    get, path = "/api/v1/alerts", tag = "alerts", params(AlertParameters),
    responses((status = 200, body = Alerts), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn alerts(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AlertParameters>,
) -> Result<Json<Alerts>, ApiError> {
    let ListRange { window, limit } =
        list_range((parameters.since, parameters.until, now()), (parameters.limit, LIMIT, LIMIT_MAX))?;
    let detection = state.alerts.tenant_alerts.tenant(&tenant.name).state().clone();
    let is_wanted = |alert: &Alert| {
        lasted_in(window, alert.since_ns, alert.resolved_ns)
            && parameters.state.is_none_or(|state| alert.state == state)
    };
    Ok(Json(answer(&state, detection, is_wanted, limit)))
}

fn answer(
    state: &AppState,
    detection: DetectionState,
    is_wanted: impl Fn(&Alert) -> bool,
    limit: usize,
) -> Alerts {
    let settings = &state.alerts.settings;
    let alerts = detection.alerts;
    let count_of = |state| alerts.active.iter().filter(|alert| alert.state == state).count() as u64;
    let (firing, pending) = (count_of(AlertState::Firing), count_of(AlertState::Pending));
    let mut matching: Vec<Alert> =
        alerts.active.into_iter().chain(alerts.resolved).filter(|alert| is_wanted(alert)).collect();
    matching.sort_by_key(|alert| {
        let order = [AlertState::Firing, AlertState::Pending, AlertState::Resolved];
        let rank = order.iter().position(|state| *state == alert.state);
        (rank, std::cmp::Reverse(alert.resolved_ns.unwrap_or(alert.first_ns)), alert.id.clone())
    });
    let omitted = shorten(&mut matching, limit);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    let receivers = state.alerts.receivers.iter().map(|receiver| AlertReceiverRow {
        name: receiver.name.clone(),
        sent: count(&receiver.figures.sent),
        failed: count(&receiver.figures.failed),
    });
    Alerts {
        enabled: settings.enabled,
        every_ns: settings.every.nanos().ns(),
        window_ns: settings.window.nanos().ns(),
        last: detection.last,
        last_evaluated: detection.last_evaluated,
        last_servers: detection.last_servers,
        firing,
        pending,
        receivers: receivers.collect(),
        alerts: matching.into_iter().map(row).collect(),
        omitted,
    }
}

fn row(alert: Alert) -> AlertRow {
    let (kind, summary, page) = (alert.kind(), alert.finding.summary(), alert.page());
    let base = AlertRow {
        id: alert.id,
        kind,
        state: alert.state,
        service: String::new(),
        operation: String::new(),
        server: None,
        evidence: None,
        objective: None,
        page,
        other_operations: vec![],
        summary,
        categories: vec![],
        replicas: vec![],
        since_ns: alert.since_ns,
        first_ns: alert.first_ns,
        fired_ns: alert.fired_ns,
        resolved_ns: alert.resolved_ns,
        ended: alert.ended,
        factor: None,
        effect_ns: 0,
        slower: 0.0,
        requests_hit: 0,
        requests_seen: 0,
        traces: vec![],
        window: alert.window,
        baseline: alert.baseline,
    };
    match alert.finding {
        AlertFinding::Server(finding) => AlertRow {
            service: finding.tier,
            server: Some(finding.server),
            evidence: Some(finding.evidence),
            ..base
        },
        AlertFinding::Objective(finding) => AlertRow {
            service: finding.service,
            operation: finding.operation.unwrap_or_default(),
            objective: Some(finding.objective),
            ..base
        },
        AlertFinding::Operation(finding) => AlertRow {
            service: finding.service,
            operation: finding.operation,
            other_operations: finding.other_operations,
            categories: finding.categories,
            replicas: finding.replicas,
            factor: finding.factor,
            effect_ns: finding.effect_ns,
            slower: finding.slower,
            requests_hit: finding.requests_hit,
            requests_seen: finding.requests_seen,
            traces: finding.traces,
            ..base
        },
    }
}
