//! The current state of a thread, idle task, or interrupt side.

use crate::calls::OpenCall;
use crate::partial_graph::VertexHandle;
use crate::path::WorkerState;
use crate::worker::{WorkerId, WorkerKind};
use laggard_model::{KernelTime, StatedumpStatus, TextId};

/// The scheduling status of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SchedStatus {
    Unknown,
    Running,
    WaitFork,
    WaitCpu,
    Blocked,
    /// Off the CPU, unknown whether runnable; the next wake-up or switch decides.
    WaitUnknown,
    Exit,
    Zombie,
    Dead,
}

impl SchedStatus {
    /// The state of the edge during which a thread had this status.
    pub(super) fn edge(self) -> WorkerState {
        match self {
            SchedStatus::Running | SchedStatus::Exit => WorkerState::Running,
            SchedStatus::WaitCpu | SchedStatus::WaitFork | SchedStatus::WaitUnknown => WorkerState::Preempted,
            SchedStatus::Blocked => WorkerState::Blocked,
            SchedStatus::Unknown | SchedStatus::Zombie | SchedStatus::Dead => WorkerState::Unknown,
        }
    }
}

impl From<StatedumpStatus> for SchedStatus {
    fn from(status: StatedumpStatus) -> SchedStatus {
        match status {
            StatedumpStatus::Unknown => SchedStatus::Unknown,
            StatedumpStatus::WaitFork => SchedStatus::WaitFork,
            StatedumpStatus::WaitCpu => SchedStatus::WaitCpu,
            StatedumpStatus::Exit => SchedStatus::Exit,
            StatedumpStatus::Zombie => SchedStatus::Zombie,
            StatedumpStatus::WaitUnknown => SchedStatus::WaitUnknown,
            StatedumpStatus::Running => SchedStatus::Running,
            StatedumpStatus::Dead => SchedStatus::Dead,
        }
    }
}

/// Index of a thread in the tracker's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadId(pub(super) u32);

/// The thread that a stack belongs to if it is the next record of the CPU.
#[derive(Clone, Copy, Debug)]
pub(super) enum StackOwner {
    /// It was switched out then.
    Waits(ThreadId, KernelTime),
    /// Its wait was ended.
    IsWoken(ThreadId),
}

/// Index of a CPU in the tracker's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuId(pub(super) u32);

/// A received packet that has not yet woken a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedPacket {
    pub(super) sent_at: VertexHandle,
    pub(super) received_at: VertexHandle,
}

/// The current state of one thread. It becomes a worker of the graph with its first vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadRecord {
    /// Index of the host in the builder.
    pub(super) host: u32,
    pub(super) kind: WorkerKind,
    pub(super) name: TextId,
    pub(super) worker: Option<WorkerId>,
    pub(super) status: SchedStatus,
    /// The status before the last assignment.
    pub(super) previous: SchedStatus,
    /// The CPU it is believed to run on.
    pub(super) runs_on: Option<CpuId>,
    /// The CPU it was last seen on, and that CPU's number of losses at that time.
    pub(super) seen_on: Option<CpuId>,
    pub(super) losses_seen: u32,
    /// When it last became runnable by a wake-up.
    pub(super) woken: KernelTime,
    /// When it was woken while running, if it has not been switched out since.
    pub(super) woken_early: Option<KernelTime>,
    /// Whether it counts as runnable only because of such a wake-up.
    pub(super) is_assumed_woken: bool,
    /// Whether `sched_process_exit` was recorded.
    pub(super) is_exiting: bool,
    pub(super) received: Option<ReceivedPacket>,
    /// The system call and page fault that it is in.
    pub(super) open: OpenCall,
}

impl ThreadRecord {
    pub(super) fn new(host: u32, kind: WorkerKind, name: TextId) -> ThreadRecord {
        ThreadRecord {
            host,
            kind,
            name,
            worker: None,
            status: SchedStatus::Unknown,
            previous: SchedStatus::Unknown,
            runs_on: None,
            seen_on: None,
            losses_seen: 0,
            woken: KernelTime::from_ns(0),
            woken_early: None,
            is_assumed_woken: false,
            is_exiting: false,
            received: None,
            open: OpenCall::default(),
        }
    }

    /// Sets the status and stores the previous one, even when equal.
    pub(super) fn set(&mut self, status: SchedStatus) {
        self.previous = self.status;
        self.status = status;
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.kind, WorkerKind::Idle(_))
    }
}
