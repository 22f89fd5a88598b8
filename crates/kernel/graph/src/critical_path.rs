//! The critical path: a thread's own time, with each wait replaced by the work it waited for.

use crate::graph::{ExecutionGraph, first_edge};
use crate::idle::idle_ns;
use crate::path::{CriticalPath, PathLink, PathSegment, Window, WorkerState};
use crate::resolve::{PathStep, Resolver, is_blocking, predecessor};
use crate::vertex::{Vertex, VertexRef, VerticalKind};
use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

impl ExecutionGraph {
    /// The critical path of a worker over a window. The window is clipped to the worker's lifetime; if they do not
    /// overlap, its length is 0 and there are no segments.
    ///
    /// Cost: linear in the edges of the path; at most a fixed multiple of the whole graph.
    pub fn critical_path(&self, worker: WorkerId, window: Window) -> CriticalPath {
        let chain = &self.chains[worker.0 as usize];
        let lifetime = self.lifetime(worker).unwrap_or(Window { from: window.from, to: window.from });
        let from = window.from.clamp(lifetime.from, lifetime.to);
        let window = Window { from, to: window.to.clamp(from, lifetime.to) };
        let mut resolver = Resolver::new(&self.chains, self.vertices);
        let mut writer = PathBuilder::new(self, worker, window);
        for index in first_edge(chain, from)..chain.len() {
            if chain[index - 1].time >= window.to {
                break;
            }
            let end = VertexRef { worker: worker.0, index: index as u32 };
            match chain[index].edge() {
                Some(state) if is_blocking(state) => writer.put_wait(&mut resolver, end, state),
                edge => writer.put_edge(end, edge.unwrap_or(WorkerState::Unknown)),
            }
        }
        writer.path
    }

    /// The states of one worker in a window, as a path has them: a wait for a CPU is split at throttling. Unlike in a path, other
    /// waits are the worker's own, and gaps are omitted.
    ///
    /// Cost: linear in the worker's edges.
    pub fn own_states(&self, worker: WorkerId, window: Window) -> Vec<PathSegment> {
        let chain = &self.chains[worker.0 as usize];
        let mut writer = PathBuilder::new(self, worker, window);
        for index in first_edge(chain, window.from)..chain.len() {
            let begin = chain[index - 1].time;
            if begin >= window.to {
                break;
            }
            writer.time = writer.time.max(begin);
            if let Some(state) = chain[index].edge() {
                writer.put_edge(VertexRef { worker: worker.0, index: index as u32 }, state);
            }
        }
        writer.path.segments
    }
}

/// Builds a path forward in time, always from its current end.
struct PathBuilder<'g> {
    graph: &'g ExecutionGraph,
    worker: u32,
    time: KernelTime,
    path: CriticalPath,
}

impl<'g> PathBuilder<'g> {
    fn new(graph: &'g ExecutionGraph, worker: WorkerId, window: Window) -> PathBuilder<'g> {
        let path = CriticalPath { worker, window, segments: Vec::new(), links: Vec::new(), unresolved: 0 };
        PathBuilder { graph, worker: worker.0, time: window.from, path }
    }

    fn vertex(&self, vertex: VertexRef) -> &'g Vertex {
        &self.graph.chains[vertex.worker as usize][vertex.index as usize]
    }

    /// Adds what a wait waited for, or the wait itself when that is not known.
    fn put_wait(&mut self, resolver: &mut Resolver<'_>, end: VertexRef, state: WorkerState) {
        let steps = resolver.resolve(end, self.path.window.from);
        if steps.is_empty() {
            self.path.unresolved += u64::from(state == WorkerState::Blocked);
            self.put_edge(end, state);
            return;
        }
        let mut is_first = true;
        for &step in steps.iter().rev() {
            self.put_step(step, is_first);
            is_first = false;
        }
    }

    /// Adds one edge of a resolved wait, after a jump to its beginning.
    fn put_step(&mut self, step: PathStep, is_first: bool) {
        match step {
            PathStep::Horizontal(end) => {
                self.jump_to(predecessor(end), is_first);
                let state = self.vertex(end).edge().unwrap_or(WorkerState::Unknown);
                self.put_edge(end, state);
            }
            PathStep::Vertical(end) => {
                let Some((source, kind)) = self.vertex(end).vertical() else { return };
                self.jump_to(source, is_first);
                self.follow(end, kind);
            }
        }
    }

    /// Jumps to another worker, and forward in time to the beginning of its edge; the time between is unknown.
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
        self.put_segment(time, WorkerState::Unknown, qualifier, false);
    }

    /// Adds a vertical edge: a link and, if it has a length, a segment of its target worker.
    fn follow(&mut self, end: VertexRef, kind: VerticalKind) {
        let vertex = self.vertex(end);
        let (state, network) = match kind {
            VerticalKind::WakeUp => (WorkerState::Unknown, false),
            VerticalKind::State(state) => (state, true),
        };
        if end.worker != self.worker {
            self.put_link(end.worker, vertex.time.max(self.time), network);
        }
        self.put_segment(vertex.time, state, vertex.qualifier, false);
    }

    /// Adds a horizontal edge at the end of the path.
    fn put_edge(&mut self, end: VertexRef, state: WorkerState) {
        let vertex = self.vertex(end);
        let inferred = vertex.is_implied() || self.vertex(predecessor(end)).is_implied();
        let segment = self.put_segment(vertex.time, state, vertex.qualifier, inferred);
        if let Some(index) = segment.filter(|_| state == WorkerState::Preempted) {
            self.split_wait(end, index);
        }
    }

    /// Splits a wait for a CPU at the beginning and end of throttling.
    fn split_wait(&mut self, end: VertexRef, index: usize) {
        let whole = PathSegment { cpu: Some(self.vertex(end).cpu), ..self.path.segments[index] };
        let wait = self.graph.runnable_wait(end);
        let full = wait.window;
        let idle = idle_ns(self.graph, end, full);
        let throttled = self.graph.throttled(wait, idle);
        self.path.segments.truncate(index);
        let part = |from: KernelTime, to: KernelTime, state| {
            let window = Window { from: from.max(whole.window.from), to: to.min(whole.window.to) };
            (window.from < window.to).then(|| PathSegment {
                state,
                window,
                idle_ns: idle_ns(self.graph, end, window),
                ..whole
            })
        };
        let mut from = full.from;
        for window in throttled {
            self.path.segments.extend(part(from, window.from, WorkerState::Preempted));
            self.path.segments.extend(part(window.from, window.to, WorkerState::Throttled));
            from = window.to;
        }
        self.path.segments.extend(part(from, full.to, WorkerState::Preempted));
    }

    /// Adds a segment of the current worker up to `until`, clipped to the window; returns its index unless it is empty.
    fn put_segment(
        &mut self,
        until: KernelTime,
        state: WorkerState,
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
        self.path.segments.push(PathSegment {
            worker,
            state,
            window,
            qualifier,
            idle_ns: 0,
            cpu: None,
            inferred,
        });
        Some(self.path.segments.len() - 1)
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
