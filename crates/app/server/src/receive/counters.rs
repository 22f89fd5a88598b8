//! What was received, for metrics and status.

use laggard_model::Losses;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Who takes data.
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
    /// All, in the order of lists.
    pub(crate) const ALL: [Receiver; 4] =
        [Receiver::OtlpGrpc, Receiver::OtlpHttp, Receiver::Zipkin, Receiver::RemoteWrite];

    /// The name in metrics and status: of all but remote write that of its setting.
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
    /// Messages that were asked to be taken.
    pub(crate) requests: u64,
    /// Of these, those that were refused for now: their senders were told to come back.
    pub(crate) deferred: u64,
    /// Of these, those that were refused for good.
    pub(crate) refused: u64,
    /// Spans taken.
    pub(crate) spans: u64,
    /// Samples taken.
    pub(crate) samples: u64,
    /// Records of messages taken that were not: their senders were told how many.
    pub(crate) rejected: u64,
    /// Bytes of messages, as they came.
    pub(crate) bytes: u64,
}

/// Counters behind [`ReceiverFigures`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    requests: AtomicU64,
    deferred: AtomicU64,
    refused: AtomicU64,
    spans: AtomicU64,
    samples: AtomicU64,
    rejected: AtomicU64,
    bytes: AtomicU64,
    losses: Mutex<Losses>,
}

/// What became of one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Taken {
    pub(super) spans: u64,
    pub(super) samples: u64,
    /// Points of remote write, of which those are samples that measure what is of interest.
    pub(super) points: u64,
    /// Records that were not taken.
    pub(super) rejected: u64,
    /// Why, with an example; empty when all were taken.
    pub(super) reason: String,
}

/// Statistics: nothing is read through them that another thread wrote.
const ORDER: Ordering = Ordering::Relaxed;

impl Counters {
    pub(super) fn arrived(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, ORDER);
    }

    pub(super) fn asked(&self) {
        self.requests.fetch_add(1, ORDER);
    }

    pub(super) fn turned_away(&self, is_for_now: bool) {
        let counter = if is_for_now { &self.deferred } else { &self.refused };
        counter.fetch_add(1, ORDER);
    }

    pub(super) fn took(&self, taken: &Taken, losses: &Losses) {
        self.spans.fetch_add(taken.spans, ORDER);
        self.samples.fetch_add(taken.samples, ORDER);
        self.rejected.fetch_add(taken.rejected, ORDER);
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
            rejected: self.rejected.load(ORDER),
            bytes: self.bytes.load(ORDER),
        }
    }

    pub(super) fn losses(&self) -> Losses {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
