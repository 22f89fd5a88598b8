//! What a blocked thread waited for: the walk back from its wake-up through the wakers' work (Giraldeau and Dagenais
//! 2016, section 4), without recursion.

use crate::path::PieceState;
use crate::vertex::{Vertex, VertexRef};
use laggard_model::KernelTime;

/// Waits nested at one and the same instant, and turns taken there, beyond which a wait counts as unresolved: only
/// circles of events with equal times get there.
const SAME_TIME_MAX: u32 = 64;

/// One edge of a resolved wait, by the vertex it ends at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// From the vertex before on the same worker.
    Horizontal(VertexRef),
    /// From another worker.
    Vertical(VertexRef),
}

/// A vertex whose other way in is still untried, with the number of steps taken when it was met.
#[derive(Clone, Copy, Debug)]
struct Alternative {
    at: VertexRef,
    steps: usize,
}

/// A wait that is being resolved.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Nothing before this instant is asked for.
    limit: KernelTime,
    /// Where the walk stands.
    at: VertexRef,
    /// Alternatives of the outer waits come before these.
    alternatives: usize,
    /// When the wait ended, and how many outer waits ended at the same instant.
    end: KernelTime,
    nested_here: u32,
    /// The instant of the last turn into an alternative, and how many were taken there in a row.
    turned: KernelTime,
    turned_here: u32,
}

/// Resolves waits, one after the other, in time linear in the edges inside them (and in a fixed multiple of the
/// graph whatever the graph looks like).
pub(crate) struct Resolver<'g> {
    chains: &'g [Vec<Vertex>],
    steps: Vec<Step>,
    alternatives: Vec<Alternative>,
    frames: Vec<Frame>,
    moves_left: u64,
}

/// Whether an edge is to be put in the place of by what it waited for.
pub(crate) fn is_blocking(state: PieceState) -> bool {
    matches!(state, PieceState::Blocked | PieceState::Network)
}

/// The vertex before on the same worker.
pub(crate) fn before(at: VertexRef) -> VertexRef {
    VertexRef { worker: at.worker, index: at.index - 1 }
}

impl<'g> Resolver<'g> {
    /// `vertices`: how many the graph has.
    pub(crate) fn new(chains: &'g [Vec<Vertex>], vertices: usize) -> Resolver<'g> {
        Resolver {
            chains,
            steps: Vec::new(),
            alternatives: Vec::new(),
            frames: Vec::new(),
            moves_left: 4 * vertices as u64 + 65_536,
        }
    }

    pub(crate) fn vertex(&self, at: VertexRef) -> &'g Vertex {
        &self.chains[at.worker as usize][at.index as usize]
    }

    /// The edges that fill the wait ending at `wait`, latest first, back to `bound` or the wait's beginning; empty
    /// when its wake-up is not known.
    pub(crate) fn resolve(&mut self, wait: VertexRef, bound: KernelTime) -> &[Step] {
        self.steps.clear();
        self.alternatives.clear();
        self.frames.clear();
        self.open(wait, bound);
        while let Some(&frame) = self.frames.last() {
            if self.vertex(frame.at).time <= frame.limit {
                self.close();
                continue;
            }
            if self.moves_left == 0 {
                self.steps.clear();
                break;
            }
            self.moves_left -= 1;
            self.walk(frame);
        }
        &self.steps
    }

    /// Begins the wait that ends at `wait`; false when its wake-up is not known.
    fn open(&mut self, wait: VertexRef, bound: KernelTime) -> bool {
        let vertex = self.vertex(wait);
        let Some((source, _)) = vertex.vertical() else { return false };
        let outer = self.frames.last().filter(|outer| outer.end == vertex.time);
        let nested_here = outer.map_or(0, |outer| outer.nested_here + 1);
        if nested_here > SAME_TIME_MAX {
            return false;
        }
        self.steps.push(Step::Vertical(wait));
        self.frames.push(Frame {
            limit: bound.max(self.vertex(before(wait)).time),
            at: source,
            alternatives: self.alternatives.len(),
            end: vertex.time,
            nested_here,
            turned: KernelTime::MAX,
            turned_here: 0,
        });
        true
    }

    fn close(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.alternatives.truncate(frame.alternatives);
        }
    }

    /// One move of the innermost wait, whose place is later than its limit.
    fn walk(&mut self, frame: Frame) {
        let vertex = self.vertex(frame.at);
        let edge = vertex.edge();
        if let Some((source, _)) = vertex.vertical() {
            if self.vertex(source).time <= frame.limit {
                self.steps.push(Step::Vertical(frame.at));
                self.close();
                return;
            }
            if !edge.is_some_and(is_blocking) {
                self.alternatives.push(Alternative { at: frame.at, steps: self.steps.len() });
            }
        }
        match edge {
            None => self.turn(),
            Some(state) if is_blocking(state) => {
                self.stand_at(before(frame.at));
                if !self.open(frame.at, frame.limit) && state == PieceState::Network {
                    self.steps.push(Step::Horizontal(frame.at));
                }
            }
            Some(_) => {
                self.steps.push(Step::Horizontal(frame.at));
                self.stand_at(before(frame.at));
            }
        }
    }

    fn stand_at(&mut self, at: VertexRef) {
        if let Some(frame) = self.frames.last_mut() {
            frame.at = at;
        }
    }

    /// A dead end: takes the other way at the last vertex that had one.
    fn turn(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let untried = self.alternatives.len() > frame.alternatives;
        let Some(alternative) = self.alternatives.pop_if(|_| untried) else {
            self.close();
            return;
        };
        let vertex = &self.chains[alternative.at.worker as usize][alternative.at.index as usize];
        let same = vertex.time == frame.turned;
        frame.turned_here = if same { frame.turned_here + 1 } else { 0 };
        frame.turned = vertex.time;
        let Some((source, _)) = vertex.vertical().filter(|_| frame.turned_here <= SAME_TIME_MAX) else {
            self.close();
            return;
        };
        frame.at = source;
        self.steps.truncate(alternative.steps);
        self.steps.push(Step::Vertical(alternative.at));
    }
}
