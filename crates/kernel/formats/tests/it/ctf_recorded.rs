//! Real CTF traces. Numbers come from babeltrace2 2.0.4's text output, counted independently.

use crate::ctf::{RecordedRun, TraceSummary, read, summarize};
use crate::encode_ctf::{Header, Layout, Version, write};
use laggard_kernel_formats::open;
use laggard_model::{KernelEvent, Loss, Losses};
use laggard_testkit::data_folder;
use std::collections::BTreeMap;

fn trace(name: &str, also: &[&str]) -> Option<RecordedRun> {
    Some(read(&data_folder("kernel")?.join(name), also))
}

/// Counts of events by the first word of their description.
fn counts(run: &RecordedRun) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for event in &run.events {
        *counts.entry(event.what.split([' ', '{', '(']).next().expect("a word")).or_default() += 1;
    }
    counts
}

#[test]
fn many_threads() {
    let Some(run) = trace("ctf-many-threads/trace", &[]) else { return };
    let expected = [
        ("Exit", 8003),
        ("IrqExit", 153),
        ("SoftirqEntry", 6042),
        ("SoftirqExit", 6042),
        ("SoftirqRaise", 6042),
        ("dump", 581),
        ("enter", 78_085),
        ("exit", 78_086),
        ("fork", 8003),
        ("irq", 153),
        ("switch", 28_325),
        ("wakeup", 6743),
        ("waking", 6743),
    ];
    assert_eq!(counts(&run), BTreeMap::from(expected));
    assert!(run.losses.is_empty(), "{:?}", run.losses);
    let first = &run.events[0];
    assert_eq!((first.time_ns, first.cpu), (2_357_617_049_815, 2));
    assert_eq!(first.what, "waking 4297 \"lttng-consumerd\" Some(Cpu(5))");
    assert_eq!(run.facts.calendar.unwrap().offset_ns(), 1_457_111_225_177_515_989);
    assert_eq!((run.facts.host.as_deref(), run.facts.cpus), (Some("wilbrod"), 8));
}

#[test]
fn wide_headers_on_arm() {
    let Some(run) = trace("ctf-bug446190/trace", &[]) else { return };
    let expected = [
        ("Exit", 2),
        ("HrtimerEntry", 287),
        ("HrtimerExit", 287),
        ("IrqExit", 1357),
        ("PacketReceived", 326),
        ("PacketSent", 16),
        ("SoftirqEntry", 893),
        ("SoftirqExit", 893),
        ("SoftirqRaise", 893),
        ("dump", 204),
        ("enter", 1817),
        ("exec", 2),
        ("exit", 1811),
        ("fork", 2),
        ("irq", 1357 + 105),
        ("new", 2),
        ("switch", 1052),
        ("wakeup", 566),
    ];
    assert_eq!(counts(&run), BTreeMap::from(expected));
    assert!(run.losses.is_empty(), "{:?}", run.losses);
    let others = trace("ctf-bug446190/trace", &["kmem_kmalloc", "kmem_kfree"]).unwrap();
    let first = &others.events[0];
    assert_eq!((first.time_ns, first.cpu), (7_633_688_544_089, 1));
    let address = "call_site=3204987500 ptr=3454753792 bytes_req=712 bytes_alloc=1024 gfp_flags=208";
    assert_eq!(first.what, format!("other \"kmem_kmalloc\" {address:?}"));
}

#[test]
fn big_endian() {
    let Some(run) = trace("ctf-flipping-endianness/trace", &[]) else { return };
    let expected = [("IrqExit", 5841), ("dump", 68), ("fork", 8), ("irq", 5841 + 12), ("switch", 2540)];
    assert_eq!(counts(&run), BTreeMap::from(expected));
    assert_eq!(run.events.len(), 14_310);
    assert_eq!(run.events[0].what, "irq 23 \"timer\"");
    assert_eq!(run.events[0].time_ns, 195_250_164_156);
    assert!(run.losses.is_empty(), "{:?}", run.losses);
}

#[test]
fn perf_converter() {
    let Some(run) = trace("own-formats/perf-ctf", &[]) else { return };
    assert_eq!(run.events.len(), 8485);
    let counts = counts(&run);
    assert_eq!((counts["switch"], counts["waking"], counts["wakeup"], counts["new"]), (2782, 1438, 1413, 4));
    let first = &run.events[0];
    assert_eq!((first.time_ns, first.cpu, first.recorded), (8_577_527_026_214, 0, Some(2739)));
    assert_eq!(first.what, "waking 18 \"migration/0\" Some(Cpu(0))");
    assert_eq!((run.facts.calendar, run.facts.kernel.as_deref()), (None, Some("6.18.44-fc-v657")));
}

/// babeltrace2 2.0.4 stops in this trace; the tracer wrote a million events.
#[test]
fn discarded_events_and_those_read_are_a_million() {
    let Some(run) = trace("ctf-small/hello-lost", &["tptest"]) else { return };
    assert_eq!(counts(&run)["other"], 32_300);
    assert_eq!(run.losses.count(Loss::LostEvents), 967_700);
    // The events count themselves: events are missing exactly where a loss is reported.
    let number =
        |what: &str| -> Option<u64> { what.split_once("intfield=")?.1.split(' ').next()?.parse().ok() };
    let mut next = 0;
    for event in &run.events {
        match number(&event.what) {
            Some(number) => {
                assert_eq!(number, next);
                next += 1;
            }
            None => {
                let count: u64 = event.what.split(['(', ')']).nth(1).unwrap().parse().unwrap();
                next += count;
            }
        }
    }
    assert_eq!(next, 1_000_000);
}

#[test]
fn small_traces_are_read_in_full() {
    let cases: [(&str, &[&str], usize, &str); 11] = [
        ("ctf-sequence-empty", &["my_sequence_tp"], 10, "other \"my_sequence_tp\" \"_seq_length=0 seq={}\""),
        (
            "CTF2-7.0-barectf-event-before-packet",
            &["simple_uint32"],
            2,
            "other \"simple_uint32\" \"value=0\"",
        ),
        ("CTF2-7.0-ev-disc-no-ts-begin-end", &["ev"], 4, "other \"ev\" \"s=hello\""),
        ("CTF2-7.0-lttng-crash", &["current_temp"], 400, ""),
        ("CTF2-7.0-lttng-event-after-packet", &["current_temp"], 3, ""),
        ("CTF2-7.0-meta-variant-no-underscore", &["yo"], 1, "other \"yo\" \"tag=1 var=Daniel Lavoie\""),
        ("CTF2-7.0-smalltrace", &["string"], 2, "other \"string\" \"str=This is a test trace\""),
        ("CTF2-7.0-succeed1", &["string"], 7809, ""),
        ("CTF2-7.0-trace-with-index", &["message"], 4000, "other \"message\" \"message=Hello World\""),
        ("CTF2-7.0-debug-info", &["my_first_tracepoint"], 2, ""),
        ("CTF2-vl-ints", &["test"], 1, ""),
    ];
    for (name, also, count, first) in cases {
        let Some(run) = trace(&format!("ctf-small/{name}"), also) else { return };
        assert_eq!(run.events.len(), count, "{name}");
        assert!(
            run.events.is_empty() || first.is_empty() || run.events[0].what == first,
            "{name}: {:?}",
            run.events[0]
        );
    }
}

#[test]
fn variable_lengths_have_the_values_of_their_sample() {
    let Some(run) = trace("ctf-small/CTF2-vl-ints", &["test"]) else { return };
    for field in
        ["vu1b=77 ", "vu2=177 ", "vu10=0xffffffffffffffff ", "vi1b=-1 ", "vi2=-156 ", "vi6=-171717171717 "]
    {
        assert!(run.events[0].what.contains(field), "{field}");
    }
}

#[test]
fn traces_of_user_space_are_rejected_with_advice() {
    let Some(folder) = data_folder("kernel/ctf-small") else { return };
    let refused = open(&folder.join("debuginfo-test-app4")).err().expect("no kernel events").to_string();
    assert!(refused.contains("LTTng-UST") && refused.contains("lttng enable-event --kernel"), "{refused}");
    let refused = open(&folder).err().expect("many traces").to_string();
    assert!(refused.contains("none of the kernel"), "{refused}");
}

#[test]
fn truncated_traces_are_read_up_to_the_cut() {
    let Some(folder) = data_folder("kernel/ctf-bug446190/trace") else { return };
    let bytes = std::fs::read(folder.join("channel0_2")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder.join("metadata"), copy.path().join("metadata")).unwrap();
    let mut before = 0;
    for length in (1..bytes.len()).step_by(4099) {
        std::fs::write(copy.path().join("channel0_2"), &bytes[..length]).unwrap();
        let run = read(copy.path(), &[]);
        let events = run.events.iter().filter(|event| !event.what.starts_with("Lost")).count();
        assert!(events >= before, "{length}");
        assert_ne!(run.losses, Losses::none());
        before = events;
    }
    assert!(before > 0);
}

/// A recording of trace-cmd, written as either CTF and read again.
#[test]
fn a_run_is_the_same_as_ctf() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let mut events: Vec<KernelEvent> = Vec::new();
    let trace = open(&folder.join("trace.v7.zstd.dat")).unwrap().read(|event, _| events.push(*event));
    let expected: Vec<TraceSummary> = events.iter().map(|event| summarize(event, &trace.texts)).collect();
    assert!(expected.len() > 5_000);
    for (version, header) in [(Version::One, Header::Compact), (Version::Two, Header::Large)] {
        let copy = tempfile::tempdir().unwrap();
        write(copy.path(), &events, &trace.texts, Layout { header, ..Layout::new(version) }).unwrap();
        let run = read(copy.path(), &[]);
        assert!(run.losses.is_empty(), "{:?}", run.losses);
        assert!(run.events == expected, "{version:?}");
    }
}
