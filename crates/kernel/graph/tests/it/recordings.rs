//! Recordings of Linux 6.18 on a machine whose CPU 1 does not record the switch out of its idle task.

use crate::chains::{ALWAYS, assert_tiles};
use crate::recorded::Recorded;
use laggard_kernel_graph::{
    CriticalPath, ExecutionGraph, GraphSettings, HostId, Window, WorkerId, WorkerState,
};
use laggard_model::{KernelTime, Loss, Tid};
use laggard_testkit::data_folder;
use serde_json::Value;
use std::collections::BTreeMap;

/// The critical paths of the recorded program's executions, by their type.
fn paths(graph: &ExecutionGraph, truth: &Value) -> BTreeMap<String, CriticalPath> {
    let executions = truth["executions"].as_array().expect("executions").iter();
    let rows = executions.map(|execution| {
        let number = |name: &str| execution[name].as_u64().expect("a number");
        let window = Window {
            from: KernelTime::from_ns(number("begin_mono_ns")),
            to: KernelTime::from_ns(number("end_mono_ns")),
        };
        let worker = graph.worker_of(HostId(0), Tid(number("tid") as u32), window.from);
        let path = graph.critical_path(worker.expect("the program's thread"), window);
        assert_tiles(&path);
        assert_eq!(path.window, window, "the thread is known all the time");
        (execution["type"].as_str().expect("a type").to_owned(), path)
    });
    rows.collect()
}

fn share(path: &CriticalPath, state: WorkerState) -> f64 {
    let segments = path.segments.iter().filter(|segment| segment.state == state);
    segments.map(|segment| segment.window.ns()).sum::<u64>() as f64 / path.window.ns() as f64
}

fn all_paths_tile(graph: &ExecutionGraph) {
    for id in (0..graph.workers().len() as u32).map(WorkerId) {
        assert_tiles(&graph.critical_path(id, ALWAYS));
    }
}

#[test]
fn executions_of_a_recording_have_the_expected_waits() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let truth = std::fs::read_to_string(folder.join("truth.json")).expect("the truth can be read");
    let truth: Value = serde_json::from_str(&truth).expect("the truth is JSON");
    let recorded = Recorded::read(&folder.join("trace.v7.none.dat.zst"), GraphSettings::default());
    let paths = paths(&recorded.graph, &truth);
    assert_eq!(paths.len(), 5);
    assert!(paths.values().all(|path| path.unresolved == 0));
    let all = |state: WorkerState| paths.iter().map(move |(kind, path)| (kind.as_str(), share(path, state)));
    let most =
        |state: WorkerState| all(state).max_by(|left, right| left.1.total_cmp(&right.1)).map(|share| share.0);
    assert_eq!(most(WorkerState::Timer), Some("poll"));
    assert_eq!(most(WorkerState::Network), Some("query"));
    assert_eq!(most(WorkerState::BlockDevice), Some("write"));
    assert!(all(WorkerState::Unknown).all(|(_, share)| share == 0.0));
    assert_eq!(recorded.losses.count(Loss::ImpliedSwitch), 63);
    assert_eq!(recorded.losses.count(Loss::UnknownWaker), 0);
    all_paths_tile(&recorded.graph);
}

#[test]
fn corrections_turn_waits_for_idle_kernel_threads_into_waits_for_the_disk() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let truth = std::fs::read_to_string(folder.join("truth.json")).expect("the truth can be read");
    let truth: Value = serde_json::from_str(&truth).expect("the truth is JSON");
    let write = |settings: GraphSettings| {
        let recorded = Recorded::read(&folder.join("trace.v7.none.dat.zst"), settings);
        let path = paths(&recorded.graph, &truth).remove("write").expect("one writes");
        (share(&path, WorkerState::BlockDevice), share(&path, WorkerState::Preempted))
    };
    let (published, ours) = (write(GraphSettings::compat()), write(GraphSettings::default()));
    assert!(ours.0 > 5.0 * published.0, "{ours:?} {published:?}");
    assert!(ours.1 < published.1 / 5.0, "{ours:?} {published:?}");
}

#[test]
fn a_recording_with_losses_has_valid_paths() {
    let Some(folder) = data_folder("kernel/own-lost") else { return };
    let recorded = Recorded::read(&folder.join("lost.dat"), GraphSettings::default());
    assert_eq!(recorded.losses.count(Loss::LostEvents), 158_266);
    all_paths_tile(&recorded.graph);
    let gaps = |id: WorkerId| {
        let path = recorded.graph.critical_path(id, ALWAYS);
        path.segments.iter().filter(|segment| segment.state == WorkerState::Unknown).count()
    };
    let gaps: usize = (0..recorded.graph.workers().len() as u32).map(|id| gaps(WorkerId(id))).sum();
    assert!(gaps >= 53, "an interval is unknown at every loss: {gaps}");
}

#[test]
fn paths_of_published_traces_also_tile_under_laggards_rules() {
    for (name, threads) in [("ctf-many-threads", 8_000), ("ctf-bug446190", 25)] {
        let Some(folder) = data_folder(&format!("kernel/{name}")) else { return };
        let recorded = Recorded::read(&folder.join("trace"), GraphSettings::default());
        assert!(recorded.graph.workers().len() > threads);
        all_paths_tile(&recorded.graph);
    }
}
