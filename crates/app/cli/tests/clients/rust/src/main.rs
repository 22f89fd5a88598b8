//! Plays a shop through the OpenTelemetry SDK of Rust:
//!
//! ```text
//! laggard-rust-client PLAN TRANSPORT ENDPOINT COMPRESSION [STEP]
//! ```
//!
//! The plan lists the spans (see plan.rs); ids, batches, messages, and retries are up to the SDK.
//! TRANSPORT is grpc, http-proto or http-json, COMPRESSION none or gzip. Prints each export when it starts and, at the end, how
//! many spans were acknowledged; fails if any was not. With STEP, spans are flushed after each STEP requests.

mod exporters;
mod metrics;

use exporters::{Counts, Destination};
use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider};
use serde::Deserialize;
use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The spans to send.
#[derive(Deserialize)]
struct Plan {
    requests: Vec<Vec<PlannedSpan>>,
}

#[derive(Deserialize)]
struct PlannedSpan {
    parent: Option<usize>,
    service: String,
    replica: String,
    name: String,
    kind: String,
    start_ns: u64,
    end_ns: u64,
    error: bool,
}

type ClientError = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, ClientError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plan, transport, endpoint, compression, step @ ..] = &arguments[..] else {
        return Err("give PLAN TRANSPORT ENDPOINT COMPRESSION".into());
    };
    let step = step.first().map_or(Ok(usize::MAX), |step| step.parse())?;
    let plan: Plan = serde_json::from_slice(&std::fs::read(plan)?)?;
    let destination = Destination::new(transport, endpoint, compression)?;
    // gRPC needs a runtime; the blocking client of HTTP must not run in one.
    let runtime = tokio::runtime::Runtime::new()?;
    let counts = Arc::new(Counts::default());
    {
        let _within = destination.is_grpc().then(|| runtime.enter());
        play(&plan, step, &destination, &counts)?;
        metrics::measure(&plan, &destination)?;
    }
    println!("{}", serde_json::json!({"accepted": counts.accepted(), "failed": counts.failed()}));
    Ok(if counts.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn resource(service: &str, replica: &str) -> Resource {
    let replica = KeyValue::new("service.instance.id", replica.to_owned());
    Resource::builder().with_service_name(service.to_owned()).with_attribute(replica).build()
}

fn time(ns: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)
}

/// One process of the shop.
struct Replica {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Replica {
    fn start(span: &PlannedSpan, to: &Destination, counts: &Arc<Counts>) -> Result<Replica, ClientError> {
        // The queue must hold all spans, since the plan is played without delays.
        let batches = BatchConfigBuilder::default().with_max_queue_size(1 << 16).build();
        let exporter = to.span_exporter(counts)?;
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = resource(&span.service, &span.replica);
        let provider =
            SdkTracerProvider::builder().with_span_processor(processor).with_resource(resource).build();
        let tracer = provider.tracer("shop");
        Ok(Replica { provider, tracer })
    }
}

/// Plays every request of the plan; each replica has its own provider, as in separate processes.
fn play(plan: &Plan, step: usize, to: &Destination, counts: &Arc<Counts>) -> Result<(), ClientError> {
    let mut replicas: HashMap<&str, Replica> = HashMap::new();
    for (played, request) in (1..).zip(&plan.requests) {
        let mut open: Vec<Context> = Vec::new();
        for planned in request {
            if !replicas.contains_key(planned.replica.as_str()) {
                replicas.insert(&planned.replica, Replica::start(planned, to, counts)?);
            }
            let parent = planned.parent.map_or_else(Context::new, |index| open[index].clone());
            let span = replicas[planned.replica.as_str()]
                .tracer
                .build_with_context(builder(planned, open.len()), &parent);
            open.push(parent.with_span(span));
        }
        for (context, planned) in std::iter::zip(&open, request).rev() {
            if planned.error {
                context.span().set_status(Status::error("sold out"));
            }
            context.span().end_with_timestamp(time(planned.end_ns));
        }
        if played % step == 0 {
            // Failures are counted by the exporter.
            replicas.values().for_each(|replica| drop(replica.provider.force_flush()));
        }
    }
    replicas.values().for_each(|replica| drop(replica.provider.shutdown()));
    Ok(())
}

fn builder(planned: &PlannedSpan, basket: usize) -> SpanBuilder {
    let kind = match planned.kind.as_str() {
        "server" => SpanKind::Server,
        "client" => SpanKind::Client,
        _ => SpanKind::Internal,
    };
    let attributes = [KeyValue::new("shop.basket", basket as i64), KeyValue::new("shop.language", "Rust")];
    SpanBuilder::from_name(planned.name.clone())
        .with_kind(kind)
        .with_start_time(time(planned.start_ns))
        .with_attributes(attributes)
}
