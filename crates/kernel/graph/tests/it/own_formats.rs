//! A recorded program of five executions that logged their times and kinds itself.

use laggard_kernel_formats::open;
use laggard_kernel_graph::{
    Alphabet, AlphabetSettings, CriticalPath, DelimitedExecutions, Delimiter, Encoding, Execution,
    ExecutionFinder, ExecutionGraph, GraphBuilder, GraphSettings, HostId, PathSegment, TraceStatistics,
    TraceSummary, WorkerNames, WorkerState, state_steps,
};
use laggard_model::{Loss, Losses};
use laggard_testkit::data_folder;
use std::path::Path;

/// Markers are written within this time of the program's own clock readings (measured: 44 µs at most).
const MARKER_NS_MAX: u64 = 200_000;

struct RecordedTruth {
    kind: String,
    tid: u32,
    begin_ns: u64,
    end_ns: u64,
}

fn truth(path: &Path) -> Vec<RecordedTruth> {
    let text = std::fs::read_to_string(path).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |row: &serde_json::Value, name: &str| row[name].as_u64().unwrap();
    let rows = value["executions"].as_array().unwrap().iter();
    rows.map(|row| RecordedTruth {
        kind: row["type"].as_str().unwrap().to_owned(),
        tid: number(row, "tid") as u32,
        begin_ns: number(row, "begin_mono_ns"),
        end_ns: number(row, "end_mono_ns"),
    })
    .collect()
}

struct FollowedTrace {
    delimited: DelimitedExecutions,
    graph: ExecutionGraph,
    summary: TraceSummary,
    losses: Losses,
}

fn follow(path: &Path, delimiter: &str) -> FollowedTrace {
    let mut finder = ExecutionFinder::new(Delimiter::parse(delimiter).unwrap());
    let mut builder = GraphBuilder::new(GraphSettings::default(), HostId(0));
    let mut statistics = TraceStatistics::default();
    let read = open(path).unwrap().read(|event, texts| {
        finder.push(event, texts);
        builder.push(event, texts);
        statistics.push(event, texts);
    });
    let mut losses = Losses::none();
    FollowedTrace {
        delimited: finder.finish(&mut losses),
        graph: builder.finish(&mut losses),
        summary: statistics.finish(&read.texts, 10),
        losses,
    }
}

impl FollowedTrace {
    fn path(&self, execution: &Execution) -> CriticalPath {
        let worker =
            self.graph.worker_of(execution.host, execution.end_tid, execution.window.to).expect("it ran");
        self.graph.critical_path(worker, execution.window)
    }
}

const WITH_MARKERS: &[(&str, &str)] = &[
    ("trace.v7.zstd.dat", "truth.json"),
    ("trace.v6.dat.zst", "truth.json"),
    ("report-t.txt.zst", "truth.json"),
    ("ftrace-trace.txt.zst", "ftrace-text.truth.json"),
];

#[test]
fn markers_delimit_five_executions_whose_paths_tile() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    for (file, truth_file) in WITH_MARKERS {
        let followed = follow(&folder.join(file), "auto");
        let truth = truth(&folder.join(truth_file));
        let executions = &followed.delimited.executions;
        assert_eq!(executions.len(), truth.len(), "{file}");
        assert_eq!(followed.losses.count(Loss::UnfinishedExecution), 0, "{file}");
        assert_eq!(followed.delimited.delimiter.to_string(), "marker", "{file}");
        for (index, (execution, truth)) in executions.iter().zip(&truth).enumerate() {
            assert!(execution.label.contains(&format!("type={}", truth.kind)), "{file}: {}", execution.label);
            assert_eq!(execution.key.as_deref(), Some(index.to_string().as_str()), "{file}");
            assert_eq!((execution.tid.0, execution.end_tid.0, execution.depth), (truth.tid, truth.tid, 0));
            assert!(execution.window.from.ns().abs_diff(truth.begin_ns) < MARKER_NS_MAX, "{file}");
            assert!(execution.window.to.ns().abs_diff(truth.end_ns) < MARKER_NS_MAX, "{file}");
            check_path(&followed, execution, file);
        }
    }
}

/// Segments tile the window, and so do steps in either encoding.
fn check_path(followed: &FollowedTrace, execution: &Execution, file: &str) {
    let path = followed.path(execution);
    assert_eq!(path.window, execution.window, "{file}: {}", execution.label);
    let names = WorkerNames::from_graph(&followed.graph);
    for encoding in [Encoding::State, Encoding::StateAndWorker] {
        let alphabet = Alphabet::new(AlphabetSettings { encoding, ..AlphabetSettings::default() });
        let steps = state_steps(&path, &alphabet, names);
        assert_eq!(steps.iter().map(|step| step.ns).sum::<u64>(), execution.window.ns(), "{file}");
        assert_eq!(steps.first().map(|step| step.first_segment), Some(0));
        assert_eq!(steps.last().map(|step| step.last_segment), Some(path.segments.len() - 1));
        for pair in steps.windows(2) {
            assert_eq!(pair[0].last_segment + 1, pair[1].first_segment, "{file}");
            assert!((pair[0].state, pair[0].worker) != (pair[1].state, pair[1].worker), "{file}");
        }
    }
}

/// What each kind of execution mostly waits for by construction: `poll` sleeps, `query` calls a server over loopback,
/// `compute` has two threads compute, `read` and `write` use the disk.
#[test]
fn waits_have_the_known_kinds() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let followed = follow(&folder.join("trace.v7.zstd.dat"), "marker");
    for execution in &followed.delimited.executions {
        let path = followed.path(execution);
        let own = |state: WorkerState| {
            path.segments.iter().filter(|one| one.worker == path.worker && one.state == state).count()
        };
        let is_worked_for =
            |segment: &PathSegment| segment.worker != path.worker && segment.state == WorkerState::Running;
        let kind = execution.label.split("type=").nth(1).and_then(|rest| rest.split(' ').next());
        match kind {
            Some("poll") => assert_eq!(own(WorkerState::Timer), 10),
            Some("read" | "write") => assert!(own(WorkerState::BlockDevice) > 0),
            Some("query") => assert!(own(WorkerState::Network) > 0),
            Some("compute") => {
                let other = path.segments.iter().find(|segment| is_worked_for(segment)).unwrap();
                assert_eq!(followed.graph.name(other.worker), "python3");
            }
            kind => panic!("{kind:?}"),
        }
    }
}

/// The text of the same recording, counted line by line.
#[test]
fn statistics_count_the_events_of_the_text() {
    let Some(folder) = data_folder("kernel/own-formats") else { return };
    let summary = follow(&folder.join("trace.v7.zstd.dat"), "marker").summary;
    let packed = std::fs::read(folder.join("report-t.txt.zst")).unwrap();
    let text = zstd::decode_all(&packed[..]).unwrap();
    let text = String::from_utf8_lossy(&text);
    for (kind, name) in [
        ("sched_switch", "sched_switch"),
        ("sched_waking", "sched_waking"),
        ("sched_wakeup", "sched_wakeup"),
        ("sched_wakeup_new", "sched_wakeup_new"),
        ("softirq_entry", "softirq_entry"),
        ("irq_handler_entry", "irq_handler_entry"),
        ("hrtimer_expire_exit", "hrtimer_expire_exit"),
        ("marker", "print"),
        ("sched_process_exit", "sched_process_exit"),
    ] {
        let anchor = format!(": {name}: ");
        assert_eq!(
            summary.count(kind),
            text.lines().filter(|line| line.contains(&anchor)).count() as u64,
            "{kind}"
        );
    }
    let window = summary.window.unwrap();
    for cpu in &summary.cpus {
        assert_eq!(cpu.busy_ns + cpu.idle_ns + cpu.unknown_ns, window.ns(), "CPU {}", cpu.cpu.0);
    }
    let python = summary.most_running.iter().find(|thread| thread.tid.0 == 2740).unwrap();
    assert_eq!(python.name, "python3");
    assert_eq!(summary.proposals[0].executions, 5);
}

/// Published traces: at most as many events as published, delimiters that find executions, and every
/// nanosecond of every CPU accounted for.
#[test]
fn all_events_of_published_traces_are_counted() {
    let Some(folder) = data_folder("kernel") else { return };
    for (trace, events) in [("ctf-many-threads", 240_644), ("ctf-bug446190/trace", 31_556)] {
        let mut statistics = TraceStatistics::default();
        let read = open(&folder.join(trace)).unwrap().read(|event, texts| statistics.push(event, texts));
        let summary = statistics.finish(&read.texts, 10);
        let window = summary.window.unwrap();
        for cpu in &summary.cpus {
            assert_eq!(cpu.busy_ns + cpu.idle_ns + cpu.unknown_ns, window.ns(), "{trace}");
        }
        // Readers omit kinds that were not requested.
        assert!((1..=events).contains(&summary.events), "{trace}: {}", summary.events);
        assert!(read.losses.is_empty(), "{trace}: {:?}", read.losses);
    }
}

/// A recording that lost 158,266 events: losses are counted, and no wait or execution crosses them.
#[test]
fn lost_events_are_counted_and_known() {
    let Some(folder) = data_folder("kernel/own-lost") else { return };
    let file = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = file.into_iter().find(|path| path.to_string_lossy().contains(".dat")).unwrap();
    let followed = follow(&file, "thread:*");
    let lost: u64 = followed.summary.cpus.iter().map(|cpu| cpu.lost_events).sum();
    assert_eq!(lost, 158_266);
    let losses: u64 = followed.summary.cpus.iter().map(|cpu| cpu.losses).sum();
    assert_eq!(losses, 53);
    for cpu in followed.summary.cpus.iter().filter(|cpu| cpu.losses > 0) {
        assert!(cpu.unknown_ns > 0 && cpu.utilization().is_some(), "{cpu:?}");
    }
    for execution in &followed.delimited.executions {
        let path = followed.path(execution);
        assert_eq!(path.segments.iter().map(|segment| segment.window.ns()).sum::<u64>(), path.window.ns());
    }
}
