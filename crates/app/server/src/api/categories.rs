//! `/api/v1/categories`: requests with the same call tree.

use super::category_latencies::{Categories, reason};
use super::data::query;
use super::parameters::{Query, count, now, shorten, window};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_engine::Requests;
use laggard_params::{Moment, Window};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Default and largest number of listed categories.
const LISTED: usize = 100;
const LISTED_MAX: usize = 10_000;

/// Parameters of the list of categories.
#[derive(Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CategoryParameters {
    /// Where the window begins; an hour before it ends if absent.
    since: Option<Moment>,
    /// Where it ends; now if absent.
    until: Option<Moment>,
    /// Only those that enter at this service.
    service: Option<String>,
    /// Maximum number of categories (1 to 10000; default 100).
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u64>,
}

/// Categories of a window.
#[derive(Serialize, ToSchema)]
pub(crate) struct CategoryList {
    /// Anomalous ones first, then by requests.
    categories: Vec<CategoryRow>,
    /// Categories beyond the limit.
    omitted: u64,
}

/// One category.
#[derive(Serialize, ToSchema)]
pub(crate) struct CategoryRow {
    /// Stable: twelve hexadecimal digits, as in reports.
    id: String,
    /// Where its requests enter.
    service: String,
    /// By which operation.
    operation: String,
    /// Positions of its call tree.
    positions: u64,
    /// Complete requests.
    requests: u64,
    /// Those whose entry failed.
    errors: u64,
    /// Median latency.
    p50_ns: Option<u64>,
    /// 99th percentile of the latency.
    p99_ns: Option<u64>,
    /// Coefficient of variation of the latency.
    cv: f64,
    /// Whether its latency is dispersed or has a heavy tail.
    anomalous: bool,
    /// Which of them.
    reason: Option<String>,
}

/// Categories of requests
#[utoipa::path(
    get, path = "/api/v1/categories", tag = "data", params(CategoryParameters),
    responses((status = 200, body = CategoryList), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn categories(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Query(parameters): Query<CategoryParameters>,
) -> Result<Json<CategoryList>, ApiError> {
    let window = window(parameters.since, parameters.until, now())?;
    let limit = count("limit", parameters.limit, LISTED, LISTED_MAX)?;
    let service = parameters.service;
    let answer = query(&state, &tenant.store, window, move |requests| {
        Ok(list(requests, window, service.as_deref(), limit))
    });
    Ok(Json(answer.await?))
}

fn list(requests: &Requests, window: Window, service: Option<&str>, limit: usize) -> CategoryList {
    let names = requests.names();
    let entry = |operation| names.operation_key(operation);
    let matching = Categories::of(requests, window, |category| {
        service.is_none_or(|requested| entry(category.positions[0].operation).service == requested)
    });
    let rows = matching.iter().map(|(shape, category)| {
        let (key, gate) = (entry(shape.positions[0].operation), category.gate());
        CategoryRow {
            id: shape.id.short(),
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            positions: shape.positions.len() as u64,
            requests: category.requests(),
            errors: category.errors,
            p50_ns: category.quantile(50),
            p99_ns: category.quantile(99),
            cv: gate.cv,
            anomalous: gate.anomalous,
            reason: reason(&gate),
        }
    });
    let mut categories: Vec<CategoryRow> = rows.collect();
    categories.sort_by(|a, b| {
        b.anomalous.cmp(&a.anomalous).then(b.requests.cmp(&a.requests)).then_with(|| a.id.cmp(&b.id))
    });
    let omitted = shorten(&mut categories, limit);
    CategoryList { categories, omitted }
}
