//! Traces by what one of their spans is, and one trace.

use super::trace_json::trace_json;
use super::{JSON, JaegerError};
use crate::api::dashboards::attributes::attribute;
use crate::api::dashboards::call_filter::{
    CallFilter, Condition, DurationField, DurationTest, TextField, TextTest,
};
use crate::api::dashboards::request_search::{RequestSearch, selected_spans};
use crate::api::dashboards::url_fields::UrlFields;
use crate::api::parameters::now;
use crate::api::problem::ApiError;
use crate::api::running::blocking;
use crate::api::state::AppState;
use crate::api::trace::{TraceDocument, trace_document};
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use laggard_formats::SelectedAttributes;
use laggard_model::{Nanos, SpanKind, Status, Timestamp, TraceId};
use laggard_params::Window;
use std::collections::BTreeMap;
use std::sync::Arc;

const US: i64 = 1_000;

/// Traces of a search by default, and at most.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 100_000;

/// How far back a search without a start looks; a server of Jaeger has this as a default, too.
const LOOKBACK: Nanos = Nanos::from_secs(2 * 86_400);

// Limit: seconds from the start of a request to that of its spans which a search of the Jaeger endpoint finds | found by its id only
/// A request may begin so long before the time in which one of its spans starts …
const REQUEST_S_MAX: u64 = 3_600;
/// … and hosts' clocks may disagree by this.
const SKEW_MAX: Nanos = Nanos::from_secs(1);

/// Jaeger: traces of which a span of a service starts in a time
#[utoipa::path(
    get, path = "/jaeger/api/traces", tag = "dashboards",
    params(
        ("service" = Option<String>, Query, description = "Required, unless traces are named"),
        ("operation" = Option<String>, Query),
        ("start" = Option<i64>, Query, description = "In microseconds; two days before now if absent"),
        ("end" = Option<i64>, Query, description = "In microseconds; now if absent"),
        ("minDuration" = Option<String>, Query, description = "Of the span, such as 1.5ms"),
        ("maxDuration" = Option<String>, Query),
        ("tags" = Option<String>, Query, description = "A JSON object of texts"),
        ("tag" = Option<String>, Query, description = "NAME:VALUE; may be repeated"),
        ("limit" = Option<u64>, Query, description = "Most traces (1 to 100,000; 100)"),
        ("traceID" = Option<String>, Query, description = "These traces instead; may be repeated")
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn jaeger_traces(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Response, JaegerError> {
    let ids: Vec<TraceId> = fields.all("traceID").map(parse_id).collect::<Result<_, _>>()?;
    if !ids.is_empty() {
        return named_traces(&tenant, &ids).await;
    }
    let window = window(&fields, now())?;
    let filter = filter(&fields, &state.tenants.reader().attributes)?;
    let search = RequestSearch {
        window: Window {
            since: window.since.minus(Nanos::from_secs(REQUEST_S_MAX)),
            until: window.until.plus(SKEW_MAX),
        },
        ends_after: window.since.minus(SKEW_MAX),
        calls: vec![filter.clone()],
        durations: (Nanos::ZERO, Nanos::from_ns(u64::MAX)),
        limit: fields.count("limit", LIMIT, LIMIT_MAX)?,
    };
    let starts_inside =
        move |start: i64| (window.since..=window.until).contains(&Timestamp::from_unix_ns(start));
    let convert = move |_: &_, document: &TraceDocument| {
        let is_found = selected_spans(document, &filter).any(|span| starts_inside(span.start_ns));
        is_found.then(|| trace_json(document))
    };
    let found = search.run(&state, &tenant, convert, Vec::len).await?;
    Ok(traces_answer(&found.traces))
}

/// Jaeger: one trace
#[utoipa::path(
    get, path = "/jaeger/api/traces/{id}", tag = "dashboards", params(("id" = String, Path)),
    responses((status = 200, body = Value))
)]
pub(crate) async fn jaeger_trace(
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
) -> Result<Response, JaegerError> {
    named_traces(&tenant, &[parse_id(&id)?]).await
}

/// Those that are stored of some traces.
async fn named_traces(tenant: &Tenant, ids: &[TraceId]) -> Result<Response, JaegerError> {
    /// Most of them.
    const TRACES_MAX: usize = 20;
    if ids.len() > TRACES_MAX {
        return Err(ApiError::invalid(format_args!("at most {TRACES_MAX} traces are named at once")).into());
    }
    let mut traces = Vec::new();
    for &id in ids {
        if let Some(document) = trace_document(tenant, id).await? {
            traces.push(blocking(move || trace_json(&document)).await?);
        }
    }
    if traces.is_empty() {
        return Err(ApiError::not_found("trace not found").into());
    }
    Ok(traces_answer(&traces))
}

/// The answer with traces that are JSON already.
fn traces_answer(traces: &[Vec<u8>]) -> Response {
    let mut body = br#"{"data":["#.to_vec();
    body.extend_from_slice(&traces.join(&b','));
    body.extend_from_slice(br#"],"total":0,"limit":0,"offset":0,"errors":null}"#);
    (StatusCode::OK, [(CONTENT_TYPE, JSON)], body).into_response()
}

fn parse_id(text: &str) -> Result<TraceId, ApiError> {
    let parsed = TraceId::parse_text(text.trim());
    parsed.map(|parsed| parsed.id).ok_or_else(|| ApiError::invalid("a trace has no id"))
}

/// The time in which a span has to start.
fn window(fields: &UrlFields, now: Timestamp) -> Result<Window, ApiError> {
    let until = fields.time("end", US)?.map(|end| end.plus(Nanos::from_ns(US as u64 - 1)));
    let until = until.unwrap_or(now);
    let since = fields.time("start", US)?.unwrap_or_else(|| now.minus(LOOKBACK));
    if since > until {
        return Err(ApiError::invalid("invalid parameter: start time must be before end time"));
    }
    Ok(Window { since, until })
}

/// What one span of a trace has to be.
fn filter(fields: &UrlFields, selected: &SelectedAttributes) -> Result<CallFilter, ApiError> {
    let service =
        fields.text("service").ok_or_else(|| ApiError::invalid("parameter 'service' is required"))?;
    let equals =
        |field, text: &str| CallFilter::condition(Condition::Text(field, TextTest::Equals(text.to_owned())));
    let mut all = vec![equals(TextField::Service, service)];
    all.extend(fields.text("operation").map(|operation| equals(TextField::Operation, operation)));
    let (least, most) = (fields.duration("minDuration")?, fields.duration("maxDuration")?);
    if least.zip(most).is_some_and(|(least, most)| least > most) {
        return Err(ApiError::invalid("'maxDuration' should be greater than 'minDuration'"));
    }
    let limits = [(DurationTest::AtLeast, least), (DurationTest::AtMost, most)];
    all.extend(limits.into_iter().filter_map(|(comparison, limit)| {
        Some(CallFilter::condition(Condition::Duration(DurationField::Call, comparison, limit?)))
    }));
    for (name, value) in tags(fields)? {
        all.push(tag(&name, &value, selected)?);
    }
    Ok(CallFilter::All(all))
}

fn tags(fields: &UrlFields) -> Result<BTreeMap<String, String>, ApiError> {
    let mut tags = BTreeMap::new();
    for pair in fields.all("tag") {
        let (name, value) = pair.split_once(':').ok_or_else(|| {
            ApiError::invalid(format_args!(
                "malformed 'tag' parameter, expecting key:value, received: {pair}"
            ))
        })?;
        tags.insert(name.to_owned(), value.to_owned());
    }
    for object in fields.all("tags").filter(|object| !object.is_empty()) {
        let object: BTreeMap<String, String> = serde_json::from_str(object).map_err(|error| {
            ApiError::invalid(format_args!("malformed 'tags' parameter, cannot unmarshal JSON: {error}"))
        })?;
        tags.extend(object);
    }
    Ok(tags)
}

fn tag(name: &str, value: &str, selected: &SelectedAttributes) -> Result<CallFilter, ApiError> {
    let unknown = || ApiError::invalid(format_args!("tag {name}: {value:?} is not a value that it has"));
    let condition = match name {
        "span.kind" => Condition::Kind(SpanKind::parse(value).ok_or_else(unknown)?),
        "error" => {
            let failed = CallFilter::condition(Condition::Status(Status::Error));
            return match value {
                "true" => Ok(failed),
                "false" => Ok(failed.not()),
                _ => Err(unknown()),
            };
        }
        "otel.status_code" => Condition::Status(match value {
            "ERROR" => Status::Error,
            "OK" => Status::Ok,
            _ => return Err(unknown()),
        }),
        "service.instance.id" => Condition::Text(TextField::Replica, TextTest::Equals(value.to_owned())),
        _ => {
            let field = attribute(name, selected).ok_or_else(|| {
                ApiError::invalid(format_args!(
                    "tag {name} is not stored, so no span can be searched by it; the setting `attributes` names those that are"
                ))
            })?;
            Condition::Attribute(field, TextTest::Equals(value.to_owned()))
        }
    };
    Ok(CallFilter::condition(condition))
}
