//! An execution graph under construction.

use crate::calls::Calls;
use crate::graph::ExecutionGraph;
use crate::path::WorkerState;
use crate::quota_timers::QuotaTimers;
use crate::stacks::Stacks;
use crate::vertex::{Vertex, VertexRef, VerticalKind};
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTexts, KernelTime, TextId};

/// A handle of a vertex of a [`PartialGraph`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VertexHandle(pub(crate) VertexRef);

/// A graph under construction, to which workers, vertices, and edges are added. Used by the builder and by tests.
#[derive(Debug, Default)]
pub struct PartialGraph {
    pub(crate) workers: Vec<Worker>,
    pub(crate) chains: Vec<Vec<Vertex>>,
    pub(crate) texts: KernelTexts,
    pub(crate) vertices: usize,
    pub(crate) quota_timers: QuotaTimers,
    pub(crate) calls: Calls,
    pub(crate) stacks: Stacks,
    /// Whether the trace records packets.
    pub(crate) has_packets: bool,
    /// Whether the functions of timers are known.
    pub(crate) names_timers: bool,
}

impl PartialGraph {
    /// Adds a worker without vertices. Threads with the same tid on one host are successive threads, in order.
    ///
    /// # Panics
    /// Beyond 2³² − 1 workers.
    pub fn worker(&mut self, host: HostId, kind: WorkerKind, name: TextId) -> WorkerId {
        let id = u32::try_from(self.workers.len()).ok().filter(|&id| id < u32::MAX);
        let id = id.expect("fewer than 2^32 - 1 workers");
        self.workers.push(Worker { host, kind, name });
        self.chains.push(Vec::new());
        WorkerId(id)
    }

    /// The handle of a text for names and qualifiers.
    pub fn text(&mut self, text: &str) -> TextId {
        self.texts.intern(text)
    }

    /// Adds a vertex at `time` that ends an edge of the given state (`None`: a gap). If `time` is not after the
    /// worker's last vertex, that vertex is returned unchanged. The first vertex of a worker has no edge.
    pub fn append(
        &mut self,
        worker: WorkerId,
        time: KernelTime,
        cpu: Cpu,
        edge: Option<WorkerState>,
    ) -> VertexHandle {
        let chain = &mut self.chains[worker.0 as usize];
        let last = chain.last().map(|vertex| vertex.time);
        if last.is_none_or(|last| last < time) {
            chain.push(Vertex::new(time, cpu, last.and(edge)));
            self.vertices += 1;
        }
        let index = u32::try_from(chain.len() - 1).expect("fewer than 2^32 vertices of one worker");
        VertexHandle(VertexRef { worker: worker.0, index })
    }

    /// Adds a vertical edge, replacing an earlier one to the same target. An edge that would go back in time, or from a
    /// vertex to itself, is ignored.
    pub fn link(&mut self, from: VertexHandle, to: VertexHandle, kind: VerticalKind) {
        let (source, target) = (self.vertex(from).time, self.vertex(to).time);
        if source > target || from == to {
            return;
        }
        self.vertex_mut(to).set_vertical(from.0, kind);
    }

    /// Sets the qualifier of the wait that ends at a vertex.
    pub fn qualify(&mut self, vertex: VertexHandle, qualifier: TextId) {
        self.vertex_mut(vertex).qualifier = qualifier;
    }

    /// Returns the finished graph.
    pub fn finish(self) -> ExecutionGraph {
        ExecutionGraph::from_partial(self)
    }

    /// The first vertex of a worker, if it has one.
    pub(crate) fn first(&self, worker: WorkerId) -> Option<&Vertex> {
        self.chains[worker.0 as usize].first()
    }

    /// The last vertex of a worker, if it has one.
    pub(crate) fn last(&self, worker: WorkerId) -> Option<&Vertex> {
        self.chains[worker.0 as usize].last()
    }

    pub(crate) fn last_mut(&mut self, worker: WorkerId) -> Option<&mut Vertex> {
        self.chains[worker.0 as usize].last_mut()
    }

    pub(crate) fn vertex(&self, vertex: VertexHandle) -> &Vertex {
        &self.chains[vertex.0.worker as usize][vertex.0.index as usize]
    }

    pub(crate) fn vertex_mut(&mut self, vertex: VertexHandle) -> &mut Vertex {
        &mut self.chains[vertex.0.worker as usize][vertex.0.index as usize]
    }
}
