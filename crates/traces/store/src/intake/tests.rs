//! Closing of traces in examples worked by hand; `recovery/tests.rs` checks that replay repeats it.

use super::*;
use crate::random_batches::{batch, span};
use laggard_model::{CallFlag, Loss, Measure, OperationKey, SampleRecord, Sink, SpanKind, Tid, Timestamp};
use std::time::Duration;

const NOTHING: CloseCriteria =
    CloseCriteria { idle_through: 0, early_through: 0, old_through: 0, rows_max: usize::MAX };

fn intake(records: &[&[(u128, u64)]]) -> Intake {
    let mut intake = Intake::new(LogPosition::default());
    for (number, spans) in (1..).zip(records) {
        intake.ingest(number, &batch(spans), RecordPart::All);
    }
    intake
}

/// `(trace, span)` of a flush batch.
fn spans(batch: &crate::FlushBatch) -> Vec<(u128, u64)> {
    batch.spans.iter().map(|row| (row.trace.value(), row.span.value())).collect()
}

#[test]
fn idle_traces_are_closed_completely_and_others_stay_open() {
    let mut intake = intake(&[&[(7, 1), (8, 2)], &[(7, 3), (9, 4)], &[(8, 5)]]);
    assert_eq!((intake.traces(), intake.spans()), (3, 5));
    let batch = intake.close(&CloseCriteria { idle_through: 2, ..NOTHING }).unwrap().pack();
    assert_eq!(spans(&batch), [(7, 1), (7, 3), (9, 4)]);
    assert_eq!((batch.cut.len(), batch.losses.is_empty()), (0, true));
    // Trace 8 has rows from record 1 on.
    let closing = ClosePoint { head: 3, idle_through: 2, cut: Vec::new() };
    assert_eq!(batch.position, LogPosition { replay_from: 1, settled: 3, closings: vec![closing] });
    let rest = intake.close(&CloseCriteria { idle_through: 3, ..NOTHING }).unwrap();
    assert!(rest.bytes > 0 && !rest.more);
    assert_eq!((intake.traces(), intake.spans(), intake.bytes()), (0, 0, 0));
    let rest = rest.pack();
    assert_eq!(spans(&rest), [(8, 2), (8, 5)]);
    assert_eq!(rest.position, LogPosition { replay_from: 4, settled: 3, closings: Vec::new() });
    assert!(intake.close(&CloseCriteria { idle_through: 3, ..NOTHING }).is_none());
}

#[test]
fn never_idle_traces_are_cut_and_counted() {
    let mut intake = intake(&[&[(7, 1)], &[(8, 2)], &[(7, 3), (9, 4)]]);
    let batch = intake.close(&CloseCriteria { idle_through: 0, old_through: 1, ..NOTHING }).unwrap().pack();
    assert_eq!(spans(&batch), [(7, 1), (7, 3)]);
    assert_eq!((batch.cut.len(), batch.losses.count(Loss::CutTrace)), (1, 1));
    assert_eq!(batch.position.replay_from, 2);
    assert_eq!(batch.position.closings[0].cut, [TraceId::from_value(7)]);
}

#[test]
fn early_closing_removes_the_oldest_traces_and_counts_them() {
    let mut intake = intake(&[&[(1, 1)], &[(2, 2)], &[(3, 3)], &[(4, 4)]]);
    let criteria = CloseCriteria { early_through: 4, rows_max: 2, ..NOTHING };
    let closed = intake.close(&criteria).unwrap();
    assert!(closed.more);
    let batch = closed.pack();
    assert_eq!(spans(&batch), [(1, 1), (2, 2)]);
    assert_eq!(batch.losses.count(Loss::CutTrace), 2);
    assert!(batch.position.closings.is_empty(), "replay starts behind it");
}

#[test]
fn a_trace_with_too_many_rows_is_cut() {
    let mut intake = intake(&[]);
    let many: Vec<(u128, u64)> = (1..=TRACE_ROWS_MAX as u64 / 2).map(|id| (7, id)).collect();
    intake.ingest(1, &batch(&many), RecordPart::All);
    assert!(intake.close(&NOTHING).is_none());
    let more: Vec<(u128, u64)> =
        many.iter().map(|&(trace, id)| (trace, id + TRACE_ROWS_MAX as u64)).collect();
    intake.ingest(2, &batch(&more), RecordPart::All);
    let closed = intake.close(&NOTHING).unwrap();
    assert_eq!((closed.cut.len(), intake.spans()), (1, 0));
}

#[test]
fn too_many_cuts_close_everything() {
    let traces: Vec<(u128, u64)> = (1..=10_001).map(|id| (id, 1)).collect();
    let mut intake = intake(&[&traces, &[(99_999, 1)]]);
    intake.ingest(3, &batch(&traces), RecordPart::All);
    let closed = intake.close(&CloseCriteria { old_through: 1, ..NOTHING }).unwrap();
    assert_eq!((intake.traces(), closed.position.closings.len()), (0, 0));
    assert_eq!(closed.position.replay_from, 4);
}

#[test]
fn copies_are_dropped_and_halves_of_a_shared_span_are_not() {
    let mut first = batch(&[(7, 1), (7, 2), (7, 1)]);
    let client = first.names.operation(OperationKey { kind: SpanKind::Client, ..crate::random_batches::KEY });
    let mut half = span(7, 1, ReplicaId::from_index(0));
    (half.kind, half.operation) = (SpanKind::Client, client);
    first.spans.push(half);
    let mut intake = Intake::new(LogPosition::default());
    intake.ingest(1, &first, RecordPart::All);
    intake.ingest(2, &first, RecordPart::All);
    let batch = intake.close(&CloseCriteria { idle_through: 2, ..NOTHING }).unwrap().pack();
    assert_eq!(spans(&batch), [(7, 1), (7, 1), (7, 2)]);
    assert_eq!(batch.losses.count(Loss::DuplicateSpan), 5);
}

#[test]
fn calls_become_spans_once_their_request_is_idle() {
    let mut log = Batch::default();
    for (time, flag) in [(10, CallFlag::Enter), (35, CallFlag::Exit)] {
        log.call(&laggard_model::CallRecord {
            host: "host-1",
            time: Timestamp::from_unix_ns(time),
            request: TraceId::from_value(5),
            request_text: Some("order-5"),
            fragment: TraceId::from_value(5),
            service: "shop",
            operation: "buy",
            flag,
            callee: None,
        });
    }
    let mut intake = Intake::new(LogPosition::default());
    intake.ingest(1, &log, RecordPart::All);
    let batch = intake.close(&CloseCriteria { idle_through: 1, ..NOTHING }).unwrap().pack();
    assert_eq!(batch.spans.len(), 1);
    let row = batch.spans[0];
    assert_eq!((row.inclusive.ns(), batch.names.replica_name(row.replica)), (25, "host-1"));
    assert_eq!(&*batch.texts[0].1, "order-5");
    assert_eq!((batch.origins.call_records, intake.bytes()), (2, 0));
}

#[test]
fn samples_are_in_the_next_flush_batch_with_only_the_names_in_use() {
    let mut first = batch(&[(1, 1)]);
    first.names.replica("unused");
    for server in ["a", "b", "a"] {
        let time = Timestamp::from_unix_ns(1);
        let (measure, value) = (Measure::Cores, 2.0);
        first.sample(&SampleRecord { time, measure, server, tier: "", transaction: "", callee: "", value });
    }
    let mut intake = Intake::new(LogPosition::default());
    intake.ingest(1, &first, RecordPart::All);
    intake.ingest(2, &first, RecordPart::All);
    assert_eq!(intake.samples(), 6);
    let batch = intake.close(&NOTHING).unwrap().pack();
    assert_eq!((batch.samples.rows.len(), batch.samples.texts.len(), batch.spans.len()), (6, 3, 0));
    assert_eq!(batch.samples.record(&batch.samples.rows[4]).server, "b");
    assert_eq!(batch.position.settled, 2);
    let batch = intake.close(&CloseCriteria { idle_through: 2, ..NOTHING }).unwrap().pack();
    assert_eq!(batch.names.replicas(), 1);
    assert_eq!((batch.samples.rows.len(), intake.bytes()), (0, 0));
}

#[test]
fn a_batch_never_uses_more_memory_than_reserved() {
    let mut large_batch = batch(&[(1, 1), (2, 2), (2, 3)]);
    large_batch.texts.push((TraceId::from_value(1), "one".into()));
    let reserved = bytes_max(&large_batch);
    let mut intake = Intake::new(LogPosition::default());
    intake.ingest(1, &large_batch, RecordPart::All);
    assert!((1..=reserved).contains(&intake.bytes()));
}

#[test]
fn unused_names_are_dropped_when_there_are_many() {
    let mut intake = Intake::new(LogPosition::default());
    let mut many = batch(&[]);
    for index in 0..NAMES_MAX / 2 {
        many.names.replica(&format!("pod-{index}"));
    }
    let two_days = Duration::from_secs(48 * 3600);
    many.spans = vec![span(1, 1, ReplicaId::from_index(500)), span(2, 1, ReplicaId::from_index(900))];
    intake.ingest(1, &many, RecordPart::All);
    intake.record_time(two_days);
    intake.ingest(2, &batch(&[(2, 2)]), RecordPart::All);
    intake.close(&CloseCriteria { idle_through: 1, ..NOTHING }).unwrap();
    assert_eq!(intake.names.names.replicas(), 2);
    let batch = intake.close(&CloseCriteria { idle_through: 2, ..NOTHING }).unwrap().pack();
    assert_eq!(batch.names.replica_name(batch.spans[0].replica), "pod-900");
}

#[test]
fn ages_follow_the_log_head() {
    let mut intake = intake(&[&[(7, 1)]]);
    intake.record_time(Duration::from_secs(1));
    assert_eq!(intake.ages().come_by(Duration::from_secs(2)), 1);
}

#[test]
fn a_trace_has_the_attributes_of_all_its_batches() {
    let mut intake = Intake::new(LogPosition::default());
    for (number, key) in [(1, "tenant"), (2, "zone"), (3, "zone")] {
        let mut batch = batch(&[(5, number)]);
        let mut text = laggard_model::AttributeText::default();
        text.add(laggard_model::Attribute { key, service: "", value: "a" });
        batch.attributes.push((TraceId::from_value(5), batch.names.attribute_set(text.as_str())));
        intake.ingest(number, &batch, RecordPart::All);
    }
    let batch = intake.close(&CloseCriteria { idle_through: 3, ..NOTHING }).unwrap().pack();
    let keys: Vec<&str> =
        laggard_model::attributes_in(&batch.attributes[0].1).map(|attribute| attribute.key).collect();
    assert_eq!((keys, batch.attributes.len(), intake.bytes()), (vec!["tenant", "zone"], 1, 0));
}

#[test]
fn threads_follow_their_spans() {
    let mut intake = Intake::new(LogPosition::default());
    let mut first = batch(&[(5, 2), (6, 1)]);
    first.threads = vec![(0, Tid(20)), (1, Tid(60))];
    let mut second = batch(&[(5, 1), (5, 2), (5, 3)]);
    second.threads = vec![(1, Tid(20)), (2, Tid(30))];
    intake.ingest(1, &first, RecordPart::All);
    intake.ingest(2, &second, RecordPart::All);
    let batch = intake.close(&CloseCriteria { idle_through: 2, ..NOTHING }).unwrap().pack();
    let threads: Vec<_> =
        batch.threads.iter().map(|row| (row.trace.value(), row.span.value(), row.tid.0)).collect();
    assert_eq!(threads, [(5, 2, 20), (5, 3, 30), (6, 1, 60)]);
    assert_eq!(intake.bytes(), 0);
}
