//! `/api/v1/status`: ingest, storage, and problems.

use super::parameters::now;
use super::trace::{LossRow, loss_rows};
use crate::api::state::AppState;
use crate::operations::ServerIssueKind;
use crate::receive::Receiver;
use crate::security::VisibleTenants;
use crate::settings::ListenerKind;
use crate::tenants::Tenant;
use axum::extract::State;
use axum::{Extension, Json};
use laggard_model::Timestamp;
use laggard_store::{StoreIssue, StoreState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Ingest, storage, and problems.
#[derive(Serialize, ToSchema)]
pub(crate) struct Status {
    version: &'static str,
    now_ns: i64,
    started_ns: i64,
    /// Whether data are accepted and requests answered.
    ready: bool,
    problems: Vec<ProblemRow>,
    /// Spans acknowledged since the store was opened.
    spans_received: u64,
    /// Spans in segments.
    spans_stored: u64,
    /// Spans that retention deleted since the store was opened.
    spans_expired: u64,
    /// Samples that retention deleted since the store was opened.
    samples_expired: u64,
    /// Events of spans in segments, copies included.
    events_stored: u64,
    /// Events deleted by retention since the start.
    events_expired: u64,
    open_spans: u64,
    open_traces: u64,
    open_bytes: u64,
    segments: u64,
    segment_bytes: u64,
    log_bytes: u64,
    /// Start of the earliest stored span.
    oldest_ns: Option<i64>,
    /// Start of the latest.
    newest_ns: Option<i64>,
    receivers: Vec<ReceiverRow>,
    /// Losses of reading, of all receivers.
    losses: BTreeMap<&'static str, LossRow>,
    /// Alerts that fire.
    alerts_firing: u64,
    /// Open incidents.
    incidents_open: u64,
}

/// A problem that needs attention.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProblemRow {
    /// A word for programs.
    name: &'static str,
    /// The problem, and what the server does about it.
    text: String,
    since_ns: i64,
    /// Whether it stops ingest or queries.
    blocks: bool,
}

/// One receiver.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReceiverRow {
    pub(crate) name: &'static str,
    pub(crate) address: String,
    /// Messages.
    pub(crate) requests: u64,
    /// Messages rejected with a time to retry after.
    pub(crate) deferred: u64,
    /// Messages rejected permanently.
    pub(crate) refused: u64,
    /// Spans ingested.
    pub(crate) spans: u64,
    /// Samples ingested.
    pub(crate) samples: u64,
    /// Events of spans ingested, log records among them.
    pub(crate) events: u64,
    /// Rejected records of accepted messages.
    pub(crate) rejected: u64,
    /// Bytes of messages as sent.
    pub(crate) bytes: u64,
}

/// Whether a store accepts data and answers queries.
pub(crate) fn is_ready(state: &StoreState) -> bool {
    state.accepts && !state.problems.iter().any(|problem| problem.blocks)
}

/// Ingest, storage, and problems
#[utoipa::path(get, path = "/api/v1/status", tag = "server", responses((status = 200, body = Status)))]
pub(crate) async fn status(
    State(state): State<AppState>,
    Extension(tenant): Extension<Arc<Tenant>>,
    Extension(visible): Extension<VisibleTenants>,
) -> Json<Status> {
    let store = tenant.store.state();
    let (alerts_firing, incidents_open) = {
        let detection = state.alerts.tenant_alerts.tenant(&tenant.name);
        let alerts = &detection.state().alerts;
        (alerts.firing().count() as u64, alerts.open_incidents().count() as u64)
    };
    Json(Status {
        version: env!("CARGO_PKG_VERSION"),
        now_ns: now().unix_ns(),
        started_ns: state.started.unix_ns(),
        ready: is_ready(&store) && state.memory.full_since().is_none(),
        problems: store.problems.iter().map(row).chain(server_problems(&state)).collect(),
        spans_received: store.spans_appended,
        spans_stored: store.spans_stored,
        spans_expired: store.spans_expired,
        samples_expired: store.samples_expired,
        events_stored: store.events_stored,
        events_expired: store.events_expired,
        open_spans: store.open_spans,
        open_traces: store.open_traces,
        open_bytes: store.open_bytes,
        segments: store.segments,
        segment_bytes: store.segment_bytes,
        log_bytes: store.log_bytes,
        oldest_ns: store.oldest.map(Timestamp::unix_ns),
        newest_ns: store.newest.map(Timestamp::unix_ns),
        receivers: if visible.are_all() { receivers(&state) } else { Vec::new() },
        losses: if visible.are_all() { loss_rows(&state.receivers.losses()) } else { BTreeMap::new() },
        alerts_firing,
        incidents_open,
    })
}

pub(crate) fn row(problem: &StoreIssue) -> ProblemRow {
    ProblemRow {
        name: problem.name,
        text: problem.text.clone(),
        since_ns: problem.since.unix_ns(),
        blocks: problem.blocks,
    }
}

/// Problems of the whole server.
pub(crate) fn server_problems(state: &AppState) -> Vec<ProblemRow> {
    let issue = |(kind, since): (ServerIssueKind, Timestamp)| ProblemRow {
        name: kind.name(),
        text: kind.text().to_owned(),
        since_ns: since.unix_ns(),
        blocks: false,
    };
    state.issues.all().into_iter().map(issue).chain(memory_problem(state)).collect()
}

/// That the process is full, if it is.
fn memory_problem(state: &AppState) -> Option<ProblemRow> {
    let since = state.memory.full_since()?;
    Some(ProblemRow {
        name: "memory_full",
        text: "the process has nearly reached its limit of memory (`memory`); telemetry is rejected with a time to retry after"
            .to_owned(),
        since_ns: since.unix_ns(),
        blocks: true,
    })
}

/// Figures of all receivers.
pub(crate) fn receivers(state: &AppState) -> Vec<ReceiverRow> {
    let mut rows = Vec::new();
    for receiver in Receiver::ALL {
        let figures = state.receivers.figures(receiver);
        // Remote write comes to the address of the API.
        let listens = state.listeners.iter().find(|listener| listener.kind.name() == receiver.name());
        let listens = listens.or_else(|| {
            state
                .listeners
                .iter()
                .find(|listener| receiver == Receiver::RemoteWrite && listener.kind == ListenerKind::Http)
        });
        let Some(listener) = listens else { continue };
        rows.push(ReceiverRow {
            name: receiver.name(),
            address: listener.address.to_string(),
            requests: figures.requests,
            deferred: figures.deferred,
            refused: figures.refused,
            spans: figures.spans,
            samples: figures.samples,
            events: figures.events,
            rejected: figures.rejected,
            bytes: figures.bytes,
        });
    }
    rows
}
