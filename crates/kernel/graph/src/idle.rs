//! What a CPU does while a thread waits for it: it is idle, the signature of a CPU quota, or runs another thread.

use crate::graph::{ExecutionGraph, first_edge};
use crate::path::{Window, WorkerState};
use crate::vertex::{Vertex, VertexRef};
use crate::worker::{WorkerId, WorkerKind};
use laggard_model::Cpu;

/// How many edges back a thread's last time on a CPU is searched.
const EDGES_BACK_MAX: usize = 16;

/// Nanoseconds of `window`, inside the edge that ends at `end`, during which the CPU that the thread last ran on ran
/// its idle task. 0 when that CPU is not known.
pub(crate) fn idle_ns(graph: &ExecutionGraph, end: VertexRef, window: Window) -> u64 {
    let host = graph.workers[end.worker as usize].host;
    let idle = last_cpu(graph, end).and_then(|cpu| graph.idle_of(host, cpu));
    let Some(idle) = idle else { return 0 };
    running(&graph.chains[idle.0 as usize], window).map(|(_, ns)| ns).sum()
}

/// The times in which a worker runs within `window`: the CPU, and nanoseconds.
fn running(chain: &[Vertex], window: Window) -> impl Iterator<Item = (Cpu, u64)> + '_ {
    let edges = chain.windows(2).skip(first_edge(chain, window.from).saturating_sub(1));
    edges
        .take_while(move |edge| edge[0].time < window.to)
        .filter(|edge| edge[1].edge() == Some(WorkerState::Running))
        .map(move |edge| (edge[1].cpu, edge[1].time.min(window.to).since(edge[0].time.max(window.from))))
}

impl ExecutionGraph {
    /// The other thread that ran longest, within `window`, on the CPU that a waiting thread had last run on, with its time there in
    /// nanoseconds. `None` when that CPU is not known, or ran no other thread. Cost: every thread of the graph is looked at.
    pub fn cpu_user(&self, waiting: WorkerId, window: Window) -> Option<(WorkerId, u64)> {
        let chain = &self.chains[waiting.0 as usize];
        let end = VertexRef { worker: waiting.0, index: first_edge(chain, window.from) as u32 };
        let cpu = last_cpu(self, end)?;
        let host = self.worker(waiting).host;
        let others = (0..).map(WorkerId).zip(&self.workers).filter(|(id, worker)| {
            *id != waiting && worker.host == host && matches!(worker.kind, WorkerKind::Thread { .. })
        });
        let times = others.map(|(id, _)| {
            let there = running(&self.chains[id.0 as usize], window).filter(|(on, _)| *on == cpu);
            (id, there.map(|(_, ns)| ns).sum())
        });
        times.filter(|(_, ns)| *ns > 0).max_by_key(|(id, ns)| (*ns, std::cmp::Reverse(*id)))
    }
}

fn last_cpu(graph: &ExecutionGraph, end: VertexRef) -> Option<Cpu> {
    let chain = &graph.chains[end.worker as usize][..end.index as usize];
    let back = chain.iter().rev().take(EDGES_BACK_MAX);
    back.into_iter().find(|vertex| vertex.edge() == Some(WorkerState::Running)).map(|vertex| vertex.cpu)
}
