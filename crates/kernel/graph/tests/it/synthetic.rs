//! Twelve small graphs with the published reference's path of worker 0.

use crate::chains::{
    ALWAYS, assert_tiles, expected_links, expected_segments, kind_of, path_as_expected, state_of,
};
use laggard_kernel_graph::{ExecutionGraph, HostId, PartialGraph, VertexHandle, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTime, TextId, Tid};
use laggard_testkit::data_folder;
use serde_json::Value;
use std::collections::BTreeMap;

fn built(graph: &Value) -> ExecutionGraph {
    let mut partial = PartialGraph::default();
    let mut points: BTreeMap<(String, u64), VertexHandle> = BTreeMap::new();
    for (name, chain) in graph["chains"].as_object().expect("chains") {
        let tid = Tid(name.parse().expect("a number"));
        let kind = WorkerKind::Thread { tid, generation: 0 };
        let worker = partial.worker(HostId(0), kind, TextId::EMPTY);
        for vertex in chain.as_array().expect("a chain") {
            let time = vertex.as_u64().or(vertex[1].as_u64()).expect("a time");
            let edge = vertex[0].as_str().map(state_of);
            let point = partial.append(worker, KernelTime::from_ns(time), Cpu(0), edge);
            points.insert((name.clone(), time), point);
        }
    }
    for ((from, from_time, to, to_time), kind) in expected_links(&graph["links"], Value::to_string) {
        partial.link(points[&(from, from_time)], points[&(to, to_time)], kind_of(&kind));
    }
    partial.finish()
}

#[test]
fn paths_of_synthetic_graphs_equal_the_reference() {
    let Some(folder) = data_folder("kernel/tc-graph-fixtures") else { return };
    let text = std::fs::read_to_string(folder.join("synthetic.json")).expect("the fixtures can be read");
    let cases: Value = serde_json::from_str(&text).expect("the fixtures are JSON");
    let cases = cases.as_object().expect("cases by name");
    assert_eq!(cases.len(), 12);
    for (name, case) in cases {
        let graph = built(&case["graph"]);
        let number = |id: WorkerId| match graph.worker(id).kind {
            WorkerKind::Thread { tid, .. } => tid.0.to_string(),
            other => panic!("{other:?}"),
        };
        let path = graph.critical_path(WorkerId(0), ALWAYS);
        assert_tiles(&path);
        let expected = &case["critical_path_from_worker0"];
        let expected =
            (expected_segments(&expected["chains"]), expected_links(&expected["links"], Value::to_string));
        assert_eq!(path_as_expected(&path, number), expected, "{name}");
    }
}
