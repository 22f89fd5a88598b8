//! `/metrics`: its own figures as OpenMetrics.

use super::parameters::now;
use super::status::{is_ready, receivers};
use crate::alerts::AlertState;
use crate::listen::ListenerFigures;
use crate::operations::ProcessFigures;
use crate::shared::{AppState, Tenant};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use laggard_model::Timestamp;
use laggard_store::StoreState;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its own figures, as OpenMetrics
#[utoipa::path(
    get, path = "/metrics", tag = "server",
    responses((status = 200, description = "OpenMetrics text, version 1.0.0", content_type = "application/openmetrics-text"))
)]
pub(crate) async fn metrics(State(state): State<AppState>) -> Response {
    let tenants = state.tenants.all();
    let mut response = text(&state, &tenants).into_response();
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn text(state: &AppState, tenants: &[Arc<Tenant>]) -> String {
    let mut out = Exposition::default();
    out.family("laggard_build", Kind::Info, "Version of the program");
    out.sample("laggard_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.family("laggard_start_time_seconds", Kind::Gauge, "Start of the program since the Unix epoch");
    out.sample("laggard_start_time_seconds", &[], seconds(state.started));
    received(&mut out, state);
    connections(&mut out, state);
    process(&mut out);
    jobs(&mut out, state);
    stores(&mut out, tenants);
    alerts(&mut out, state);
    out.end()
}

/// A figure's name, what it is, and how it is read.
type Figure<F> = (&'static str, &'static str, F);

type OfReceiver = fn(&super::status::ReceiverRow) -> u64;
type OfListener = fn(&ListenerFigures) -> &AtomicU64;
type OfStore<'a> = dyn Fn(&StoreState) -> Option<f64> + 'a;

fn received(out: &mut Exposition, state: &AppState) {
    let rows = receivers(state);
    let all: [Figure<OfReceiver>; 7] = [
        ("laggard_received_requests", "Messages received", |row| row.requests),
        ("laggard_deferred_requests", "Messages refused for now", |row| row.deferred),
        ("laggard_refused_requests", "Messages refused for good", |row| row.refused),
        ("laggard_received_spans", "Spans taken", |row| row.spans),
        ("laggard_received_samples", "Samples taken", |row| row.samples),
        ("laggard_rejected_records", "Records of messages that were not taken", |row| row.rejected),
        ("laggard_received_bytes", "Bytes of messages, as they came", |row| row.bytes),
    ];
    for (name, help, figure) in all {
        out.family(name, Kind::Counter, help);
        for row in &rows {
            out.sample(&format!("{name}_total"), &[("receiver", row.name)], figure(row) as f64);
        }
    }
    out.family("laggard_losses", Kind::Counter, "Records that could not be read, by cause");
    for (loss, found) in state.receivers.losses().iter() {
        out.sample("laggard_losses_total", &[("cause", loss.name())], found.count as f64);
    }
}

fn connections(out: &mut Exposition, state: &AppState) {
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let all: [Figure<OfListener>; 4] = [
        ("laggard_connections_accepted", "Connections accepted", |figures| &figures.accepted),
        ("laggard_connections_refused", "Connections refused: their address had too many", |figures| {
            &figures.refused
        }),
        ("laggard_connections_timed_out", "Connections closed because the client was too slow", |figures| {
            &figures.timed_out
        }),
        ("laggard_handshakes_failed", "Connections whose TLS could not be agreed on", |figures| {
            &figures.handshakes_failed
        }),
    ];
    for (name, help, figure) in all {
        out.family(name, Kind::Counter, help);
        for listener in &state.listeners {
            let value = count(figure(&listener.figures));
            out.sample(&format!("{name}_total"), &[("listener", listener.name)], value);
        }
    }
    out.family("laggard_unauthorized_requests", Kind::Counter, "Requests that were not let in");
    out.sample("laggard_unauthorized_requests_total", &[], count(&state.gate.refused));
    out.family("laggard_connections", Kind::Gauge, "Connections that are open");
    for listener in &state.listeners {
        let open = count(&listener.figures.accepted) - count(&listener.figures.closed);
        out.sample("laggard_connections", &[("listener", listener.name)], open.max(0.0));
    }
}

/// Named as every Prometheus client names them.
fn process(out: &mut Exposition) {
    let figures = ProcessFigures::read();
    let all = [
        ("process_resident_memory_bytes", "Memory in use", figures.resident_bytes),
        ("process_open_fds", "Open files and connections", figures.open_files),
        ("process_max_fds", "Most open files that there can be", figures.open_files_max),
    ];
    for (name, help, value) in all {
        let Some(value) = value else { continue };
        out.family(name, Kind::Gauge, help);
        out.sample(name, &[], value);
    }
    let Some(seconds) = figures.cpu_seconds else { return };
    out.family("process_cpu_seconds", Kind::Counter, "Processor time since the start");
    out.sample("process_cpu_seconds_total", &[], seconds);
}

fn jobs(out: &mut Exposition, state: &AppState) {
    let counts = state.api.jobs.counts();
    out.family("laggard_jobs", Kind::Gauge, "Questions that wait or are being answered");
    out.sample("laggard_jobs", &[("state", "waiting")], counts.waiting as f64);
    out.sample("laggard_jobs", &[("state", "running")], counts.running as f64);
    out.family("laggard_jobs_submitted", Kind::Counter, "Questions that were asked");
    out.sample("laggard_jobs_submitted_total", &[], counts.total as f64);
    out.family("laggard_upload_bytes", Kind::Gauge, "Bytes of uploaded files that are kept for questions");
    out.sample("laggard_upload_bytes", &[], state.api.uploads.bytes() as f64);
}

fn alerts(out: &mut Exposition, state: &AppState) {
    let all: Vec<_> = (state.alerts.watched.all().into_iter())
        .map(|(tenant, watched)| (tenant, watched.standing().clone(), watched.save_failures()))
        .collect();
    out.family("laggard_alerts", Kind::Gauge, "Slow operations that were noticed");
    for (tenant, standing, _) in &all {
        let active = &standing.book.active;
        for (name, wanted) in [("pending", AlertState::Pending), ("firing", AlertState::Firing)] {
            let count = active.iter().filter(|alert| alert.state == wanted).count();
            out.sample("laggard_alerts", &[("tenant", tenant), ("state", name)], count as f64);
        }
    }
    out.family("laggard_alert_looks", Kind::Counter, "Looks for slow operations, by what came of them");
    for (tenant, standing, _) in &all {
        for (outcome, count) in &standing.looks {
            let labels = [("tenant", &**tenant), ("outcome", outcome.name())];
            out.sample("laggard_alert_looks_total", &labels, *count as f64);
        }
    }
    out.family("laggard_alert_look_seconds", Kind::Counter, "Time that looks took");
    for (tenant, standing, _) in &all {
        out.sample("laggard_alert_look_seconds_total", &[("tenant", tenant)], standing.seconds);
    }
    out.family("laggard_alert_unsaved", Kind::Gauge, "Times in a row that alerts could not be kept on disk");
    for (tenant, _, failures) in &all {
        out.sample("laggard_alert_unsaved", &[("tenant", tenant)], *failures as f64);
    }
    notifications(out, state);
}

fn notifications(out: &mut Exposition, state: &AppState) {
    let at = now();
    out.family("laggard_notifications", Kind::Counter, "Messages about alerts, by whether they arrived");
    for receiver in &state.alerts.receivers {
        let figures = &receiver.figures;
        for (outcome, count) in [("sent", &figures.sent), ("failed", &figures.failed)] {
            let labels = [("receiver", receiver.name), ("outcome", outcome)];
            out.sample("laggard_notifications_total", &labels, count.load(Ordering::Relaxed) as f64);
        }
    }
    out.family("laggard_notifications_waiting", Kind::Gauge, "Alerts that a receiver has yet to be told of");
    for receiver in &state.alerts.receivers {
        let waiting = state.alerts.waiting(receiver, at);
        out.sample("laggard_notifications_waiting", &[("receiver", receiver.name)], waiting as f64);
    }
}

fn stores(out: &mut Exposition, tenants: &[Arc<Tenant>]) {
    let states: Vec<(&str, StoreState)> =
        tenants.iter().map(|tenant| (&*tenant.name, tenant.store.state())).collect();
    out.family(
        "laggard_store_appended_spans",
        Kind::Counter,
        "Spans acknowledged since the store was opened",
    );
    for (tenant, state) in &states {
        out.sample("laggard_store_appended_spans_total", &[("tenant", tenant)], state.spans_appended as f64);
    }
    let time = |time: Option<Timestamp>| time.map(seconds);
    let gauges: [Figure<&OfStore<'_>>; 11] = [
        ("laggard_store_ready", "Whether data are taken and questions answered", &|state| {
            Some(f64::from(u8::from(is_ready(state))))
        }),
        ("laggard_store_problems", "Problems a person should know of", &|state| {
            Some(state.problems.len() as f64)
        }),
        ("laggard_store_spans", "Spans in segments", &|state| Some(state.spans_stored as f64)),
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

fn seconds(time: Timestamp) -> f64 {
    time.unix_ns() as f64 / 1e9
}

/// Types of metrics.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Info,
}

/// Text of OpenMetrics.
#[derive(Default)]
struct Exposition {
    text: String,
}

impl Exposition {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
        };
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
        for unit in ["seconds", "bytes"] {
            if name.ends_with(&format!("_{unit}")) {
                let _ = writeln!(self.text, "# UNIT {name} {unit}");
            }
        }
        let _ = writeln!(self.text, "# HELP {name} {help}.");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let written: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let _ = write!(self.text, "{{{}}}", written.join(","));
        }
        let _ = writeln!(self.text, " {value}");
    }

    fn end(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_openmetrics_has_it() {
        let mut out = Exposition::default();
        out.family("laggard_received_bytes", Kind::Counter, "Bytes of messages");
        out.sample("laggard_received_bytes_total", &[("receiver", "a\"b\\c\nd")], 1_768_208_400.0);
        out.family("laggard_jobs", Kind::Gauge, "Questions");
        out.sample("laggard_jobs", &[], 0.5);
        let wanted = "# TYPE laggard_received_bytes counter\n# UNIT laggard_received_bytes bytes\n\
                      # HELP laggard_received_bytes Bytes of messages.\n\
                      laggard_received_bytes_total{receiver=\"a\\\"b\\\\c\\nd\"} 1768208400\n\
                      # TYPE laggard_jobs gauge\n# HELP laggard_jobs Questions.\nlaggard_jobs 0.5\n# EOF\n";
        assert_eq!(out.end(), wanted);
    }
}
