//! Counters of received messages, for metrics and status.

use laggard_model::Losses;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A protocol of telemetry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Receiver {
    /// OTLP over gRPC.
    OtlpGrpc,
    /// OTLP over HTTP.
    OtlpHttp,
    /// Zipkin's spans.
    Zipkin,
    /// Prometheus remote write.
    RemoteWrite,
}

impl Receiver {
    /// In the order of lists.
    pub(crate) const ALL: [Receiver; 4] =
        [Receiver::OtlpGrpc, Receiver::OtlpHttp, Receiver::Zipkin, Receiver::RemoteWrite];

    /// The name in metrics and status: for all but remote write, that of the listener's setting.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Receiver::OtlpGrpc => "otlp_grpc",
            Receiver::OtlpHttp => "otlp_http",
            Receiver::Zipkin => "zipkin",
            Receiver::RemoteWrite => "remote_write",
        }
    }
}

/// Figures of one receiver since the start of the server.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ReceiverFigures {
    /// Messages, accepted or not.
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
    /// Rejected records of accepted messages; their senders got the number.
    pub(crate) rejected: u64,
    /// Bytes of messages as sent.
    pub(crate) bytes: u64,
}

/// Counters of [`ReceiverFigures`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    requests: AtomicU64,
    deferred: AtomicU64,
    refused: AtomicU64,
    spans: AtomicU64,
    samples: AtomicU64,
    events: AtomicU64,
    rejected: AtomicU64,
    bytes: AtomicU64,
    losses: Mutex<Losses>,
}

/// Records of one accepted message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct IngestResult {
    pub(super) spans: u64,
    pub(super) samples: u64,
    pub(super) events: u64,
    /// Points of remote write; `samples` are those of known metrics.
    pub(super) points: u64,
    /// Records that were not ingested.
    pub(super) rejected: u64,
    /// Why, with an example; empty when all were ingested.
    pub(super) reason: String,
}

/// Counters order no other memory accesses.
const ORDER: Ordering = Ordering::Relaxed;

impl Counters {
    pub(super) fn record_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, ORDER);
    }

    pub(super) fn record_request(&self) {
        self.requests.fetch_add(1, ORDER);
    }

    pub(super) fn record_error(&self, is_temporary: bool) {
        let counter = if is_temporary { &self.deferred } else { &self.refused };
        counter.fetch_add(1, ORDER);
    }

    pub(super) fn record_success(&self, result: &IngestResult, losses: &Losses) {
        self.spans.fetch_add(result.spans, ORDER);
        self.samples.fetch_add(result.samples, ORDER);
        self.events.fetch_add(result.events, ORDER);
        self.rejected.fetch_add(result.rejected, ORDER);
        if !losses.is_empty() {
            self.losses.lock().unwrap_or_else(PoisonError::into_inner).merge(losses);
        }
    }

    pub(super) fn figures(&self) -> ReceiverFigures {
        ReceiverFigures {
            requests: self.requests.load(ORDER),
            deferred: self.deferred.load(ORDER),
            refused: self.refused.load(ORDER),
            spans: self.spans.load(ORDER),
            samples: self.samples.load(ORDER),
            events: self.events.load(ORDER),
            rejected: self.rejected.load(ORDER),
            bytes: self.bytes.load(ORDER),
        }
    }

    pub(super) fn losses(&self) -> Losses {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
