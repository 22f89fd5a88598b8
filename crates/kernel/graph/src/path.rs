//! The critical path: what the time of a window was spent on, by whom.

use crate::worker::WorkerId;
use laggard_model::{KernelTime, TextId};

/// A half-open stretch of time on one trace's clock.
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

/// The state of a piece of a critical path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PieceState {
    /// On a CPU.
    Running,
    /// Runnable, waiting for a CPU.
    Preempted,
    /// Waiting, for what is not known (or not resolved).
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
    /// Waiting for a person: keyboard, mouse.
    UserInput,
    /// Not known.
    Unknown,
}

impl PieceState {
    /// All states, in the order reports list them.
    pub const ALL: [PieceState; 10] = [
        PieceState::Running,
        PieceState::Preempted,
        PieceState::Blocked,
        PieceState::Network,
        PieceState::BlockDevice,
        PieceState::Timer,
        PieceState::Interrupted,
        PieceState::Ipi,
        PieceState::UserInput,
        PieceState::Unknown,
    ];

    /// The state's name in JSON and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            PieceState::Running => "running",
            PieceState::Preempted => "preempted",
            PieceState::Blocked => "blocked",
            PieceState::Network => "network",
            PieceState::BlockDevice => "block_device",
            PieceState::Timer => "timer",
            PieceState::Interrupted => "interrupted",
            PieceState::Ipi => "ipi",
            PieceState::UserInput => "user_input",
            PieceState::Unknown => "unknown",
        }
    }
}

/// A stretch of the path on one worker in one state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathPiece {
    /// Whose state it is.
    pub worker: WorkerId,
    /// The state.
    pub state: PieceState,
    /// From when to when.
    pub window: Window,
    /// What more is known of a wait: the interrupt's or thread's name; empty if nothing.
    pub qualifier: TextId,
    /// Nanoseconds of a pre-empted piece during which the CPU the thread last ran on was idle: what a CPU quota
    /// looks like. 0 for other states.
    pub idle_ns: u64,
    /// Whether the piece rests on a switch that was not recorded but implied.
    pub inferred: bool,
}

/// A jump of the path from one worker to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLink {
    /// The worker left.
    pub from: WorkerId,
    /// When it is left.
    pub from_time: KernelTime,
    /// The worker the path goes on with.
    pub to: WorkerId,
    /// When; not after the window's end.
    pub to_time: KernelTime,
    /// Whether the jump is a packet (and has a length), not a wake-up.
    pub network: bool,
}

/// The critical path of one worker over one window. The pieces are in time order and tile the window exactly.
#[derive(Clone, PartialEq, Debug)]
pub struct CriticalPath {
    /// The worker asked about.
    pub worker: WorkerId,
    /// The window asked about, cut to what is known of the worker.
    pub window: Window,
    /// The pieces.
    pub pieces: Vec<PathPiece>,
    /// The jumps between workers, in time order.
    pub links: Vec<PathLink>,
    /// Waits inside the window that could not be resolved: their number.
    pub unresolved: u64,
}
