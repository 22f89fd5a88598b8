//! `/api/v1/attributes`: what requests of a window can be searched for by, and a search by it.

use super::data::query;
use super::parameters::{Query, count, now, shorten, window};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_formats::{attribute_key, attribute_name};
use laggard_model::{AttributeSetId, attributes_in};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of values of an attribute.
const VALUES: usize = 20;
const VALUES_MAX: usize = 1_000;

/// Most attributes, and most of a search.
const NAMES_MAX: usize = 1_000;
const CONDITIONS_MAX: usize = 20;

/// Parameters of the list of attributes.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AttributeParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Only the attribute of this name.
    name: Option<String>,
    /// Maximum number of values of each (1 to 1000; default 20).
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
}

/// Attributes of the requests of a window.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttributeList {
    /// By name.
    attributes: Vec<AttributeRow>,
    /// Attributes beyond the limit.
    omitted: u64,
}

/// An attribute.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttributeRow {
    /// As in spans: `service.version`.
    name: String,
    /// By requests, the most first.
    values: Vec<AttributeValue>,
    /// Values beyond the limit.
    omitted: u64,
}

/// A value of an attribute.
#[derive(Serialize, ToSchema)]
pub(crate) struct AttributeValue {
    value: String,
    /// Requests that have it, of whatever service.
    requests: u64,
}

/// Attributes of requests
#[utoipa::path(
    get, path = "/api/v1/attributes", tag = "data", params(AttributeParameters),
    responses((status = 200, body = AttributeList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn attributes(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<AttributeParameters>,
) -> Result<Json<AttributeList>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let limit = count("limit", parameters.limit, VALUES, VALUES_MAX)?;
    let key = parameters.name.map(|name| attribute_key(&name).to_owned());
    let answer = query(&state, &tenant.store, window, move |requests| {
        Ok(list(requests, window, key.as_deref(), limit))
    });
    Ok(Json(answer.await?))
}

fn list(requests: &Requests, window: Window, key: Option<&str>, limit: usize) -> AttributeList {
    let mut sets: BTreeMap<AttributeSetId, u64> = BTreeMap::new();
    for request in requests.within(window.since, window.until).iter() {
        *sets.entry(request.attributes()).or_default() += 1;
    }
    let mut by_key: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for (set, requests_with) in sets {
        // Several services of a request may have one value.
        let mut last = None;
        let mut pairs: Vec<(&str, &str)> = attributes_in(requests.names().attribute_set_text(set))
            .map(|attribute| (attribute.key, attribute.value))
            .collect();
        pairs.sort_unstable();
        for pair in pairs {
            if last != Some(pair) && key.is_none_or(|key| key == pair.0) {
                *by_key.entry(pair.0).or_default().entry(pair.1).or_default() += requests_with;
            }
            last = Some(pair);
        }
    }
    let rows = by_key.into_iter().map(|(key, values)| {
        let mut values: Vec<(&str, u64)> = values.into_iter().collect();
        values.sort_by_key(|&(value, requests)| (Reverse(requests), value));
        let omitted = shorten(&mut values, limit);
        let value = |(value, requests): (&str, u64)| AttributeValue { value: value.to_owned(), requests };
        AttributeRow {
            name: attribute_name(key).to_owned(),
            values: values.into_iter().map(value).collect(),
            omitted,
        }
    });
    let mut attributes: Vec<AttributeRow> = rows.collect();
    attributes.sort_by(|a, b| a.name.cmp(&b.name));
    let omitted = shorten(&mut attributes, NAMES_MAX);
    AttributeList { attributes, omitted }
}

/// Values that requests must have: `NAME=VALUE`, separated by spaces; a value may be in quotation marks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AttributeConditions(Vec<(String, String)>);

impl AttributeConditions {
    /// # Errors
    /// When the text has another form.
    pub(crate) fn parse(text: &str) -> Result<AttributeConditions, ApiError> {
        let malformed = || {
            ApiError::invalid(format_args!(
                "attributes are NAME=VALUE, separated by spaces (a VALUE with spaces in quotation marks), at most \
                 {CONDITIONS_MAX}; not {text:?}"
            ))
        };
        let mut conditions = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=').ok_or_else(malformed)?;
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(malformed)?,
                None => after.split_at(after.find(char::is_whitespace).unwrap_or(after.len())),
            };
            if name.is_empty() || value.is_empty() || name.contains(char::is_whitespace) {
                return Err(malformed());
            }
            conditions.push((attribute_key(name).to_owned(), value.to_owned()));
            rest = after.trim_start();
        }
        match conditions.len() {
            1..=CONDITIONS_MAX => Ok(AttributeConditions(conditions)),
            _ => Err(malformed()),
        }
    }

    /// Whether each set of attributes has all of them, by its handle.
    pub(crate) fn matching_sets(&self, requests: &Requests) -> Vec<bool> {
        let names = requests.names();
        let matches = |index| {
            let text = names.attribute_set_text(AttributeSetId::from_index(index));
            self.0.iter().all(|(key, value)| {
                attributes_in(text).any(|attribute| attribute.key == *key && attribute.value == *value)
            })
        };
        (0..names.attribute_sets()).map(matches).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_pairs_of_names_and_values() {
        let read = |text: &str| AttributeConditions::parse(text).map(|read| read.0).map_err(|_| ());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read(" service.version=1.4.3  tenant=\"a b\" "),
            Ok(vec![pair("version", "1.4.3"), pair("tenant", "a b")])
        );
        assert_eq!(read("zone=a=b"), Ok(vec![pair("zone", "a=b")]));
        for text in ["", "version", "=1", "version=", "a b=c", "a=\"b", &"a=b ".repeat(21)] {
            assert_eq!(read(text), Err(()), "{text}");
        }
    }
}
