//! `/metrics`: metrics of the server itself, as OpenMetrics or Prometheus's text.

mod exposition;
mod scrapes;

pub(crate) use scrapes::Scrapes;

use super::parameters::now;
use super::problem::ApiError;
use super::status::{is_ready, receivers, server_problems};
use crate::alerts::AlertState;
use crate::api::state::AppState;
use crate::listen::ListenerFigures;
use crate::operations::ProcessFigures;
use crate::security::VisibleTenants;
use crate::settings::Length;
use crate::tenants::Tenant;
use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use exposition::{Exposition, ExpositionFormat, Kind};
use http::HeaderMap;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use laggard_model::{DurationHistogram, Timestamp};
use laggard_store::StoreState;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Metrics of the server itself
///
/// A token for some tenants gets the metrics of these, and none of the whole server.
#[utoipa::path(
    get, path = "/metrics", tag = "server",
    responses((status = 200, description = "OpenMetrics 1.0.0 if `Accept` names it, else Prometheus's text 0.0.4", content(
        (String = "text/plain"), (String = "application/openmetrics-text")
    )))
)]
pub(crate) async fn metrics(
    State(state): State<AppState>,
    Extension(visible): Extension<VisibleTenants>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = ExpositionFormat::from_accepted(&headers);
    let compute = {
        let (state, visible) = (Arc::clone(&state), visible.clone());
        move || text(&state, &visible, format)
    };
    let mut response = state.api.scrapes.text((format, visible), compute).await?.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

fn text(state: &AppState, visible: &VisibleTenants, format: ExpositionFormat) -> String {
    let mut out = Exposition::new(format);
    out.family("laggard_build", Kind::Info, "Version of the program");
    out.sample("laggard_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.family("laggard_start_time_seconds", Kind::Gauge, "Start of the program since the Unix epoch");
    out.sample("laggard_start_time_seconds", &[], seconds(state.started));
    if visible.are_all() {
        received(&mut out, state);
        connections(&mut out, state);
        requests(&mut out, state);
        process(&mut out, state);
        jobs(&mut out, state);
    }
    let mut tenants = state.tenants.all();
    tenants.retain(|tenant| visible.contain(&tenant.name));
    stores(&mut out, &tenants);
    alerts(&mut out, state, visible);
    incidents(&mut out, state, visible);
    if visible.are_all() {
        notifications(&mut out, state);
    }
    objectives(&mut out, state, visible);
    out.end()
}

/// A metric's name, help text, and value.
type Figure<F> = (&'static str, &'static str, F);

type OfReceiver = fn(&super::status::ReceiverRow) -> u64;
type OfListener = fn(&ListenerFigures) -> &AtomicU64;
type CounterOfStore = fn(&StoreState) -> u64;
type DurationsOfStore = fn(&StoreState) -> &DurationHistogram;
type OfStore<'a> = dyn Fn(&StoreState) -> Option<f64> + 'a;

fn received(out: &mut Exposition, state: &AppState) {
    let rows = receivers(state);
    let all: [Figure<OfReceiver>; 8] = [
        ("laggard_received_requests", "Messages received", |row| row.requests),
        ("laggard_deferred_requests", "Messages rejected with a time to retry after", |row| row.deferred),
        ("laggard_refused_requests", "Messages rejected permanently", |row| row.refused),
        ("laggard_received_spans", "Spans ingested", |row| row.spans),
        ("laggard_received_samples", "Samples ingested", |row| row.samples),
        ("laggard_received_events", "Events of spans ingested, log records among them", |row| row.events),
        ("laggard_rejected_records", "Rejected records of accepted messages", |row| row.rejected),
        ("laggard_received_bytes", "Bytes of messages as sent", |row| row.bytes),
    ];
    for (name, help, figure) in all {
        out.family(name, Kind::Counter, help);
        for row in &rows {
            out.sample(&format!("{name}_total"), &[("receiver", row.name)], figure(row) as f64);
        }
    }
    out.family("laggard_losses", Kind::Counter, "Records that could not be read, by cause");
    for (loss, count) in state.receivers.losses().iter() {
        out.sample("laggard_losses_total", &[("cause", loss.name())], count.count as f64);
    }
}

fn connections(out: &mut Exposition, state: &AppState) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let all: [Figure<OfListener>; 5] = [
        ("laggard_connections_accepted", "Connections accepted", |figures| &figures.accepted),
        ("laggard_connections_refused", "Connections refused: too many from one address", |figures| {
            &figures.refused
        }),
        ("laggard_connections_timed_out", "Connections closed because the client was too slow", |figures| {
            &figures.timed_out
        }),
        ("laggard_connections_displaced", "Idle connections closed to make room for others", |figures| {
            &figures.displaced
        }),
        ("laggard_handshakes_failed", "Failed TLS handshakes", |figures| &figures.handshakes_failed),
    ];
    for (name, help, figure) in all {
        out.family(name, Kind::Counter, help);
        for listener in &state.listeners {
            let value = count(figure(&listener.figures));
            out.sample(&format!("{name}_total"), &[("listener", listener.kind.name())], value);
        }
    }
    out.family("laggard_unauthorized_requests", Kind::Counter, "Requests that were not admitted");
    out.sample("laggard_unauthorized_requests_total", &[], count(&state.admission.refused));
    out.family("laggard_connections", Kind::Gauge, "Open connections");
    for listener in &state.listeners {
        let open = count(&listener.figures.accepted) - count(&listener.figures.closed);
        out.sample("laggard_connections", &[("listener", listener.kind.name())], open.max(0.0));
    }
}

fn requests(out: &mut Exposition, state: &AppState) {
    let name = "laggard_http_request_duration_seconds";
    out.family(name, Kind::Histogram, "Time from an admitted request to its response, by route");
    for (kind, durations) in state.request_durations.current() {
        let labels = [("listener", kind.listener), ("method", kind.method), ("route", &*kind.route)];
        out.durations(name, &labels, &durations);
    }
}

/// Named as every Prometheus client names them.
fn process(out: &mut Exposition, state: &AppState) {
    let figures = ProcessFigures::read();
    let all = [
        ("process_resident_memory_bytes", "Memory in use", figures.resident_bytes),
        ("process_open_fds", "Open files and connections", figures.open_files),
        ("process_max_fds", "Limit of open files", figures.open_files_max),
    ];
    for (name, help, value) in all {
        let Some(value) = value else { continue };
        out.family(name, Kind::Gauge, help);
        out.sample(name, &[], value);
    }
    out.family(
        "laggard_server_problems",
        Kind::Gauge,
        "Problems of the whole server that need attention, besides those of stores",
    );
    out.sample("laggard_server_problems", &[], server_problems(state).len() as f64);
    out.family("laggard_memory_limit_bytes", Kind::Gauge, "Most memory that the process may have");
    out.sample("laggard_memory_limit_bytes", &[], state.memory.limit() as f64);
    out.family(
        "laggard_work_ended",
        Kind::Counter,
        "Questions and imports that were ended: too much memory or time",
    );
    for (reason, count) in state.api.running.ended() {
        out.sample("laggard_work_ended_total", &[("reason", reason)], count as f64);
    }
    let Some(seconds) = figures.cpu_seconds else { return };
    out.family("process_cpu_seconds", Kind::Counter, "Processor time since the start");
    out.sample("process_cpu_seconds_total", &[], seconds);
}

fn jobs(out: &mut Exposition, state: &AppState) {
    let counts = state.api.jobs.counts();
    out.family("laggard_jobs", Kind::Gauge, "Jobs that wait or run");
    out.sample("laggard_jobs", &[("state", "waiting")], counts.waiting as f64);
    out.sample("laggard_jobs", &[("state", "running")], counts.running as f64);
    out.family("laggard_jobs_submitted", Kind::Counter, "Jobs submitted");
    out.sample("laggard_jobs_submitted_total", &[], counts.total as f64);
    out.family("laggard_upload_bytes", Kind::Gauge, "Bytes of uploaded files stored for jobs");
    out.sample("laggard_upload_bytes", &[], state.api.uploads.bytes() as f64);
}

fn alerts(out: &mut Exposition, state: &AppState, visible: &VisibleTenants) {
    let all: Vec<_> = (state.alerts.tenant_alerts.all().into_iter())
        .filter(|(tenant, _)| visible.contain(tenant))
        .map(|(tenant, alerts)| (tenant, alerts.state().clone(), alerts.save_failures()))
        .collect();
    out.family("laggard_alerts", Kind::Gauge, "Alerts by state");
    for (tenant, detection, _) in &all {
        let active = &detection.alerts.active;
        for (name, state) in [("pending", AlertState::Pending), ("firing", AlertState::Firing)] {
            let count = active.iter().filter(|alert| alert.state == state).count();
            out.sample("laggard_alerts", &[("tenant", tenant), ("state", name)], count as f64);
        }
    }
    out.family("laggard_alert_evaluations", Kind::Counter, "Evaluations for alerts, by outcome");
    for (tenant, detection, _) in &all {
        for (outcome, count) in &detection.outcomes {
            let labels = [("tenant", &**tenant), ("outcome", outcome.name())];
            out.sample("laggard_alert_evaluations_total", &labels, *count as f64);
        }
    }
    let name = "laggard_alert_evaluation_duration_seconds";
    out.family(name, Kind::Histogram, "Time of one evaluation for alerts, those of servers among them");
    for (tenant, detection, _) in &all {
        out.durations(name, &[("tenant", tenant)], &detection.durations);
    }
    out.family("laggard_alert_unsaved", Kind::Gauge, "Consecutive failures to save alerts");
    for (tenant, _, failures) in &all {
        out.sample("laggard_alert_unsaved", &[("tenant", tenant)], *failures as f64);
    }
}

/// Open incidents that have a series of their own.
const INCIDENTS_MAX: usize = 100;

/// Each open incident is a series, which marks its time on the dashboards of others.
fn incidents(out: &mut Exposition, state: &AppState, visible: &VisibleTenants) {
    let all: Vec<_> = (state.alerts.tenant_alerts.all().into_iter())
        .filter(|(tenant, _)| visible.contain(tenant))
        .map(|(tenant, alerts)| (tenant, alerts.state().alerts.clone()))
        .collect();
    out.family("laggard_incidents", Kind::Gauge, "Open incidents");
    for (tenant, alerts) in &all {
        out.sample("laggard_incidents", &[("tenant", tenant)], alerts.open_incidents().count() as f64);
    }
    let name = "laggard_incident_start_time_seconds";
    out.family(name, Kind::Gauge, "Since when an open incident lasts, as far as known, since the Unix epoch");
    for (tenant, alerts) in &all {
        for incident in alerts.open_incidents().take(INCIDENTS_MAX) {
            let subject = alerts.of_incident(incident).next().map_or("", |alert| alert.finding.subject());
            let labels = [("tenant", &**tenant), ("incident", &incident.id), ("subject", subject)];
            out.sample(name, &labels, seconds(Timestamp::from_unix_ns(incident.since_ns)));
        }
    }
}

fn objectives(out: &mut Exposition, state: &AppState, visible: &VisibleTenants) {
    let now = now();
    let mut rows = Vec::new();
    let all = state.objectives.all();
    for (tenant, objectives) in all.into_iter().filter(|(tenant, _)| visible.contain(tenant)) {
        for (index, objective) in objectives.settings().iter().enumerate() {
            rows.push((tenant.clone(), objective.name.clone(), objectives.figures(index, now).0));
        }
    }
    out.family("laggard_objective_budget_left_ratio", Kind::Gauge, "Part of the error budget that is left");
    for (tenant, name, figures) in &rows {
        if let Some(budget_left) = figures.budget_left {
            let labels = [("tenant", &**tenant), ("objective", name)];
            out.sample("laggard_objective_budget_left_ratio", &labels, budget_left);
        }
    }
    out.family(
        "laggard_objective_burn_rate",
        Kind::Gauge,
        "How fast the error budget is used up; 1 for exactly its period",
    );
    for (tenant, name, figures) in &rows {
        for burn in &figures.burn_rates {
            let window = Length::from_secs(burn.window_ns / 1_000_000_000).to_string();
            let labels = [("tenant", &**tenant), ("objective", name), ("window", &window)];
            if let Some(rate) = burn.rate {
                out.sample("laggard_objective_burn_rate", &labels, rate);
            }
        }
    }
}

fn notifications(out: &mut Exposition, state: &AppState) {
    let now = now();
    out.family("laggard_notifications", Kind::Counter, "Notifications by outcome");
    for receiver in &state.alerts.receivers {
        let figures = &receiver.figures;
        for (outcome, count) in [("sent", &figures.sent), ("failed", &figures.failed)] {
            let labels = [("receiver", receiver.name.as_str()), ("outcome", outcome)];
            out.sample("laggard_notifications_total", &labels, count.load(Ordering::Relaxed) as f64);
        }
    }
    out.family("laggard_notifications_waiting", Kind::Gauge, "Pending notifications of a receiver");
    for receiver in &state.alerts.receivers {
        let waiting = state.alerts.waiting(receiver, now);
        out.sample("laggard_notifications_waiting", &[("receiver", receiver.name.as_str())], waiting as f64);
    }
}

fn stores(out: &mut Exposition, tenants: &[Arc<Tenant>]) {
    let states: Vec<(&str, StoreState)> =
        tenants.iter().map(|tenant| (&*tenant.name, tenant.store.state())).collect();
    let counters: [Figure<CounterOfStore>; 4] = [
        ("laggard_store_appended_spans", "Spans acknowledged since the store was opened", |state| {
            state.spans_appended
        }),
        ("laggard_store_expired_spans", "Spans deleted by retention since the store was opened", |state| {
            state.spans_expired
        }),
        (
            "laggard_store_expired_samples",
            "Samples deleted by retention since the store was opened",
            |state| state.samples_expired,
        ),
        ("laggard_store_expired_events", "Events deleted by retention since the store was opened", |state| {
            state.events_expired
        }),
    ];
    for (name, help, count) in counters {
        out.family(name, Kind::Counter, help);
        for (tenant, state) in &states {
            out.sample(&format!("{name}_total"), &[("tenant", tenant)], count(state) as f64);
        }
    }
    store_durations(out, &states);
    let time = |time: Option<Timestamp>| time.map(seconds);
    let gauges: [Figure<&OfStore<'_>>; 12] = [
        ("laggard_store_ready", "Whether data are accepted and queries answered", &|state| {
            Some(f64::from(u8::from(is_ready(state))))
        }),
        (
            "laggard_store_problems",
            "Problems that need attention",
            &|state| Some(state.problems.len() as f64),
        ),
        ("laggard_store_spans", "Spans in segments", &|state| Some(state.spans_stored as f64)),
        ("laggard_store_events", "Events of spans in segments", &|state| Some(state.events_stored as f64)),
        ("laggard_store_open_traces", "Traces open in memory", &|state| Some(state.open_traces as f64)),
        ("laggard_store_open_spans", "Spans open in memory", &|state| Some(state.open_spans as f64)),
        ("laggard_store_open_bytes", "Bytes of open data in memory", &|state| Some(state.open_bytes as f64)),
        ("laggard_store_segments", "Segment files", &|state| Some(state.segments as f64)),
        ("laggard_store_segment_bytes", "Bytes of segment files", &|state| Some(state.segment_bytes as f64)),
        ("laggard_store_log_bytes", "Bytes of the write-ahead log", &|state| Some(state.log_bytes as f64)),
        ("laggard_store_oldest_timestamp_seconds", "Start of the earliest stored span", &|state| {
            time(state.oldest)
        }),
        ("laggard_store_newest_timestamp_seconds", "Start of the latest stored span", &|state| {
            time(state.newest)
        }),
    ];
    for (name, help, figure) in gauges {
        out.family(name, Kind::Gauge, help);
        for (tenant, state) in &states {
            if let Some(value) = figure(state) {
                out.sample(name, &[("tenant", tenant)], value);
            }
        }
    }
}

/// Durations of work on the disk.
fn store_durations(out: &mut Exposition, states: &[(&str, StoreState)]) {
    let all: [Figure<DurationsOfStore>; 2] = [
        (
            "laggard_store_log_sync_duration_seconds",
            "Time of one fsync of the write-ahead log, after which batches are acknowledged",
            |state| &state.log_syncs,
        ),
        (
            "laggard_store_compaction_duration_seconds",
            "Time of one compaction, which merges segments into one",
            |state| &state.compactions,
        ),
    ];
    for (name, help, durations) in all {
        out.family(name, Kind::Histogram, help);
        for (tenant, state) in states {
            out.durations(name, &[("tenant", tenant)], durations(state));
        }
    }
}

fn seconds(time: Timestamp) -> f64 {
    time.unix_ns() as f64 / 1e9
}
