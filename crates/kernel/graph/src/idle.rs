//! How long a CPU is idle while a thread waits for it.

use crate::graph::{ExecutionGraph, first_edge};
use crate::path::{Window, WorkerState};
use crate::vertex::{Vertex, VertexRef};
use laggard_model::Cpu;

/// How many edges back a thread's last time on a CPU is searched.
const EDGES_BACK_MAX: usize = 16;

/// Nanoseconds of `window`, inside the edge that ends at `end`, during which the CPU that the thread last ran on ran
/// its idle task. 0 when that CPU is not known.
pub(crate) fn idle_ns(graph: &ExecutionGraph, end: VertexRef, window: Window) -> u64 {
    let host = graph.workers[end.worker as usize].host;
    let idle = last_cpu(graph, end).and_then(|cpu| graph.idle_of(host, cpu));
    let Some(idle) = idle else { return 0 };
    running(&graph.chains[idle.0 as usize], window).sum()
}

/// The lengths of a worker's runs within `window`, in nanoseconds.
fn running(chain: &[Vertex], window: Window) -> impl Iterator<Item = u64> + '_ {
    let edges = chain.windows(2).skip(first_edge(chain, window.from).saturating_sub(1));
    edges
        .take_while(move |edge| edge[0].time < window.to)
        .filter(|edge| edge[1].edge() == Some(WorkerState::Running))
        .map(move |edge| edge[1].time.min(window.to).since(edge[0].time.max(window.from)))
}

fn last_cpu(graph: &ExecutionGraph, end: VertexRef) -> Option<Cpu> {
    let chain = &graph.chains[end.worker as usize][..end.index as usize];
    let back = chain.iter().rev().take(EDGES_BACK_MAX);
    back.into_iter().find(|vertex| vertex.edge() == Some(WorkerState::Running)).map(|vertex| vertex.cpu)
}
