//! Random flush batches: traces whose spans arrive in any order and in any number of flush batches.

use crate::FlushBatch;
use laggard_engine::{Origins, SampleRow, Samples};
use laggard_model::{
    AdjustedCount, Attribute, AttributeText, Loss, Losses, Measure, Names, Nanos, OperationKey, SpanId,
    SpanKind, SpanRow, Status, ThreadRow, Tid, Timestamp, TraceId,
};
use proptest::prelude::*;

/// One span, and the flush batch it arrives in.
#[derive(Clone, Debug)]
pub(super) struct RandomSpan {
    trace: u8,
    span: u8,
    parent: u8,
    start_s: i16,
    inclusive: u32,
    operation: u8,
    replica: u8,
    odd: u8,
    batch: u8,
    copied_to: Option<u8>,
}

pub(super) fn spans() -> impl Strategy<Value = Vec<RandomSpan>> {
    let parts = (
        (0_u8..12, 1_u8..9, 0_u8..9, -900_i16..900),
        (0_u32..5_000, 0_u8..4, 0_u8..4, any::<u8>()),
        (0_u8..6, proptest::option::weighted(0.15, 0_u8..6)),
    );
    let random_batches =
        parts.prop_map(|((trace, span, parent, start_s), (inclusive, operation, replica, odd), to)| {
            let (batch, copied_to) = to;
            RandomSpan { trace, span, parent, start_s, inclusive, operation, replica, odd, batch, copied_to }
        });
    proptest::collection::vec(random_batches, 1..60)
}

/// Spans by flush batch. Ids are unique in a trace, except for copies, which are equal.
pub(super) fn batches(random_batches: &[RandomSpan]) -> Vec<FlushBatch> {
    let mut batches = vec![FlushBatch::default(); 6];
    let mut seen = std::collections::HashSet::new();
    for (index, span) in random_batches.iter().enumerate() {
        if !seen.insert((span.trace, span.span)) {
            continue;
        }
        for to in [Some(span.batch), span.copied_to].into_iter().flatten() {
            add(&mut batches[usize::from(to)], span);
        }
        if index % 7 == 0 {
            let losses = &mut batches[usize::from(span.batch)].losses;
            losses.add(Loss::InvalidId, || format!("record {index}"));
        }
    }
    for batch in &mut batches {
        batch.spans.sort_by_key(|row| (row.trace, row.start, row.span));
        batch.texts.sort_by_key(|(trace, _)| *trace);
        batch.texts.dedup_by_key(|(trace, _)| *trace);
        batch.attributes.sort_by_key(|(trace, _)| *trace);
        batch.attributes.dedup_by_key(|(trace, _)| *trace);
        batch.threads.sort_by_key(ThreadRow::key);
        batch.origins = Origins { call_records: batch.spans.len() as u64, ..Origins::default() };
    }
    batches.retain(|batch| !batch.spans.is_empty());
    batches
}

fn add(batch: &mut FlushBatch, span: &RandomSpan) {
    let (id, start) = (SpanId::new(u64::from(span.span)).unwrap(), Timestamp::from_unix_ns(start_ns(span)));
    if !span.odd.is_multiple_of(3) {
        batch.threads.push(ThreadRow { trace: trace(span.trace), start, span: id, tid: tid_of(id) });
    }
    let kinds = [SpanKind::Server, SpanKind::Client, SpanKind::Internal, SpanKind::Unspecified];
    let kind = kinds[usize::from(span.odd % 4)];
    let statuses = [Status::Unset, Status::Ok, Status::Error];
    let trace = trace(span.trace);
    let key = OperationKey {
        service: ["front", "cart"][usize::from(span.operation % 2)],
        operation: ["get", "put", "pay", ""][usize::from(span.operation)],
        kind,
    };
    batch.spans.push(SpanRow {
        trace,
        span: id,
        parent: SpanId::new(u64::from(span.parent)).filter(|_| span.parent != span.span),
        start,
        inclusive: Nanos::from_us(u64::from(span.inclusive)),
        operation: batch.names.operation(key),
        replica: batch.names.replica(["", "a", "b", "c"][usize::from(span.replica)]),
        kind,
        status: statuses[usize::from(span.odd / 4 % 3)],
        incomplete: span.odd > 250,
        adjusted_count: AdjustedCount::new(f64::from(span.odd % 3)),
    });
    if span.trace.is_multiple_of(3) {
        batch.texts.push((trace, format!("order-{}", span.trace).into()));
    }
    if span.trace.is_multiple_of(2) {
        let mut text = AttributeText::default();
        text.add(Attribute { key: "tenant", service: "", value: &format!("t{}", span.trace % 4) });
        batch.attributes.push((trace, text.as_str().into()));
    }
}

/// Spans of a trace are within a minute, so that they belong together.
fn start_ns(span: &RandomSpan) -> i64 {
    i64::from(span.trace) * 200_000_000_000 + i64::from(span.start_s) * 20_000_000
}

/// The thread of a span, where it has one.
pub(super) fn tid_of(span: SpanId) -> Tid {
    Tid(4_000 + span.value() as u32)
}

/// Trace ids of both halves, so that their order differs from that of their times.
pub(super) fn trace(number: u8) -> TraceId {
    TraceId::from_value((u128::from(number.wrapping_mul(101)) << 80) | (u128::from(number) + 1))
}

/// A flush batch of one trace, so late that everything before it is closed.
pub(super) fn much_later() -> FlushBatch {
    let mut batch = FlushBatch { names: Names::new(), ..FlushBatch::default() };
    let span = RandomSpan {
        trace: 200,
        span: 1,
        parent: 0,
        start_s: 0,
        inclusive: 5,
        operation: 0,
        replica: 1,
        odd: 0,
        batch: 0,
        copied_to: None,
    };
    add(&mut batch, &span);
    batch.losses = Losses::none();
    batch
}

/// Samples of two servers, at times in no order.
pub(super) fn samples(times: &[i64]) -> Samples {
    let mut samples = Samples { rows: Vec::new(), texts: vec!["".into(), "db-1".into(), "db-2".into()] };
    samples.rows = (times.iter().enumerate())
        .map(|(index, &time)| SampleRow {
            time: Timestamp::from_unix_ns(time * 1_000_000_000),
            measure: Measure::Utilization,
            server: 1 + index as u32 % 2,
            tier: 0,
            transaction: 0,
            callee: 0,
            value: index as f64,
        })
        .collect();
    samples
}

/// A flush batch of some traces of two spans each, in the same minute.
pub(super) fn flush_batch_of(traces: impl IntoIterator<Item = u128>) -> FlushBatch {
    let one = much_later();
    let row = one.spans[0];
    let span = |number| SpanId::new(number).unwrap();
    let both = |trace| {
        let root = SpanRow { trace: TraceId::from_value(trace), ..row };
        [root, SpanRow { span: span(2), parent: Some(span(1)), ..root }]
    };
    FlushBatch {
        names: one.names,
        spans: traces.into_iter().flat_map(both).collect(),
        ..FlushBatch::default()
    }
}
