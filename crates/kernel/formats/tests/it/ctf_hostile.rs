//! Inconsistent, damaged, and malicious CTF.

use crate::ctf::{read, written};
use crate::encode_ctf::{Layout, Version};
use laggard_kernel_formats::open;
use laggard_model::Losses;
use proptest::prelude::*;

#[test]
fn false_sizes_cost_neither_memory_nor_time() {
    let (folder, _) = written(Layout::new(Version::One), |_, _| {});
    let path = folder.path().join("channel0_0");
    let complete = std::fs::read(&path).unwrap();
    // content_size and packet_size: bytes 48 and 56 of the packet.
    for (content, packet) in
        [(u64::MAX, u64::MAX), (1 << 50, 1 << 50), (0, 0), (9, 8), (8, 4), (1 << 50, 0), (0, 1 << 50)]
    {
        let mut bytes = complete.clone();
        bytes[48..56].copy_from_slice(&content.to_le_bytes());
        bytes[56..64].copy_from_slice(&packet.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let run = read(folder.path(), &[]);
        assert!(!run.losses.is_empty(), "{content} {packet}");
    }
}

fn small_trace(metadata: &[u8], stream: &[u8]) -> Result<Losses, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("metadata"), metadata).expect("room for it");
    std::fs::write(folder.path().join("channel0_0"), stream).expect("room for it");
    let trace = open(folder.path()).map_err(|error| error.to_string())?;
    Ok(trace.read(|_, _| {}).losses)
}

#[test]
fn hostile_metadata_is_only_an_error() {
    let begin = "/* CTF 1.8 */ trace { byte_order = le; };";
    let event = |fields: &str| format!("{begin} event {{ name = \"sched_switch\"; fields := {fields}; }};");
    let doubling: String =
        (1..60).map(|n| format!("struct s{n} {{ struct s{} a; struct s{} b; }};", n - 1, n - 1)).collect();
    let cases = [
        format!("{begin} {}", "struct {".repeat(100_000)),
        event(&"struct { variant <x> { ".repeat(100_000)),
        format!("{begin} {doubling}"),
        format!("{begin} struct s0 {{ string a; }}; {}", doubling.replace("struct s40 ", "struct s0 ")),
        event("struct { integer { size = 4000000000; align = 8; } a; }"),
        event("struct { integer { size = 8; align = 3; } a; }"),
        event("struct { integer { size = 8; align = 1073741824; } a; }"),
        event("struct { string a[nowhere]; }"),
        event("struct { variant <nowhere> { string a; } v; }"),
        event("unknown_t"),
        "/* CTF 1.8 */ trace { byte_order = middle; };".to_owned(),
        "/* CTF 1.8 */ clock { name = c; freq = 0; };".to_owned(),
        "\u{1e}{\"type\": \"preamble\", \"version\": 3}".to_owned(),
        format!("\u{1e}{}", "[".repeat(100_000)),
        "\u{1e}{\"type\": \"event-record-class\", \"data-stream-class-id\": 5}".to_owned(),
    ];
    for case in cases {
        assert!(small_trace(case.as_bytes(), &[1; 64]).is_err(), "{}", &case[..case.len().min(200)]);
    }
}

#[test]
fn huge_counts_and_empty_events_terminate() {
    let begin = "/* CTF 1.8 */ typealias integer { size = 64; align = 8; signed = 0; } := u64;
        trace { byte_order = le; packet.header := struct { }; }; stream { };";
    let event = |fields: &str| {
        format!("{begin} event {{ name = \"sched_switch\"; fields := struct {{ {fields} }}; }};")
    };
    let cases = [
        event(""),
        event("struct { } a[18446744073709551615];"),
        event("u64 n; struct { } a[n];"),
        event("u64 n; u64 a[n][n][n];"),
        event("u64 n; struct { struct { } b[n]; string c; } a[n];"),
        event(
            "integer { size = 1; align = 1; } n; integer { size = 7; align = 1; } m; struct { u64 b[m]; struct { string c; } d[n]; } a[m];",
        ),
    ];
    for case in cases {
        for byte in [0, 1, 0x7f, 0xff] {
            let losses = small_trace(case.as_bytes(), &[byte; 5000]).expect("metadata is sound");
            assert!(!losses.is_empty(), "{case} {byte}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn damage_anywhere_does_not_panic(
        version in prop_oneof![Just(Version::One), Just(Version::Two)],
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        metadata: bool,
    ) {
        let (folder, _) = written(Layout { packet_bytes: 512, packetized: false, ..Layout::new(version) }, |_, _| {});
        let path = folder.path().join(if metadata { "metadata" } else { "channel0_0" });
        let mut bytes = std::fs::read(&path).unwrap();
        for (position, byte) in damage {
            let position = position.index(bytes.len());
            bytes[position] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(trace) = open(folder.path()) {
            let mut last = 0;
            let mut events = 0;
            trace.read(|event, _| {
                assert!(event.time.ns() >= last);
                last = event.time.ns();
                events += 1;
            });
            prop_assert!(events < 1_000_000);
        }
    }
}
