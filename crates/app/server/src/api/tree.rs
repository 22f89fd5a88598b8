//! `/api/v1/categories/{id}/tree`: the calls of a category's requests, with their times.

use super::data::{query, threads};
use super::latencies::quantile;
use super::parameters::{Query, WindowParameters};
use super::problem::{ApiError, ProblemDocument};
use crate::api::state::AppState;
use crate::tenants::Tenant;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use laggard_assembly::ShapeRule;
use laggard_engine::{RequestView, Requests, ShapeCategory};
use laggard_model::ReplicaId;
use laggard_params::Window;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::ToSchema;

/// The call tree of a category.
#[derive(Serialize, ToSchema)]
pub(crate) struct CategoryTree {
    id: String,
    service: String,
    operation: String,
    /// Complete requests.
    requests: u64,
    /// In depth-first pre-order.
    positions: Vec<TreePosition>,
}

/// One position of the tree. Times are of single calls.
#[derive(Serialize, ToSchema)]
pub(crate) struct TreePosition {
    position: u32,
    /// The caller's position; absent for the entry.
    parent: Option<u32>,
    service: String,
    operation: String,
    kind: &'static str,
    /// Calls of a request, on average.
    calls_mean: f64,
    self_p50_ns: Option<u64>,
    self_p99_ns: Option<u64>,
    inclusive_p50_ns: Option<u64>,
    inclusive_p99_ns: Option<u64>,
    /// Replicas that were called there.
    replicas: u64,
}

/// The call tree of a category
#[utoipa::path(
    get, path = "/api/v1/categories/{id}/tree", tag = "data",
    params(("id" = String, Path, description = "The category, as lists and reports name it"), WindowParameters),
    responses((status = 200, body = CategoryTree), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn tree(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(id): Path<String>,
    Query(parameters): Query<WindowParameters>,
) -> Result<Json<CategoryTree>, ApiError> {
    let window = parameters.window()?;
    let answer = query(&state, &tenant.store, window, move |requests| tree_of(requests, window, &id));
    Ok(Json(answer.await?))
}

/// A category of a window, with its complete requests.
pub(crate) struct MatchedCategory<'a> {
    pub(crate) shape: &'a ShapeCategory,
    pub(crate) requests: Vec<RequestView<'a>>,
    all: &'a Requests,
}

impl<'a> MatchedCategory<'a> {
    /// The category of this id, short as in lists, or complete.
    pub(crate) fn find(all: &'a Requests, window: Window, id: &str) -> Result<MatchedCategory<'a>, ApiError> {
        let shapes = all.shapes(ShapeRule::Canonical, threads());
        let known = |category: &ShapeCategory| category.id.short() == id || category.id.to_string() == id;
        let index = shapes.categories().iter().position(known);
        let requests: Vec<RequestView<'a>> = (all.within(window.since, window.until).iter())
            .filter(|request| request.is_complete() && index == Some(shapes.category_of(request.structure())))
            .collect();
        match index {
            Some(index) if !requests.is_empty() => {
                Ok(MatchedCategory { shape: &shapes.categories()[index], requests, all })
            }
            _ => Err(ApiError::not_found(format_args!("the window has no request of a category {id:?}"))),
        }
    }

    /// The position of every call of a request.
    pub(crate) fn positions_of(&self, request: &RequestView<'_>) -> &'a [u32] {
        self.all.shapes(ShapeRule::Canonical, threads()).positions_of(request.structure())
    }
}

#[derive(Clone, Default)]
struct Calls {
    self_ns: Vec<u64>,
    inclusive_ns: Vec<u64>,
    replicas: BTreeSet<ReplicaId>,
}

fn tree_of(requests: &Requests, window: Window, id: &str) -> Result<CategoryTree, ApiError> {
    let matched = MatchedCategory::find(requests, window, id)?;
    let mut calls = vec![Calls::default(); matched.shape.positions.len()];
    for request in &matched.requests {
        for (node, &position) in matched.positions_of(request).iter().enumerate() {
            let calls = &mut calls[position as usize];
            calls.self_ns.push(request.self_time(node).ns());
            calls.inclusive_ns.push(request.inclusive_time(node).ns());
            calls.replicas.insert(request.replica(node));
        }
    }
    let names = requests.names();
    let entry = names.operation_key(matched.shape.positions[0].operation);
    let positions =
        matched.shape.positions.iter().zip(calls).zip(0..).map(|((shape_position, mut calls), position)| {
            let key = names.operation_key(shape_position.operation);
            TreePosition {
                position,
                parent: shape_position.parent,
                service: key.service.to_owned(),
                operation: key.operation.to_owned(),
                kind: key.kind.name(),
                calls_mean: calls.self_ns.len() as f64 / matched.requests.len() as f64,
                self_p50_ns: quantile(&mut calls.self_ns, 50),
                self_p99_ns: quantile(&mut calls.self_ns, 99),
                inclusive_p50_ns: quantile(&mut calls.inclusive_ns, 50),
                inclusive_p99_ns: quantile(&mut calls.inclusive_ns, 99),
                replicas: calls.replicas.len() as u64,
            }
        });
    Ok(CategoryTree {
        id: matched.shape.id.short(),
        service: entry.service.to_owned(),
        operation: entry.operation.to_owned(),
        requests: matched.requests.len() as u64,
        positions: positions.collect(),
    })
}
