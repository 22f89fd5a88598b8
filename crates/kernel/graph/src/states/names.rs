//! Names of workers.

use crate::graph::ExecutionGraph;
use crate::worker::{Worker, WorkerId, WorkerKind};
use laggard_model::{KernelTexts, TextId};

/// The workers of a graph with the texts their names are in.
#[derive(Clone, Copy, Debug)]
pub struct WorkerNames<'a> {
    /// The workers, by [`WorkerId`].
    pub workers: &'a [Worker],
    /// The trace's texts.
    pub texts: &'a KernelTexts,
}

impl<'a> WorkerNames<'a> {
    /// The workers of a graph.
    pub fn from_graph(graph: &'a ExecutionGraph) -> WorkerNames<'a> {
        WorkerNames { workers: graph.workers(), texts: graph.texts() }
    }

    /// The worker with this id; `None` if it is out of range.
    pub fn worker(self, id: WorkerId) -> Option<&'a Worker> {
        self.workers.get(id.0 as usize)
    }

    /// A worker's own name: `redis-server`, `idle task`, `interrupts`, `a thread without a name`.
    pub fn name(self, id: WorkerId) -> &'a str {
        match self.worker(id) {
            Some(Worker { kind: WorkerKind::Thread { .. }, name, .. }) if *name != TextId::EMPTY => {
                self.texts.text(*name)
            }
            Some(Worker { kind: WorkerKind::Idle(_), .. }) => "idle task",
            Some(Worker { kind: WorkerKind::Interrupts(_), .. }) => "interrupts",
            _ => "a thread without a name",
        }
    }

    /// A worker's description in reports: `redis-server (812)`, `the idle task of CPU 1`, `the
    /// interrupt side of the kernel`.
    pub fn describe(self, id: WorkerId) -> String {
        match self.worker(id).map(|worker| worker.kind) {
            Some(WorkerKind::Thread { tid, .. }) => format!("{} ({})", self.name(id), tid.0),
            Some(WorkerKind::Idle(cpu)) => format!("the idle task of CPU {}", cpu.0),
            Some(WorkerKind::Interrupts(_)) => "the interrupt side of the kernel".to_owned(),
            None => "an unknown worker".to_owned(),
        }
    }
}
