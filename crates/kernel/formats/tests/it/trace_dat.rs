//! trace.dat: files written here in every variant, and recorded ones.

use crate::encode_records::{Order, irq, print, probe, switch, waking};
use crate::encode_trace_dat::{PAGE_BYTES, Packing, PageWriter, RecordedMachine, TraceDat};
use laggard_kernel_formats::contract::{check_hostile, check_truncated, transcript};
use laggard_kernel_formats::{KernelTraceError, OpenOptions, ReadTrace, open, open_with};
use laggard_model::{EventKind, KernelEvent, KernelTexts, Loss, PrevState, Tid};
use laggard_testkit::data_folder;
use proptest::prelude::*;
use std::io::Write;

const MACHINES: [RecordedMachine; 4] = [
    RecordedMachine { order: Order::Little, long_bytes: 8 },
    RecordedMachine { order: Order::Little, long_bytes: 4 },
    RecordedMachine { order: Order::Big, long_bytes: 8 },
    RecordedMachine { order: Order::Big, long_bytes: 4 },
];

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    file
}

fn read(bytes: &[u8], options: &OpenOptions) -> Result<(Vec<KernelEvent>, ReadTrace), KernelTraceError> {
    let mut events = Vec::new();
    let read = open_with(written(bytes).path(), options)?.read(|event, _| events.push(*event));
    Ok((events, read))
}

fn read_all(bytes: &[u8]) -> (Vec<KernelEvent>, ReadTrace) {
    read(bytes, &OpenOptions::default()).expect("a trace")
}

/// All variants of a file.
fn variants(file: &TraceDat) -> Vec<Vec<u8>> {
    let sevens = [Packing::None, Packing::Zstd, Packing::Zlib].map(|packing| file.version_7(packing));
    std::iter::once(file.version_6()).chain(sevens).collect()
}

/// Two CPUs with one event of each kind, extended, absolute, long and discarded records.
fn small(machine: RecordedMachine) -> TraceDat {
    let order = machine.order;
    let zero = vec![
        PageWriter::new(machine, 1_000)
            .record(0, &switch(order, (0, "swapper/0"), 0, (7, "early bird")))
            .discarded(5, 12)
            .record(10, &waking(order, 7, (8, "late"), 1))
            .extend(1 << 30)
            .record(3, &irq(order, 40, "virtio1-req.0"))
            .page(),
        PageWriter::new(machine, 1_100_000_000)
            .missed(Some(66))
            .record(1, &print(order, 7, &"x".repeat(200)))
            .page(),
    ];
    let one = vec![
        PageWriter::new(machine, 1_005)
            .record(0, &probe(order, 8, -3, "/tmp/a"))
            .absolute(1_073_743_000)
            .record(7, &switch(order, (8, "late"), 0x80, (0, "swapper/1")))
            .page(),
        PageWriter::new(machine, 1_200_000_000)
            .missed(None)
            .record(0, &waking(order, 0, (7, "early bird"), 0))
            .page(),
    ];
    let mut file = TraceDat::new(machine, vec![zero, one]);
    file.options.push((5, b"Linux host-7 6.18.1 #1 SMP x86_64\0".to_vec()));
    file.options.push((8, order.u32(2).to_vec()));
    file
}

fn description(event: &KernelEvent, texts: &KernelTexts) -> String {
    let text = |id| texts.text(id);
    match event.kind {
        EventKind::Switch { prev, prev_name, prev_state: PrevState(state), next, next_name } => {
            format!("switch {} {} {state:#x} {} {}", prev.0, text(prev_name), next.0, text(next_name))
        }
        EventKind::Waking { tid, name, target } => format!("waking {} {} {target:?}", tid.0, text(name)),
        EventKind::IrqEntry { irq, name } => format!("irq {irq} {}", text(name)),
        EventKind::Marker { text: marker } => format!("marker of {}", text(marker).len()),
        EventKind::Other { name, fields } => format!("{} {}", text(name), text(fields)),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_variant_of_a_file_gives_the_events_written() {
    for machine in MACHINES {
        for bytes in variants(&small(machine)) {
            let options = OpenOptions { also: vec!["probe_app:handle".to_owned()], ..OpenOptions::default() };
            let (events, read) = read(&bytes, &options).expect("a trace");
            let summarize: Vec<String> = events
                .iter()
                .map(|event| {
                    format!("{} {} {}", event.time.ns(), event.cpu.0, description(event, &read.texts))
                })
                .collect();
            assert_eq!(
                summarize,
                [
                    "1000 0 switch 0 swapper/0 0x0 7 early bird",
                    "1005 1 handle __probe_ip=0x5555555555 depth=-3 codes={1,2,65535} path=/tmp/a",
                    "1015 0 waking 8 late Some(Cpu(1))",
                    "1073742842 0 irq 40 virtio1-req.0",
                    "1073743007 1 switch 8 late 0x80 0 swapper/1",
                    "1100000000 0 Lost { count: Some(66) }",
                    "1100000001 0 marker of 200",
                    "1200000000 1 Lost { count: None }",
                    "1200000000 1 waking 7 early bird Some(Cpu(0))",
                ],
                "{machine:?}"
            );
            assert_eq!(read.losses.count(Loss::LostEvents), 66);
            assert_eq!(read.losses.count(Loss::LostInterval), 1);
            assert_eq!(read.losses.iter().count(), 2, "{:?}", read.losses);
            assert_eq!(events[0].recorded, Some(Tid(0)));
            assert!(events[2].flags.is_some_and(|flags| flags.hard_irq()));
        }
    }
}

#[test]
fn unrequested_events_are_skipped() {
    for bytes in variants(&small(MACHINES[0])) {
        let (events, read) = read_all(&bytes);
        assert_eq!(events.len(), 8);
        assert_eq!(read.losses.count(Loss::MalformedRecord), 0);
    }
}

#[test]
fn facts_are_read_from_the_file() {
    let mut file = small(MACHINES[2]);
    file.options.push((1, b"0x5af3107a4000\0".to_vec()));
    for bytes in variants(&file) {
        let facts = open(written(&bytes).path()).expect("a trace").facts;
        assert_eq!((facts.clock.as_str(), facts.cpus), ("mono", 2));
        assert_eq!((facts.host.as_deref(), facts.kernel.as_deref()), (Some("host-7"), Some("6.18.1")));
        assert_eq!(facts.calendar.map(|map| map.offset_ns()), Some(0x5af3_107a_4000 * 1000));
        let threads: Vec<(u32, &str)> =
            facts.threads.iter().map(|thread| (thread.tid.0, thread.name.as_str())).collect();
        assert_eq!(threads, [(7, "early bird"), (8, "late")]);
        assert_eq!(facts.bytes, bytes.len() as u64);
    }
}

#[test]
fn cycles_become_nanoseconds_and_offsets_are_added() {
    let mut file = small(MACHINES[2]);
    let order = file.machine.order;
    file.clock = "[x86-tsc]";
    let refused = read(&file.version_6(), &OpenOptions::default()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("-C mono"), "{refused}");
    // 2.5 cycles a nanosecond: 0.4 = 1717986918 / 2^32.
    let tsc = [order.u32(1_717_986_919), order.u32(32), order.u32(0), order.u32(0)].concat();
    file.options.push((14, tsc));
    file.options.push((7, b"1000000\0".to_vec()));
    file.options.push((7, b"-500\0".to_vec()));
    for bytes in variants(&file) {
        let (events, _) = read_all(&bytes);
        let times: Vec<u64> = events.iter().take(2).map(|event| event.time.ns()).collect();
        assert_eq!(times, [400 + 999_500, 406 + 999_500]);
    }
}

#[test]
fn further_buffers_and_missing_cpus_are_counted() {
    let mut file = small(MACHINES[0]);
    file.instances = vec!["other", "third"];
    file.cpus.push(Vec::new());
    for bytes in variants(&file) {
        let (events, read) = read_all(&bytes);
        assert_eq!(events.len(), 8);
        assert_eq!(read.losses.count(Loss::SkippedBuffer), 2);
        assert_eq!(read.losses.count(Loss::MissingStream), 1);
    }
}

#[test]
fn unsupported_files_are_rejected_with_advice() {
    let mut file = small(MACHINES[0]);
    let mut later = file.version_6();
    later[10] = b'8';
    let mut latency = file.version_6();
    let position = latency.windows(9).position(|window| window == b"flyrecord").expect("it is there");
    latency[position..position + 9].copy_from_slice(b"latency  ");
    file.clock = "[counter]";
    for (bytes, word) in [(later, "convert"), (latency, "latency"), (file.version_6(), "-C mono")] {
        let error = read(&bytes, &OpenOptions::default()).map(|_| ()).unwrap_err();
        assert!(matches!(error, KernelTraceError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let mut packed = small(MACHINES[0]).version_7(Packing::Zstd);
    packed[18..22].copy_from_slice(b"lzo9");
    let error = read(&packed, &OpenOptions::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("lzo9"), "{error}");
}

#[test]
fn a_damaged_chunk_loses_its_pages_only() {
    let mut file = small(MACHINES[0]);
    let order = file.machine.order;
    let page = |time: u64| PageWriter::new(file.machine, time).record(0, &irq(order, 1, "a")).page();
    file.cpus = vec![(0..6).map(|number| page(number * 100)).collect()];
    let mut bytes = file.version_7(Packing::Zlib);
    let chunks = file.chunks(&file.cpus[0], Packing::Zlib);
    let begin = bytes.windows(chunks.len()).position(|window| window == chunks).expect("they are there");
    let first_bytes = u32::from_le_bytes(chunks[4..8].try_into().expect("four bytes")) as usize;
    // The number of chunks, the first with its two sizes, the two sizes of the second.
    let second = begin + 4 + 8 + first_bytes + 8;
    bytes[second + 4..second + 14].fill(0xff);
    let (events, read) = read_all(&bytes);
    let times: Vec<u64> = events.iter().map(|event| event.time.ns()).collect();
    assert_eq!(times, [0, 100, 400, 500]);
    assert_eq!(read.losses.count(Loss::CorruptCompression), 1);
}

#[test]
fn impossible_records_are_counted() {
    let machine = MACHINES[0];
    let mut unknown = switch(machine.order, (1, "a"), 0, (2, "b"));
    unknown[0] = 99;
    let short = &switch(machine.order, (1, "a"), 0, (2, "b"))[..20];
    let page = PageWriter::new(machine, 5).record(0, &unknown).record(0, short).page();
    let mut damaged = PageWriter::new(machine, 50).record(1, &irq(machine.order, 1, "a")).page();
    damaged[16] = 28;
    let file = TraceDat::new(machine, vec![vec![page, damaged]]);
    let (events, read) = read_all(&file.version_6());
    assert_eq!(events.len(), 0);
    assert_eq!(read.losses.count(Loss::MalformedRecord), 3);
}

#[test]
fn cpus_that_share_pages_are_read_once() {
    let file = small(MACHINES[0]);
    let mut bytes = file.version_6();
    let table = bytes.windows(10).position(|window| window == b"flyrecord\0").expect("it is there") + 10;
    bytes.copy_within(table..table + 16, table + 16);
    let (events, read) = read_all(&bytes);
    assert_eq!(events.len(), 5);
    assert_eq!(read.losses.count(Loss::MalformedRecord), 1);
}

#[test]
fn truncation_anywhere_gives_a_prefix_and_is_reported() {
    for machine in [MACHINES[0], MACHINES[3]] {
        for bytes in variants(&small(machine)) {
            let complete = transcript(written(&bytes).path(), bytes.len() as u64).expect("a trace");
            for cut in (0..bytes.len()).step_by(97) {
                let file = written(&bytes[..cut]);
                check_truncated(&complete, file.path(), cut as u64);
                if let Some(read) = transcript(file.path(), cut as u64) {
                    assert!(read.read.losses.count(Loss::TruncatedInput) > 0, "cut at {cut}");
                }
            }
        }
    }
}

#[test]
fn pages_before_the_cut_are_read() {
    let bytes = small(MACHINES[0]).version_6();
    let (events, read) = read_all(&bytes[..bytes.len() - PAGE_BYTES - 100]);
    assert_eq!(events.len(), 6);
    assert!(read.losses.count(Loss::TruncatedInput) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_break_the_contract(
        variant in 0_usize..4,
        machine in 0_usize..4,
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 1_usize..9), 1..12),
    ) {
        let mut bytes = variants(&small(MACHINES[machine])).swap_remove(variant);
        for (position, value, count) in spoilt {
            let position = position.index(bytes.len());
            let end = (position + count).min(bytes.len());
            bytes[position..end].fill(value);
        }
        check_hostile(written(&bytes).path(), bytes.len() as u64);
    }
}

#[test]
fn recorded_files_of_one_run_are_equal_in_every_version() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let read = |name: &str| transcript(&folder.join(name), 1 << 30).expect("a trace");
    let (six, plain, packed) =
        (read("trace.v6.dat.zst"), read("trace.v7.none.dat.zst"), read("trace.v7.zstd.dat"));
    assert_eq!(six.events.len(), 12_813);
    assert_eq!(six.events, plain.events);
    assert_eq!(six.events, packed.events);
    for one in [&six, &plain, &packed] {
        assert!(one.read.losses.is_empty(), "{:?}", one.read.losses);
        assert_eq!((one.read.facts.clock.as_str(), one.read.facts.cpus), ("mono", 2));
        assert!(one.read.facts.threads.iter().any(|thread| thread.name == "trace-cmd"));
    }
    assert_eq!(packed.read.facts.format, "trace.dat v7");
    assert_eq!(six.read.facts.format, "trace.dat v6");
}

#[test]
fn lost_events_are_counted_at_their_position() {
    let Some(folder) = data_folder("kernel/own-lost") else { return };
    // raw_syscalls have a kind; all other events of `sched`, `irq` and `timer` are requested by name.
    let options = OpenOptions { also: unnamed(), ..OpenOptions::default() };
    let trace = open_with(&folder.join("lost.dat"), &options).expect("a trace");
    let (mut events, mut pages, mut missed) = (0, 0, 0);
    let read = trace.read(|event, _| match event.kind {
        EventKind::Lost { count } => {
            pages += 1;
            missed += count.unwrap_or(0);
        }
        _ => events += 1,
    });
    assert_eq!((events, pages, missed), (513_589, 53, 158_266));
    assert_eq!(read.losses.count(Loss::LostEvents), 158_266);
    // trace-cmd report prints one of its 53 lines without a number.
    assert_eq!(read.losses.count(Loss::LostInterval), 1);
}

/// Recorded events without their own kind.
fn unnamed() -> Vec<String> {
    let names = [
        "sched_stat_runtime",
        "sched_migrate_task",
        "sched_process_wait",
        "sched_process_free",
        "sched_kthread_stop",
        "sched_kthread_work_queue_work",
        "sched_kthread_work_execute_start",
        "sched_kthread_work_execute_end",
        "sched_stat_wait",
        "sched_stat_sleep",
        "sched_stat_iowait",
        "sched_stat_blocked",
        "sched_wake_idle_without_ipi",
        "sched_prepare_exec",
        "sched_set_state_tp",
        "sched_set_need_resched_tp",
        "sched_move_numa",
        "sched_exit_tp",
        "sched_entry_tp",
        "sched_pi_setprio",
        "timer_init",
        "timer_start",
        "timer_expire_entry",
        "timer_expire_exit",
        "timer_cancel",
        "hrtimer_init",
        "hrtimer_setup",
        "hrtimer_start",
        "hrtimer_cancel",
        "tick_stop",
        "timer_base_idle",
        "tasklet_entry",
        "tasklet_exit",
        "itimer_state",
        "itimer_expire",
    ];
    names.map(str::to_owned).to_vec()
}
