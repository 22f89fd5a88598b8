//! `/api/v1/events`: deployments and other changes of the system.

use super::parameters::{ListRange, Query, list_range, now, shorten};
use super::problem::{ApiError, ProblemDocument, ProblemKind};
use super::queries::small_body;
use super::running::blocking;
use crate::tenants::Tenant;
use axum::extract::Request;
use axum::{Extension, Json};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Moment;
use laggard_report::{SystemEvent, SystemEventKind, event_phrase, rfc3339};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Events of one message.
const EVENTS_MAX: usize = 1_000;

/// Longest name, and longest text, in characters.
const NAME_MAX: usize = 200;
const TEXT_MAX: usize = 2_000;

/// How far clocks may be ahead of the server's.
const AHEAD_MAX: Nanos = Nanos::from_secs(300);

/// Listed events by default, and at most.
const LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 20_000;

/// A deployment or another change of the system.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredEvent {
    /// When; now if absent. At most five minutes in the future.
    time: Option<Moment>,
    /// The kind of change.
    kind: SystemEventKind,
    /// The service, as spans name it; a configuration or another change without one is about the whole system.
    service: Option<String>,
    /// The version deployed.
    version: Option<String>,
    /// Anything that helps a reader: a link, a change's title. At most 2,000 characters.
    text: Option<String>,
    /// Replicas afterwards.
    replicas: Option<u64>,
    /// The zone, if it is about one zone only.
    zone: Option<String>,
}

/// Result of storing the events of a message.
#[derive(Serialize, ToSchema)]
pub(crate) struct StoredEvents {
    /// Events that are stored now.
    stored: u64,
    /// Events that were stored already: a repeated message changes nothing.
    known: u64,
}

/// Stores deployments and other changes of the system
#[utoipa::path(
    post, path = "/api/v1/events", tag = "events",
    request_body(content = DeclaredEvent, description = "An event, or an array of up to 1,000"),
    responses((status = 200, body = StoredEvents), (status = "4XX", body = ProblemDocument), (status = 503, body = ProblemDocument))
)]
pub(crate) async fn add_events(
    Extension(tenant): Extension<Arc<Tenant>>,
    request: Request,
) -> Result<Json<StoredEvents>, ApiError> {
    let body = small_body(request).await?;
    let now = now();
    let events = read_events(&body, now)?;
    let added = blocking(move || tenant.events.add(events, now)).await?;
    let added = added.map_err(|error| {
        ApiError::new(ProblemKind::Storage, format_args!("the events could not be written: {error}"))
    })?;
    Ok(Json(StoredEvents { stored: added.stored, known: added.known }))
}

fn read_events(body: &[u8], now: Timestamp) -> Result<Vec<SystemEvent>, ApiError> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| ApiError::invalid(format_args!("no JSON: {error}")))?;
    let values = match value {
        Value::Array(values) => values,
        event => vec![event],
    };
    if values.is_empty() || values.len() > EVENTS_MAX {
        return Err(ApiError::invalid(format_args!(
            "{} events; a message has 1 to {EVENTS_MAX}",
            values.len()
        )));
    }
    let several = values.len() > 1;
    let read = |(value, number): (Value, usize)| {
        let event = serde_json::from_value(value).map_err(|error| error.to_string());
        event.and_then(|event: DeclaredEvent| event.checked(now)).map_err(|error| match several {
            true => ApiError::invalid(format_args!("event {number}: {error}")),
            false => ApiError::invalid(error),
        })
    };
    values.into_iter().zip(1..).map(read).collect()
}

impl DeclaredEvent {
    fn checked(self, now: Timestamp) -> Result<SystemEvent, String> {
        let time = self.time.map_or(now, |moment| moment.at(now));
        if time > now.plus(AHEAD_MAX) {
            return Err(format!(
                "time is {}, more than five minutes after the server's {}",
                rfc3339(time),
                rfc3339(now)
            ));
        }
        let service = name("service", self.service)?.unwrap_or_default();
        let is_of_service = matches!(self.kind, SystemEventKind::Deployment | SystemEventKind::Scaling);
        if service.is_empty() && is_of_service {
            return Err("service is missing: a deployment or scaling is of a service".to_owned());
        }
        let text = limited("text", self.text.unwrap_or_default(), TEXT_MAX)?;
        Ok(SystemEvent {
            version: name("version", self.version)?,
            text,
            replicas: self.replicas,
            zone: name("zone", self.zone)?,
            ..SystemEvent::declared(self.kind, service, time)
        })
    }
}

/// A name without white space around it; `None` for an empty one.
fn name(field: &str, value: Option<String>) -> Result<Option<String>, String> {
    let value = limited(field, value.unwrap_or_default(), NAME_MAX)?;
    let value = value.trim();
    Ok((!value.is_empty()).then(|| value.to_owned()))
}

fn limited(field: &str, value: String, most: usize) -> Result<String, String> {
    let length = value.chars().count();
    if length > most {
        return Err(format!("{field} has {length} characters; at most {most}"));
    }
    Ok(value)
}

/// Which events to list.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventParameters {
    /// Only events at this time or later.
    since: Option<Moment>,
    /// Only events at this time or earlier.
    until: Option<Moment>,
    /// Only events of this service, and those of the whole system.
    service: Option<String>,
    /// Most events (1 to 20000; default 1000).
    #[param(minimum = 1, maximum = 20_000)]
    limit: Option<u64>,
}

/// One event.
#[derive(Serialize, ToSchema)]
pub(crate) struct ListedEvent {
    #[serde(flatten)]
    event: SystemEvent,
    /// The change in words.
    summary: String,
}

/// Deployments and other changes of the system.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventList {
    /// By time, the latest first.
    events: Vec<ListedEvent>,
    /// Matching events that are not listed.
    omitted: u64,
    /// Stored events that could not be read when the server started; 0 unless its disk failed.
    damaged: u64,
}

/// Deployments and other changes of the system
#[utoipa::path(
    get, path = "/api/v1/events", tag = "events", params(EventParameters),
    responses((status = 200, body = EventList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn events(
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<EventParameters>,
) -> Result<Json<EventList>, ApiError> {
    let ListRange { window, limit } =
        list_range((parameters.since, parameters.until, now()), (parameters.limit, LIMIT, LIMIT_MAX))?;
    let mut events = tenant.events.within(window.since, window.until);
    if let Some(service) = &parameters.service {
        events.retain(|event| event.service.is_empty() || event.service == *service);
    }
    events.reverse();
    let omitted = shorten(&mut events, limit);
    let listed = |event: SystemEvent| ListedEvent { summary: event_phrase(&event), event };
    let events = events.into_iter().map(listed).collect();
    Ok(Json(EventList { events, omitted, damaged: tenant.events.damaged() }))
}
