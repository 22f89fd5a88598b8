//! `/api/v1/latency-map/compare`: requests of a part of the map of latencies against all others of the window.

use super::data::query_beside;
use super::latency_map::EntryFilter;
use super::measured::MeasuredCalls;
use super::parameters::{Query, now, shorten, window};
use super::problem::{ApiError, ProblemDocument};
use super::selection_tests::{Compared, Difference, SlowerOperation};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::{RequestView, Requests};
use laggard_model::Nanos;
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

// Limit: requests of a selection, and other requests, that are compared with each other | chosen evenly
/// Most requests of each side that are compared.
const COMPARED_MAX: usize = 20_000;

/// Memory of a comparison at most, bytes.
const COMPARED_BYTES: u64 = 32 << 20;

/// Most rows of each list of an answer.
const ROWS_MAX: usize = 100;

/// Parameters of a comparison.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SelectionParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Only requests that enter at this service.
    service: Option<String>,
    /// Only requests that enter by an operation of this name.
    operation: Option<String>,
    /// Selects requests that start no earlier.
    selected_since: Option<Moment>,
    /// Selects requests that start no later.
    selected_until: Option<Moment>,
    /// Selects requests that take at least so long.
    min_ns: Option<u64>,
    /// Selects requests that take at most so long.
    max_ns: Option<u64>,
}

/// How the selected requests differ from the others of the window.
#[derive(Serialize, ToSchema)]
pub(crate) struct SelectionComparison {
    /// Requests that are selected.
    selected: u64,
    /// The others.
    rest: u64,
    /// How many of them were compared, chosen evenly.
    selected_compared: u64,
    rest_compared: u64,
    /// Level of the tests after Benjamini–Hochberg; only what differs at it is listed.
    level: f64,
    /// What more or fewer of the selected requests have, the largest difference first (Fisher's exact test).
    differences: Vec<Difference>,
    /// Further differences.
    omitted: u64,
    /// Operations whose own time differs, the largest difference first (Mann–Whitney test).
    operations: Vec<SlowerOperation>,
    /// Further operations.
    omitted_operations: u64,
}

/// Which requests are selected.
struct Selection {
    time: Window,
    latency: (Nanos, Nanos),
}

impl Selection {
    fn selects(&self, request: &RequestView<'_>) -> bool {
        (self.time.since..=self.time.until).contains(&request.start())
            && (self.latency.0..=self.latency.1).contains(&request.latency())
    }
}

/// A part of the map of latencies against the rest
///
/// Which attributes, replicas, and operations the selected requests have more or less often than the others, and which
/// operations take longer in them.
#[utoipa::path(
    get, path = "/api/v1/latency-map/compare", tag = "data", params(SelectionParameters),
    responses((status = 200, body = SelectionComparison), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn compare(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<SelectionParameters>,
) -> Result<Json<SelectionComparison>, ApiError> {
    let now = now();
    let all = window(parameters.since, parameters.until, now)?;
    let selection = Selection {
        time: Window {
            since: parameters.selected_since.map_or(all.since, |moment| moment.at(now)),
            until: parameters.selected_until.map_or(all.until, |moment| moment.at(now)),
        },
        latency: (
            Nanos::from_ns(parameters.min_ns.unwrap_or(0)),
            Nanos::from_ns(parameters.max_ns.unwrap_or(u64::MAX)),
        ),
    };
    if selection.time.since > selection.time.until || selection.latency.0 > selection.latency.1 {
        return Err(ApiError::invalid("a selection must not end before it begins"));
    }
    let filter = EntryFilter { service: parameters.service, operation: parameters.operation };
    let answer = query_beside(&state, &tenant.store, (all, COMPARED_BYTES), move |requests| {
        Ok(comparison(requests, all, &filter, &selection))
    });
    Ok(Json(answer.await?))
}

fn comparison(
    requests: &Requests,
    window: Window,
    filter: &EntryFilter,
    selection: &Selection,
) -> SelectionComparison {
    let range = requests.within(window.since, window.until);
    let entering = || range.iter().enumerate().filter(|(_, request)| filter.selects(requests, request));
    let mut counts = [0_usize; 2];
    entering().for_each(|(_, request)| counts[side(selection, &request)] += 1);
    let mut sides = counts.map(|requests| MeasuredCalls::new(requests, COMPARED_MAX));
    entering().for_each(|(at, request)| sides[side(selection, &request)].add(range.first() + at));
    let [selected, rest] = sides.map(MeasuredCalls::into_values);
    let compared = Compared { requests, selected: &selected, rest: &rest };
    let (mut differences, mut operations) = (compared.differences(), compared.operations());
    let (omitted, omitted_operations) =
        (shorten(&mut differences, ROWS_MAX), shorten(&mut operations, ROWS_MAX));
    SelectionComparison {
        selected: counts[0] as u64,
        rest: counts[1] as u64,
        selected_compared: selected.len() as u64,
        rest_compared: rest.len() as u64,
        level: Compared::level(),
        differences,
        omitted,
        operations,
        omitted_operations,
    }
}

/// 0 for a request that is selected, 1 for another.
fn side(selection: &Selection, request: &RequestView<'_>) -> usize {
    usize::from(!selection.selects(request))
}
