//! Spans of its own requests, to see why Laggard is slow. Off unless a setting or a variable of OpenTelemetry names an endpoint.
//!
//! Only questions are traced, at the address of API and pages: receivers would trace what they send to themselves.

use super::OtelVariables;
use crate::settings::SelfTracingSettings;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use laggard_system::http::ClientOptions;
use laggard_system::now;
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Spans that wait to be sent; beyond this, new ones are dropped.
const WAITING_MAX: usize = 1024;
const BATCH_MAX: usize = 256;
const BATCH_PAUSE: Duration = Duration::from_secs(1);
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes spans and hands them to the task that sends them. Clones share both.
#[derive(Clone)]
pub(crate) struct SelfTracing {
    share: f64,
    random: Arc<Random>,
    spans: mpsc::Sender<Value>,
}

struct Random {
    keys: RandomState,
    drawn: AtomicU64,
}

impl Random {
    /// 64 pseudo-random bits, good enough for the id of a span.
    fn draw(&self) -> u64 {
        self.keys.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    /// Uniform in 0 to 1, 1 excluded.
    fn share(&self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Which trace a request belongs to.
struct Context {
    trace: String,
    parent: String,
}

impl SelfTracing {
    /// Starts the task that sends, if there is an endpoint: that of the settings, or else of the variables.
    pub(crate) fn start(
        settings: &SelfTracingSettings,
        variables: OtelVariables,
        stopping: CancellationToken,
    ) -> Option<SelfTracing> {
        for problem in &variables.unusable {
            tracing::warn!(%problem, "a variable of OpenTelemetry cannot be used");
        }
        let share = match settings.endpoint {
            Some(_) => settings.share,
            None => variables.share.unwrap_or(settings.share),
        };
        let exporter = Exporter {
            endpoint: settings.endpoint.clone().or(variables.endpoint)?,
            timeout: variables.timeout.unwrap_or(SEND_TIMEOUT),
            headers: variables.headers,
            resource: resource(&variables.resource),
        };
        let (spans, waiting) = mpsc::channel(WAITING_MAX);
        tokio::spawn(send_all(Arc::new(exporter), waiting, stopping));
        let random = Arc::new(Random { keys: RandomState::new(), drawn: AtomicU64::new(0) });
        Some(SelfTracing { share, random, spans })
    }

    fn context(&self, headers: &HeaderMap) -> Context {
        let parent = headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(parse);
        parent.unwrap_or_else(|| Context {
            trace: format!("{:016x}{:016x}", self.random.draw(), self.random.draw()),
            parent: String::new(),
        })
    }
}

/// A layer: a span for some requests.
pub(crate) async fn trace(State(tracing): State<SelfTracing>, request: Request, next: Next) -> Response {
    if tracing.random.share() >= tracing.share {
        return next.run(request).await;
    }
    let context = tracing.context(request.headers());
    let route = request.extensions().get::<MatchedPath>().map_or("pages", MatchedPath::as_str);
    let name = format!("{} {route}", request.method());
    let start = now().unix_ns();
    let response = next.run(request).await;
    let status = response.status();
    let span = json!({
        "traceId": context.trace,
        "spanId": format!("{:016x}", tracing.random.draw()),
        "parentSpanId": context.parent,
        "name": name,
        "kind": 2,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": now().unix_ns().to_string(),
        "attributes": [{
            "key": "http.response.status_code", "value": { "intValue": status.as_u16().to_string() },
        }],
        "status": { "code": if status.is_server_error() { 2 } else { 0 } },
    });
    // Requests do not wait for the endpoint.
    let _ = tracing.spans.try_send(span);
    response
}

/// The trace and the span of W3C's `traceparent`.
fn parse(header: &str) -> Option<Context> {
    let mut parts = header.trim().split('-');
    let (_version, trace, parent) = (parts.next()?, parts.next()?, parts.next()?);
    let is_id = |text: &str, length| {
        text.len() == length
            && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            && text.bytes().any(|byte| byte != b'0')
    };
    (is_id(trace, 32) && is_id(parent, 16))
        .then(|| Context { trace: trace.to_lowercase(), parent: parent.to_lowercase() })
}

/// Exports spans in batches until the server stops.
async fn send_all(exporter: Arc<Exporter>, mut waiting: mpsc::Receiver<Value>, stopping: CancellationToken) {
    let mut failing = false;
    while !stopping.is_cancelled() {
        tokio::select! {
            () = tokio::time::sleep(BATCH_PAUSE) => {}
            () = stopping.cancelled() => {}
        }
        let mut spans = Vec::new();
        while spans.len() < BATCH_MAX {
            let Ok(span) = waiting.try_recv() else { break };
            spans.push(span);
        }
        if spans.is_empty() {
            continue;
        }
        let exporter = exporter.clone();
        let sent = tokio::task::spawn_blocking(move || exporter.send(spans)).await;
        let failed = !matches!(sent, Ok(Ok(())));
        if failed && !failing {
            tracing::warn!(?sent, "spans of the server's own requests cannot be sent");
        }
        failing = failed;
    }
}

/// Attributes of the resource: those of the variables, and for what they leave out the program's.
fn resource(variables: &[(String, String)]) -> Vec<Value> {
    let own = [("service.name", "laggard"), ("service.version", env!("CARGO_PKG_VERSION"))];
    let own = own.iter().filter(|(name, _)| !variables.iter().any(|(known, _)| known == name));
    let all = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(own.copied());
    all.map(|(name, value)| json!({ "key": name, "value": { "stringValue": value } })).collect()
}

/// Where and how spans are sent.
struct Exporter {
    endpoint: String,
    timeout: Duration,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: Vec<Value>,
}

impl Exporter {
    /// Sends spans; blocks.
    ///
    /// # Errors
    /// When they did not arrive: the connection's error, or the status of the response.
    fn send(&self, spans: Vec<Value>) -> Result<(), String> {
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": self.resource },
            "scopeSpans": [{ "scope": { "name": "laggard" }, "spans": spans }],
        }] });
        let agent = ClientOptions::new(self.timeout).agent().map_err(|error| error.to_string())?;
        let mut request = agent.post(&self.endpoint).header("Content-Type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let status = request.send(body.to_string()).map_err(|error| error.to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("status {}", status.as_u16())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_continues_the_trace_of_its_header() {
        let context = parse("00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01").unwrap();
        assert_eq!(context.trace, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.parent, "00f067aa0ba902b7");
        for wrong in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c",
            "00-0af7-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319\"-00f067aa0ba902b7-01",
        ] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn variables_name_the_service_instead_of_the_program() {
        let named = resource(&[("service.name".to_owned(), "east".to_owned())]);
        let value = |attribute: &Value| attribute["value"]["stringValue"].as_str().unwrap().to_owned();
        assert_eq!(named.iter().map(value).collect::<Vec<_>>(), ["east", env!("CARGO_PKG_VERSION")]);
        assert_eq!(value(&resource(&[])[0]), "laggard");
    }

    #[test]
    fn random_numbers_cover_their_range() {
        let random = Random { keys: RandomState::new(), drawn: AtomicU64::new(0) };
        let drawn: Vec<f64> = (0..10_000).map(|_| random.share()).collect();
        let mean = drawn.iter().sum::<f64>() / 10_000.0;
        assert!(drawn.iter().all(|share| (0.0..1.0).contains(share)));
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
    }
}
