//! One recording of a small program has the same events in every format.

use crate::encode_perfetto::{Scheduling, perfetto};
use laggard_kernel_formats::open;
use laggard_model::{EventKind, KernelEvent, KernelTexts, Loss, Losses, PrevState};
use laggard_testkit::data_folder;
use std::io::Write;
use std::path::Path;

/// An event with strings instead of handles, which differ between readers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TraceSummary {
    time_ns: u64,
    cpu: u16,
    recorded: Option<u32>,
    what: String,
}

struct RecordedRun {
    events: Vec<TraceSummary>,
    losses: Losses,
    raw: Vec<KernelEvent>,
    texts: KernelTexts,
}

fn read(name: &str) -> Option<RecordedRun> {
    Some(read_path(&data_folder("kernel/own-formats")?.join(name)))
}

fn read_path(path: &Path) -> RecordedRun {
    let mut events = Vec::new();
    let read =
        open(path).expect("a trace").read(|event, texts| events.push((*event, summarize(event, texts))));
    let (raw, events) = events.into_iter().unzip();
    RecordedRun { events, raw, losses: read.losses, texts: read.texts }
}

/// Description of an event that does not depend on the reader. Details that some formats omit are omitted
/// of all: letters of a runnable state, the flags of the context.
pub(crate) fn summarize(event: &KernelEvent, texts: &KernelTexts) -> TraceSummary {
    let text = |id| texts.text(id);
    let what = match event.kind {
        EventKind::Switch { prev, prev_name, prev_state, next, next_name } => format!(
            "switch {} {} {:?} {} {}",
            prev.0,
            text(prev_name),
            state(prev_state),
            next.0,
            text(next_name)
        ),
        EventKind::Waking { tid, name, target } => format!("waking {} {} {target:?}", tid.0, text(name)),
        EventKind::Wakeup { tid, name, target } => format!("wakeup {} {} {target:?}", tid.0, text(name)),
        EventKind::WakeupNew { tid, name, target } => format!("new {} {} {target:?}", tid.0, text(name)),
        EventKind::IrqEntry { irq, name } => format!("irq {irq} {}", text(name)),
        EventKind::Fork { parent, child, child_name } => {
            format!("fork {} {} {}", parent.0, child.0, text(child_name))
        }
        EventKind::Exec { tid, filename } => format!("exec {} {}", tid.0, text(filename)),
        EventKind::Marker { text: marker } => format!("marker {}", text(marker)),
        // Not every form has the timer's address and the name of its function.
        EventKind::HrtimerEntry(_) => "HrtimerEntry".to_owned(),
        other => format!("{other:?}"),
    };
    let recorded = event.recorded.map(|tid| tid.0);
    TraceSummary { time_ns: event.time.ns(), cpu: event.cpu.0, recorded, what }
}

/// Tools disagree on the letters of the two states of a thread that ends (trace-cmd prints 0x10 as Z, the kernel as X).
fn state(state: PrevState) -> PrevState {
    if state.is_runnable() {
        PrevState::RUNNABLE
    } else if state.is_dead() {
        PrevState(0x10)
    } else {
        state
    }
}

/// Drops the decimals that a form in microseconds does not contain. Reports round, so a microsecond either way is equal.
fn assert_equal_to_the_microsecond(coarse: &RecordedRun, fine: &RecordedRun) {
    assert_eq!(coarse.events.len(), fine.events.len());
    for (coarse, fine) in coarse.events.iter().zip(&fine.events) {
        let difference = coarse.time_ns.abs_diff(fine.time_ns);
        assert!(difference <= 1_000, "{coarse:?} and {fine:?}");
        assert_eq!((coarse.cpu, coarse.recorded, &coarse.what), (fine.cpu, fine.recorded, &fine.what));
    }
}

#[test]
fn reports_of_one_file_are_equal() {
    let Some(fine) = read("report-t.txt.zst") else { return };
    assert!(fine.events.len() > 5_000);
    assert!(fine.losses.is_empty(), "{:?}", fine.losses);
    for name in ["report.txt.zst", "report-R.txt.zst", "report-l.txt.zst"] {
        let other = read(name).expect("the folder is there");
        let coarse = u64::from(name != "report-R.txt.zst");
        assert_eq!(other.losses.count(Loss::CoarseTime), coarse, "{name}");
        assert_equal_to_the_microsecond(&other, &fine);
    }
}

#[test]
fn a_trace_cmd_report_equals_its_trace() {
    let Some(trace) = read("trace.v7.zstd.dat") else { return };
    let report = read("report-t.txt.zst").expect("the folder is there");
    assert_same(&report.events, &trace.events);
}

#[test]
fn functions_of_timers_have_the_names_that_trace_cmd_prints() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let functions = |file: &str| {
        let mut names = Vec::new();
        open(&folder.join(file)).unwrap().read(|event, texts| {
            if let EventKind::HrtimerEntry(timer) = event.kind {
                names.push((timer.address, texts.text(timer.function).to_owned()));
            }
        });
        names
    };
    let (trace, report) = (functions("trace.v7.zstd.dat"), functions("report-t.txt.zst"));
    assert!(trace.iter().any(|(_, name)| name == "hrtimer_wakeup"), "{:?}", trace.first());
    assert_eq!(trace, report);
}

fn assert_same(some: &[TraceSummary], others: &[TraceSummary]) {
    for (one, other) in some.iter().zip(others) {
        assert_eq!(one, other);
    }
    assert_eq!(some.len(), others.len());
}

/// Writes the run as Perfetto would, and reads that.
fn through_perfetto(run: &RecordedRun, scheduling: Scheduling) -> RecordedRun {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&perfetto(&run.raw, &run.texts, scheduling)).expect("room for it");
    read_path(file.path())
}

#[test]
fn perfetto_events_equal_those_of_the_trace() {
    let Some(trace) = read("trace.v7.zstd.dat") else { return };
    let full = through_perfetto(&trace, Scheduling::Full);
    assert!(full.losses.is_empty(), "{:?}", full.losses);
    assert_same(&full.events, &trace.events);
}

#[test]
fn compact_perfetto_omits_only_the_thread_that_left_a_cpu_first() {
    let Some(trace) = read("trace.v7.zstd.dat") else { return };
    let compact = through_perfetto(&trace, Scheduling::Compact);
    assert!(compact.losses.is_empty(), "{:?}", compact.losses);
    let cpus = 2;
    assert_eq!(compact.events.len(), trace.events.len() - cpus);
    let switched_to = |run: &RecordedRun| -> Vec<(u64, u32)> {
        let next = |event: &KernelEvent| match event.kind {
            EventKind::Switch { next, .. } => Some((event.time.ns(), next.0)),
            _ => None,
        };
        run.raw.iter().filter_map(next).collect()
    };
    let (compact, trace) = (switched_to(&compact), switched_to(&trace));
    assert!(compact.iter().all(|switch| trace.contains(switch)));
}
