//! `/api/v1/traces/{id}`: one trace, span by span.

use super::parameters::Query;
use super::problem::{ApiError, ProblemDocument};
use super::running::blocking;
use super::search::StatusName;
use crate::tenants::Tenant;
use axum::extract::Path;
use axum::{Extension, Json};
use laggard_assembly::{CallRows, ShapeRule, Shaper};
use laggard_model::{AttributeText, CallTree, Fingerprint, Losses, Names, OperationId, SpanEvent, TraceId};
pub(crate) use laggard_report::LossRow;
use laggard_store::StoredTrace;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use utoipa::ToSchema;

/// Spans that are shown; a trace with more is shown in part.
const SPANS_MAX: usize = 100_000;

/// One trace.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceDocument {
    trace: String,
    /// Its roots, by start.
    requests: Vec<TraceRequest>,
    /// In depth-first order: the calls of every request, then what hangs from spans that are missing.
    pub(super) spans: Vec<TraceSpan>,
    /// Spans beyond the limit.
    pub(super) omitted: u64,
    /// Events of spans that are not there, or beyond the limit.
    events_without_span: u64,
    /// Repairs and doubts of assembly.
    pub(super) losses: BTreeMap<&'static str, LossRow>,
    /// The id as a number.
    #[serde(skip)]
    pub(super) id: TraceId,
    /// Attributes of its requests and their services.
    #[serde(skip)]
    pub(super) attributes: AttributeText,
}

/// One request of a trace.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceRequest {
    start_ns: i64,
    latency_ns: u64,
    /// Whether shape and times are fully known.
    complete: bool,
    /// Absent when it is not complete.
    category: Option<String>,
}

/// One span.
#[derive(Serialize, ToSchema)]
pub(crate) struct TraceSpan {
    pub(super) span: String,
    pub(super) parent: Option<String>,
    pub(super) service: String,
    pub(super) operation: String,
    pub(super) kind: &'static str,
    pub(super) replica: String,
    pub(super) status: StatusName,
    /// On the clock of its host.
    pub(super) start_ns: i64,
    pub(super) inclusive_ns: u64,
    /// Time not spent in callees.
    self_ns: u64,
    /// The part of it that the request waited for.
    path_ns: u64,
    /// 0 for an entry.
    pub(super) depth: u32,
    /// Its events and what was logged during it, by time; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<TraceEvent>,
}

/// An event of a span, or something logged during it.
#[derive(Deserialize, Serialize, ToSchema)]
pub(crate) struct TraceEvent {
    /// On the clock of its host.
    pub(super) time_ns: i64,
    /// `TRACE`, `DEBUG`, `INFO`, `WARN`, `ERROR`, or `FATAL`; empty if it is not known.
    pub(super) severity: String,
    /// OpenTelemetry's number of the severity, 1 to 24; 0 if it is not known.
    pub(super) severity_number: u8,
    /// The event's name; mostly empty.
    pub(super) name: String,
    /// The text; what is not text, as JSON.
    pub(super) body: String,
    /// Its attributes by name; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<EventAttribute>,
}

/// An attribute of something logged.
#[derive(Deserialize, Serialize, ToSchema)]
pub(crate) struct EventAttribute {
    pub(super) name: String,
    /// The text; what is not text, as JSON.
    pub(super) value: String,
}

impl From<SpanEvent> for TraceEvent {
    fn from(event: SpanEvent) -> TraceEvent {
        TraceEvent {
            time_ns: event.time.unix_ns(),
            severity: event.severity.name().to_owned(),
            severity_number: event.severity.number(),
            name: event.name.into(),
            body: event.body.into(),
            attributes: event_attributes(&event.attributes),
        }
    }
}

/// Attributes from the JSON object that is stored.
fn event_attributes(stored: &str) -> Vec<EventAttribute> {
    let attributes: BTreeMap<String, serde_json::Value> = serde_json::from_str(stored).unwrap_or_default();
    let text = |value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    attributes.into_iter().map(|(name, value)| EventAttribute { name, value: text(value) }).collect()
}

/// Losses by name.
pub(crate) fn loss_rows(losses: &Losses) -> BTreeMap<&'static str, LossRow> {
    let row = |count: u64, example: &str| LossRow { count, example: example.to_owned() };
    losses.iter().map(|(loss, found)| (loss.name(), row(found.count, &found.example))).collect()
}

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// One trace
#[utoipa::path(
    get, path = "/api/v1/traces/{id}", tag = "data",
    params(("id" = String, Path, description = "The trace, with the id of its spans, or as lists show it")),
    responses((status = 200, body = TraceDocument), (status = "4XX", body = ProblemDocument))
)]
pub(crate) async fn trace(
    Extension(tenant): Extension<Arc<Tenant>>,
    Path(text): Path<String>,
    Query(Nothing {}): Query<Nothing>,
) -> Result<Json<TraceDocument>, ApiError> {
    stored_trace(&tenant, &text).await.map(Json)
}

/// The trace of this id.
pub(crate) async fn stored_trace(tenant: &Tenant, text: &str) -> Result<TraceDocument, ApiError> {
    let missing = || ApiError::not_found(format_args!("there is no trace {text:?}"));
    let id = TraceId::parse_text(text).ok_or_else(missing)?.id;
    trace_document(tenant, id).await?.ok_or_else(missing)
}

/// The trace of this id; `None` if there is none.
pub(super) async fn trace_document(tenant: &Tenant, id: TraceId) -> Result<Option<TraceDocument>, ApiError> {
    match tenant.store.view().trace(id).await? {
        Some(stored) => blocking(move || document(id, stored)).await.map(Some),
        None => Ok(None),
    }
}

impl TraceDocument {
    /// The trace with its entries and the spans that requests waited for longest, at most so many, in their order.
    pub(crate) fn with_longest_spans(mut self, spans_max: usize) -> TraceDocument {
        let mut order: Vec<usize> = (0..self.spans.len()).collect();
        order.sort_by_key(|&index| {
            let span = &self.spans[index];
            (Reverse((span.depth == 0, span.path_ns, span.inclusive_ns)), index)
        });
        let shown: HashSet<usize> = order.into_iter().take(spans_max).collect();
        self.omitted += self.spans.len().saturating_sub(spans_max) as u64;
        let mut index = 0..;
        self.spans.retain(|_| index.next().is_some_and(|index| shown.contains(&index)));
        self
    }
}

fn document(id: TraceId, mut stored: StoredTrace) -> TraceDocument {
    let logged = std::mem::take(&mut stored.events);
    stored.spans.sort_by_key(|row| (row.start, row.span));
    let (assembled, rows) = CallRows::assemble(&stored.spans);
    let names = &stored.names;
    let fingerprints: Vec<Fingerprint> =
        (0..names.operations()).map(|index| names.fingerprint(OperationId::from_index(index))).collect();
    let mut shaper = Shaper::new(ShapeRule::Canonical, &fingerprints);
    let requests = assembled.requests.iter().map(|request| TraceRequest {
        start_ns: request.start.unix_ns(),
        latency_ns: request.tree.latency().ns(),
        complete: request.complete,
        category: request.complete.then(|| shaper.shape(&request.tree).fingerprint.short()),
    });
    let requests = requests.collect();
    let of_requests = assembled.requests.iter().map(|request| &request.tree).zip(&rows.requests);
    let trees = of_requests.chain(assembled.orphans.iter().zip(&rows.orphans));
    let mut spans = Vec::new();
    trees.for_each(|(tree, rows)| spans_of(names, &stored, tree, rows, &mut spans));
    let omitted = spans.len().saturating_sub(SPANS_MAX) as u64;
    spans.truncate(SPANS_MAX);
    let events_without_span = place_events(&mut spans, logged);
    let mut losses = assembled.losses;
    losses.merge(&stored.losses);
    let text = stored.text.as_deref().map_or_else(|| id.to_string(), str::to_owned);
    TraceDocument {
        trace: text,
        requests,
        spans,
        omitted,
        events_without_span,
        losses: loss_rows(&losses),
        id,
        attributes: stored.attributes,
    }
}

/// Puts events to their spans; returns how many have none.
fn place_events(spans: &mut [TraceSpan], events: Vec<SpanEvent>) -> u64 {
    if events.is_empty() {
        return 0;
    }
    let mut by_id: HashMap<String, usize> = HashMap::new();
    for (index, span) in spans.iter().enumerate() {
        by_id.entry(span.span.clone()).or_insert(index);
    }
    let mut unplaced = 0;
    for event in events {
        match by_id.get(&event.span.to_string()) {
            Some(&index) => spans[index].events.push(event.into()),
            None => unplaced += 1,
        }
    }
    unplaced
}

fn spans_of(names: &Names, stored: &StoredTrace, tree: &CallTree, rows: &[u32], out: &mut Vec<TraceSpan>) {
    let mut depths: Vec<u32> = Vec::with_capacity(tree.len());
    for (node, &row) in rows.iter().enumerate() {
        let row = &stored.spans[row as usize];
        let key = names.operation_key(row.operation);
        let depth = tree.parent[node].map_or(0, |parent| depths[parent as usize] + 1);
        depths.push(depth);
        out.push(TraceSpan {
            span: row.span.to_string(),
            parent: row.parent.map(|parent| parent.to_string()),
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            kind: key.kind.name(),
            replica: names.replica_name(row.replica).to_owned(),
            status: row.status.into(),
            start_ns: row.start.unix_ns(),
            inclusive_ns: row.inclusive.ns(),
            self_ns: tree.self_time[node].ns(),
            path_ns: tree.path_time[node].ns(),
            depth,
            events: Vec::new(),
        });
    }
}
