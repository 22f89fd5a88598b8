//! Parts of a data set.

use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::{ReplicaSource, Sampling, Sink, SpanAttributes, SpanRecord, SpanRow};
use std::num::NonZeroUsize;

/// The traces selected by a rule, as a separate data set. The rule sees all rows of one trace, by start.
pub(crate) fn select(
    traces: &Traces,
    threads: NonZeroUsize,
    mut keeps: impl FnMut(&[SpanRow]) -> bool,
) -> Traces {
    let mut ingest = Ingest::new(IngestSettings::default());
    for trace in each_trace(traces).filter(|trace| keeps(trace)) {
        trace.iter().for_each(|row| copy(traces, row, &mut ingest));
    }
    ingest.finish(threads)
}

/// Every trace's rows, in the order of the table.
pub(crate) fn each_trace(traces: &Traces) -> impl Iterator<Item = &[SpanRow]> {
    traces.buckets().iter().flat_map(|bucket| bucket.chunk_by(|a, b| a.trace == b.trace))
}

fn copy(traces: &Traces, row: &SpanRow, into: &mut Ingest) {
    let key = traces.names().operation_key(row.operation);
    into.span(&SpanRecord {
        trace_id: row.trace,
        trace_text: None,
        span_id: row.span,
        parent: row.parent,
        service: key.service,
        operation: key.operation,
        kind: row.kind,
        status: row.status,
        replica: traces.names().replica_name(row.replica),
        replica_source: ReplicaSource::Column,
        start: row.start,
        inclusive: row.inclusive,
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    });
}
