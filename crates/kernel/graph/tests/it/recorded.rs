//! Recorded traces as graphs.

use laggard_kernel_graph::{ExecutionGraph, GraphBuilder, GraphSettings, HostId, WorkerId, WorkerKind};
use laggard_model::{ClockMap, Losses, Tid};
use std::path::Path;

/// A trace and its graph.
pub(crate) struct Recorded {
    pub(crate) graph: ExecutionGraph,
    pub(crate) losses: Losses,
    pub(crate) calendar: Option<ClockMap>,
}

impl Recorded {
    pub(crate) fn read(path: &Path, settings: GraphSettings) -> Recorded {
        let trace = laggard_kernel_formats::open(path).expect("the trace can be opened");
        let mut builder = GraphBuilder::new(settings, HostId(0));
        let read = trace.read(|event, texts| builder.push(event, texts));
        let mut losses = Losses::none();
        let graph = builder.finish(&mut losses);
        losses.merge(&read.losses);
        Recorded { graph, losses, calendar: read.facts.calendar }
    }
}

/// The first thread with a tid.
pub(crate) fn thread_named_by(graph: &ExecutionGraph, tid: Tid) -> WorkerId {
    let kind = WorkerKind::Thread { tid, generation: 0 };
    let position = graph.workers().iter().position(|worker| worker.kind == kind);
    WorkerId(position.expect("the thread is in the graph") as u32)
}
