//! The execution graph: who did what when, and who woke whom.

use crate::path::{PathLink, PieceState, Window};
use crate::sketch::GraphSketch;
use crate::vertex::{Vertex, VerticalKind};
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTexts, KernelTime, TextId, Tid};
use std::collections::BTreeMap;

/// Workers with a chain of states each, and the wake-ups and packets between them.
///
/// Needs 24 bytes per vertex: at most two vertices per event, mostly fewer than one (a switch makes two, a wake-up
/// two, an interrupt none).
#[derive(Debug)]
pub struct ExecutionGraph {
    pub(crate) workers: Vec<Worker>,
    pub(crate) chains: Vec<Vec<Vertex>>,
    pub(crate) vertices: usize,
    texts: KernelTexts,
    /// Of several hosts: their names, by number.
    hosts: Vec<String>,
    lives: BTreeMap<(HostId, Tid), Vec<WorkerId>>,
    idle: BTreeMap<(HostId, Cpu), WorkerId>,
}

/// What a graph consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphCounts {
    /// Workers with at least one vertex.
    pub workers: u64,
    /// Vertices.
    pub vertices: u64,
    /// Horizontal edges by state, in the order of [`PieceState::ALL`].
    pub horizontal: [u64; PieceState::ALL.len()],
    /// Vertical edges.
    pub vertical: u64,
}

/// A horizontal edge of the graph, cut to the window asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WorkerPiece {
    /// The state.
    pub state: PieceState,
    /// From when to when.
    pub window: Window,
    /// The CPU the worker ran on, or where it was woken or switched in at the end of a wait.
    pub cpu: Cpu,
    /// What more is known of a wait; empty if nothing.
    pub qualifier: TextId,
    /// Whether its beginning or end was not recorded but implied.
    pub inferred: bool,
}

impl ExecutionGraph {
    pub(crate) fn from_sketch(sketch: GraphSketch) -> ExecutionGraph {
        let mut lives: BTreeMap<(HostId, Tid), Vec<WorkerId>> = BTreeMap::new();
        let mut idle = BTreeMap::new();
        for (id, worker) in (0..).map(WorkerId).zip(&sketch.workers) {
            match worker.kind {
                WorkerKind::Thread { tid, .. } => lives.entry((worker.host, tid)).or_default().push(id),
                WorkerKind::Idle(cpu) if !sketch.shares_idle => drop(idle.insert((worker.host, cpu), id)),
                WorkerKind::Idle(_) | WorkerKind::Interrupts(_) => {}
            }
        }
        let GraphSketch { workers, chains, texts, vertices, shares_idle: _ } = sketch;
        ExecutionGraph { workers, chains, vertices, texts, hosts: Vec::new(), lives, idle }
    }

    /// All workers; a [`WorkerId`] is the position here.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// One worker.
    ///
    /// # Panics
    /// When the handle is another graph's and out of range.
    pub fn worker(&self, id: WorkerId) -> &Worker {
        &self.workers[id.0 as usize]
    }

    /// The texts that names and qualifiers of this graph refer to. They are the graph's own: handles of the
    /// trace's texts mean something else here.
    pub fn texts(&self) -> &KernelTexts {
        &self.texts
    }

    /// A worker's name; empty when never told.
    pub fn name(&self, id: WorkerId) -> &str {
        self.texts.text(self.worker(id).name)
    }

    /// Gives the hosts' names, by number: for a graph of several.
    pub fn name_hosts(&mut self, names: Vec<String>) {
        self.hosts = names;
    }

    /// The name of a worker's host; empty when it was not given.
    pub fn host_name(&self, id: WorkerId) -> &str {
        self.hosts.get(usize::from(self.worker(id).host.0)).map_or("", String::as_str)
    }

    /// The thread that bore a number at an instant: the last life that had begun by then, else the first. Idle
    /// tasks (number 0) are asked for by [`ExecutionGraph::idle_of`].
    pub fn worker_of(&self, host: HostId, tid: Tid, time: KernelTime) -> Option<WorkerId> {
        let lives = self.lives.get(&(host, tid))?;
        let begun = lives.partition_point(|&id| self.life(id).is_some_and(|life| life.from <= time));
        lives.get(begun.saturating_sub(1)).copied()
    }

    /// The idle task of a CPU; nothing in compatible mode, where all CPUs share one.
    pub fn idle_of(&self, host: HostId, cpu: Cpu) -> Option<WorkerId> {
        self.idle.get(&(host, cpu)).copied()
    }

    /// From a worker's first to its last vertex.
    pub fn life(&self, id: WorkerId) -> Option<Window> {
        let chain = &self.chains[id.0 as usize];
        Some(Window { from: chain.first()?.time, to: chain.last()?.time })
    }

    /// Counts everything. Cost: linear in the vertices.
    pub fn counts(&self) -> GraphCounts {
        let mut counts = GraphCounts::default();
        for chain in &self.chains {
            counts.workers += u64::from(!chain.is_empty());
            counts.vertices += chain.len() as u64;
            for vertex in chain {
                counts.vertical += u64::from(vertex.vertical().is_some());
                if let Some(state) = vertex.edge() {
                    counts.horizontal[state as usize] += 1;
                }
            }
        }
        counts
    }

    /// The states of one worker in a window, in time order, for drawing. Gaps are left out.
    pub fn pieces(&self, id: WorkerId, window: Window) -> impl Iterator<Item = WorkerPiece> + '_ {
        let chain = &self.chains[id.0 as usize];
        let first = first_edge(chain, window.from);
        let edges = chain.windows(2).skip(first.saturating_sub(1));
        edges.take_while(move |edge| edge[0].time < window.to).filter_map(move |edge| {
            let [from, to] = edge else { return None };
            Some(WorkerPiece {
                state: to.edge()?,
                window: Window { from: from.time.max(window.from), to: to.time.min(window.to) },
                cpu: to.cpu,
                qualifier: to.qualifier,
                inferred: from.is_implied() || to.is_implied(),
            })
        })
    }

    /// The wake-ups and packets that reach one worker within a window (its end included), in time order.
    pub fn arrivals(&self, id: WorkerId, window: Window) -> impl Iterator<Item = PathLink> + '_ {
        let chain = &self.chains[id.0 as usize];
        let first = chain.partition_point(|vertex| vertex.time < window.from);
        chain[first..].iter().take_while(move |vertex| vertex.time <= window.to).filter_map(move |vertex| {
            let (source, kind) = vertex.vertical()?;
            Some(PathLink {
                from: WorkerId(source.worker),
                from_time: self.chains[source.worker as usize][source.index as usize].time,
                to: id,
                to_time: vertex.time,
                network: kind != VerticalKind::WakeUp,
            })
        })
    }
}

/// The index of the vertex that ends the first edge with a part after `from`: at least 1; the length of the chain
/// when there is none.
pub(crate) fn first_edge(chain: &[Vertex], from: KernelTime) -> usize {
    chain.partition_point(|vertex| vertex.time <= from).max(1)
}
