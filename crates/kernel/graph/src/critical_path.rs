//! The critical path: a thread's own time, and in place of each wait the work it waited for.

use crate::graph::{ExecutionGraph, first_edge};
use crate::idle::idle_ns;
use crate::path::{CriticalPath, PathLink, PathPiece, PieceState, Window};
use crate::resolve::{Resolver, Step, before, is_blocking};
use crate::vertex::{Vertex, VertexRef, VerticalKind};
use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

impl ExecutionGraph {
    /// The critical path of a worker over a window. The window is cut to the worker's life; its length is 0 when
    /// they do not meet, and there are no pieces then.
    ///
    /// Cost: linear in the edges of the path; at most a fixed multiple of the whole graph.
    pub fn critical_path(&self, worker: WorkerId, window: Window) -> CriticalPath {
        let chain = &self.chains[worker.0 as usize];
        let life = self.life(worker).unwrap_or(Window { from: window.from, to: window.from });
        let from = window.from.clamp(life.from, life.to);
        let window = Window { from, to: window.to.clamp(from, life.to) };
        let mut resolver = Resolver::new(&self.chains, self.vertices);
        let mut writer = PathWriter::new(self, worker, window);
        for index in first_edge(chain, from)..chain.len() {
            if chain[index - 1].time >= window.to {
                break;
            }
            let end = VertexRef { worker: worker.0, index: index as u32 };
            match chain[index].edge() {
                Some(state) if is_blocking(state) => writer.put_wait(&mut resolver, end, state),
                edge => writer.put_edge(end, edge.unwrap_or(PieceState::Unknown)),
            }
        }
        writer.path
    }
}

/// Writes a path forward in time, always from where it stands.
struct PathWriter<'g> {
    graph: &'g ExecutionGraph,
    worker: u32,
    time: KernelTime,
    path: CriticalPath,
}

impl<'g> PathWriter<'g> {
    fn new(graph: &'g ExecutionGraph, worker: WorkerId, window: Window) -> PathWriter<'g> {
        let path = CriticalPath { worker, window, pieces: Vec::new(), links: Vec::new(), unresolved: 0 };
        PathWriter { graph, worker: worker.0, time: window.from, path }
    }

    fn vertex(&self, at: VertexRef) -> &'g Vertex {
        &self.graph.chains[at.worker as usize][at.index as usize]
    }

    /// What a wait waited for, or the wait itself when that is not known.
    fn put_wait(&mut self, resolver: &mut Resolver<'_>, end: VertexRef, state: PieceState) {
        let steps = resolver.resolve(end, self.path.window.from);
        if steps.is_empty() {
            self.path.unresolved += u64::from(state == PieceState::Blocked);
            self.put_edge(end, state);
            return;
        }
        let mut is_first = true;
        for &step in steps.iter().rev() {
            self.put_step(step, is_first);
            is_first = false;
        }
    }

    /// One edge of a resolved wait, after a jump or a gap to where it begins.
    fn put_step(&mut self, step: Step, is_first: bool) {
        match step {
            Step::Horizontal(end) => {
                self.jump_to(before(end), is_first);
                let state = self.vertex(end).edge().unwrap_or(PieceState::Unknown);
                self.put_edge(end, state);
            }
            Step::Vertical(end) => {
                let Some((source, kind)) = self.vertex(end).vertical() else { return };
                self.jump_to(source, is_first);
                self.follow(end, kind);
            }
        }
    }

    /// Goes to another worker, and forward in time to the beginning of its edge: what lies between is not known.
    fn jump_to(&mut self, to: VertexRef, is_first: bool) {
        let time = self.vertex(to).time.max(self.time);
        let is_gap = self.worker == to.worker;
        if !is_gap {
            self.put_link(to.worker, if is_first { self.time } else { time }, false);
        }
        if time == self.time {
            return;
        }
        let unresolved = is_gap && self.vertex(to).edge().is_some();
        self.path.unresolved += u64::from(unresolved);
        let qualifier = if unresolved { self.vertex(to).qualifier } else { TextId::EMPTY };
        self.put_piece(time, PieceState::Unknown, qualifier, false);
    }

    /// A vertical edge: a jump, and when it has a length a piece of the worker it reaches.
    fn follow(&mut self, end: VertexRef, kind: VerticalKind) {
        let vertex = self.vertex(end);
        let (state, network) = match kind {
            VerticalKind::WakeUp => (PieceState::Unknown, false),
            VerticalKind::State(state) => (state, true),
        };
        if end.worker != self.worker {
            self.put_link(end.worker, vertex.time.max(self.time), network);
        }
        self.put_piece(vertex.time, state, vertex.qualifier, false);
    }

    /// A horizontal edge from where the path stands.
    fn put_edge(&mut self, end: VertexRef, state: PieceState) {
        let vertex = self.vertex(end);
        let inferred = vertex.is_implied() || self.vertex(before(end)).is_implied();
        let piece = self.put_piece(vertex.time, state, vertex.qualifier, inferred);
        if let Some(index) = piece.filter(|_| state == PieceState::Preempted) {
            let window = self.path.pieces[index].window;
            self.path.pieces[index].idle_ns = idle_ns(self.graph, end, window);
        }
    }

    /// A piece of the present worker up to `until`, cut to the window; its position, if anything is left of it.
    fn put_piece(
        &mut self,
        until: KernelTime,
        state: PieceState,
        qualifier: TextId,
        inferred: bool,
    ) -> Option<usize> {
        let to = until.min(self.path.window.to);
        let window = Window { from: self.time, to };
        self.time = self.time.max(to);
        if window.from >= window.to {
            return None;
        }
        let worker = WorkerId(self.worker);
        self.path.pieces.push(PathPiece { worker, state, window, qualifier, idle_ns: 0, inferred });
        Some(self.path.pieces.len() - 1)
    }

    fn put_link(&mut self, to: u32, to_time: KernelTime, network: bool) {
        let (from, from_time) = (WorkerId(self.worker), self.time);
        self.worker = to;
        let end = self.path.window.to;
        if to_time <= end || from_time < end {
            let to_time = to_time.min(end);
            self.path.links.push(PathLink { from, from_time, to: WorkerId(to), to_time, network });
        }
    }
}
