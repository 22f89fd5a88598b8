//! Every route, against a real store in a temporary folder.

mod alerts;
mod baselines;
mod data;
mod document;
mod events;
mod forms;
mod grafana;
mod jaeger;
mod mcp;
mod objectives;
mod pages;
mod questions;
mod recordings;
mod server;
mod signatures;
mod tempo;
mod two_rounds;
mod workers;

use crate::api::state::AppState;
use crate::security::VisibleTenants;
use crate::settings::{Length, ServeSettings, Size};
use crate::tenants::Tenant;
use axum::body::{Body, to_bytes};
use axum::{Extension, Router};
use http::{HeaderMap, Method, Request, StatusCode};
use laggard_engine::Batch;
use laggard_model::{
    Attribute, AttributeText, Measure, Nanos, ReplicaSource, SampleRecord, Sampling, Sink, SpanAttributes,
    SpanId, SpanKind, SpanRecord, SpanRow, Status, Timestamp, TraceId,
};
use laggard_store::UnitWorkers;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Start of the stored data: 2026-01-12T09:00:00Z.
const START: i64 = 1_768_208_400_000_000_000;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// A server without listeners.
struct TestServer {
    state: AppState,
    tenant: Arc<Tenant>,
    router: Router,
    data: TempDir,
}

struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks that it is a problem document of this status.
    fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let document = self.json();
        assert_eq!(document["status"], status);
        document["detail"].as_str().unwrap().to_owned()
    }
}

impl TestServer {
    async fn empty() -> TestServer {
        TestServer::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ServeSettings)) -> TestServer {
        TestServer::with_workers(change, |_| None).await
    }

    /// A server whose workers are made for its data folder.
    async fn with_workers(
        change: impl FnOnce(&mut ServeSettings),
        workers: impl FnOnce(&Path) -> Option<Arc<dyn UnitWorkers>>,
    ) -> TestServer {
        let data = tempfile::tempdir().unwrap();
        let mut settings = ServeSettings { data: data.path().to_owned(), ..ServeSettings::default() };
        change(&mut settings);
        let settings = settings.check().unwrap();
        let workers = workers(data.path());
        let state =
            crate::run::state(&settings, Vec::new(), workers, CancellationToken::new()).await.unwrap();
        let tenant = state.tenants.only().await.unwrap();
        let visible = VisibleTenants::from_token(None);
        let router = super::routes(state.clone()).layer(Extension(tenant.clone())).layer(Extension(visible));
        TestServer { state, tenant, router, data }
    }

    /// A server with the shop's requests.
    async fn with_shop() -> TestServer {
        let server = TestServer::empty().await;
        server.append(shop()).await;
        server
    }

    async fn append(&self, batch: Batch) {
        self.tenant.append(batch).await.unwrap();
        self.tenant.store.flush().await.unwrap();
    }

    async fn send(&self, request: Request<Body>) -> Answered {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec();
        Answered { status, headers, body }
    }

    async fn get(&self, uri: &str) -> Answered {
        self.send(Request::get(uri).body(Body::empty()).unwrap()).await
    }

    async fn ok(&self, uri: &str) -> Value {
        let answered = self.get(uri).await;
        assert_eq!(answered.status, StatusCode::OK, "{uri}: {}", answered.text());
        answered.json()
    }

    async fn post(&self, uri: &str, body: Value) -> Answered {
        let request = Request::post(uri).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    async fn delete(&self, uri: &str) -> Answered {
        self.send(Request::delete(uri).body(Body::empty()).unwrap()).await
    }

    /// A form with settings and files: part, name, content.
    async fn form(&self, uri: &str, settings: Value, files: &[(&str, &str, &[u8])]) -> Answered {
        let mut body = Vec::new();
        let mut part = |head: &str, content: &[u8]| {
            body.extend_from_slice(
                format!("--cut\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes(),
            );
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        };
        part("name=\"settings\"", settings.to_string().as_bytes());
        for (name, file, content) in files {
            part(&format!("name=\"{name}\"; filename=\"{file}\""), content);
        }
        body.extend_from_slice(b"--cut--\r\n");
        let request = Request::post(uri).header("content-type", "multipart/form-data; boundary=cut");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    async fn call(&self, method: Method, uri: &str) -> Answered {
        self.send(Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()).await
    }
}

/// The window of the shop as parameters.
fn shop_window() -> String {
    format!("since={START}&until={}", START + 600 * SECOND)
}

/// 200 requests in ten minutes: `web`'s `buy` calls `db`'s `read`. Most take 10 ms, 4 of them in `db`; every
/// twentieth takes 110 ms, all of the excess in `db`. Every fiftieth fails. And `api`'s `ping`, once a minute, 1 ms.
fn shop() -> Batch {
    let mut batch = Batch::default();
    for index in 0..200_i64 {
        let start = START + index * 3 * SECOND;
        let extra = if index % 20 == 19 { 100 * MS } else { index % 7 * MS / 100 };
        let status = if index % 50 == 0 { Status::Error } else { Status::Ok };
        let trace = index as u128 + 1;
        let web = ["web-1", "web-2"][index as usize % 2];
        batch.span(&span(
            trace,
            1,
            None,
            ("web", "buy", SpanKind::Server),
            (web, status, start, 10 * MS + extra),
        ));
        let within = (["db-1"][0], Status::Unset, start + 2 * MS, 4 * MS + extra);
        batch.span(&span(
            trace,
            2,
            Some(1),
            ("web", "query", SpanKind::Client),
            (web, within.1, within.2, within.3),
        ));
        batch.span(&span(trace, 3, Some(2), ("db", "read", SpanKind::Server), within));
    }
    for index in 0..10_i64 {
        let start = START + index * 60 * SECOND + 17;
        let entry = ("api", "ping", SpanKind::Server);
        batch.span(&span(1_000 + index as u128, 1, None, entry, ("api-1", Status::Ok, start, MS)));
    }
    batch
}

fn span<'a>(
    trace: u128,
    id: u64,
    parent: Option<u64>,
    (service, operation, kind): (&'a str, &'a str, SpanKind),
    (replica, status, start, inclusive): (&'a str, Status, i64, i64),
) -> SpanRecord<'a> {
    SpanRecord {
        trace_id: TraceId::from_value(trace),
        trace_text: None,
        span_id: SpanId::new(id).unwrap(),
        parent: parent.and_then(SpanId::new),
        service,
        operation,
        kind,
        status,
        replica,
        replica_source: ReplicaSource::Host,
        start: Timestamp::from_unix_ns(start),
        inclusive: Nanos::from_ns(inclusive as u64),
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    }
}

/// Counts and utilization by the minute: a server whose CPU follows its transactions, 0.2 % each.
fn shop_samples() -> Batch {
    app_samples(START, 0.12)
}

/// Two hours of a server of one core with seconds of work per transaction.
fn app_samples(start: i64, work_s: f64) -> Batch {
    let mut batch = Batch::default();
    for minute in 0..120_i64 {
        let transactions = 100.0 + (minute * 37 % 80) as f64;
        let sample = |measure, transaction, value| SampleRecord {
            time: Timestamp::from_unix_ns(start + minute * 60 * SECOND),
            measure,
            server: "app-1",
            tier: "app",
            transaction,
            callee: "",
            value,
        };
        batch.sample(&sample(Measure::Transactions, "buy", transactions));
        // The processor is shared: a transaction takes longer the busier it is.
        let utilization = 0.05 + work_s / 60.0 * transactions;
        batch.sample(&sample(Measure::Utilization, "", utilization));
        batch.sample(&sample(Measure::ResponseTime, "buy", work_s / (1.0 - utilization)));
    }
    batch
}
