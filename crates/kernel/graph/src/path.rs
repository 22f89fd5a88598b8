//! The critical path of a window, as segments and links.

use crate::worker::WorkerId;
use laggard_model::{Cpu, KernelTime, TextId};

/// A half-open interval of time on one trace's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its beginning.
    pub from: KernelTime,
    /// Its end, not before the beginning.
    pub to: KernelTime,
}

impl Window {
    /// Length in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.to.since(self.from)
    }
}

/// The state of a worker during an edge of the graph or a segment of a critical path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WorkerState {
    /// On a CPU.
    Running,
    /// Runnable, waiting for a CPU.
    Preempted,
    /// Waiting for an unknown (or unresolved) reason.
    Blocked,
    /// Waiting for a packet.
    Network,
    /// Waiting for a disk.
    BlockDevice,
    /// Waiting for a timer: a sleep or a timeout.
    Timer,
    /// Stopped by an interrupt.
    Interrupted,
    /// Waiting for an interrupt between CPUs.
    Ipi,
    /// Waiting for user input: keyboard, mouse.
    UserInput,
    /// Not known.
    Unknown,
    /// Runnable, but kept from running by a CPU quota. Only paths have it; in the graph it is part of a wait for a CPU.
    Throttled,
}

impl WorkerState {
    /// All states, in the order reports list them.
    pub const ALL: [WorkerState; 11] = [
        WorkerState::Running,
        WorkerState::Preempted,
        WorkerState::Blocked,
        WorkerState::Network,
        WorkerState::BlockDevice,
        WorkerState::Timer,
        WorkerState::Interrupted,
        WorkerState::Ipi,
        WorkerState::UserInput,
        WorkerState::Unknown,
        WorkerState::Throttled,
    ];

    /// The state's name in JSON and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            WorkerState::Running => "running",
            WorkerState::Preempted => "preempted",
            WorkerState::Blocked => "blocked",
            WorkerState::Network => "network",
            WorkerState::BlockDevice => "block_device",
            WorkerState::Timer => "timer",
            WorkerState::Interrupted => "interrupted",
            WorkerState::Ipi => "ipi",
            WorkerState::UserInput => "user_input",
            WorkerState::Unknown => "unknown",
            WorkerState::Throttled => "throttled",
        }
    }
}

/// A segment of a critical path: one worker in one state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathSegment {
    /// The worker whose state it is.
    pub worker: WorkerId,
    /// The state.
    pub state: WorkerState,
    /// Its window.
    pub window: Window,
    /// Detail of a wait: the interrupt's or thread's name; empty if unknown.
    pub qualifier: TextId,
    /// Nanoseconds of a preempted or throttled segment during which the CPU the thread last ran on was idle. 0 for other
    /// states.
    pub idle_ns: u64,
    /// The CPU on which the thread runs after a preempted or throttled segment; `None` for other states.
    pub cpu: Option<Cpu>,
    /// Whether the segment depends on a switch that was implied, not recorded.
    pub inferred: bool,
}

/// A jump of the path from one worker to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLink {
    /// The worker left.
    pub from: WorkerId,
    /// The time at which the path leaves it.
    pub from_time: KernelTime,
    /// The worker the path goes on with.
    pub to: WorkerId,
    /// When; not after the window's end.
    pub to_time: KernelTime,
    /// Whether the jump is a packet (and has a length), not a wake-up.
    pub network: bool,
}

/// The critical path of one worker over one window. The segments are in time order and cover the window exactly.
#[derive(Clone, PartialEq, Debug)]
pub struct CriticalPath {
    /// The worker.
    pub worker: WorkerId,
    /// The requested window, clipped to the worker's lifetime.
    pub window: Window,
    /// The segments.
    pub segments: Vec<PathSegment>,
    /// The jumps between workers, in time order.
    pub links: Vec<PathLink>,
    /// Number of waits inside the window that could not be resolved.
    pub unresolved: u64,
}
