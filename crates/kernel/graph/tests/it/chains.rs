//! Graphs and paths in the form of the reference files: chains of edges, and links.

use laggard_kernel_graph::{CriticalPath, ExecutionGraph, PieceState, VerticalKind, Window, WorkerId};
use laggard_model::KernelTime;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The window that holds everything.
pub(crate) const ALWAYS: Window = Window { from: KernelTime::from_ns(0), to: KernelTime::MAX };

/// A piece of a path: whose, in which state, from when to when.
pub(crate) type Piece = (String, String, u64, u64);

/// A jump of a path: from whom, when, to whom, when.
pub(crate) type Jump = (String, u64, String, u64);

/// The references' name of a state.
pub(crate) fn state_of(name: &str) -> PieceState {
    let name = name.to_lowercase();
    let name = if name == "default" { "unknown" } else { &name };
    *PieceState::ALL.iter().find(|state| state.name() == name).expect("a state's name")
}

fn state_name(state: PieceState) -> String {
    state.name().to_uppercase()
}

/// The chains of a reference, every edge with its beginning; an edge without a state is a jump's landing.
pub(crate) fn expected_pieces(chains: &Value) -> BTreeSet<Piece> {
    let mut pieces = BTreeSet::new();
    for (worker, chain) in chains.as_object().expect("chains by worker") {
        let mut chain = chain.as_array().expect("a chain").iter();
        let mut from = chain.next().and_then(Value::as_u64).expect("the first vertex");
        for edge in chain {
            let to = edge[1].as_u64().expect("the end of an edge");
            if let Some(state) = edge[0].as_str() {
                pieces.insert((worker.clone(), state.to_owned(), from, to));
            }
            from = to;
        }
    }
    pieces
}

/// The links of a reference: jumps with their kind.
pub(crate) fn expected_links(links: &Value, name: impl Fn(&Value) -> String) -> BTreeMap<Jump, String> {
    let time = |value: &Value| value.as_u64().expect("a time");
    let links = links.as_array().expect("links").iter();
    let rows = links.map(|link| {
        let jump = (name(&link[0]), time(&link[1]), name(&link[2]), time(&link[3]));
        (jump, link[4].as_str().expect("a kind").to_owned())
    });
    rows.collect()
}

/// A path's pieces and jumps. What a jump with a length takes is a piece of ours and none of the references.
pub(crate) fn path_as_expected(
    path: &CriticalPath,
    name: impl Fn(WorkerId) -> String,
) -> (BTreeSet<Piece>, BTreeMap<Jump, String>) {
    let mut pieces: BTreeSet<Piece> = path
        .pieces
        .iter()
        .map(|piece| {
            (name(piece.worker), state_name(piece.state), piece.window.from.ns(), piece.window.to.ns())
        })
        .collect();
    let mut jumps = BTreeMap::new();
    for link in &path.links {
        let kind = if link.network { "NETWORK" } else { "DEFAULT" };
        let (from, to) = (link.from_time.ns(), link.to_time.ns());
        if from < to {
            let state = if link.network { "NETWORK" } else { "UNKNOWN" };
            let taken = pieces.remove(&(name(link.to), state.to_owned(), from, to));
            assert!(taken, "the jump to {} has its piece", name(link.to));
        }
        jumps.insert((name(link.from), from, name(link.to), to), kind.to_owned());
    }
    (pieces, jumps)
}

/// A graph's edges.
pub(crate) fn graph_as_expected(
    graph: &ExecutionGraph,
    name: impl Fn(WorkerId) -> String,
) -> (BTreeSet<Piece>, BTreeMap<Jump, String>) {
    let mut pieces = BTreeSet::new();
    let mut jumps = BTreeMap::new();
    for id in (0..graph.workers().len() as u32).map(WorkerId) {
        for piece in graph.pieces(id, ALWAYS) {
            pieces.insert((name(id), state_name(piece.state), piece.window.from.ns(), piece.window.to.ns()));
        }
        for link in graph.arrivals(id, ALWAYS) {
            let kind = if link.network { "NETWORK" } else { "DEFAULT" };
            let jump = (name(link.from), link.from_time.ns(), name(link.to), link.to_time.ns());
            jumps.insert(jump, kind.to_owned());
        }
    }
    (pieces, jumps)
}

/// The pieces of a path tile its window: in order, without gap or overlap.
pub(crate) fn assert_tiles(path: &CriticalPath) {
    let mut at = path.window.from;
    for piece in &path.pieces {
        assert_eq!(piece.window.from, at, "{piece:?}");
        assert!(piece.window.from < piece.window.to, "{piece:?}");
        assert!(piece.idle_ns <= piece.window.ns(), "{piece:?}");
        at = piece.window.to;
    }
    assert_eq!(at, path.window.to);
}

/// The kind of a vertical edge by the references' name.
pub(crate) fn kind_of(name: &str) -> VerticalKind {
    match name {
        "DEFAULT" => VerticalKind::WakeUp,
        state => VerticalKind::State(state_of(state)),
    }
}
