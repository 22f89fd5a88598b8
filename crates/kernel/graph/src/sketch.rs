//! An execution graph while it grows.

use crate::graph::ExecutionGraph;
use crate::path::PieceState;
use crate::vertex::{Vertex, VertexRef, VerticalKind};
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTexts, KernelTime, TextId};

/// A vertex of a graph that is being drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point(pub(crate) VertexRef);

/// A graph that is drawn worker by worker and vertex by vertex: what the builder writes into, and how tests draw
/// graphs by hand.
#[derive(Debug, Default)]
pub struct GraphSketch {
    pub(crate) workers: Vec<Worker>,
    pub(crate) chains: Vec<Vec<Vertex>>,
    pub(crate) texts: KernelTexts,
    pub(crate) vertices: usize,
    /// All idle tasks of a host are one worker: which CPU is idle when is not known then.
    pub(crate) shares_idle: bool,
}

impl GraphSketch {
    /// A new worker without vertices. Threads with the same number on one host are its successive lives, in order.
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

    /// Ends an edge in the given state (nothing: a gap) at `time`. A vertex has its worker and time as identity:
    /// at the time of the worker's last vertex, or earlier, the last vertex stays as it is. The first vertex of a
    /// worker has no edge.
    pub fn append(
        &mut self,
        worker: WorkerId,
        time: KernelTime,
        cpu: Cpu,
        edge: Option<PieceState>,
    ) -> Point {
        let chain = &mut self.chains[worker.0 as usize];
        let last = chain.last().map(|vertex| vertex.time);
        if last.is_none_or(|last| last < time) {
            chain.push(Vertex::new(time, cpu, last.and(edge)));
            self.vertices += 1;
        }
        let index = u32::try_from(chain.len() - 1).expect("fewer than 2^32 vertices of one worker");
        Point(VertexRef { worker: worker.0, index })
    }

    /// Draws a vertical edge; the target keeps the last one drawn. An edge that would go back in time, or from a
    /// vertex to itself, is not drawn.
    pub fn link(&mut self, from: Point, to: Point, kind: VerticalKind) {
        let (source, target) = (self.vertex(from).time, self.vertex(to).time);
        if source > target || from == to {
            return;
        }
        self.vertex_mut(to).set_vertical(from.0, kind);
    }

    /// Says more of the wait that ends at a vertex.
    pub fn qualify(&mut self, at: Point, qualifier: TextId) {
        self.vertex_mut(at).qualifier = qualifier;
    }

    /// The graph as drawn.
    pub fn finish(self) -> ExecutionGraph {
        ExecutionGraph::from_sketch(self)
    }

    /// The last vertex of a worker, if it has one.
    pub(crate) fn last(&self, worker: WorkerId) -> Option<&Vertex> {
        self.chains[worker.0 as usize].last()
    }

    pub(crate) fn last_mut(&mut self, worker: WorkerId) -> Option<&mut Vertex> {
        self.chains[worker.0 as usize].last_mut()
    }

    pub(crate) fn vertex(&self, at: Point) -> &Vertex {
        &self.chains[at.0.worker as usize][at.0.index as usize]
    }

    pub(crate) fn vertex_mut(&mut self, at: Point) -> &mut Vertex {
        &mut self.chains[at.0.worker as usize][at.0.index as usize]
    }
}
