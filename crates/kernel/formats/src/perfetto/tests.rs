use super::*;
use laggard_model::{EventKind, KernelEvent, PrevState, Tid};
use std::io::Write;

/// A field with bytes, as a message, a text or a packed array.
fn bytes(number: u32, contents: &[u8]) -> Vec<u8> {
    let mut out = varint(u64::from(number) << 3 | 2);
    out.extend(varint(contents.len() as u64));
    out.extend(contents);
    out
}

fn integer(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn packed(number: u32, values: &[u64]) -> Vec<u8> {
    bytes(number, &values.iter().flat_map(|&value| varint(value)).collect::<Vec<_>>())
}

fn packet(contents: &[u8]) -> Vec<u8> {
    bytes(1, contents)
}

fn read(trace: &[u8]) -> (Vec<KernelEvent>, crate::trace::ReadTrace) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(trace).expect("room for it");
    let mut events = Vec::new();
    let read =
        open(file.path(), &OpenOptions::default()).expect("a trace").read(|event, _| events.push(*event));
    (events, read)
}

/// Two switches and a waking in columns: thread 7 runs from 100, 9 from 150; 9 is woken at 120.
fn compact() -> Vec<u8> {
    let columns = [
        packed(1, &[100, 50]),
        packed(2, &[1, 0x100]),
        packed(3, &[7, 9]),
        bytes(5, b"seven"),
        bytes(5, b"nine"),
        packed(6, &[0, 1]),
        packed(7, &[120]),
        packed(8, &[9]),
        packed(9, &[1]),
        packed(11, &[1]),
        packed(12, &[8]),
    ]
    .concat();
    bytes(1, &[integer(1, 1), bytes(4, &columns)].concat())
}

#[test]
fn compact_columns_are_events_in_time_order() {
    let (events, read) = read(&packet(&compact()));
    assert_eq!(events.iter().map(|event| event.time.ns()).collect::<Vec<_>>(), [120, 150]);
    let EventKind::Switch { prev, prev_state, next, next_name, .. } = events[1].kind else { panic!() };
    assert_eq!((prev, prev_state, next), (Tid(7), PrevState(0x100), Tid(9)));
    assert_eq!(read.texts.text(next_name), "nine");
    assert!(events[0].flags.is_some_and(|flags| flags.hard_irq()));
    assert!(read.losses.is_empty());
}

#[test]
fn full_events_of_two_cpus_are_merged() {
    let waking = [bytes(1, b"a"), integer(2, 5), integer(5, 0)].concat();
    let event = |time, kind: Vec<u8>| bytes(2, &[integer(1, time), integer(2, 3), kind].concat());
    let compact_bundle = bytes(
        1,
        &[integer(1, 0), event(30, bytes(20, &waking)), event(50, bytes(24, &integer(1, 3)))].concat(),
    );
    let two = bytes(1, &[integer(1, 1), event(40, bytes(3, &bytes(2, b"B|3|x\n")))].concat());
    let (events, read) = read(&[packet(&compact_bundle), packet(&two)].concat());
    assert_eq!(events.iter().map(|event| event.cpu.0).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(events[0].recorded, Some(Tid(3)));
    let EventKind::Marker { text } = events[1].kind else { panic!() };
    assert_eq!(read.texts.text(text), "B|3|x");
    assert_eq!(events[2].kind, EventKind::SoftirqEntry { vector: 3 });
}

#[test]
fn compressed_packets_are_unpacked() {
    let inside = [packet(&compact()), packet(&compact())].concat();
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    deflate.write_all(&inside).expect("memory");
    let deflated = packet(&bytes(50, &deflate.finish().expect("memory")));
    let zstd = packet(&bytes(133, &zstd::encode_all(&inside[..], 1).expect("memory")));
    for trace in [deflated, zstd] {
        assert_eq!(read(&trace).0.len(), 5);
    }
    let (_, damaged) = read(&packet(&bytes(50, b"no deflate stream")));
    assert_eq!(damaged.losses.count(Loss::CorruptCompression), 1);
}

#[test]
fn after_a_loss_the_running_thread_is_unknown() {
    let lost = bytes(
        1,
        &[
            integer(1, 1),
            integer(3, 1),
            bytes(4, &[packed(1, &[9]), packed(2, &[0]), packed(3, &[4])].concat()),
        ]
        .concat(),
    );
    let (events, read) = read(&[packet(&compact()), packet(&lost)].concat());
    assert_eq!(events.len(), 3);
    assert!(events.iter().any(|event| event.kind == EventKind::Lost { count: None }));
    assert_eq!(read.losses.count(Loss::LostInterval), 1);
}

#[test]
fn the_clock_and_the_kernel_are_read() {
    let clock = |id, ns| bytes(1, &[integer(1, id), integer(2, ns)].concat());
    let clocks = packet(&bytes(6, &[clock(6, 1_000), clock(1, 1_700_000_000_000_001_000)].concat()));
    let system = packet(&bytes(45, &bytes(1, &bytes(3, b"6.1.0-android"))));
    let (_, read) = read(&[clocks, system].concat());
    assert_eq!(read.facts.kernel.as_deref(), Some("6.1.0-android"));
    assert_eq!(read.facts.calendar.map(|map| map.offset_ns()), Some(1_700_000_000_000_000_000));
}

#[test]
fn every_truncation_yields_a_prefix_and_a_loss() {
    let two_packets = [packet(&compact()), packet(&compact())].concat();
    for cut in 1..two_packets.len() {
        let (events, read) = read(&two_packets[..cut]);
        assert!(events.len() < 5);
        let clean = cut == packet(&compact()).len();
        assert_eq!(read.losses.is_empty(), clean, "cut at {cut}");
    }
}

#[test]
fn other_bytes_are_not_recognized() {
    assert!(recognize(Path::new("x"), &packet(&compact())));
    assert!(recognize(Path::new("x"), &packet(&integer(8, 5))));
    assert!(!recognize(Path::new("x"), b"PERFILE2"));
    assert!(!recognize(Path::new("x"), b"\x17\x08\x44tracing"));
    assert!(!recognize(Path::new("x"), b""));
}
