//! The SDK's exporters and the number of spans that they report as accepted.

use crate::ClientError;
use opentelemetry_otlp::{
    Compression, ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig,
    WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Endpoint, protocol, and compression of the exports.
pub(crate) struct Destination {
    protocol: Protocol,
    endpoint: String,
    is_compressed: bool,
}

impl Destination {
    pub(crate) fn new(transport: &str, endpoint: &str, compression: &str) -> Result<Destination, ClientError> {
        let protocol = match transport {
            "grpc" => Protocol::Grpc,
            "http-proto" => Protocol::HttpBinary,
            "http-json" => Protocol::HttpJson,
            other => return Err(format!("no transport {other}").into()),
        };
        Ok(Destination { protocol, endpoint: endpoint.to_owned(), is_compressed: compression == "gzip" })
    }

    pub(crate) fn is_grpc(&self) -> bool {
        self.protocol == Protocol::Grpc
    }

    pub(crate) fn span_exporter(&self, counts: &Arc<Counts>) -> Result<CountingExporter, ExporterBuildError> {
        let inner = if self.is_grpc() {
            let mut builder = SpanExporter::builder().with_tonic().with_endpoint(&self.endpoint);
            if self.is_compressed {
                builder = builder.with_compression(Compression::Gzip);
            }
            builder.build()?
        } else {
            let endpoint = format!("{}/v1/traces", self.endpoint);
            let mut builder =
                SpanExporter::builder().with_http().with_endpoint(endpoint).with_protocol(self.protocol);
            if self.is_compressed {
                builder = builder.with_compression(Compression::Gzip);
            }
            builder.build()?
        };
        Ok(CountingExporter { inner, counts: Arc::clone(counts) })
    }

    pub(crate) fn metric_exporter(&self) -> Result<MetricExporter, ExporterBuildError> {
        if self.is_grpc() {
            return MetricExporter::builder().with_tonic().with_endpoint(&self.endpoint).build();
        }
        let endpoint = format!("{}/v1/metrics", self.endpoint);
        MetricExporter::builder().with_http().with_endpoint(endpoint).with_protocol(self.protocol).build()
    }
}

/// Spans of completed exports.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    accepted: AtomicUsize,
    failed: AtomicUsize,
}

impl Counts {
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn failed(&self) -> usize {
        self.failed.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct CountingExporter {
    inner: SpanExporter,
    counts: Arc<Counts>,
}

impl opentelemetry_sdk::trace::SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        println!("{}", serde_json::json!({"exporting": spans}));
        let result = self.inner.export(batch).await;
        let count = if result.is_ok() { &self.counts.accepted } else { &self.counts.failed };
        count.fetch_add(spans, Ordering::SeqCst);
        if let Err(error) = &result {
            eprintln!("{error}");
        }
        result
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
