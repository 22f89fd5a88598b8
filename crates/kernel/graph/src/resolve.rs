//! Resolves what a blocked thread waited for: walks back from its wake-up through the wakers' work (Giraldeau and
//! Dagenais 2016, section 4), iteratively.

use crate::path::WorkerState;
use crate::vertex::{Vertex, VertexRef};
use laggard_model::KernelTime;

/// Maximum number of nested waits, and of backtracks, at the same instant; beyond it a wait is unresolved. Only cycles
/// of events with equal times reach it.
const SAME_TIME_MAX: u32 = 64;

/// One edge of a resolved wait, by the vertex it ends at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathStep {
    /// From the previous vertex of the same worker.
    Horizontal(VertexRef),
    /// From another worker.
    Vertical(VertexRef),
}

/// A vertex whose vertical edge is not tried yet, with the number of steps when it was reached.
#[derive(Clone, Copy, Debug)]
struct Alternative {
    vertex_ref: VertexRef,
    steps: usize,
}

/// A wait that is being resolved.
#[derive(Clone, Copy, Debug)]
struct WaitFrame {
    /// The beginning of the wait, where the walk ends.
    limit: KernelTime,
    /// The current vertex of the walk.
    vertex_ref: VertexRef,
    /// Number of alternatives that belong to outer waits.
    alternatives: usize,
    /// When the wait ended, and how many outer waits ended at the same instant.
    end: KernelTime,
    nested_here: u32,
    /// The instant of the last backtrack, and the number of successive backtracks at that instant.
    backtracked: KernelTime,
    backtracks_here: u32,
}

/// Resolves waits, one after the other, in time linear in the edges inside them (and at most a fixed multiple of the
/// graph's size).
pub(crate) struct Resolver<'g> {
    chains: &'g [Vec<Vertex>],
    steps: Vec<PathStep>,
    alternatives: Vec<Alternative>,
    frames: Vec<WaitFrame>,
    moves_left: u64,
}

/// Whether an edge of this state is to be replaced by what it waited for.
pub(crate) fn is_blocking(state: WorkerState) -> bool {
    matches!(state, WorkerState::Blocked | WorkerState::Network)
}

/// The previous vertex of the same worker.
pub(crate) fn predecessor(vertex_ref: VertexRef) -> VertexRef {
    VertexRef { worker: vertex_ref.worker, index: vertex_ref.index - 1 }
}

impl<'g> Resolver<'g> {
    /// `vertices`: number of vertices of the graph.
    pub(crate) fn new(chains: &'g [Vec<Vertex>], vertices: usize) -> Resolver<'g> {
        Resolver {
            chains,
            steps: Vec::new(),
            alternatives: Vec::new(),
            frames: Vec::new(),
            moves_left: 4 * vertices as u64 + 65_536,
        }
    }

    pub(crate) fn vertex(&self, vertex_ref: VertexRef) -> &'g Vertex {
        &self.chains[vertex_ref.worker as usize][vertex_ref.index as usize]
    }

    /// The edges that fill the wait ending at `wait`, latest first, back to `bound` or the wait's beginning; empty if
    /// its wake-up is unknown.
    pub(crate) fn resolve(&mut self, wait: VertexRef, bound: KernelTime) -> &[PathStep] {
        self.steps.clear();
        self.alternatives.clear();
        self.frames.clear();
        self.open_wait(wait, bound);
        while let Some(&frame) = self.frames.last() {
            if self.vertex(frame.vertex_ref).time <= frame.limit {
                self.close_wait();
                continue;
            }
            if self.moves_left == 0 {
                self.steps.clear();
                break;
            }
            self.moves_left -= 1;
            self.advance(frame);
        }
        &self.steps
    }

    /// Begins resolving the wait that ends at `wait`; false if its wake-up is unknown.
    fn open_wait(&mut self, wait: VertexRef, bound: KernelTime) -> bool {
        let vertex = self.vertex(wait);
        let Some((source, _)) = vertex.vertical() else { return false };
        let outer = self.frames.last().filter(|outer| outer.end == vertex.time);
        let nested_here = outer.map_or(0, |outer| outer.nested_here + 1);
        if nested_here > SAME_TIME_MAX {
            return false;
        }
        self.steps.push(PathStep::Vertical(wait));
        self.frames.push(WaitFrame {
            limit: bound.max(self.vertex(predecessor(wait)).time),
            vertex_ref: source,
            alternatives: self.alternatives.len(),
            end: vertex.time,
            nested_here,
            backtracked: KernelTime::MAX,
            backtracks_here: 0,
        });
        true
    }

    fn close_wait(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.alternatives.truncate(frame.alternatives);
        }
    }

    /// One step of the innermost wait, whose current vertex is later than its limit.
    fn advance(&mut self, frame: WaitFrame) {
        let vertex = self.vertex(frame.vertex_ref);
        let edge = vertex.edge();
        if let Some((source, _)) = vertex.vertical() {
            if self.vertex(source).time <= frame.limit {
                self.steps.push(PathStep::Vertical(frame.vertex_ref));
                self.close_wait();
                return;
            }
            if !edge.is_some_and(is_blocking) {
                self.alternatives.push(Alternative { vertex_ref: frame.vertex_ref, steps: self.steps.len() });
            }
        }
        match edge {
            None => self.backtrack(),
            Some(state) if is_blocking(state) => {
                self.move_to(predecessor(frame.vertex_ref));
                if !self.open_wait(frame.vertex_ref, frame.limit) && state == WorkerState::Network {
                    self.steps.push(PathStep::Horizontal(frame.vertex_ref));
                }
            }
            Some(_) => {
                self.steps.push(PathStep::Horizontal(frame.vertex_ref));
                self.move_to(predecessor(frame.vertex_ref));
            }
        }
    }

    fn move_to(&mut self, vertex_ref: VertexRef) {
        if let Some(frame) = self.frames.last_mut() {
            frame.vertex_ref = vertex_ref;
        }
    }

    /// Dead end: continues with the last alternative.
    fn backtrack(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let untried = self.alternatives.len() > frame.alternatives;
        let Some(alternative) = self.alternatives.pop_if(|_| untried) else {
            self.close_wait();
            return;
        };
        let vertex =
            &self.chains[alternative.vertex_ref.worker as usize][alternative.vertex_ref.index as usize];
        let same = vertex.time == frame.backtracked;
        frame.backtracks_here = if same { frame.backtracks_here + 1 } else { 0 };
        frame.backtracked = vertex.time;
        let Some((source, _)) = vertex.vertical().filter(|_| frame.backtracks_here <= SAME_TIME_MAX) else {
            self.close_wait();
            return;
        };
        frame.vertex_ref = source;
        self.steps.truncate(alternative.steps);
        self.steps.push(PathStep::Vertical(alternative.vertex_ref));
    }
}
