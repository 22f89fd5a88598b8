//! Graphs and paths in the form of the reference files: chains of edges, and links.

use laggard_kernel_graph::{CriticalPath, ExecutionGraph, VerticalKind, Window, WorkerId, WorkerState};
use laggard_model::KernelTime;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The window of the whole graph.
pub(crate) const ALWAYS: Window = Window { from: KernelTime::from_ns(0), to: KernelTime::MAX };

/// A segment of a path: worker, state, and window.
pub(crate) type ExpectedSegment = (String, String, u64, u64);

/// A jump of a path: from whom, when, to whom, when.
pub(crate) type ExpectedLink = (String, u64, String, u64);

/// The references' name of a state.
pub(crate) fn state_of(name: &str) -> WorkerState {
    let name = name.to_lowercase();
    let name = if name == "default" { "unknown" } else { &name };
    *WorkerState::ALL.iter().find(|state| state.name() == name).expect("a state's name")
}

fn state_name(state: WorkerState) -> String {
    state.name().to_uppercase()
}

/// The chains of a reference, every edge with its beginning; an edge without a state is a jump's landing.
pub(crate) fn expected_segments(chains: &Value) -> BTreeSet<ExpectedSegment> {
    let mut segments = BTreeSet::new();
    for (worker, chain) in chains.as_object().expect("chains by worker") {
        let mut chain = chain.as_array().expect("a chain").iter();
        let mut from = chain.next().and_then(Value::as_u64).expect("the first vertex");
        for edge in chain {
            let to = edge[1].as_u64().expect("the end of an edge");
            if let Some(state) = edge[0].as_str() {
                segments.insert((worker.clone(), state.to_owned(), from, to));
            }
            from = to;
        }
    }
    segments
}

/// The links of a reference: jumps with their kind.
pub(crate) fn expected_links(
    links: &Value,
    name: impl Fn(&Value) -> String,
) -> BTreeMap<ExpectedLink, String> {
    let time = |value: &Value| value.as_u64().expect("a time");
    let links = links.as_array().expect("links").iter();
    let rows = links.map(|link| {
        let jump = (name(&link[0]), time(&link[1]), name(&link[2]), time(&link[3]));
        (jump, link[4].as_str().expect("a kind").to_owned())
    });
    rows.collect()
}

/// A path's segments and links. A link with a length is a segment here, but not in the references.
pub(crate) fn path_as_expected(
    path: &CriticalPath,
    name: impl Fn(WorkerId) -> String,
) -> (BTreeSet<ExpectedSegment>, BTreeMap<ExpectedLink, String>) {
    let mut segments: BTreeSet<ExpectedSegment> = path
        .segments
        .iter()
        .map(|segment| {
            (
                name(segment.worker),
                state_name(segment.state),
                segment.window.from.ns(),
                segment.window.to.ns(),
            )
        })
        .collect();
    let mut jumps = BTreeMap::new();
    for link in &path.links {
        let kind = if link.network { "NETWORK" } else { "DEFAULT" };
        let (from, to) = (link.from_time.ns(), link.to_time.ns());
        if from < to {
            let state = if link.network { "NETWORK" } else { "UNKNOWN" };
            let was_removed = segments.remove(&(name(link.to), state.to_owned(), from, to));
            assert!(was_removed, "the jump to {} has its segment", name(link.to));
        }
        jumps.insert((name(link.from), from, name(link.to), to), kind.to_owned());
    }
    (segments, jumps)
}

/// A graph's edges.
pub(crate) fn graph_as_expected(
    graph: &ExecutionGraph,
    name: impl Fn(WorkerId) -> String,
) -> (BTreeSet<ExpectedSegment>, BTreeMap<ExpectedLink, String>) {
    let mut segments = BTreeSet::new();
    let mut jumps = BTreeMap::new();
    for id in (0..graph.workers().len() as u32).map(WorkerId) {
        for segment in graph.segments(id, ALWAYS) {
            segments.insert((
                name(id),
                state_name(segment.state),
                segment.window.from.ns(),
                segment.window.to.ns(),
            ));
        }
        for link in graph.arrivals(id, ALWAYS) {
            let kind = if link.network { "NETWORK" } else { "DEFAULT" };
            let jump = (name(link.from), link.from_time.ns(), name(link.to), link.to_time.ns());
            jumps.insert(jump, kind.to_owned());
        }
    }
    (segments, jumps)
}

/// The segments of a path cover its window: in order, without gap or overlap.
pub(crate) fn assert_tiles(path: &CriticalPath) {
    let mut time = path.window.from;
    for segment in &path.segments {
        assert_eq!(segment.window.from, time, "{segment:?}");
        assert!(segment.window.from < segment.window.to, "{segment:?}");
        assert!(segment.idle_ns <= segment.window.ns(), "{segment:?}");
        time = segment.window.to;
    }
    assert_eq!(time, path.window.to);
}

/// The kind of a vertical edge by the references' name.
pub(crate) fn kind_of(name: &str) -> VerticalKind {
    match name {
        "DEFAULT" => VerticalKind::WakeUp,
        state => VerticalKind::State(state_of(state)),
    }
}
