//! `/api/v1/incidents`: alerts of one cause with one verdict. `/api/v1/silences`: what nobody is to be notified of.

use super::parameters::{ListRange, Query, lasted_in, list_range, now, shorten};
use super::problem::{ApiError, ProblemDocument};
use super::queries::small_body;
use super::running::blocking;
use crate::alerts::{
    Alert, AlertKind, AlertList, AlertState, IncidentRecord, IncidentState, SILENCES_MAX, Silence,
};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, Request, State};
use axum::{Extension, Json};
use http::StatusCode;
use laggard_model::{FingerprintBuilder, Nanos};
use laggard_params::Moment;
use laggard_report::{CauseClass, Clause, ClauseKind};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Listed incidents by default, and at most.
const LIMIT: usize = 200;
const LIMIT_MAX: usize = 1_000;

/// Longest silence.
const SILENCE_MAX: Nanos = Nanos::from_secs(90 * 86_400);
/// Longest name and comment of a silence, in characters.
const TEXT_MAX: usize = 1_000;

/// Which incidents to list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct IncidentParameters {
    /// Only incidents not closed before this.
    since: Option<Moment>,
    /// Only incidents that began no later than this.
    until: Option<Moment>,
    /// Only incidents in this state.
    #[param(inline)]
    state: Option<IncidentState>,
    /// Most incidents (1 to 1000; default 200).
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
}

/// Incidents.
#[derive(Serialize, ToSchema)]
pub(crate) struct Incidents {
    /// Open ones, regardless of the parameters.
    open: u64,
    /// Open ones first, the latest first.
    incidents: Vec<IncidentRow>,
    /// Matching incidents that are not listed.
    omitted: u64,
    /// Stored incidents that could not be read, and are lost.
    damaged: u64,
}

/// An incident.
#[derive(Serialize, ToSchema)]
pub(crate) struct IncidentRow {
    id: String,
    state: IncidentState,
    /// Since when, as far as known.
    since_ns: i64,
    /// When the first alert began to fire.
    opened_ns: i64,
    /// When the last one was resolved.
    closed_ns: Option<i64>,
    /// The service or the server.
    subject: String,
    /// The first clause.
    headline: String,
    /// The class of its cause.
    class: Option<CauseClass>,
    /// The owner of the service.
    owner: Option<String>,
    /// Whether nobody is notified at present.
    is_silenced: bool,
    /// What all kinds of data say about it.
    clauses: Vec<IncidentClause>,
    /// When that was found out; absent before the first verdict.
    verdict_ns: Option<i64>,
    /// Its alerts, the one that opened it first.
    alerts: Vec<IncidentAlert>,
    /// The last notification of each receiver.
    notified: BTreeMap<String, IncidentReceiver>,
}

/// One statement with its evidence.
#[derive(Serialize, ToSchema)]
pub(crate) struct IncidentClause {
    #[serde(flatten)]
    clause: Clause,
    /// The subject in words.
    title: &'static str,
    /// The page with the evidence, with its windows: a path with a query.
    page: Option<String>,
}

/// An alert of an incident.
#[derive(Serialize, ToSchema)]
pub(crate) struct IncidentAlert {
    id: String,
    kind: AlertKind,
    state: AlertState,
    /// The finding in a sentence.
    summary: String,
    since_ns: i64,
    resolved_ns: Option<i64>,
    /// Why it was resolved.
    ended: Option<String>,
    /// The page with the evidence, with its windows: a path with a query.
    page: String,
}

/// The state that a receiver was last notified of.
#[derive(Serialize, ToSchema)]
pub(crate) struct IncidentReceiver {
    state: IncidentState,
    at_ns: i64,
}

/// What went, or goes, wrong
#[utoipa::path(
    get, path = "/api/v1/incidents", tag = "incidents", params(IncidentParameters),
    responses((status = 200, body = Incidents), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn incidents(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<IncidentParameters>,
) -> Result<Json<Incidents>, ApiError> {
    let ListRange { window, limit } =
        list_range((parameters.since, parameters.until, now()), (parameters.limit, LIMIT, LIMIT_MAX))?;
    let tenant_alerts = state.alerts.tenant_alerts.tenant(&tenant.name);
    let list = tenant_alerts.state().alerts.clone();
    let is_wanted = |incident: &&IncidentRecord| {
        lasted_in(window, incident.since_ns, incident.closed_ns)
            && parameters.state.is_none_or(|wanted| incident.state == wanted)
    };
    let mut wanted: Vec<&IncidentRecord> = list.all_incidents().filter(is_wanted).collect();
    wanted.sort_by_key(|incident| (incident.state, Reverse(incident.opened_ns)));
    let omitted = shorten(&mut wanted, limit);
    let open = list.open_incidents().count();
    let incidents = wanted.into_iter().map(|incident| row(&state, &list, incident)).collect();
    Ok(Json(Incidents { open: open as u64, incidents, omitted, damaged: tenant_alerts.damaged() }))
}

/// One incident
#[utoipa::path(
    get, path = "/api/v1/incidents/{id}", tag = "incidents", params(("id" = String, Path)),
    responses((status = 200, body = IncidentRow), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn incident(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<Json<IncidentRow>, ApiError> {
    let list = state.alerts.tenant_alerts.tenant(&tenant.name).state().alerts.clone();
    let incident = list.all_incidents().find(|incident| incident.id == id);
    let incident =
        incident.ok_or_else(|| ApiError::not_found("there is no such incident, or not any more"))?;
    Ok(Json(row(&state, &list, incident)))
}

fn row(state: &AppState, list: &AlertList, incident: &IncidentRecord) -> IncidentRow {
    let at = now();
    let alerts: Vec<&Alert> = list.of_incident(incident).collect();
    let lead = alerts.first();
    let clauses = incident.verdict.iter().flat_map(|verdict| verdict.clauses.iter().cloned());
    let with_page =
        |clause: Clause| IncidentClause { title: clause.kind.title(), page: page(&alerts, &clause), clause };
    IncidentRow {
        id: incident.id.clone(),
        state: incident.state,
        since_ns: incident.since_ns,
        opened_ns: incident.opened_ns,
        closed_ns: incident.closed_ns,
        subject: lead.map(|alert| alert.finding.subject().to_owned()).unwrap_or_default(),
        headline: incident.headline(list),
        class: incident.verdict.as_ref().and_then(|verdict| verdict.class),
        owner: lead.and_then(|alert| state.alerts.owners.of_alert(alert)).map(|owner| owner.name.clone()),
        is_silenced: lead.is_some_and(|lead| {
            list.silences.iter().any(|silence| silence.covers(&incident.id, &lead.finding, at))
        }),
        clauses: clauses.map(with_page).collect(),
        verdict_ns: incident.verdict.as_ref().map(|verdict| verdict.at_ns),
        notified: incident
            .notified
            .iter()
            .map(|(name, last)| (name.clone(), IncidentReceiver { state: last.state, at_ns: last.at_ns }))
            .collect(),
        alerts: alerts.into_iter().map(alert_row).collect(),
    }
}

fn alert_row(alert: &Alert) -> IncidentAlert {
    IncidentAlert {
        id: alert.id.clone(),
        kind: alert.kind(),
        state: alert.state,
        summary: alert.finding.summary(),
        since_ns: alert.since_ns,
        resolved_ns: alert.resolved_ns,
        ended: alert.ended.clone(),
        page: alert.page(),
    }
}

/// The page with the evidence for a clause: that of an alert about requests, or about a server for what samples say.
fn page(alerts: &[&Alert], clause: &Clause) -> Option<String> {
    let of_server = alerts.iter().find(|alert| alert.finding.server().is_some());
    let of_objective = alerts.iter().find(|alert| alert.finding.objective().is_some());
    let of_requests = alerts.iter().find(|alert| alert.finding.operation().is_some());
    match clause.kind {
        ClauseKind::History => Some("/incidents".to_owned()),
        ClauseKind::Capacity => of_server
            .map(|alert| alert.page())
            .or_else(|| of_requests.map(|alert| alert.page().replacen("/verdict?", "/capacity?", 1))),
        _ => of_requests.or(of_server).or(of_objective).map(|alert| alert.page()),
    }
}

/// A silence to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSilence {
    /// The service of the suspected operation, or the server's tier.
    service: Option<String>,
    /// The server.
    server: Option<String>,
    /// The id of an incident.
    incident: Option<String>,
    /// When it ends: at most 90 days from now.
    until: Moment,
    /// Why.
    comment: Option<String>,
}

/// Silences that have not ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct Silences {
    /// In the order in which they were made.
    silences: Vec<Silence>,
}

/// Silences that have not ended
#[utoipa::path(
    get, path = "/api/v1/silences", tag = "incidents",
    responses((status = 200, body = Silences), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn silences(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
) -> Json<Silences> {
    let mut silences = state.alerts.tenant_alerts.tenant(&tenant.name).state().alerts.silences.clone();
    let at = now();
    silences.retain(|silence| silence.lasts(at));
    Json(Silences { silences })
}

/// Notifies nobody of some incidents for a time
#[utoipa::path(
    post, path = "/api/v1/silences", tag = "incidents", request_body = NewSilence,
    responses((status = 201, body = Silence), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn add_silence(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Result<(StatusCode, Json<Silence>), ApiError> {
    let body = small_body(request).await?;
    let wanted: NewSilence = serde_json::from_slice(&body)
        .map_err(|error| ApiError::invalid(format_args!("no silence: {error}")))?;
    let silence = wanted.checked()?;
    let alerts = state.alerts.tenant_alerts.tenant(&tenant.name);
    let stored = silence.clone();
    let is_stored = blocking(move || {
        let at = now();
        let silences = &mut alerts.state().alerts.silences;
        silences.retain(|silence| silence.lasts(at));
        let has_room = silences.len() < SILENCES_MAX;
        if has_room {
            silences.push(stored);
        }
        has_room
    });
    if !is_stored.await? {
        return Err(ApiError::invalid(format_args!("there are {SILENCES_MAX} silences already")));
    }
    save(&state, &tenant).await?;
    Ok((StatusCode::CREATED, Json(silence)))
}

impl NewSilence {
    fn checked(self) -> Result<Silence, ApiError> {
        let at = now();
        let until = self.until.at(at);
        if until <= at || until > at.plus(SILENCE_MAX) {
            return Err(ApiError::invalid("until is in the past, or more than 90 days from now"));
        }
        let texts = [&self.service, &self.server, &self.incident, &self.comment];
        if texts.into_iter().flatten().any(|text| text.chars().count() > TEXT_MAX) {
            return Err(ApiError::invalid(format_args!("a text is longer than {TEXT_MAX} characters")));
        }
        let mut id = FingerprintBuilder::new();
        id.bytes(&at.unix_ns().to_le_bytes());
        texts.into_iter().flatten().for_each(|text| id.bytes(text.as_bytes()));
        let Some(NewSilence { service, server, incident, comment, .. }) =
            Some(self).filter(|new| new.service.is_some() || new.server.is_some() || new.incident.is_some())
        else {
            return Err(ApiError::invalid("one of service, server, and incident is needed"));
        };
        Ok(Silence {
            id: id.finish().to_string()[..16].to_owned(),
            service,
            server,
            incident,
            since_ns: at.unix_ns(),
            until_ns: until.unix_ns(),
            comment: comment.unwrap_or_default(),
        })
    }
}

/// Ends a silence
#[utoipa::path(
    delete, path = "/api/v1/silences/{id}", tag = "incidents", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn end_silence(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let is_ended = {
        let alerts = state.alerts.tenant_alerts.tenant(&tenant.name);
        let silences = &mut alerts.state().alerts.silences;
        let before = silences.len();
        silences.retain(|silence| silence.id != id);
        silences.len() < before
    };
    if !is_ended {
        return Err(ApiError::not_found("there is no such silence, or not any more"));
    }
    save(&state, &tenant).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Saves the alerts and wakes the receivers.
async fn save(state: &AppState, tenant: &Tenant) -> Result<(), ApiError> {
    let alerts = state.alerts.clone();
    let tenant_alerts = alerts.tenant_alerts.tenant(&tenant.name);
    blocking(move || {
        tenant_alerts.save();
        alerts.wake();
    })
    .await
}
