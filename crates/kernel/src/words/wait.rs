//! A wait as a value.

use crate::path::PieceState;
use crate::worker::WorkerId;

/// What a stretch of a critical path was spent on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Resource {
    /// Work on a CPU.
    Work,
    /// A CPU: the thread could have run.
    Cpu,
    /// A CPU that stood idle meanwhile: a CPU quota held the thread back.
    CpuQuota,
    /// A CPU that was just waking up from idleness.
    IdleWakeUp,
    /// A disk; its interrupt's name, empty when not known.
    Disk(String),
    /// A packet of a worker of the trace.
    PacketOf(WorkerId),
    /// A packet whose sender is not in the trace; the device or thread that received it, empty when not known.
    Packet(String),
    /// A timer: a sleep or a timeout.
    Timer,
    /// A person at a device; its name, empty when not known.
    Person(String),
    /// A device of another kind, by its interrupt's name.
    Device(String),
    /// The kernel's own interrupts.
    Interrupt,
    /// A signal of another CPU.
    OtherCpu,
    /// The trace does not tell.
    Unknown(UnknownReason),
}

/// Why the trace does not tell what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UnknownReason {
    /// Events were lost meanwhile.
    LostEvents,
    /// CPUs are missing in the trace: the waker may have run there.
    MissingCpu,
    /// No wake-up is in the trace that explains it.
    NoWakeUp,
    /// The trace does not tell what the worker did.
    NoRecord,
}

/// What one worker did, in one state, for one reason, within the pieces asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct Wait {
    /// The other worker that was waited for; `None` when it is the execution's own thread's doing.
    pub other: Option<WorkerId>,
    /// The other worker in words: `redis-server (812)`; empty for the execution's own thread.
    pub other_name: String,
    /// The sender of the packet in words; empty when there is none.
    pub sender_name: String,
    /// The state.
    pub state: PieceState,
    /// What for.
    pub resource: Resource,
    /// Who ended the wait, as far as the path tells: the worker it comes back from, the sender.
    pub waker: Option<WorkerId>,
    /// How often; stretches that follow each other count once.
    pub count: u64,
    /// Total time in nanoseconds.
    pub ns: u64,
    /// Of it, the time in nanoseconds in which the thread could have run and its CPU was idle.
    pub idle_ns: u64,
    /// How many stretches rest on a switch that was implied, not recorded.
    pub inferred: u64,
}

impl Wait {
    /// Share (0 to 1) of the time in which the thread's CPU was idle.
    pub fn idle_share(&self) -> f64 {
        if self.ns == 0 { 0.0 } else { self.idle_ns as f64 / self.ns as f64 }
    }
}
