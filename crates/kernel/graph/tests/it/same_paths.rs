//! One recording has the same critical paths in every format.

use crate::recorded::{Recorded, thread_named_by};
use laggard_kernel_graph::{GraphSettings, Window, WorkerKind, WorkerState};
use laggard_model::{KernelTime, Tid};
use laggard_testkit::data_folder;
use std::path::Path;

/// A segment of a path, with the properties that identify its worker in every format.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ComparedSegment {
    tid: Option<u32>,
    state: WorkerState,
    from_ns: u64,
    to_ns: u64,
}

/// The executions of the recorded program by its own clock, and its main thread.
struct Executions {
    tid: Tid,
    windows: Vec<Window>,
}

fn executions(folder: &Path) -> Executions {
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("the truth is there");
    let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let instant =
        |row: &serde_json::Value, name: &str| KernelTime::from_ns(row[name].as_u64().expect("an instant"));
    let rows = value["executions"].as_array().expect("executions").iter();
    let windows = rows
        .map(|row| Window { from: instant(row, "begin_mono_ns"), to: instant(row, "end_mono_ns") })
        .collect();
    Executions { tid: Tid(value["pid"].as_u64().expect("a number") as u32), windows }
}

fn paths(path: &Path, executions: &Executions) -> Vec<Vec<ComparedSegment>> {
    let recorded = Recorded::read(path, GraphSettings::default());
    let worker = thread_named_by(&recorded.graph, executions.tid);
    let segments = |&window: &Window| {
        let path = recorded.graph.critical_path(worker, window);
        path.segments.iter().map(|segment| compared(segment, &recorded)).collect()
    };
    executions.windows.iter().map(segments).collect()
}

fn compared(segment: &laggard_kernel_graph::PathSegment, recorded: &Recorded) -> ComparedSegment {
    let tid = match recorded.graph.workers()[segment.worker.0 as usize].kind {
        WorkerKind::Thread { tid, .. } => Some(tid.0),
        WorkerKind::Idle(_) | WorkerKind::Interrupts(_) => None,
    };
    ComparedSegment {
        tid,
        state: segment.state,
        from_ns: segment.window.from.ns(),
        to_ns: segment.window.to.ns(),
    }
}

#[test]
fn every_format_with_nanoseconds_gives_the_same_paths() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let executions = executions(&folder);
    let reference = paths(&folder.join("trace.v7.zstd.dat"), &executions);
    assert!(reference.iter().all(|path| path.len() > 1), "an execution is more than one state");
    for name in ["trace.v7.none.dat.zst", "trace.v6.dat.zst", "report-t.txt.zst", "report-R.txt.zst"] {
        assert_eq!(paths(&folder.join(name), &executions), reference, "{name}");
    }
}

/// Nanoseconds during which two paths over one window are on the same thread in the same state.
fn agreement_ns(some: &[ComparedSegment], others: &[ComparedSegment]) -> u64 {
    let overlap = |one: &ComparedSegment, other: &ComparedSegment| {
        let same = one.tid == other.tid && one.state == other.state;
        let ns = one.to_ns.min(other.to_ns).saturating_sub(one.from_ns.max(other.from_ns));
        if same { ns } else { 0 }
    };
    some.iter().map(|one| others.iter().map(|other| overlap(one, other)).sum::<u64>()).sum()
}

/// Their timestamps of one event differ by some microseconds, and so do the segments.
#[test]
fn two_tracers_of_one_run_see_the_same_path() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let executions = executions(&folder);
    let trace_cmd = paths(&folder.join("trace.v7.zstd.dat"), &executions);
    for name in ["perf-ctf", "perf-script.txt.zst"] {
        let perf = paths(&folder.join(name), &executions);
        for ((perf, trace_cmd), window) in perf.iter().zip(&trace_cmd).zip(&executions.windows) {
            let share = agreement_ns(perf, trace_cmd) as f64 / window.ns() as f64;
            assert!(share > 0.99, "{name}: they agree in {share} of {window:?}");
        }
    }
}
