//! Workers: threads, idle tasks, and the interrupt sides of hosts.

use laggard_model::{Cpu, TextId, Tid};

/// A host, by its 0-based number among the traces of one analysis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostId(pub u16);

/// The id of a worker within its graph; dense, in order of first appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u32);

/// The kind of a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WorkerKind {
    /// A thread. Tids are reused: each thread is a separate worker.
    Thread {
        /// The tid.
        tid: Tid,
        /// 0 for the first thread with this tid, and so on.
        generation: u32,
    },
    /// The idle task of a CPU (of all CPUs, CPU 0, in compatible mode).
    Idle(Cpu),
    /// The interrupt side of a CPU (of all CPUs of the host, CPU 0, in compatible mode).
    Interrupts(Cpu),
}

/// A worker and its last known name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Worker {
    /// The host it runs on.
    pub host: HostId,
    /// Its kind.
    pub kind: WorkerKind,
    /// The thread's name; empty if unknown.
    pub name: TextId,
}
