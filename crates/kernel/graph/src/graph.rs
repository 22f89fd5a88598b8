//! The execution graph: the states of workers over time, and the wake-ups between them.

use crate::calls::Calls;
use crate::cpu_runs::CpuRuns;
use crate::membership::Membership;
use crate::partial_graph::PartialGraph;
use crate::path::{PathLink, Window, WorkerState};
use crate::quota_timers::{QuotaTimers, Throttling};
use crate::stacks::{Stacks, WaitStacks};
use crate::vertex::{Vertex, VerticalKind};
use crate::worker::{HostId, Worker, WorkerId, WorkerKind};
use laggard_model::{Cpu, KernelTexts, KernelTime, TextId, Tid};
use std::collections::BTreeMap;
use std::sync::OnceLock;

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
    /// Names of the hosts, by number; empty for a single host.
    hosts: Vec<String>,
    lifetimes: BTreeMap<(HostId, Tid), Vec<WorkerId>>,
    /// Idle tasks by CPU; empty if they are not separated.
    pub(crate) idle: BTreeMap<(HostId, Cpu), WorkerId>,
    pub(crate) quota_timers: QuotaTimers,
    /// Whether the functions of timers are known.
    pub(crate) names_timers: bool,
    pub(crate) calls: Calls,
    pub(crate) stacks: Stacks,
    has_packets: bool,
    pub(crate) memberships: BTreeMap<HostId, Membership>,
    pub(crate) cpu_runs: OnceLock<CpuRuns>,
    pub(crate) throttling: OnceLock<Throttling>,
}

/// Size of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphCounts {
    /// Workers with at least one vertex.
    pub workers: u64,
    /// Vertices.
    pub vertices: u64,
    /// Horizontal edges by state, in the order of [`WorkerState::ALL`].
    pub horizontal: [u64; WorkerState::ALL.len()],
    /// Vertical edges.
    pub vertical: u64,
}

/// A horizontal edge of the graph, clipped to a window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StateInterval {
    /// The state.
    pub state: WorkerState,
    /// Its window.
    pub window: Window,
    /// The CPU the worker ran on, or where it was woken or switched in at the end of a wait.
    pub cpu: Cpu,
    /// Detail of a wait, such as the interrupt's name; empty if unknown.
    pub qualifier: TextId,
    /// Whether its beginning or end was implied by other records.
    pub inferred: bool,
}

impl ExecutionGraph {
    pub(crate) fn from_partial(graph: PartialGraph) -> ExecutionGraph {
        let mut lifetimes: BTreeMap<(HostId, Tid), Vec<WorkerId>> = BTreeMap::new();
        let mut idle = BTreeMap::new();
        for (id, worker) in (0..).map(WorkerId).zip(&graph.workers) {
            match worker.kind {
                WorkerKind::Thread { tid, .. } => lifetimes.entry((worker.host, tid)).or_default().push(id),
                WorkerKind::Idle(cpu) => drop(idle.insert((worker.host, cpu), id)),
                WorkerKind::Interrupts(_) => {}
            }
        }
        let PartialGraph {
            workers,
            chains,
            texts,
            vertices,
            quota_timers,
            calls,
            stacks,
            has_packets,
            names_timers,
        } = graph;
        ExecutionGraph {
            workers,
            chains,
            vertices,
            texts,
            hosts: Vec::new(),
            lifetimes,
            idle,
            quota_timers,
            names_timers,
            calls,
            stacks,
            has_packets,
            memberships: BTreeMap::new(),
            cpu_runs: OnceLock::new(),
            throttling: OnceLock::new(),
        }
    }

    /// All workers, indexed by [`WorkerId`].
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// One worker.
    ///
    /// # Panics
    /// If `id` is out of range.
    pub fn worker(&self, id: WorkerId) -> &Worker {
        &self.workers[id.0 as usize]
    }

    /// The texts that names and qualifiers of this graph refer to. Handles of the trace's texts are not valid here.
    pub fn texts(&self) -> &KernelTexts {
        &self.texts
    }

    /// A worker's name; empty if unknown.
    pub fn name(&self, id: WorkerId) -> &str {
        self.texts.text(self.worker(id).name)
    }

    /// Sets the hosts' names, by number.
    pub fn name_hosts(&mut self, names: Vec<String>) {
        self.hosts = names;
    }

    /// The name of a worker's host; empty if not set.
    pub fn host_name(&self, id: WorkerId) -> &str {
        self.name_of_host(self.worker(id).host)
    }

    /// A host's name; empty if not set.
    pub fn name_of_host(&self, host: HostId) -> &str {
        self.hosts.get(usize::from(host.0)).map_or("", String::as_str)
    }

    /// The thread with a tid at an instant: the last one that had begun by then, else the first. For idle tasks (tid 0)
    /// use [`ExecutionGraph::idle_of`].
    pub fn worker_of(&self, host: HostId, tid: Tid, time: KernelTime) -> Option<WorkerId> {
        let lifetimes = self.lifetimes.get(&(host, tid))?;
        let begun =
            lifetimes.partition_point(|&id| self.lifetime(id).is_some_and(|lifetime| lifetime.from <= time));
        lifetimes.get(begun.saturating_sub(1)).copied()
    }

    /// The idle task of a CPU; `None` in compatible mode, where all CPUs share one.
    pub fn idle_of(&self, host: HostId, cpu: Cpu) -> Option<WorkerId> {
        self.idle.get(&(host, cpu)).copied()
    }

    /// From a worker's first to its last vertex.
    pub fn lifetime(&self, id: WorkerId) -> Option<Window> {
        let chain = &self.chains[id.0 as usize];
        Some(Window { from: chain.first()?.time, to: chain.last()?.time })
    }

    /// Whether packets were recorded.
    pub fn has_packets(&self) -> bool {
        self.has_packets
    }

    /// Counts workers, vertices, and edges. Cost: linear in the vertices.
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

    /// The states of one worker in a window, in time order. Gaps are omitted.
    pub fn segments(&self, id: WorkerId, window: Window) -> impl Iterator<Item = StateInterval> + '_ {
        let chain = &self.chains[id.0 as usize];
        let first = first_edge(chain, window.from);
        let edges = chain.windows(2).skip(first.saturating_sub(1));
        edges.take_while(move |edge| edge[0].time < window.to).filter_map(move |edge| {
            let [from, to] = edge else { return None };
            Some(StateInterval {
                state: to.edge()?,
                window: Window { from: from.time.max(window.from), to: to.time.min(window.to) },
                cpu: to.cpu,
                qualifier: to.qualifier,
                inferred: from.is_implied() || to.is_implied(),
            })
        })
    }

    /// The stacks of the wait in which a thread is at an instant, if they were recorded.
    pub fn stacks_at(&self, worker: WorkerId, time: KernelTime) -> Option<WaitStacks<'_>> {
        let stacks = self.stacks.before(worker, time)?;
        // A later wait may lack its stack.
        let between = Window { from: stacks.from, to: time };
        if self.segments(worker, between).any(|segment| segment.state == WorkerState::Running) {
            return None;
        }
        let text = |id| self.texts().text(id);
        Some(WaitStacks { waiting: text(stacks.waiting), waking: text(stacks.waking) })
    }

    /// The wake-ups and packets that arrive at one worker within a window (its end included), in time order.
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

/// The index of the vertex that ends the first edge extending beyond `from`: at least 1; the length of the chain if
/// there is none.
pub(crate) fn first_edge(chain: &[Vertex], from: KernelTime) -> usize {
    chain.partition_point(|vertex| vertex.time <= from).max(1)
}
