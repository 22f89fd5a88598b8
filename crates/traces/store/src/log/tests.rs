//! The encoding of records and the recovery of damaged files.

use super::decode::decode_batch;
use super::encode::encode_batch;
use super::frame::file_name;
use super::repair::{missing_file, repaired};
use super::simulated::{Fault, Simulated};
use super::{LogFiles, ReplayReport, WriteAheadLog, replay};
use crate::random_batches::batch;
use laggard_engine::Batch;
use laggard_model::{
    AdjustedCount, CallFlag, CallRow, Loss, Measure, Nanos, OperationKey, ReplicaId, SampleRecord, Severity,
    Sink, SpanEvent, SpanId, SpanKind, SpanRow, Status, Tid, Timestamp, TraceId,
};
use proptest::prelude::*;
use std::sync::Arc;

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_batch(batch, &mut bytes);
    bytes
}

fn same(a: &Batch, b: &Batch) -> bool {
    let (mut names_a, mut names_b) = (Vec::new(), Vec::new());
    for (batch, names) in [(a, &mut names_a), (b, &mut names_b)] {
        for row in &batch.spans {
            let key = batch.names.operation_key(row.operation);
            names.push(format!("{key:?} {}", batch.names.replica_name(row.replica)));
        }
    }
    let samples = |batch: &Batch| format!("{:?}", batch.samples);
    let attributes = |batch: &Batch| {
        let text = |set| batch.names.attribute_set_text(set).to_owned();
        batch.attributes.iter().map(|&(id, set)| (id, text(set))).collect::<Vec<_>>()
    };
    names_a == names_b
        && a.spans == b.spans
        && a.calls == b.calls
        && samples(a) == samples(b)
        && a.texts == b.texts
        && attributes(a) == attributes(b)
        && a.threads == b.threads
        && a.events == b.events
        && a.losses == b.losses
        && a.origins == b.origins
}

fn kind() -> impl Strategy<Value = SpanKind> {
    (0..6_i64).prop_map(|number| SpanKind::from_number(number).unwrap())
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![Just(Status::Unset), Just(Status::Ok), Just(Status::Error)]
}

prop_compose! {
    fn any_span()(
        ids in (0..4_u128, 1_u64.., proptest::option::of(1_u64..)),
        times in (any::<i64>(), any::<u64>()),
        names in (0..3_usize, 0..2_usize),
        kind in kind(),
        status in status(),
        incomplete in any::<bool>(),
        count in proptest::option::of(1.0..1e9_f64),
    ) -> SpanRow {
        SpanRow {
            trace: TraceId::from_value(ids.0 << 70),
            span: SpanId::new(ids.1).unwrap(),
            parent: ids.2.and_then(SpanId::new),
            start: Timestamp::from_unix_ns(times.0),
            inclusive: Nanos::from_ns(times.1),
            operation: laggard_model::OperationId::from_index(names.0),
            replica: ReplicaId::from_index(names.1),
            kind,
            status,
            incomplete,
            adjusted_count: count.and_then(AdjustedCount::new),
        }
    }
}

prop_compose! {
    fn any_call()(
        request in 0..3_u128, fragment in 0..3_u128, callee in proptest::option::of(any::<u128>()),
        time in any::<i64>(), names in (0..3_usize, 0..2_usize), exit in any::<bool>(),
    ) -> CallRow {
        CallRow {
            request: TraceId::from_value(request),
            fragment: TraceId::from_value(fragment),
            callee: callee.map(TraceId::from_value),
            time: Timestamp::from_unix_ns(time),
            operation: laggard_model::OperationId::from_index(names.0),
            host: ReplicaId::from_index(names.1),
            flag: if exit { CallFlag::Exit } else { CallFlag::Enter },
        }
    }
}

prop_compose! {
    fn any_event()(
        trace in any::<u128>(), span in 1..u64::MAX, time in any::<i64>(), severity in 0..25_u64,
        texts in ("\\PC{0,9}", "\\PC{0,9}", "\\PC{0,9}"),
    ) -> SpanEvent {
        SpanEvent {
            trace: TraceId::from_value(trace),
            span: SpanId::new(span).unwrap(),
            time: Timestamp::from_unix_ns(time),
            severity: Severity::from_number(severity),
            name: texts.0.into(),
            body: texts.1.into(),
            attributes: texts.2.into(),
        }
    }
}

prop_compose! {
    fn any_batch()(
        spans in proptest::collection::vec(any_span(), 0..20),
        calls in proptest::collection::vec(any_call(), 0..20),
        samples in proptest::collection::vec((any::<i64>(), any::<f64>(), "[a-c]{0,2}"), 0..20),
        texts in proptest::collection::vec((any::<u128>(), "\\PC{0,9}"), 0..4),
        lost in 0..9_u64,
        counts in any::<[u64; 4]>(),
        tids in proptest::collection::vec(proptest::option::of(any::<u32>()), 0..20),
        events in proptest::collection::vec(any_event(), 0..4),
    ) -> Batch {
        let mut batch = Batch::default();
        for operation in ["add", "", "größer"] {
            batch.names.operation(OperationKey { service: "cart", operation, kind: SpanKind::Client });
        }
        batch.names.replica("");
        batch.names.replica("pod-1");
        for (time, value, text) in &samples {
            let time = Timestamp::from_unix_ns(*time);
            let (measure, value) = (Measure::Calls, *value);
            batch.sample(&SampleRecord { time, measure, server: text, tier: "", transaction: "t", callee: text, value });
        }
        for (id, text) in &texts {
            batch.attributes.push((TraceId::from_value(*id), batch.names.attribute_set(text)));
        }
        batch.texts = texts.into_iter().map(|(id, text)| (TraceId::from_value(id), text.into())).collect();
        batch.losses.add_many(Loss::Cycle, lost, || "here".to_owned());
        batch.origins.identities[7] = counts[0];
        batch.origins.weight_sources[0] = counts[1];
        batch.origins.tail_samplers[1] = counts[2];
        batch.origins.call_records = counts[3];
        let tids = tids.into_iter().take(spans.len()).enumerate();
        batch.threads = tids.filter_map(|(index, tid)| Some((index as u32, Tid(tid?)))).collect();
        Batch { spans, calls, events, ..batch }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_batch_survives_encoding_and_decoding(batch in any_batch()) {
        let bytes = encoded(&batch);
        let back = decode_batch(&bytes).unwrap();
        prop_assert!(same(&batch, &back), "{batch:?}\n{back:?}");
    }

    #[test]
    fn invalid_bytes_are_an_error(batch in any_batch(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encoded(&batch);
        let cut = at.index(bytes.len());
        // Earlier versions ended before the attributes, the threads, or the events.
        let without_events = Batch { events: vec![], ..batch.clone() };
        let without_threads = Batch { threads: vec![], ..without_events.clone() };
        let without_attributes = Batch { attributes: vec![], ..without_threads.clone() };
        let earlier = [without_attributes, without_threads, without_events];
        let is_earlier = |back: &Batch| earlier.iter().any(|earlier| same(earlier, back));
        let cut_off = decode_batch(&bytes[..cut]);
        prop_assert!(cut_off.as_ref().map_or(true, is_earlier), "{cut_off:?}");
        // Any change yields a batch or an error; the checksum detects changes.
        bytes[cut] = byte;
        let _ = decode_batch(&bytes);
    }

    #[test]
    fn hostile_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut versioned = vec![super::encode::VERSION];
        versioned.extend(bytes);
        let _ = decode_batch(&versioned);
    }
}

#[test]
fn an_encoded_span_is_about_as_long_as_its_ids() {
    let spans: Vec<(u128, u64)> = (0..1000).map(|index| (index / 10, index as u64 + 1)).collect();
    let bytes = encoded(&batch(&spans)).len();
    assert!(bytes < 1000 * 20, "{bytes} bytes for 1,000 spans");
}

/// Writes records of one span each, in groups of these sizes.
fn written(files: &Simulated, groups: &[u64], file_bytes: u64) -> WriteAheadLog {
    let mut log = WriteAheadLog::new(Arc::new(files.clone()), 1, Vec::new(), file_bytes);
    let mut number = 0;
    for &group in groups {
        for _ in 0..group {
            number += 1;
            log.push(&batch(&[(1, number)]));
        }
        assert_eq!(log.commit().unwrap(), number - group + 1);
    }
    log
}

/// The records that replay finds, each checked for its content, and what else it found. Every missing record it reports is counted
/// as a loss.
fn read(files: &Simulated, from: u64) -> (Vec<u64>, ReplayReport) {
    let (mut numbers, mut lost) = (Vec::new(), 0);
    let findings = replay(files, from, &mut |number, batch| {
        lost += batch.losses.count(Loss::CorruptLog);
        if batch.losses.count(Loss::CorruptLog) > 0 {
            return;
        }
        assert_eq!(batch.spans[0].span.value(), number);
        numbers.push(number);
    });
    let findings = findings.unwrap();
    assert_eq!(lost, findings.corrupt.iter().map(|damage| damage.records).sum::<u64>());
    (numbers, findings)
}

#[test]
fn records_are_read_from_the_requested_position() {
    let files = Simulated::default();
    let mut log = written(&files, &[1, 2, 3, 1], 300);
    assert!(files.list().unwrap().len() > 1, "files are short in this test");
    let (numbers, findings) = read(&files, 1);
    assert_eq!((numbers, findings.last), ((1..=7).collect(), 7));
    assert!(findings.torn.is_none() && findings.corrupt.is_empty());
    assert_eq!(findings.files.iter().map(|file| file.bytes).sum::<u64>(), log.bytes());
    assert_eq!(read(&files, 4).0, [4, 5, 6, 7]);
    log.forget(6).unwrap();
    assert_eq!(read(&files, 6).0, [6, 7]);
    log.forget(8).unwrap();
    assert!(files.list().unwrap().is_empty());
}

#[test]
fn a_truncated_file_yields_the_records_before_the_cut() {
    let complete = Simulated::default();
    let log = written(&complete, &[1, 2], u64::MAX);
    let name = file_name(1);
    let bytes = complete.read(&name).unwrap();
    let mut ends = vec![20];
    for frame in super::frame::Frames::new(&bytes, 1, u64::MAX) {
        match frame {
            super::frame::FrameItem::Record { payload, .. } => ends.push(payload.end),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((ends.len(), log.last()), (4, 3));
    for cut in 0..bytes.len() {
        let files = complete.after_power_loss(&mut crate::random_batches::TestRng(1));
        files.damage(&name, |bytes| bytes.truncate(cut));
        let expected = ends.iter().skip(1).filter(|&&end| end <= cut).count() as u64;
        let (numbers, findings) = read(&files, 1);
        assert_eq!(numbers, (1..=expected).collect::<Vec<_>>(), "cut at {cut}");
        assert!(findings.corrupt.is_empty());
        assert_eq!(findings.torn.is_some(), cut > 0 && !ends.contains(&cut), "cut at {cut}");
        // It is not reported again.
        assert!(read(&files, 1).1.torn.is_none(), "cut at {cut}");
    }
}

#[test]
fn a_changed_byte_loses_its_record_and_no_other() {
    let complete = Simulated::default();
    written(&complete, &[1, 1, 1], u64::MAX);
    let name = file_name(1);
    let length = complete.read(&name).unwrap().len();
    for index in 0..length {
        let files = complete.after_power_loss(&mut crate::random_batches::TestRng(1));
        files.damage(&name, |bytes| bytes[index] ^= 0x55);
        let (numbers, findings) = read(&files, 1);
        let lost = 3 - numbers.len();
        assert!(lost <= 1, "byte {index}: {numbers:?}");
        let reported = findings.torn.is_some() || !findings.corrupt.is_empty();
        assert!(reported, "byte {index}");
    }
}

#[test]
fn damage_in_an_older_file_is_reported_and_later_records_are_read() {
    let files = Simulated::default();
    written(&files, &[2, 2, 2], 1);
    files.damage(&file_name(3), |bytes| bytes[30..60].fill(0xEE));
    let (numbers, findings) = read(&files, 1);
    assert_eq!(numbers, [1, 2, 4, 5, 6]);
    assert_eq!(findings.corrupt.len(), 1);
    assert_eq!((findings.corrupt[0].records, findings.corrupt[0].file.clone()), (1, file_name(3)));
    assert!(findings.corrupt[0].bytes > 30);
    files.remove(&file_name(3)).unwrap();
    let (numbers, findings) = read(&files, 1);
    assert_eq!(numbers, [1, 2, 5, 6]);
    assert_eq!(findings.corrupt.iter().map(|damage| damage.records).sum::<u64>(), 2);
}

#[test]
fn another_version_is_rejected_not_misread() {
    let files = Simulated::default();
    written(&files, &[1], u64::MAX);
    files.damage(&file_name(1), |bytes| {
        bytes[7] = 9;
        let sum = crc32c::crc32c(&bytes[..16]);
        bytes[16..20].copy_from_slice(&sum.to_le_bytes());
    });
    let rejected = replay(&files, 1, &mut |_, _| panic!("no record")).unwrap_err();
    assert!(rejected.to_string().contains("version 9"), "{rejected}");
}

#[test]
fn a_full_disk_at_any_call_rejects_only_the_current_group() {
    for step in 0..12 {
        for times in 1..5 {
            let files = Simulated::default();
            let mut log = WriteAheadLog::new(Arc::new(files.clone()), 1, Vec::new(), 150);
            files.fail(step, Fault::OutOfSpace(times));
            let (mut acknowledged, mut tries) = (Vec::new(), 0);
            while acknowledged.len() < 4 {
                tries += 1;
                assert!(tries < 20, "it never recovers");
                let next = acknowledged.len() as u64 + 1;
                log.push(&batch(&[(1, next)]));
                if let Ok(number) = log.commit() {
                    assert_eq!(number, next);
                    acknowledged.push(number);
                }
            }
            let (numbers, findings) = read(&files, 1);
            assert_eq!(numbers, acknowledged, "step {step}, {times} times");
            assert!(findings.corrupt.is_empty() && findings.torn.is_none(), "{findings:?}");
        }
    }
}

#[test]
fn a_probe_leaves_nothing_behind() {
    let files = Simulated::default();
    let mut log = written(&files, &[1], u64::MAX);
    files.fail(1, Fault::OutOfSpace(1));
    assert!(log.probe().is_err());
    assert!(log.probe().is_ok());
    assert_eq!(files.list().unwrap().len(), 1);
}

#[test]
fn a_repaired_file_has_every_readable_record_and_counts_the_others() {
    let complete = Simulated::default();
    written(&complete, &[1, 1, 1], u64::MAX);
    let (name, intact) = (file_name(1), complete.read(&file_name(1)).unwrap());
    assert_eq!(repaired(&intact, 1, Some(4)), Ok(None));
    for index in 0..intact.len() {
        let mut bytes = intact.clone();
        bytes[index] ^= 0x55;
        let file = repaired(&bytes, 1, Some(4)).unwrap().unwrap_or_else(|| panic!("byte {index} is damaged"));
        assert_eq!(file.records + file.lost_records, 3, "byte {index}");
        assert!(file.lost_records <= 1 && file.name == name, "byte {index}");
        let files = complete.after_power_loss(&mut crate::random_batches::TestRng(1));
        files.damage(&name, |now| now.clone_from(&file.bytes));
        let mut lost = 0;
        let mut numbers = Vec::new();
        let findings = replay(&files, 1, &mut |number, batch| {
            numbers.push(number);
            lost += batch.losses.count(Loss::CorruptLog);
        });
        let findings = findings.unwrap();
        assert_eq!((numbers, lost), (vec![1, 2, 3], file.lost_records), "byte {index}");
        assert!(findings.corrupt.is_empty() && findings.torn.is_none(), "byte {index}");
        assert_eq!(repaired(&file.bytes, 1, Some(4)), Ok(None), "byte {index}: it is whole now");
    }
    // A last write that was cut off is none of its business.
    assert_eq!(repaired(&intact[..intact.len() - 3], 1, None), Ok(None));
    assert_eq!(missing_file(5, 8).unwrap().lost_records, 3);
    assert!(missing_file(5, u64::MAX).is_err());
    let mut other = intact;
    other[7] = 9;
    let sum = crc32c::crc32c(&other[..16]);
    other[16..20].copy_from_slice(&sum.to_le_bytes());
    assert!(repaired(&other, 1, None).is_err());
}
