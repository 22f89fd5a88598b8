//! `/api/v1/alerts`: what was noticed without being asked.

use super::parameters::{Query, count, now};
use super::problem::{Problem, ProblemDocument};
use crate::alerts::{Alert, AlertState, Look, SlowCategory, Span, Standing};
use crate::shared::{AppState, Tenant};
use axum::extract::State;
use axum::{Extension, Json};
use laggard_params::Moment;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Alerts that are listed unless another number is asked for, and those that can be.
const LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 2_000;

/// Which alerts are asked for.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertParameters {
    /// Only those that were not over before this.
    since: Option<Moment>,
    /// Only those that began no later than this.
    until: Option<Moment>,
    /// Only those in this state.
    #[param(inline)]
    state: Option<AlertState>,
    /// Most of them (1 to 2000; 1000).
    #[param(minimum = 1, maximum = 2_000)]
    limit: Option<u64>,
}

/// Alerts, and how the looking goes.
#[derive(Serialize, ToSchema)]
pub(crate) struct Alerts {
    /// Whether the server looks at all.
    enabled: bool,
    /// How often it looks.
    every_ns: u64,
    /// Length of the window that it judges.
    window_ns: u64,
    /// The last look; absent before the first.
    last: Option<Look>,
    /// The last look that judged a window; others say why they did not.
    judged: Option<Look>,
    /// How many fire, whatever was asked for.
    firing: u64,
    /// How many are pending.
    pending: u64,
    /// Whom it tells.
    receivers: Vec<ReceiverRow>,
    /// Firing ones first, then pending, then what is over, the latest first.
    alerts: Vec<AlertRow>,
    /// How many more there are.
    omitted: u64,
}

/// Whom it tells.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReceiverRow {
    name: &'static str,
    /// Messages that arrived since the start.
    sent: u64,
    /// Messages that did not; they are tried again.
    failed: u64,
}

/// One alert.
#[derive(Serialize, ToSchema)]
pub(crate) struct AlertRow {
    id: String,
    state: AlertState,
    /// The operation to blame.
    service: String,
    operation: String,
    /// What is wrong, in a sentence.
    summary: String,
    /// Requests it makes slow, by call tree.
    categories: Vec<SlowCategory>,
    /// Replicas to blame.
    replicas: Vec<String>,
    /// Since when requests are slow, as far as that can be told.
    since_ns: i64,
    /// When it was found for the first time.
    first_ns: i64,
    fired_ns: Option<i64>,
    resolved_ns: Option<i64>,
    /// Why it is over, in a sentence.
    ended: Option<String>,
    /// Time of a call over the time of such calls before.
    factor: Option<f64>,
    /// What it adds to a slow call.
    effect_ns: u64,
    /// What it adds to the time of the requests concerned, as a share of the rest.
    slower: f64,
    /// Requests it made slow, of those that called it.
    requests_hit: u64,
    requests_seen: u64,
    /// Some of the slowest traces.
    traces: Vec<String>,
    /// The window of the latest finding, and what it was compared with.
    window: Span,
    baseline: Span,
    /// Which receivers were told of it, and which state last.
    told: std::collections::BTreeMap<String, AlertState>,
}

/// Slow operations that the server noticed by itself
#[utoipa::path(
    get, path = "/api/v1/alerts", tag = "alerts", params(AlertParameters),
    responses((status = 200, body = Alerts), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn alerts(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AlertParameters>,
) -> Result<Json<Alerts>, Problem> {
    let limit = count("limit", parameters.limit, LIMIT, LIMIT_MAX)?;
    let at = now();
    let (since, until) =
        (parameters.since.map(|moment| moment.at(at)), parameters.until.map(|moment| moment.at(at)));
    if since.zip(until).is_some_and(|(since, until)| since > until) {
        return Err(Problem::invalid("since is later than until"));
    }
    let standing = state.alerts.watched.of(&tenant.name).standing().clone();
    let is_wanted = |alert: &Alert| {
        let ends = alert.resolved_ns.unwrap_or(i64::MAX);
        since.is_none_or(|since| ends >= since.unix_ns())
            && until.is_none_or(|until| alert.since_ns <= until.unix_ns())
            && parameters.state.is_none_or(|state| alert.state == state)
    };
    Ok(Json(answer(&state, standing, is_wanted, limit)))
}

fn answer(state: &AppState, standing: Standing, is_wanted: impl Fn(&Alert) -> bool, limit: usize) -> Alerts {
    let settings = &state.alerts.settings;
    let book = standing.book;
    let of = |wanted| book.active.iter().filter(|alert| alert.state == wanted).count() as u64;
    let (firing, pending) = (of(AlertState::Firing), of(AlertState::Pending));
    let mut wanted: Vec<Alert> =
        book.active.into_iter().chain(book.over).filter(|alert| is_wanted(alert)).collect();
    wanted.sort_by_key(|alert| {
        let order = [AlertState::Firing, AlertState::Pending, AlertState::Resolved];
        let place = order.iter().position(|state| *state == alert.state);
        (place, std::cmp::Reverse(alert.resolved_ns.unwrap_or(alert.first_ns)), alert.id.clone())
    });
    let omitted = wanted.len().saturating_sub(limit) as u64;
    wanted.truncate(limit);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    let receivers = state.alerts.receivers.iter().map(|receiver| ReceiverRow {
        name: receiver.name,
        sent: count(&receiver.figures.sent),
        failed: count(&receiver.figures.failed),
    });
    Alerts {
        enabled: settings.enabled,
        every_ns: settings.every.nanos().ns(),
        window_ns: settings.window.nanos().ns(),
        last: standing.last,
        judged: standing.judged,
        firing,
        pending,
        receivers: receivers.collect(),
        alerts: wanted.into_iter().map(row).collect(),
        omitted,
    }
}

fn row(alert: Alert) -> AlertRow {
    let summary = alert.summary();
    let told = alert.told.into_iter().map(|(receiver, told)| (receiver, told.state)).collect();
    let found = alert.found;
    AlertRow {
        id: alert.id,
        state: alert.state,
        service: found.service,
        operation: found.operation,
        summary,
        categories: found.categories,
        replicas: found.replicas,
        since_ns: alert.since_ns,
        first_ns: alert.first_ns,
        fired_ns: alert.fired_ns,
        resolved_ns: alert.resolved_ns,
        ended: alert.ended,
        factor: found.factor,
        effect_ns: found.effect_ns,
        slower: found.slower,
        requests_hit: found.requests_hit,
        requests_seen: found.requests_seen,
        traces: found.traces,
        window: alert.window,
        baseline: alert.baseline,
        told,
    }
}
