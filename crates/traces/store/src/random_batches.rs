//! Rows for tests.

use laggard_engine::Batch;
use laggard_model::{Nanos, OperationKey, ReplicaId, SpanId, SpanKind, SpanRow, Status, Timestamp, TraceId};

/// The operation of every generated span.
pub(crate) const KEY: OperationKey<'static> =
    OperationKey { service: "shop", operation: "buy", kind: SpanKind::Server };

/// A span of the first operation of a batch.
pub(crate) fn span(trace: u128, span: u64, replica: ReplicaId) -> SpanRow {
    SpanRow {
        trace: TraceId::from_value(trace),
        span: SpanId::new(span).expect("generated ids are not zero"),
        parent: None,
        start: Timestamp::from_unix_ns(1_700_000_000_000_000_000 + span as i64),
        inclusive: Nanos::from_ns(1_000),
        operation: laggard_model::OperationId::from_index(0),
        replica,
        kind: SpanKind::Server,
        status: Status::Ok,
        incomplete: false,
        adjusted_count: None,
    }
}

/// A batch of spans, each identified by its trace and span id.
pub(crate) fn batch(spans: &[(u128, u64)]) -> Batch {
    let mut batch = Batch::default();
    batch.names.operation(KEY);
    let replica = batch.names.replica("pod-1");
    batch.spans = spans.iter().map(|&(trace, id)| span(trace, id, replica)).collect();
    batch
}

/// Small random numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct TestRng(pub(crate) u64);

impl TestRng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        laggard_model::mix64(self.0)
    }

    /// A number below a limit, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
