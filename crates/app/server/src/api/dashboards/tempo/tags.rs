//! What can be searched for: names of fields, and their values.

use super::traceql::{Field, intrinsic_fields, parse_field, parse_typed};
use super::{TempoError, selected, window};
use crate::api::dashboards::attributes::named_values;
use crate::api::dashboards::call_filter::{AttributeField, CallFilter, TextField};
use crate::api::dashboards::request_search::PreparedFilter;
use crate::api::dashboards::stored_operations::StoredNames;
use crate::api::dashboards::url_fields::UrlFields;
use crate::api::data::query;
use crate::api::problem::ApiError;
use crate::api::search::latest_first;
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_formats::attribute_name;
use laggard_model::{SpanKind, attributes_in};
use laggard_params::Window;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Most values of a field.
const VALUES_MAX: usize = 10_000;

/// Names of the resource that are always there.
const OF_RESOURCE: [&str; 2] = ["service.name", "service.instance.id"];

/// Names by scope.
struct TagNames {
    resource: BTreeSet<String>,
    span: BTreeSet<String>,
}

impl TagNames {
    /// Those that requests of a window have.
    async fn read(state: &AppState, tenant: &Tenant, fields: &UrlFields) -> Result<TagNames, ApiError> {
        let window = window(tenant, fields)?;
        let selected = selected(state).clone();
        query(state, &tenant.store, window, move |requests| {
            let (mut resource, mut span) = (BTreeSet::from(OF_RESOURCE.map(str::to_owned)), BTreeSet::new());
            for text in attribute_texts(requests, window) {
                for attribute in attributes_in(text) {
                    if !selected.keys().any(|key| key == attribute.key) {
                        continue;
                    }
                    let scope = if attribute.service.is_empty() { &mut span } else { &mut resource };
                    scope.insert(attribute_name(attribute.key).to_owned());
                }
            }
            Ok(TagNames { resource, span })
        })
        .await
    }
}

/// The sets of attributes that requests of a window have.
fn attribute_texts(requests: &Requests, window: Window) -> impl Iterator<Item = &str> {
    let sets: BTreeSet<_> = latest_first(requests, window).map(|request| request.attributes()).collect();
    sets.into_iter().map(|set| requests.names().attribute_set_text(set))
}

/// Tempo: names of fields
#[utoipa::path(
    get, path = "/tempo/api/search/tags", tag = "dashboards",
    params(
        ("scope" = Option<String>, Query, description = "resource, span, or intrinsic"),
        ("start" = Option<i64>, Query), ("end" = Option<i64>, Query)
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_tags(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Json<Value>, TempoError> {
    let scopes = scopes(&state, &tenant, &fields).await?;
    let mut names: BTreeSet<String> = scopes.into_iter().flat_map(|(_, names)| names).collect();
    if fields.text("scope").is_none() {
        names.retain(|name| !intrinsic_fields().contains(&name.as_str()));
        names.extend(["name", "status.code"].map(str::to_owned));
    }
    Ok(Json(json!({ "tagNames": names, "metrics": {} })))
}

/// Tempo: names of fields by scope
#[utoipa::path(
    get, path = "/tempo/api/v2/search/tags", tag = "dashboards",
    params(
        ("scope" = Option<String>, Query, description = "resource, span, or intrinsic"),
        ("start" = Option<i64>, Query), ("end" = Option<i64>, Query)
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_tags_v2(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    fields: UrlFields,
) -> Result<Json<Value>, TempoError> {
    let scopes = scopes(&state, &tenant, &fields).await?;
    let scopes: Vec<Value> =
        scopes.into_iter().map(|(name, tags)| json!({ "name": name, "tags": tags })).collect();
    Ok(Json(json!({ "scopes": scopes, "metrics": {} })))
}

/// The requested scopes with their names.
async fn scopes(
    state: &AppState,
    tenant: &Tenant,
    fields: &UrlFields,
) -> Result<Vec<(&'static str, Vec<String>)>, ApiError> {
    let requested = fields.text("scope").filter(|scope| !matches!(*scope, "all" | "none"));
    let known = ["resource", "span", "intrinsic", "event", "link", "instrumentation"];
    if let Some(scope) = requested.filter(|scope| !known.contains(scope)) {
        return Err(ApiError::invalid(format_args!("invalid scope: {scope}")));
    }
    let names = TagNames::read(state, tenant, fields).await?;
    let intrinsic = intrinsic_fields().into_iter().map(str::to_owned).collect();
    let all = [
        ("resource", names.resource.into_iter().collect()),
        ("span", names.span.into_iter().collect()),
        ("intrinsic", intrinsic),
    ];
    let is_requested = |(name, names): &(&str, Vec<String>)| {
        !names.is_empty() && requested.is_none_or(|requested| requested == *name)
    };
    Ok(all.into_iter().filter(is_requested).collect())
}

/// Tempo: values of a field, by the name of a tag
#[utoipa::path(
    get, path = "/tempo/api/search/tag/{tag}/values", tag = "dashboards",
    params(("tag" = String, Path), ("start" = Option<i64>, Query), ("end" = Option<i64>, Query)),
    responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_values(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(tag): Path<String>,
    fields: UrlFields,
) -> Result<Json<Value>, TempoError> {
    let tag = decoded(&tag);
    let name = match &*tag {
        "status.code" => "status",
        "root.service.name" => "rootServiceName",
        "root.name" => "rootName",
        tag => tag,
    };
    let selected = selected(&state);
    // Tags have no scope.
    let field = parse_field(name, selected).or_else(|_| parse_field(&format!(".{name}"), selected));
    let values = match field {
        Ok(field) => values(&state, &tenant, &fields, field, CallFilter::constant(true)).await?,
        Err(_) => BTreeSet::new(),
    };
    Ok(Json(json!({ "tagValues": values, "metrics": {} })))
}

/// Tempo: values of a field, with their types
#[utoipa::path(
    get, path = "/tempo/api/v2/search/tag/{tag}/values", tag = "dashboards",
    params(
        ("tag" = String, Path, description = "As in TraceQL"),
        ("q" = Option<String>, Query, description = "Only values of these spans"),
        ("start" = Option<i64>, Query), ("end" = Option<i64>, Query)
    ),
    responses((status = 200, body = Value))
)]
pub(crate) async fn tempo_values_v2(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(tag): Path<String>,
    fields: UrlFields,
) -> Result<Json<Value>, TempoError> {
    let selected = selected(&state);
    // Like Tempo: what is still being typed does not limit the values; fields without values have none.
    let filter = parse_typed(fields.text("q").unwrap_or_default(), selected);
    let (values, kind) = match parse_field(&decoded(&tag), selected) {
        Ok(field) => {
            let kind = if matches!(field, Field::Status | Field::Kind) { "keyword" } else { "string" };
            (values(&state, &tenant, &fields, field, filter).await?, kind)
        }
        Err(_) => (BTreeSet::new(), "string"),
    };
    let values: Vec<Value> =
        values.into_iter().map(|value| json!({ "type": kind, "value": value })).collect();
    Ok(Json(json!({ "tagValues": values, "metrics": {} })))
}

/// Grafana escapes the names of tags twice.
fn decoded(tag: &str) -> Cow<'_, str> {
    let decode = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok();
    if !tag.contains('%') {
        return Cow::Borrowed(tag);
    }
    let (mut bytes, mut rest) = (Vec::new(), tag.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2).and_then(decode)).flatten();
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The values that a field of some spans has.
async fn values(
    state: &AppState,
    tenant: &Tenant,
    fields: &UrlFields,
    field: Field,
    filter: CallFilter,
) -> Result<BTreeSet<String>, ApiError> {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
    match &field {
        Field::Status => return Ok(texts(&["error", "ok", "unset"])),
        Field::Kind => {
            let kinds = ["client", "consumer", "internal", "producer", "server", "unspecified"];
            debug_assert!(kinds.iter().all(|kind| SpanKind::parse(kind).is_some()));
            return Ok(texts(&kinds));
        }
        Field::Duration(_) | Field::NestedSetParent => return Ok(BTreeSet::new()),
        Field::Text(field) if fields.text("start").is_none() && filter.decided() == Some(true) => {
            let names = StoredNames::read(state, tenant).await?;
            match field {
                TextField::Service => return Ok(names.services().into_iter().map(str::to_owned).collect()),
                TextField::Operation => {
                    return Ok(names.operations.into_iter().map(|(_, operation, _)| operation).collect());
                }
                TextField::Replica => return Ok(names.replicas),
                TextField::EntryService | TextField::EntryOperation => {}
            }
        }
        Field::Text(_) | Field::Attribute(_) => {}
    }
    let window = window(tenant, fields)?;
    query(state, &tenant.store, window, move |requests| {
        Ok(values_of_calls(requests, window, &field, &filter))
    })
    .await
}

fn values_of_calls(
    requests: &Requests,
    window: Window,
    field: &Field,
    filter: &CallFilter,
) -> BTreeSet<String> {
    let mut values: BTreeSet<String> = BTreeSet::new();
    let mut add = |value: &str| {
        if !value.is_empty() && !values.contains(value) && values.len() < VALUES_MAX {
            values.insert(value.to_owned());
        }
    };
    let prepared = PreparedFilter::new(filter, requests);
    let names = requests.names();
    // Many calls of a service have the same attributes.
    let mut known = HashSet::new();
    for request in latest_first(requests, window) {
        for (node, call) in prepared.selected(names, &request) {
            match field {
                Field::Text(field) => add(field.of(&call)),
                Field::Attribute(AttributeField { key, scope }) => {
                    let service = names.service_of(request.tree().operation[node]);
                    if !known.insert((request.attributes(), service)) {
                        continue;
                    }
                    let named = named_values(call.request.attributes, call.operation.service, *scope);
                    named.get(attribute_name(key)).into_iter().flatten().for_each(|value| add(value));
                }
                _ => {}
            }
        }
    }
    values
}
