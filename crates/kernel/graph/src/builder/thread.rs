//! What is known of a thread (or idle task, or interrupt side) at the present instant.

use crate::path::PieceState;
use crate::sketch::Point;
use crate::worker::{WorkerId, WorkerKind};
use laggard_model::{KernelTime, StatedumpStatus, TextId};

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    Unknown,
    Running,
    WaitFork,
    WaitCpu,
    Blocked,
    /// Off the CPU, and not known whether runnable: the next wake-up or switch tells.
    WaitUnknown,
    Exit,
    Zombie,
    Dead,
}

impl Status {
    /// The state of the edge during which a thread had this status.
    pub(super) fn edge(self) -> PieceState {
        match self {
            Status::Running | Status::Exit => PieceState::Running,
            Status::WaitCpu | Status::WaitFork | Status::WaitUnknown => PieceState::Preempted,
            Status::Blocked => PieceState::Blocked,
            Status::Unknown | Status::Zombie | Status::Dead => PieceState::Unknown,
        }
    }
}

impl From<StatedumpStatus> for Status {
    fn from(status: StatedumpStatus) -> Status {
        match status {
            StatedumpStatus::Unknown => Status::Unknown,
            StatedumpStatus::WaitFork => Status::WaitFork,
            StatedumpStatus::WaitCpu => Status::WaitCpu,
            StatedumpStatus::Exit => Status::Exit,
            StatedumpStatus::Zombie => Status::Zombie,
            StatedumpStatus::WaitUnknown => Status::WaitUnknown,
            StatedumpStatus::Running => Status::Running,
            StatedumpStatus::Dead => Status::Dead,
        }
    }
}

/// The place of a thread's record among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadId(pub(super) u32);

/// The place of a CPU's record among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuId(pub(super) u32);

/// A packet that was sent and has been received, and has not yet woken anybody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    pub(super) sent_at: Point,
    pub(super) received_at: Point,
}

/// One thread's record. A worker of the graph is made of it with its first vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    /// The host, by its place in the builder.
    pub(super) host: u32,
    pub(super) kind: WorkerKind,
    pub(super) name: TextId,
    pub(super) worker: Option<WorkerId>,
    pub(super) status: Status,
    /// The status before the last assignment.
    pub(super) previous: Status,
    /// The CPU that is believed to run it.
    pub(super) runs_on: Option<CpuId>,
    /// The CPU it was last seen on, and how many losses that CPU had had then.
    pub(super) seen_on: Option<CpuId>,
    pub(super) losses_seen: u32,
    /// When it last became runnable by a wake-up.
    pub(super) woken: KernelTime,
    /// When it was woken while it ran, if it has not left the CPU since.
    pub(super) woken_early: Option<KernelTime>,
    /// Its being runnable rests on such a wake-up only.
    pub(super) is_assumed_woken: bool,
    /// Its exit was announced.
    pub(super) is_exiting: bool,
    pub(super) received: Option<Received>,
}

impl Thread {
    pub(super) fn new(host: u32, kind: WorkerKind, name: TextId) -> Thread {
        Thread {
            host,
            kind,
            name,
            worker: None,
            status: Status::Unknown,
            previous: Status::Unknown,
            runs_on: None,
            seen_on: None,
            losses_seen: 0,
            woken: KernelTime::from_ns(0),
            woken_early: None,
            is_assumed_woken: false,
            is_exiting: false,
            received: None,
        }
    }

    /// Assigns a status; the one before is kept, even when equal.
    pub(super) fn set(&mut self, status: Status) {
        self.previous = self.status;
        self.status = status;
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.kind, WorkerKind::Idle(_))
    }
}
