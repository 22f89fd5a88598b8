//! CTF: written traces are read back in every layout, and damage is reported.

use crate::encode_ctf::{Header, Layout, Version, namespace_of, write};
use laggard_kernel_formats::{OpenOptions, TraceFacts, open, open_with};
use laggard_model::{
    Cpu, EventKind, ExpiredTimer, IpiVector, KernelEvent, KernelTexts, KernelTime, Loss, Losses, PrevState,
    Socket, StatedumpStatus, TextId, Tid,
};
use proptest::prelude::*;
use std::path::Path;

/// An event with strings instead of handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceSummary {
    pub(crate) time_ns: u64,
    pub(crate) cpu: u16,
    pub(crate) recorded: Option<u32>,
    pub(crate) what: String,
}

/// The result of reading a trace.
#[derive(Debug, Default)]
pub(crate) struct RecordedRun {
    pub(crate) events: Vec<TraceSummary>,
    pub(crate) losses: Losses,
    pub(crate) facts: TraceFacts,
}

pub(crate) fn summarize(event: &KernelEvent, texts: &KernelTexts) -> TraceSummary {
    let text = |id: TextId| texts.text(id);
    let what = match event.kind {
        EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
            format!("switch {} {:?} {prev_state:?} {} {:?}", prev.0, text(prev_name), next.0, text(next_name))
        }
        EventKind::Waking { tid, name, target } => format!("waking {} {:?} {target:?}", tid.0, text(name)),
        EventKind::Wakeup { tid, name, target } => format!("wakeup {} {:?} {target:?}", tid.0, text(name)),
        EventKind::WakeupNew { tid, name, target } => format!("new {} {:?} {target:?}", tid.0, text(name)),
        EventKind::TryToWakeUp { tid, name, target } => format!("ttwu {} {:?} {target:?}", tid.0, text(name)),
        EventKind::IrqEntry { irq, name } => format!("irq {irq} {:?}", text(name)),
        EventKind::Fork { parent, child, child_name } => {
            format!("fork {} {} {:?}", parent.0, child.0, text(child_name))
        }
        EventKind::Exec { tid, filename } => format!("exec {} {:?}", tid.0, text(filename)),
        EventKind::Rename { tid, name } => format!("rename {} {:?}", tid.0, text(name)),
        EventKind::Statedump { tid, pid, name, status } => {
            format!("dump {} {} {:?} {status:?}", tid.0, pid.0, text(name))
        }
        EventKind::InterruptName { irq, name, thread } => {
            format!("irq name {irq} {:?} {}", text(name), thread.0)
        }
        EventKind::Marker { text: marker } => format!("marker {:?}", text(marker)),
        EventKind::SyscallEntry { number, name } => format!("enter {number} {:?}", text(name)),
        EventKind::SyscallExit { number, name, returned } => {
            format!("exit {number} {:?} {returned}", text(name))
        }
        EventKind::Other { name, fields } => format!("other {:?} {:?}", text(name), text(fields)),
        // CTF has no names of functions.
        EventKind::HrtimerEntry(_) => "HrtimerEntry".to_owned(),
        other => format!("{other:?}"),
    };
    TraceSummary {
        time_ns: event.time.ns(),
        cpu: event.cpu.0,
        recorded: event.recorded.map(|tid| tid.0),
        what,
    }
}

pub(crate) fn read(path: &Path, also: &[&str]) -> RecordedRun {
    let options =
        OpenOptions { also: also.iter().map(|name| name.to_string()).collect(), ..OpenOptions::default() };
    let mut events = Vec::new();
    let read =
        open_with(path, &options).expect("a trace").read(|event, texts| events.push(summarize(event, texts)));
    RecordedRun { events, losses: read.losses, facts: read.facts }
}

/// Strategy for events: their kind and three numbers for their fields.
type GeneratedTrace = (u8, u32, u32, i64);

fn kind(drawn: GeneratedTrace, texts: &mut KernelTexts) -> EventKind {
    let (which, a, b, c) = drawn;
    let (tid, other) = (Tid(a & 0x3f_ffff), Tid(b & 0x3f_ffff));
    let name = texts.intern(["swapper/0", "kworker/u16:0", "a b (c)", "", "naïve"][a as usize % 5]);
    let next_name = texts.intern(["firefox", "rcu_sched", "x"][b as usize % 3]);
    let target = Some(Cpu((b % 64) as u16));
    let vector = (a % 10) as u8;
    let socket = match b % 3 {
        0 => Socket::Buffer(0xffff_0000_0000_0000 | u64::from(a)),
        _ => Socket::Tcp { sequence: a, acknowledgment: b, flags: (c & 0x1ff) as u16, ports: a ^ b },
    };
    let ipi = [
        IpiVector::LocalTimer,
        IpiVector::Reschedule,
        IpiVector::CallFunction,
        IpiVector::IrqWork,
        IpiVector::Other,
    ];
    let ipi = ipi[a as usize % 5];
    let status = [
        StatedumpStatus::Unknown,
        StatedumpStatus::WaitFork,
        StatedumpStatus::Running,
        StatedumpStatus::Dead,
    ];
    let call = ["futex", "read", ""][b as usize % 3];
    let number = if call.is_empty() { a >> 1 } else { u32::MAX };
    let call = texts.intern(call);
    match which % 28 {
        0..=2 => EventKind::Switch {
            prev: tid,
            prev_name: name,
            prev_state: PrevState(b % 0x200),
            next: other,
            next_name,
        },
        3 => EventKind::Waking { tid, name, target },
        4 => EventKind::Wakeup { tid, name, target },
        5 => EventKind::WakeupNew { tid, name, target },
        6 => EventKind::TryToWakeUp { tid, name, target },
        7 => EventKind::IrqEntry { irq: a >> 1, name: next_name },
        8 => EventKind::IrqExit { irq: a >> 1 },
        9 => EventKind::SoftirqEntry { vector },
        10 => EventKind::SoftirqExit { vector },
        11 => EventKind::SoftirqRaise { vector },
        12 => EventKind::HrtimerEntry(ExpiredTimer::default()),
        13 => EventKind::HrtimerExit,
        14 => EventKind::IpiEntry(ipi),
        15 => EventKind::IpiExit(ipi),
        16 => EventKind::Fork { parent: tid, child: other, child_name: name },
        17 => EventKind::Exec { tid, filename: texts.intern("/usr/bin/env") },
        18 => EventKind::Exit { tid },
        19 => EventKind::Rename { tid, name },
        20 => EventKind::Statedump { tid, pid: other, name, status: status[b as usize % 4] },
        21 => EventKind::InterruptName { irq: a >> 1, name: next_name, thread: Tid::IDLE },
        22 => EventKind::Marker { text: texts.intern(&format!("begin {a}")) },
        23 => EventKind::SyscallEntry { number, name: call },
        24 => EventKind::SyscallExit { number, name: call, returned: c },
        25 => EventKind::PacketSent(socket),
        26 => EventKind::PacketReceived(socket),
        _ => [EventKind::ReceptionEntry, EventKind::ReceptionExit][a as usize % 2],
    }
}

/// Events in time order, at least 1 ns apart.
fn events(drawn: &[(GeneratedTrace, u8, u64)], recorded: bool, texts: &mut KernelTexts) -> Vec<KernelEvent> {
    let mut time = 7_000_000_000;
    drawn
        .iter()
        .map(|(drawn, cpu, apart)| {
            time += 1 + apart;
            KernelEvent {
                time: KernelTime::from_ns(time),
                cpu: Cpu(u16::from(cpu % 3)),
                flags: None,
                recorded: recorded.then_some(Tid(drawn.1 >> 1)),
                kind: kind(*drawn, texts),
            }
        })
        .collect()
}

fn layouts() -> impl Strategy<Value = Layout> {
    let choices = (any::<[bool; 6]>(), 1_u64..4, prop_oneof![Just(512_usize), Just(4096), Just(1 << 20)]);
    choices.prop_map(|(choices, cycles_per_ns, packet_bytes)| {
        let [two, large, big_endian, natural_alignment, packetized, old_names] = choices;
        Layout {
            version: if two { Version::Two } else { Version::One },
            header: if large { Header::Large } else { Header::Compact },
            big_endian,
            natural_alignment,
            packetized,
            variable_length: two && packetized,
            cycles_per_ns,
            packet_bytes,
            old_names,
            namespaces: false,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn written_traces_are_read_back_in_every_layout(
        drawn in prop::collection::vec((any::<GeneratedTrace>(), any::<u8>(), prop_oneof![0_u64..5_000, 0_u64..10_000_000_000]), 1..120),
        recorded: bool,
        layout in layouts(),
    ) {
        let mut texts = KernelTexts::default();
        let events = events(&drawn, recorded, &mut texts);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &events, &texts, layout).unwrap();
        let run = read(folder.path(), &[]);
        let expected: Vec<TraceSummary> = events.iter().map(|event| summarize(event, &texts)).collect();
        prop_assert_eq!(run.events, expected);
        let cpus: std::collections::BTreeSet<u16> = events.iter().map(|event| event.cpu.0).collect();
        let missing = u64::from(*cpus.last().unwrap()) + 1 - cpus.len() as u64;
        prop_assert_eq!(run.losses.count(Loss::MissingStream), missing);
        prop_assert_eq!(run.losses.iter().count() as u64, missing.min(1));
    }
}

#[test]
fn all_layouts_of_a_run_have_equal_events() {
    let mut wrong = Vec::new();
    for number in 0..128 {
        let bit = |index: u32| number >> index & 1 != 0;
        let layout = Layout {
            version: if bit(0) { Version::Two } else { Version::One },
            header: if bit(1) { Header::Large } else { Header::Compact },
            big_endian: bit(2),
            natural_alignment: bit(3),
            packetized: bit(4),
            variable_length: bit(0) && bit(4),
            cycles_per_ns: if bit(5) { 3 } else { 1 },
            packet_bytes: 2048,
            old_names: bit(6),
            namespaces: false,
        };
        let (folder, expected) = written(layout, |events, _| {
            events.iter_mut().skip(200).for_each(|event| event.time = event.time.plus_ns(9_000_000_000));
        });
        let run = read(folder.path(), &[]);
        if run.events != expected || !run.losses.is_empty() {
            let position = run.events.iter().zip(&expected).position(|(actual, expected)| actual != expected);
            wrong.push(format!(
                "{layout:?} from {position:?}: {:?}",
                position.map(|index| (&run.events[index], &expected[index]))
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A few hundred events of all kinds on two CPUs.
fn sample(texts: &mut KernelTexts) -> Vec<KernelEvent> {
    let drawn: Vec<(GeneratedTrace, u8, u64)> = (0_u32..400)
        .map(|index| {
            (
                (index as u8, index.wrapping_mul(2_654_435_761), index * 77, i64::from(index) - 200),
                (index % 2) as u8,
                1000,
            )
        })
        .collect();
    events(&drawn, true, texts)
}

pub(crate) fn written(
    layout: Layout,
    change: impl FnOnce(&mut Vec<KernelEvent>, &mut KernelTexts),
) -> (tempfile::TempDir, Vec<TraceSummary>) {
    let mut texts = KernelTexts::default();
    let mut events = sample(&mut texts);
    change(&mut events, &mut texts);
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), &events, &texts, layout).expect("room for it");
    let summarize = events.iter().map(|event| summarize(event, &texts)).collect();
    (folder, summarize)
}

#[test]
fn discarded_events_are_reported_where_they_were_lost() {
    for version in [Version::One, Version::Two] {
        let (folder, expected) = written(Layout::new(version), |events, _| {
            for offset in [100, 300] {
                let KernelEvent { time, cpu, .. } = events[offset];
                events[offset].kind = EventKind::Lost { count: Some(offset as u64) };
                events[offset] =
                    KernelEvent { time, cpu, flags: None, recorded: None, kind: events[offset].kind };
            }
        });
        let run = read(folder.path(), &[]);
        assert_eq!(run.events, expected);
        assert_eq!(run.losses.count(Loss::LostEvents), 400);
    }
}

#[test]
fn namespaces_of_threads_are_reported_with_the_first_record_of_each() {
    for version in [Version::One, Version::Two] {
        let layout = Layout { namespaces: true, ..Layout::new(version) };
        let mut texts = KernelTexts::default();
        let mut events = sample(&mut texts);
        for (index, event) in events.iter_mut().enumerate() {
            event.recorded = Some(Tid([7, 1007, 2007][index % 3]));
            if matches!(event.kind, EventKind::Lost { .. }) {
                event.kind = EventKind::HrtimerExit;
            }
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), &events, &texts, layout).expect("room for it");
        let mut namespaces = Vec::new();
        let mut others = 0;
        let trace = open_with(folder.path(), &OpenOptions::default()).expect("a trace");
        trace.read(|event, _| match event.kind {
            EventKind::Namespace { tid, pid_ns, vtid } => {
                namespaces.push((event.cpu.0, tid.0, (pid_ns, vtid.unwrap().0)));
            }
            _ => others += 1,
        });
        namespaces.sort_unstable();
        let expected = [0, 1].map(|cpu| [7, 1007, 2007].map(|tid| (cpu, tid, namespace_of(tid)))).concat();
        assert_eq!((namespaces, others), (expected, events.len()));
    }
}

#[test]
fn trace_facts_match_the_metadata() {
    for (version, format) in [(Version::One, "CTF 1.8"), (Version::Two, "CTF 2")] {
        let layout = Layout { cycles_per_ns: 3, ..Layout::new(version) };
        let (folder, _) = written(layout, |_, _| {});
        let facts = read(folder.path(), &[]).facts;
        assert_eq!((facts.format.as_str(), facts.clock.as_str()), (format, "monotonic"));
        assert_eq!(facts.calendar.unwrap().offset_ns(), 1_457_111_225_000_000_000);
        assert_eq!((facts.host.as_deref(), facts.kernel.as_deref()), (Some("encoded"), Some("6.1.0")));
        assert_eq!(facts.cpus, 2);
    }
}

#[test]
fn other_events_are_read_only_on_request() {
    let (folder, expected) = written(Layout::new(Version::One), |events, texts| {
        let (fixed, walked) = (texts.intern("kmem_cache_free"), texts.intern("block_rq_issue"));
        let fields = texts.intern("a disk's command");
        for (index, event) in events.iter_mut().enumerate().filter(|(index, _)| index % 5 == 0) {
            let name = if index % 2 == 0 { fixed } else { walked };
            event.kind = EventKind::Other { name, fields };
        }
    });
    let run = read(folder.path(), &[]);
    assert_eq!(run.events.len(), expected.len() * 4 / 5);
    let run = read(folder.path(), &["kmem_cache_free", "block_rq_issue"]);
    assert_eq!(run.events.len(), expected.len());
    let others: Vec<&TraceSummary> =
        run.events.iter().filter(|event| event.what.starts_with("other")).collect();
    assert_eq!(others.len(), 80);
    assert_eq!(others[0].what, "other \"kmem_cache_free\" \"call_site=1 ptr=2\"");
    let fields = "dev=8 _cmd_length=16 cmd=a disk's command comm=";
    assert_eq!(others[1].what, format!("other \"block_rq_issue\" {fields:?}"));
}

#[test]
fn a_truncated_stream_yields_a_prefix_and_a_loss() {
    let (folder, expected) = written(Layout { packet_bytes: 1024, ..Layout::new(Version::One) }, |_, _| {});
    let path = folder.path().join("channel0_1");
    let complete = std::fs::read(&path).unwrap();
    let on_cpu_1 = |events: &[TraceSummary]| -> Vec<TraceSummary> {
        events.iter().filter(|event| event.cpu == 1).cloned().collect()
    };
    let expected = on_cpu_1(&expected);
    for length in (0..complete.len()).step_by(97) {
        std::fs::write(&path, &complete[..length]).unwrap();
        let run = read(folder.path(), &[]);
        let mut read_events = on_cpu_1(&run.events);
        let cut = read_events.pop_if(|event| event.what.starts_with("Lost")).is_some();
        assert!(expected.starts_with(&read_events), "{length}");
        let summarize = run.losses.count(Loss::TruncatedInput) + run.losses.count(Loss::MissingStream);
        // A cut between the last event of a packet and the end of its padding loses only what follows.
        assert!(summarize > 0 || !cut, "{length}: {:?}", run.losses);
        assert!(read_events.len() < expected.len() || summarize == 0, "{length}");
    }
}

#[test]
fn a_damaged_packet_loses_only_itself() {
    let (folder, expected) = written(Layout { packet_bytes: 1024, ..Layout::new(Version::One) }, |_, _| {});
    let path = folder.path().join("channel0_0");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2048..2052].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let run = read(folder.path(), &[]);
    assert_eq!(run.losses.count(Loss::MalformedRecord), 1);
    assert_eq!(run.losses.count(Loss::LostInterval), 1);
    let lost = expected.iter().filter(|event| !run.events.contains(event)).count();
    assert!((1..40).contains(&lost), "{lost}");
}

#[test]
fn opening_a_session_opens_its_kernel_trace() {
    let (folder, expected) = written(Layout::new(Version::One), |_, _| {});
    let session = tempfile::tempdir().unwrap();
    let kernel = session.path().join("auto-1/kernel");
    std::fs::create_dir_all(session.path().join("auto-1")).unwrap();
    std::fs::rename(folder.path(), &kernel).unwrap();
    std::fs::create_dir(kernel.join("index")).unwrap();
    std::fs::write(kernel.join("index/channel0_0.idx"), b"no packet").unwrap();
    assert_eq!(read(session.path(), &[]).events, expected);
    assert_eq!(read(&kernel.join("metadata"), &[]).events, expected);
    let ust = session.path().join("auto-1/ust/uid/0/64-bit");
    std::fs::create_dir_all(&ust).unwrap();
    let metadata = "/* CTF 1.8 */ trace { byte_order = le; }; env { domain = \"ust\"; }; stream { };
        event { name = \"app:request\"; fields := struct { string s; }; };";
    std::fs::write(ust.join("metadata"), metadata).unwrap();
    let run = read(session.path(), &[]);
    assert_eq!((run.events, run.losses.count(Loss::SkippedBuffer)), (expected, 1));
    let refused = open(&ust).err().expect("no kernel events").to_string();
    assert!(refused.contains("LTTng-UST") && refused.contains("sched_switch"), "{refused}");
    std::fs::create_dir(session.path().join("auto-2")).unwrap();
    for file in ["metadata", "channel0_0"] {
        std::fs::copy(kernel.join(file), session.path().join("auto-2").join(file)).unwrap();
    }
    let refused = open(session.path()).err().expect("ambiguous").to_string();
    assert!(refused.contains("auto-1/kernel") && refused.contains("auto-2"), "{refused}");
}

#[test]
fn an_empty_stream_is_a_missing_cpu() {
    let (folder, expected) = written(Layout::new(Version::Two), |_, _| {});
    std::fs::write(folder.path().join("channel0_3"), b"").unwrap();
    let run = read(folder.path(), &[]);
    assert_eq!(run.events, expected);
    assert_eq!((run.losses.count(Loss::MissingStream), run.facts.cpus), (2, 4));
}

#[test]
fn packets_may_go_back_in_time_and_files_of_one_stream_belong_together() {
    let (folder, expected) = written(Layout { packet_bytes: 1024, ..Layout::new(Version::One) }, |_, _| {});
    let path = folder.path().join("channel0_0");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(folder.path().join("channel0_1")).unwrap();
    std::fs::write(folder.path().join("channel0_0_1"), &bytes[..2048]).unwrap();
    std::fs::write(folder.path().join("channel0_0_0"), &bytes[2048..]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let expected: Vec<TraceSummary> = expected.into_iter().filter(|event| event.cpu == 0).collect();
    let run = read(folder.path(), &[]);
    assert_eq!(run.events, expected);
    assert!(run.losses.is_empty(), "{:?}", run.losses);
    std::fs::write(folder.path().join("channel0_0_0"), [&bytes[1024..2048], &bytes[..1024]].concat())
        .unwrap();
    std::fs::remove_file(folder.path().join("channel0_0_1")).unwrap();
    let run = read(folder.path(), &[]);
    assert!(run.losses.count(Loss::MalformedRecord) == 0 && run.events.len() > 20, "{:?}", run.losses);
}
