//! perf.data written here: rounds, losses, perf's own records, truncation, damage.

use crate::encode_perf_data::{COMM, EXIT, FORK, LOST, LOST_SAMPLES, PerfData, PerfForm, PerfPosition};
use crate::encode_records::{Order, irq, of_event, probe, switch, waking};
use crate::same_run::{TraceSummary, summarize};
use laggard_kernel_formats::contract::{check_hostile, check_truncated, transcript};
use laggard_kernel_formats::{KernelTraceError, OpenOptions, ReadTrace, open, open_with};
use laggard_model::{EventKind, KernelEvent, Loss};
use laggard_testkit::data_folder;
use proptest::prelude::*;
use std::io::Write;

const FORMS: [PerfForm; 3] = [PerfForm::File, PerfForm::Compressed, PerfForm::Pipe];
const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    file
}

fn read(bytes: &[u8]) -> (Vec<KernelEvent>, ReadTrace) {
    let mut events = Vec::new();
    let options = OpenOptions { also: vec!["handle".to_owned()], ..OpenOptions::default() };
    let trace = open_with(written(bytes).path(), &options).expect("a trace");
    let read = trace.read(|event, _| events.push(*event));
    (events, read)
}

fn at(ns: u64, cpu: u32, tid: u32) -> PerfPosition {
    PerfPosition { ns, cpu, tid }
}

/// Two CPUs emptied in turn over three rounds, 30 ms apart, with every kind of record.
fn small(order: Order) -> PerfData {
    let name = |name: &[u8; 8]| {
        let mut body = [order.u32(7), order.u32(7)].concat();
        body.extend(name);
        body
    };
    let four = |numbers: [u32; 4], ns: u64| {
        let mut body: Vec<u8> = numbers.iter().flat_map(|&number| order.u32(number)).collect();
        body.extend(order.u64(ns));
        body
    };
    PerfData::new(order)
        .aside(COMM, at(0, 0, 7), &name(b"before\0\0"))
        .sample(at(10_000_000, 0, 7), &switch(order, (7, "before"), 1, (8, "late")))
        .sample(at(40_000_000, 0, 8), &waking(order, 8, (7, "before"), 1))
        .sample(at(20_000_000, 1, 0), &irq(order, 40, "eth0"))
        .round()
        .sample(at(50_000_000, 0, 8), &probe(order, 8, -1, "/x"))
        .aside(LOST, at(45_000_000, 1, 0), &[order.u64(77), order.u64(12)].concat())
        .sample(at(45_000_001, 1, 0), &irq(order, 41, "eth1"))
        .round()
        .aside(COMM, at(60_000_000, 0, 7), &name(b"after\0\0\0"))
        .aside(FORK, at(61_000_000, 0, 7), &four([9, 7, 9, 7], 61_000_000))
        .aside(EXIT, at(62_000_000, 1, 9), &four([9, 7, 9, 7], 62_000_000))
        .round()
        .aside(LOST_SAMPLES, at(0, 0, 0), &order.u64(15))
}

#[test]
fn every_form_and_byte_order_gives_the_events_written_in_time_order() {
    for order in ORDERS {
        for form in FORMS {
            let (events, read) = read(&small(order).written(form));
            let summarize: Vec<String> = events
                .iter()
                .map(|event| {
                    let what = match event.kind {
                        EventKind::Switch { prev, next, next_name, .. } => {
                            format!("switch {} {} {}", prev.0, next.0, read.texts.text(next_name))
                        }
                        EventKind::Waking { tid, .. } => format!("waking {}", tid.0),
                        EventKind::IrqEntry { irq, name } => format!("irq {irq} {}", read.texts.text(name)),
                        EventKind::Rename { tid, name } => {
                            format!("rename {} {}", tid.0, read.texts.text(name))
                        }
                        EventKind::Fork { parent, child, .. } => format!("fork {} {}", parent.0, child.0),
                        EventKind::Other { name, fields } => {
                            format!("{} {}", read.texts.text(name), read.texts.text(fields))
                        }
                        other => format!("{other:?}"),
                    };
                    format!("{} {} {what}", event.time.ns(), event.cpu.0)
                })
                .collect();
            assert_eq!(
                summarize,
                [
                    "10000000 0 switch 7 8 late",
                    "20000000 1 irq 40 eth0",
                    "40000000 0 waking 7",
                    "45000000 1 Lost { count: Some(12) }",
                    "45000001 1 irq 41 eth1",
                    "50000000 0 handle __probe_ip=0x5555555555 depth=-1 codes={1,2,65535} path=/x",
                    "60000000 0 rename 7 after",
                    "61000000 0 fork 7 9",
                    "62000000 1 Exit { tid: Tid(9) }",
                ],
                "{order:?} {form:?}"
            );
            // 12 where they were lost, and 15 in all by the count at the end.
            assert_eq!(read.losses.count(Loss::LostEvents), 15);
            assert_eq!(read.losses.iter().count(), 1, "{:?}", read.losses);
        }
    }
}

#[test]
fn facts_are_read_from_the_file() {
    for form in FORMS {
        let facts = open(written(&small(Order::Big).written(form)).path()).expect("a trace").facts;
        assert_eq!((facts.clock.as_str(), facts.cpus, facts.host.as_deref()), ("mono", 2, Some("host-7")));
        assert_eq!(facts.calendar.map(|map| map.offset_ns()), Some(1_699_999_999_000_000_000));
        let names: Vec<(u32, &str)> =
            facts.threads.iter().map(|thread| (thread.tid.0, thread.name.as_str())).collect();
        assert_eq!(names, [(7, "early bird"), (8, "late"), (7, "before")]);
    }
}

#[test]
fn a_truncated_pipe_yields_a_prefix_and_a_truncated_file_reports_what_is_missing() {
    let pipe = small(Order::Little).written(PerfForm::Pipe);
    let complete = transcript(written(&pipe).path(), pipe.len() as u64).expect("a trace");
    let mut prefixes = 0;
    for cut in (0..pipe.len()).step_by(13) {
        let file = written(&pipe[..cut]);
        check_truncated(&complete, file.path(), cut as u64);
        prefixes += usize::from(open(file.path()).is_ok());
    }
    assert!(prefixes > 10);
    let plain = small(Order::Little).written(PerfForm::File);
    for cut in (0..plain.len()).step_by(13) {
        check_truncated(&complete, written(&plain[..cut]).path(), cut as u64);
    }
    let error = open(written(&plain[..600]).path()).map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, KernelTraceError::Damaged { reason, .. } if reason.contains("format texts")),
        "{error}"
    );
}

#[test]
fn damage_in_compressed_records_preserves_earlier_events() {
    let mut bytes = small(Order::Little).written(PerfForm::Compressed);
    let second = 272 + usize::from(u16::from_le_bytes([bytes[262], bytes[263]])) - 16;
    bytes[second + 8..second + 24].fill(0xff);
    let (events, read) = read(&bytes);
    assert!(events.len() < 9);
    assert!(read.losses.count(Loss::CorruptCompression) + read.losses.count(Loss::MalformedRecord) > 0);
}

/// A recorded run, written as `perf record` would: in rounds, one CPU after the other.
#[test]
fn perf_data_of_a_run_equals_its_trace() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let mut events = Vec::new();
    let trace =
        open(&folder.join("trace.v7.zstd.dat")).expect("a trace").read(|event, _| events.push(*event));
    events.retain(|event| of_event(Order::Big, event, &trace.texts).is_some());
    assert!(events.len() > 12_000, "{} events", events.len());
    let complete: Vec<TraceSummary> = events.iter().map(|event| summarize(event, &trace.texts)).collect();
    for (order, form) in ORDERS.into_iter().flat_map(|order| FORMS.map(|form| (order, form))) {
        let mut file = PerfData::new(order);
        for round in events.chunks(700) {
            let mut round = round.to_vec();
            round.sort_by_key(|event| event.cpu);
            for event in round {
                let raw = of_event(order, &event, &trace.texts).expect("a tracepoint");
                let tid = event.recorded.expect("a thread").0;
                file = file.sample(at(event.time.ns(), u32::from(event.cpu.0), tid), &raw);
            }
            file = file.round();
        }
        let (events, read) = read(&file.written(form));
        let summaries: Vec<TraceSummary> = events.iter().map(|event| summarize(event, &read.texts)).collect();
        assert!(summaries == complete, "{order:?} {form:?}");
        assert!(read.losses.is_empty(), "{:?}", read.losses);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_break_the_contract(
        form in 0_usize..3,
        order in 0_usize..2,
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1_usize..9), 1..12),
    ) {
        let mut bytes = small(ORDERS[order]).written(FORMS[form]);
        for (position, value, count) in spoilt {
            let begin = position.index(bytes.len());
            let end = (begin + count).min(bytes.len());
            bytes[begin..end].fill(value);
        }
        check_hostile(written(&bytes).path(), bytes.len() as u64);
    }
}
