//! `/api/v1/search`: requests of a window, the latest first.

use super::attributes::AttributeConditions;
use super::data::{query, threads};
use super::parameters::{Query, count, now, window};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_assembly::ShapeRule;
use laggard_engine::{RequestView, Requests};
use laggard_model::{Nanos, OperationId, Status, TraceId};
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of listed traces.
const LISTED: usize = 50;
const LISTED_MAX: usize = 1_000;

/// Longest text to search logs for, in bytes.
const WORD_BYTES_MAX: usize = 200;

/// How long before and after the window events of its requests are searched for.
const LOGGED_AROUND: Nanos = Nanos::from_secs(300);

/// Parameters of a search.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Requests that call this service (entering there is calling it).
    service: Option<String>,
    /// Requests that call an operation of this name, of that service if one is named.
    operation: Option<String>,
    /// Outcome of the entry.
    status: Option<StatusName>,
    /// Only requests that take at least this many milliseconds.
    #[param(minimum = 0)]
    min_ms: Option<f64>,
    /// Only requests that take at most this many milliseconds.
    #[param(minimum = 0)]
    max_ms: Option<f64>,
    /// Requests during whose spans something with this text was logged: its body, name, or attributes have it, in any case
    /// of ASCII letters (1 to 200 bytes).
    logged: Option<String>,
    /// Requests that have these attributes: `NAME=VALUE`, separated by spaces, a value with spaces in quotation marks (at most 20).
    attributes: Option<String>,
    /// Requests of this category.
    category: Option<String>,
    /// Maximum number of requests (1 to 1000; default 50).
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
}

/// Outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatusName {
    Unset,
    Ok,
    Error,
}

impl From<StatusName> for Status {
    fn from(status: StatusName) -> Status {
        match status {
            StatusName::Unset => Status::Unset,
            StatusName::Ok => Status::Ok,
            StatusName::Error => Status::Error,
        }
    }
}

impl From<Status> for StatusName {
    fn from(status: Status) -> StatusName {
        match status {
            Status::Unset => StatusName::Unset,
            Status::Ok => StatusName::Ok,
            Status::Error => StatusName::Error,
        }
    }
}

/// Traces that match.
#[derive(Serialize, ToSchema)]
pub(crate) struct SearchResult {
    /// The latest first; a trace once.
    traces: Vec<TraceSummary>,
    /// Requests that were searched.
    scanned: u64,
    /// Matching requests beyond the limit.
    omitted: u64,
}

/// A trace with a request that was searched for.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceSummary {
    trace: String,
    service: String,
    operation: String,
    start_ns: i64,
    latency_ns: u64,
    /// Calls of the request.
    spans: u64,
    status: StatusName,
    /// Absent when the request is not complete.
    category: Option<String>,
}

/// Traces by what their requests do
#[utoipa::path(
    get, path = "/api/v1/search", tag = "data", params(SearchParameters),
    responses((status = 200, body = SearchResult), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn search(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<SearchParameters>,
) -> Result<Json<SearchResult>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let limit = count("limit", parameters.limit, LISTED, LISTED_MAX)?;
    let (least, most) = (nanos("min_ms", parameters.min_ms)?, nanos("max_ms", parameters.max_ms)?);
    if least.zip(most).is_some_and(|(least, most)| least > most) {
        return Err(ApiError::invalid("min_ms is larger than max_ms"));
    }
    let logged = match parameters.logged.as_deref() {
        None => None,
        Some(word) if word.is_empty() || word.len() > WORD_BYTES_MAX => {
            return Err(ApiError::invalid(format_args!("logged is a text of 1 to {WORD_BYTES_MAX} bytes")));
        }
        // A request may log before it begins by the clock of another host, and after it has ended.
        Some(word) => {
            let (since, until) = (window.since.minus(LOGGED_AROUND), window.until.plus(LOGGED_AROUND));
            Some(tenant.store.view().traces_that_logged(since, until, word).await?)
        }
    };
    let attributes = parameters.attributes.as_deref().map(AttributeConditions::parse).transpose()?;
    let answer = query(&state, &tenant.store, window, move |requests| {
        let filter = RequestFilter {
            attribute_sets: attributes.map(|attributes| attributes.matching_sets(requests)),
            structures: matching_structures(requests, &parameters),
            status: parameters.status,
            least: least.unwrap_or(Nanos::ZERO),
            most: most.unwrap_or(Nanos::from_ns(u64::MAX)),
            only_complete: parameters.category.is_some(),
            logged,
        };
        Ok(find(requests, window, &filter, limit))
    });
    Ok(Json(answer.await?))
}

fn nanos(name: &str, ms: Option<f64>) -> Result<Option<Nanos>, ApiError> {
    match ms {
        None => Ok(None),
        Some(ms) if ms >= 0.0 && ms.is_finite() => Ok(Some(Nanos::from_ns((ms * 1e6) as u64))),
        Some(_) => Err(ApiError::invalid(format_args!("{name} is a number of milliseconds, 0 or more"))),
    }
}

/// Selects requests.
struct RequestFilter {
    /// Whether a call tree matches, by structure.
    structures: Vec<bool>,
    /// Whether a set of attributes matches, by its handle; `None` if all do.
    attribute_sets: Option<Vec<bool>>,
    status: Option<StatusName>,
    least: Nanos,
    most: Nanos,
    /// Whether incomplete requests are left out.
    only_complete: bool,
    /// The traces that logged what is searched for; `None` for any.
    logged: Option<HashSet<TraceId>>,
}

impl RequestFilter {
    fn matches(&self, request: &RequestView<'_>) -> bool {
        self.structures[request.structure()]
            && self.attribute_sets.as_ref().is_none_or(|sets| sets[request.attributes().index()])
            && self.status.is_none_or(|status| status == request.status().into())
            && (self.least..=self.most).contains(&request.latency())
            && (!self.only_complete || request.is_complete())
            && self.logged.as_ref().is_none_or(|traces| traces.contains(&request.trace()))
    }
}

/// Which call trees match: there are few of them, so that requests need not be searched.
fn matching_structures(requests: &Requests, parameters: &SearchParameters) -> Vec<bool> {
    let names = requests.names();
    let operations: Vec<bool> = (0..names.operations())
        .map(|index| names.operation_key(OperationId::from_index(index)))
        .map(|key| {
            parameters.service.as_deref().is_none_or(|service| service == key.service)
                && parameters.operation.as_deref().is_none_or(|operation| operation == key.operation)
        })
        .collect();
    let shapes = requests.shapes(ShapeRule::Canonical, threads());
    let in_category = |structure: usize| {
        let id = shapes.categories()[shapes.category_of(structure)].id;
        parameters
            .category
            .as_deref()
            .is_none_or(|requested| id.short() == requested || id.to_string() == requested)
    };
    let calls = |structure: usize| {
        requests.structures()[structure].operation.iter().any(|operation| operations[operation.index()])
    };
    (0..requests.structures().len()).map(|structure| calls(structure) && in_category(structure)).collect()
}

/// The requests of a window, the latest first.
pub(super) fn latest_first(
    requests: &Requests,
    window: Window,
) -> impl ExactSizeIterator<Item = RequestView<'_>> {
    let range = requests.within(window.since, window.until);
    (range.first()..range.first() + range.len()).rev().map(|index| requests.request(index))
}

fn find(requests: &Requests, window: Window, filter: &RequestFilter, limit: usize) -> SearchResult {
    let latest = latest_first(requests, window);
    let mut result = SearchResult { traces: Vec::new(), scanned: latest.len() as u64, omitted: 0 };
    let mut seen = HashSet::new();
    for request in latest {
        if !filter.matches(&request) || seen.contains(&request.trace()) {
            continue;
        }
        if result.traces.len() == limit {
            result.omitted += 1;
            continue;
        }
        seen.insert(request.trace());
        result.traces.push(row(requests, &request));
    }
    result
}

fn row(requests: &Requests, request: &RequestView<'_>) -> TraceSummary {
    let key = requests.names().operation_key(request.tree().operation[0]);
    let shapes = requests.shapes(ShapeRule::Canonical, threads());
    let category = || shapes.categories()[shapes.category_of(request.structure())].id.short();
    TraceSummary {
        trace: requests.trace_text(request.trace()),
        service: key.service.to_owned(),
        operation: key.operation.to_owned(),
        start_ns: request.start().unix_ns(),
        latency_ns: request.latency().ns(),
        spans: request.calls() as u64,
        status: request.status().into(),
        category: request.is_complete().then(category),
    }
}
