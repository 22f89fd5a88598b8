//! The specification's rules for resolving waits, word by word and recursively, over plain lists: what the iterative
//! implementation is compared with.

use laggard_kernel_graph::{
    ExecutionGraph, GraphSketch, HostId, PieceState, Point, VerticalKind, WorkerKind,
};
use laggard_model::{Cpu, KernelTime, TextId, Tid};
use std::collections::BTreeMap;

/// A vertex: worker and place in its chain.
type At = (usize, usize);

/// A graph in plain lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    /// By worker: times, strictly increasing, with the state of the edge that ends there.
    pub(crate) chains: Vec<Vec<(u64, Option<PieceState>)>>,
    /// By target: source, and whether it is a packet.
    pub(crate) links: BTreeMap<At, (At, bool)>,
}

/// One edge by its end.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Edge {
    Horizontal(At),
    Vertical(At),
}

fn blocking(state: PieceState) -> bool {
    state == PieceState::Blocked || state == PieceState::Network
}

impl Plain {
    pub(crate) fn drawn(&self) -> ExecutionGraph {
        let mut sketch = GraphSketch::default();
        let mut points: BTreeMap<At, Point> = BTreeMap::new();
        for (number, chain) in self.chains.iter().enumerate() {
            let kind = WorkerKind::Thread { tid: Tid(number as u32), generation: 0 };
            let worker = sketch.worker(HostId(0), kind, TextId::EMPTY);
            for (place, &(time, state)) in chain.iter().enumerate() {
                let point = sketch.append(worker, KernelTime::from_ns(time), Cpu(0), state);
                points.insert((number, place), point);
            }
        }
        for (target, &(source, packet)) in &self.links {
            let network = VerticalKind::State(PieceState::Network);
            let kind = if packet { network } else { VerticalKind::WakeUp };
            sketch.link(points[&source], points[target], kind);
        }
        sketch.finish()
    }

    fn time(&self, at: At) -> u64 {
        self.chains[at.0][at.1].0
    }

    fn state(&self, at: At) -> Option<PieceState> {
        if at.1 == 0 { None } else { self.chains[at.0][at.1].1 }
    }

    fn from(&self, edge: Edge) -> At {
        match edge {
            Edge::Horizontal((worker, place)) => (worker, place - 1),
            Edge::Vertical(at) => self.links[&at].0,
        }
    }

    /// Section 2.7, steps 1 to 3.
    fn resolve(&self, wait: At, bound: u64) -> Vec<Edge> {
        let Some(&(source, _)) = self.links.get(&wait) else { return Vec::new() };
        let mut taken = vec![Edge::Vertical(wait)];
        let mut alternatives: Vec<(At, usize)> = Vec::new();
        let limit = bound.max(self.time((wait.0, wait.1 - 1)));
        let mut at = source;
        while self.time(at) > limit {
            let vertical = self.links.get(&at).map(|&(source, _)| source);
            let state = self.state(at);
            if vertical.is_some_and(|source| self.time(source) <= limit) {
                taken.push(Edge::Vertical(at));
                break;
            }
            if vertical.is_some() && !state.is_some_and(blocking) {
                alternatives.push((at, taken.len()));
            }
            if let Some(state) = state {
                let inner = if blocking(state) { self.resolve(at, limit) } else { Vec::new() };
                if !blocking(state) || (inner.is_empty() && state == PieceState::Network) {
                    taken.push(Edge::Horizontal(at));
                }
                taken.extend(inner);
                at = (at.0, at.1 - 1);
                continue;
            }
            let Some((other, taken_then)) = alternatives.pop() else { break };
            taken.truncate(taken_then);
            taken.push(Edge::Vertical(other));
            at = self.links[&other].0;
        }
        taken
    }

    /// Section 2.7, step 4 and the walk along the thread: worker, state, from, to.
    pub(crate) fn path(&self, worker: usize, from: u64, to: u64) -> Vec<(usize, PieceState, u64, u64)> {
        let mut pieces = Vec::new();
        let mut now = from;
        for place in 1..self.chains[worker].len() {
            let end = (worker, place);
            if self.time(end) <= from || self.time((worker, place - 1)) >= to {
                continue;
            }
            let state = self.state(end).unwrap_or(PieceState::Unknown);
            let edges = if blocking(state) { self.resolve(end, from) } else { Vec::new() };
            if edges.is_empty() {
                pieces.push((worker, state, now, self.time(end)));
            }
            for &edge in edges.iter().rev() {
                now = self.glue(edge, now, &mut pieces);
            }
            now = now.max(self.time(end));
        }
        pieces.retain_mut(|piece| {
            piece.3 = piece.3.min(to);
            piece.2 < piece.3
        });
        pieces
    }

    fn glue(&self, edge: Edge, now: u64, pieces: &mut Vec<(usize, PieceState, u64, u64)>) -> u64 {
        let from = self.from(edge);
        let begin = now.max(self.time(from));
        pieces.push((from.0, PieceState::Unknown, now, begin));
        let (to, state) = match edge {
            Edge::Horizontal(to) => (to, self.state(to).expect("an edge has a state")),
            Edge::Vertical(to) if self.links[&to].1 => (to, PieceState::Network),
            Edge::Vertical(to) => (to, PieceState::Unknown),
        };
        pieces.push((to.0, state, begin, self.time(to)));
        begin.max(self.time(to))
    }
}
