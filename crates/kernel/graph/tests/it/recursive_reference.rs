//! The specification's rules for resolving waits, implemented literally and recursively over plain lists, as a reference
//! for the iterative implementation.

use laggard_kernel_graph::{
    ExecutionGraph, HostId, PartialGraph, VertexHandle, VerticalKind, WorkerKind, WorkerState,
};
use laggard_model::{Cpu, KernelTime, TextId, Tid};
use std::collections::BTreeMap;

/// A vertex: worker and index in its chain.
type PlainVertex = (usize, usize);

/// A graph in plain lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlainGraph {
    /// By worker: times, strictly increasing, with the state of the edge that ends there.
    pub(crate) chains: Vec<Vec<(u64, Option<WorkerState>)>>,
    /// By target: source, and whether it is a packet.
    pub(crate) links: BTreeMap<PlainVertex, (PlainVertex, bool)>,
}

/// One edge by its end.
#[derive(Clone, Copy, PartialEq, Debug)]
enum PlainEdge {
    Horizontal(PlainVertex),
    Vertical(PlainVertex),
}

fn blocking(state: WorkerState) -> bool {
    state == WorkerState::Blocked || state == WorkerState::Network
}

impl PlainGraph {
    pub(crate) fn built(&self) -> ExecutionGraph {
        let mut graph = PartialGraph::default();
        let mut points: BTreeMap<PlainVertex, VertexHandle> = BTreeMap::new();
        for (number, chain) in self.chains.iter().enumerate() {
            let kind = WorkerKind::Thread { tid: Tid(number as u32), generation: 0 };
            let worker = graph.worker(HostId(0), kind, TextId::EMPTY);
            for (index, &(time, state)) in chain.iter().enumerate() {
                let point = graph.append(worker, KernelTime::from_ns(time), Cpu(0), state);
                points.insert((number, index), point);
            }
        }
        for (target, &(source, packet)) in &self.links {
            let network = VerticalKind::State(WorkerState::Network);
            let kind = if packet { network } else { VerticalKind::WakeUp };
            graph.link(points[&source], points[target], kind);
        }
        graph.finish()
    }

    fn time(&self, vertex: PlainVertex) -> u64 {
        self.chains[vertex.0][vertex.1].0
    }

    fn state(&self, vertex: PlainVertex) -> Option<WorkerState> {
        if vertex.1 == 0 { None } else { self.chains[vertex.0][vertex.1].1 }
    }

    fn from(&self, edge: PlainEdge) -> PlainVertex {
        match edge {
            PlainEdge::Horizontal((worker, index)) => (worker, index - 1),
            PlainEdge::Vertical(vertex) => self.links[&vertex].0,
        }
    }

    /// Section 2.7, steps 1 to 3.
    fn resolve(&self, wait: PlainVertex, bound: u64) -> Vec<PlainEdge> {
        let Some(&(source, _)) = self.links.get(&wait) else { return Vec::new() };
        let mut edges = vec![PlainEdge::Vertical(wait)];
        let mut alternatives: Vec<(PlainVertex, usize)> = Vec::new();
        let limit = bound.max(self.time((wait.0, wait.1 - 1)));
        let mut vertex = source;
        while self.time(vertex) > limit {
            let vertical = self.links.get(&vertex).map(|&(source, _)| source);
            let state = self.state(vertex);
            if vertical.is_some_and(|source| self.time(source) <= limit) {
                edges.push(PlainEdge::Vertical(vertex));
                break;
            }
            if vertical.is_some() && !state.is_some_and(blocking) {
                alternatives.push((vertex, edges.len()));
            }
            if let Some(state) = state {
                let inner = if blocking(state) { self.resolve(vertex, limit) } else { Vec::new() };
                if !blocking(state) || (inner.is_empty() && state == WorkerState::Network) {
                    edges.push(PlainEdge::Horizontal(vertex));
                }
                edges.extend(inner);
                vertex = (vertex.0, vertex.1 - 1);
                continue;
            }
            let Some((other, length_then)) = alternatives.pop() else { break };
            edges.truncate(length_then);
            edges.push(PlainEdge::Vertical(other));
            vertex = self.links[&other].0;
        }
        edges
    }

    /// Section 2.7, step 4 and the walk along the thread: worker, state, from, to.
    pub(crate) fn path(&self, worker: usize, from: u64, to: u64) -> Vec<(usize, WorkerState, u64, u64)> {
        let mut segments = Vec::new();
        let mut now = from;
        for index in 1..self.chains[worker].len() {
            let end = (worker, index);
            if self.time(end) <= from || self.time((worker, index - 1)) >= to {
                continue;
            }
            let state = self.state(end).unwrap_or(WorkerState::Unknown);
            let edges = if blocking(state) { self.resolve(end, from) } else { Vec::new() };
            if edges.is_empty() {
                segments.push((worker, state, now, self.time(end)));
            }
            for &edge in edges.iter().rev() {
                now = self.append_edge(edge, now, &mut segments);
            }
            now = now.max(self.time(end));
        }
        segments.retain_mut(|segment| {
            segment.3 = segment.3.min(to);
            segment.2 < segment.3
        });
        segments
    }

    fn append_edge(
        &self,
        edge: PlainEdge,
        now: u64,
        segments: &mut Vec<(usize, WorkerState, u64, u64)>,
    ) -> u64 {
        let from = self.from(edge);
        let begin = now.max(self.time(from));
        segments.push((from.0, WorkerState::Unknown, now, begin));
        let (to, state) = match edge {
            PlainEdge::Horizontal(to) => (to, self.state(to).expect("an edge has a state")),
            PlainEdge::Vertical(to) if self.links[&to].1 => (to, WorkerState::Network),
            PlainEdge::Vertical(to) => (to, WorkerState::Unknown),
        };
        segments.push((to.0, state, begin, self.time(to)));
        begin.max(self.time(to))
    }
}
