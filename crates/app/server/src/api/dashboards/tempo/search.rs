//! Traces by their spans: TraceQL, or the tags of Grafana before it.

use super::traceql::parse_query;
use super::{TempoError, selected, window};
use crate::api::dashboards::attributes::{attribute, named_values};
use crate::api::dashboards::call_filter::{AttributeField, CallFilter, Condition, TextField, TextTest};
use crate::api::dashboards::request_search::{RequestHit, RequestSearch, selected_spans};
use crate::api::dashboards::url_fields::UrlFields;
use crate::api::problem::ApiError;
use crate::api::search::StatusName;
use crate::api::state::AppState;
use crate::api::trace::{TraceDocument, TraceSpan};
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_formats::{SelectedAttributes, attribute_name};
use laggard_model::{Nanos, Status, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// Traces by default, and at most.
const LIMIT: usize = 20;
const LIMIT_MAX: usize = 100_000;

/// Spans of a trace by default, and at most.
const SPANS: usize = 3;
const SPANS_MAX: usize = 100;

/// Tempo: traces with requests that start in a time
#[utoipa::path(
    get, path = "/tempo/api/search", tag = "dashboards",
    params(
        ("q" = Option<String>, Query, description = "TraceQL: one selection of spans"),
        ("tags" = Option<String>, Query, description = "Instead: NAME=VALUE, separated by spaces"),
        ("minDuration" = Option<String>, Query, description = "With tags: of the request, such as 1.5ms"),
        ("maxDuration" = Option<String>, Query),
        ("start" = Option<i64>, Query, description = "In seconds; without start and end the latest hour of the stored data"),
        ("end" = Option<i64>, Query),
        ("limit" = Option<u64>, Query, description = "Most traces (1 to 100,000; 20)"),
        ("spss" = Option<u64>, Query, description = "Most spans of each (1 to 100; 3)")
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_search(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Json<Value>, TempoError> {
    let (calls, durations) = match fields.text("q") {
        Some(query) => (vec![parse_query(query, selected(&state))?], ANY_DURATION),
        None => tag_search(&fields, selected(&state))?,
    };
    let window = window(&tenant, &fields)?;
    let limit = fields.count("limit", LIMIT, LIMIT_MAX)?;
    let spans_max = fields.count("spss", SPANS, SPANS_MAX)?;
    let shown = CallFilter::Any(calls.clone());
    let search = RequestSearch { window, ends_after: Timestamp::MIN, calls, durations, limit };
    let convert =
        move |hit: &RequestHit, document: &TraceDocument| Some(row(hit, document, &shown, spans_max));
    let found = search.run(&state, &tenant, convert, |row| row.to_string().len()).await?;
    Ok(Json(json!({
        "traces": found.traces,
        "metrics": { "inspectedTraces": found.scanned, "completedJobs": 1, "totalJobs": 1 }
    })))
}

const ANY_DURATION: (Nanos, Nanos) = (Nanos::ZERO, Nanos::from_ns(u64::MAX));

/// A trace in the list: the request that matches.
fn row(hit: &RequestHit, document: &TraceDocument, filter: &CallFilter, spans_max: usize) -> Value {
    let spans: Vec<&TraceSpan> = selected_spans(document, filter).collect();
    let columns = filter.attributes();
    let attributes = document.attributes.as_str();
    let shown: Vec<Value> =
        spans.iter().take(spans_max).map(|span| span_json(span, attributes, &columns)).collect();
    let set = json!({ "spans": shown, "matched": spans.len() });
    json!({
        "traceID": hit.trace.to_string(),
        "rootServiceName": hit.service,
        "rootTraceName": hit.operation,
        "startTimeUnixNano": hit.start.unix_ns().to_string(),
        "durationMs": hit.duration.ns() / 1_000_000,
        "spanSet": set,
        "spanSets": [set],
    })
}

/// All spans have the same attributes, which Grafana expects: like Tempo's, with those that are searched for. One that a span
/// does not have is empty.
fn span_json(span: &TraceSpan, attributes: &str, columns: &[&AttributeField]) -> Value {
    let status = match span.status {
        StatusName::Unset => "unset",
        StatusName::Ok => "ok",
        StatusName::Error => "error",
    };
    let mut shown = vec![("service.name", span.service.clone()), ("status", status.to_owned())];
    for column in columns {
        let name = attribute_name(&column.key);
        let values = named_values(attributes, &span.service, column.scope);
        shown.push((name, values.get(name).map_or_else(String::new, |values| values.join(", "))));
    }
    let shown: Vec<Value> = shown
        .into_iter()
        .map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }))
        .collect();
    json!({
        "spanID": span.span,
        "name": span.operation,
        "startTimeUnixNano": span.start_ns.to_string(),
        "durationNanos": span.inclusive_ns.to_string(),
        "attributes": shown,
    })
}

/// A search by `tags`, each of which some call of the request has: its value, in any case, has the text.
fn tag_search(
    fields: &UrlFields,
    selected: &SelectedAttributes,
) -> Result<(Vec<CallFilter>, (Nanos, Nanos)), ApiError> {
    let tags = logfmt(fields.text("tags").unwrap_or_default())?;
    let mut calls: Vec<CallFilter> =
        tags.iter().map(|(name, value)| tag(name, value, selected)).collect::<Result<_, _>>()?;
    if calls.is_empty() {
        calls.push(CallFilter::constant(true));
    }
    let least = fields.duration("minDuration")?.unwrap_or(ANY_DURATION.0);
    let most = fields.duration("maxDuration")?.unwrap_or(ANY_DURATION.1);
    if least > most {
        return Err(ApiError::invalid("minDuration is larger than maxDuration"));
    }
    Ok((calls, (least, most)))
}

fn tag(name: &str, value: &str, selected: &SelectedAttributes) -> Result<CallFilter, ApiError> {
    let contains = TextTest::Contains(value.to_lowercase());
    let status = |status| CallFilter::condition(Condition::Status(status));
    let condition = match (name, value) {
        ("service.name" | "root.service.name", _) => {
            let field = if name == "service.name" { TextField::Service } else { TextField::EntryService };
            Condition::Text(field, contains)
        }
        ("name", _) => Condition::Text(TextField::Operation, contains),
        ("root.name", _) => Condition::Text(TextField::EntryOperation, contains),
        ("service.instance.id", _) => Condition::Text(TextField::Replica, contains),
        ("error", "true") | ("status.code" | "status", "error") => return Ok(status(Status::Error)),
        ("error", "false") => return Ok(status(Status::Error).not()),
        ("status.code" | "status", "ok") => return Ok(status(Status::Ok)),
        ("status.code" | "status", "unset") => return Ok(status(Status::Unset)),
        _ => match attribute(name, selected) {
            Some(field) => Condition::Attribute(field, contains),
            None => {
                return Err(ApiError::invalid(format_args!(
                    "tag {name}={value} cannot be searched for: it is not stored, or has no such value"
                )));
            }
        },
    };
    Ok(CallFilter::condition(condition))
}

/// `name=value` pairs separated by spaces; a value may be in quotation marks.
fn logfmt(text: &str) -> Result<Vec<(String, String)>, ApiError> {
    let malformed =
        || ApiError::invalid(format_args!("invalid tags: expecting NAME=VALUE pairs, received: {text}"));
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(malformed)?;
        if name.is_empty() || name.contains([' ', '"']) {
            return Err(malformed());
        }
        let (value, after) = match after.strip_prefix('"') {
            None => {
                let end = after.find(' ').unwrap_or(after.len());
                (after[..end].to_owned(), &after[end..])
            }
            Some(quoted) => unquote(quoted).ok_or_else(malformed)?,
        };
        pairs.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// The text before a quotation mark without a backslash, and what is after it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = quoted.char_indices();
    while let Some((position, next)) = chars.next() {
        match next {
            '"' => return Some((text, &quoted[position + 1..])),
            '\\' => text.push(chars.next()?.1),
            _ => text.push(next),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_pairs() {
        let read = |text: &str| logfmt(text).map_err(|_| ());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read(r#" service.name="a \"b" error=true"#),
            Ok(vec![pair("service.name", "a \"b"), pair("error", "true")])
        );
        assert_eq!(read("name=GET"), Ok(vec![pair("name", "GET")]));
        assert_eq!(read(""), Ok(vec![]));
        for text in ["a", "=b", "a b=c", "a=\"b"] {
            assert_eq!(read(text), Err(()), "{text}");
        }
    }
}
