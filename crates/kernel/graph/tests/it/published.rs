//! Two recorded traces with the published reference's graphs and paths.

use crate::chains::{ALWAYS, assert_tiles, expected_links, path_as_expected};
use crate::recorded::{Recorded, thread_named_by};
use flate2::read::GzDecoder;
use laggard_kernel_graph::{ExecutionGraph, GraphSettings, WorkerId, WorkerKind, WorkerState};
use laggard_model::Tid;
use laggard_testkit::data_folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

fn expected_of(folder: &Path) -> Value {
    let file = File::open(folder.join("expected.json.gz")).expect("the reference can be read");
    serde_json::from_reader(GzDecoder::new(file)).expect("the reference is JSON")
}

fn number(graph: &ExecutionGraph, id: WorkerId) -> String {
    match graph.worker(id).kind {
        WorkerKind::Thread { tid, .. } => tid.0.to_string(),
        WorkerKind::Idle(_) => "0".to_owned(),
        WorkerKind::Interrupts(_) => "-1".to_owned(),
    }
}

fn assert_counts(graph: &ExecutionGraph, expected: &Value) {
    let counts = graph.counts();
    assert_eq!(Some(counts.workers), expected["workers"].as_u64());
    assert_eq!(Some(counts.horizontal.iter().sum()), expected["horizontal_edges"].as_u64());
    assert_eq!(Some(counts.vertical), expected["vertical_edges"].as_u64());
    for state in WorkerState::ALL {
        let expected = &expected["edges_by_type"][state.name().to_uppercase()];
        assert_eq!(counts.horizontal[state as usize], expected.as_u64().unwrap_or(0), "{}", state.name());
    }
}

fn assert_path(graph: &ExecutionGraph, tid: &str, expected: &Value) {
    let worker = thread_named_by(graph, Tid(tid.parse().expect("a number")));
    let path = graph.critical_path(worker, ALWAYS);
    assert_tiles(&path);
    let touched: BTreeSet<WorkerId> = path
        .segments
        .iter()
        .map(|segment| segment.worker)
        .chain(path.links.iter().flat_map(|link| [link.from, link.to]))
        .chain([worker])
        .collect();
    assert_eq!(Some(touched.len() as u64), expected["workers"].as_u64(), "{tid}");
    let (segments, jumps) = path_as_expected(&path, |id| number(graph, id));
    let rows = expected["horizontal"].as_array().expect("the pieces");
    let time = |value: &Value| value.as_u64().expect("a time");
    let rows = rows.iter().map(|row| {
        let state = row[3].as_str().expect("a state").replace("DEFAULT", "UNKNOWN");
        (row[2].to_string(), state, time(&row[0]), time(&row[1]))
    });
    assert_eq!(segments, rows.collect(), "{tid}");
    let links = expected["vertical"].as_array().expect("the jumps").iter();
    let links = links.map(|row| serde_json::json!([row[2], row[0], row[3], row[1], row[4]]));
    assert_eq!(jumps, expected_links(&links.collect(), Value::to_string), "{tid}");
}

fn compare(name: &str) -> Option<Recorded> {
    let folder = data_folder(&format!("kernel/{name}"))?;
    let recorded = Recorded::read(&folder.join("trace"), GraphSettings::compat());
    let expected = expected_of(&folder);
    assert_counts(&recorded.graph, &expected["graph"]);
    for (tid, path) in expected["paths"].as_object().expect("paths by thread") {
        assert_path(&recorded.graph, tid, path);
    }
    Some(recorded)
}

#[test]
fn a_trace_of_eight_thousand_threads_equals_the_reference() {
    let Some(recorded) = compare("ctf-many-threads") else { return };
    assert_eq!(recorded.graph.counts().workers, 8060);
}

#[test]
fn the_window_server_waits_for_the_worker_at_the_published_instant() {
    let Some(recorded) = compare("ctf-bug446190") else { return };
    let graph = &recorded.graph;
    let path = graph.critical_path(thread_named_by(graph, Tid(338)), ALWAYS);
    let calendar = recorded.calendar.expect("the trace has a calendar clock");
    let jumps = path.links.iter().filter(|link| number(graph, link.to) == "6");
    let instants: Vec<i64> = jumps.map(|link| calendar.to_unix(link.from_time).unix_ns()).collect();
    assert!(instants.contains(&1_412_670_963_793_673_139), "{instants:?}");
}
