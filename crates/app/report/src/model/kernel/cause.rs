//! States of a segment of a critical path, and what they mean to a reader.

use serde::Serialize;
use utoipa::ToSchema;

/// The state of a segment of a critical path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelState {
    /// On a CPU.
    Running,
    /// Runnable, waiting for a CPU.
    Preempted,
    /// Waiting, for what is not known.
    Blocked,
    /// Waiting for a packet.
    Network,
    /// Waiting for a disk.
    BlockDevice,
    /// Waiting for a timer.
    Timer,
    /// Stopped by an interrupt.
    Interrupted,
    /// Waiting for an interrupt between CPUs.
    Ipi,
    /// Waiting for a person.
    UserInput,
    /// Not known.
    Unknown,
}

impl KernelState {
    /// All states, in the order reports list them.
    pub const ALL: [KernelState; 10] = [
        KernelState::Running,
        KernelState::Preempted,
        KernelState::Blocked,
        KernelState::Network,
        KernelState::BlockDevice,
        KernelState::Timer,
        KernelState::Interrupted,
        KernelState::Ipi,
        KernelState::UserInput,
        KernelState::Unknown,
    ];

    /// The state in a table or a legend.
    pub const fn word(self) -> &'static str {
        match self {
            KernelState::Running => "running",
            KernelState::Preempted => "preempted",
            KernelState::Blocked => "blocked",
            KernelState::Network => "network",
            KernelState::BlockDevice => "disk",
            KernelState::Timer => "timer",
            KernelState::Interrupted => "interrupted",
            KernelState::Ipi => "inter-processor",
            KernelState::UserInput => "user input",
            KernelState::Unknown => "unknown",
        }
    }
}

/// What time of an execution went to, in a reader's terms: a state, split by whose it is and what shows why.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitCause {
    /// The thread itself ran.
    Computing,
    /// It waited for another thread that ran.
    OtherThread,
    /// Runnable while its CPU stood idle for long: a CPU quota.
    CpuQuota,
    /// Runnable while its CPU ran something else.
    CpuBusy,
    /// Runnable while its CPU woke up from idleness.
    CpuWakeUp,
    /// A disk.
    Disk,
    /// A packet.
    Network,
    /// A timer: a sleep or a timeout.
    Timer,
    /// An interrupt.
    Interrupt,
    /// A person.
    Person,
    /// A wait whose end is in the trace, but not its reason.
    Unresolved,
    /// An interval of which nothing is known.
    Unknown,
}

impl WaitCause {
    /// All causes, in the order reports list them.
    pub const ALL: [WaitCause; 12] = [
        WaitCause::Computing,
        WaitCause::OtherThread,
        WaitCause::CpuQuota,
        WaitCause::CpuBusy,
        WaitCause::CpuWakeUp,
        WaitCause::Disk,
        WaitCause::Network,
        WaitCause::Timer,
        WaitCause::Interrupt,
        WaitCause::Person,
        WaitCause::Unresolved,
        WaitCause::Unknown,
    ];

    /// Idle time of a preempted segment from which on it looks like a quota, in nanoseconds. A CPU that wakes from
    /// its deepest idle state takes some hundred microseconds at most, a quota throttles for milliseconds.
    pub const QUOTA_IDLE_NS: u64 = 500_000;

    /// The cause of a segment: its state, whether it is the examined thread's own, its length and the part of it during
    /// which the CPU stood idle (nanoseconds).
    pub const fn of(state: KernelState, own: bool, elapsed_ns: u64, idle_ns: u64) -> WaitCause {
        match state {
            KernelState::Running if own => WaitCause::Computing,
            KernelState::Running => WaitCause::OtherThread,
            KernelState::Preempted if idle_ns == 0 || idle_ns < elapsed_ns / 2 => WaitCause::CpuBusy,
            KernelState::Preempted if idle_ns >= WaitCause::QUOTA_IDLE_NS => WaitCause::CpuQuota,
            KernelState::Preempted => WaitCause::CpuWakeUp,
            KernelState::BlockDevice => WaitCause::Disk,
            KernelState::Network => WaitCause::Network,
            KernelState::Timer => WaitCause::Timer,
            KernelState::Interrupted | KernelState::Ipi => WaitCause::Interrupt,
            KernelState::UserInput => WaitCause::Person,
            KernelState::Blocked => WaitCause::Unresolved,
            KernelState::Unknown => WaitCause::Unknown,
        }
    }

    /// The cause as the end of `62 % of 31.0 ms was …`.
    pub const fn clause(self) -> &'static str {
        match self {
            WaitCause::Computing => "its own computing",
            WaitCause::OtherThread => "waiting for other threads that ran",
            WaitCause::CpuQuota => "preempted while its CPU was idle: a CPU quota",
            WaitCause::CpuBusy => "waiting for a CPU that others used",
            WaitCause::CpuWakeUp => "waiting for an idle CPU to wake up",
            WaitCause::Disk => "waiting for a disk",
            WaitCause::Network => "waiting for the network",
            WaitCause::Timer => "waiting for a timer: a sleep or a timeout",
            WaitCause::Interrupt => "interrupts",
            WaitCause::Person => "waiting for a person",
            WaitCause::Unresolved => "blocked, and the trace does not say on what",
            WaitCause::Unknown => "not in the trace",
        }
    }

    /// The cause in a table.
    pub const fn word(self) -> &'static str {
        match self {
            WaitCause::Computing => "computing",
            WaitCause::OtherThread => "another thread",
            WaitCause::CpuQuota => "CPU quota",
            WaitCause::CpuBusy => "busy CPU",
            WaitCause::CpuWakeUp => "waking CPU",
            WaitCause::Disk => "disk",
            WaitCause::Network => "network",
            WaitCause::Timer => "timer",
            WaitCause::Interrupt => "interrupt",
            WaitCause::Person => "user input",
            WaitCause::Unresolved => "blocked, reason unknown",
            WaitCause::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_needs_a_cpu_that_idles_for_long() {
        let cause = |elapsed_ns, idle_ns| WaitCause::of(KernelState::Preempted, true, elapsed_ns, idle_ns);
        assert_eq!(cause(9_800_000, 9_700_000), WaitCause::CpuQuota);
        assert_eq!(cause(60_000, 60_000), WaitCause::CpuWakeUp);
        assert_eq!(cause(60_000, 0), WaitCause::CpuBusy);
        assert_eq!(cause(90_000_000, 2_000_000), WaitCause::CpuBusy, "mostly used by others");
    }

    #[test]
    fn running_is_computing_only_of_the_thread_itself() {
        assert_eq!(WaitCause::of(KernelState::Running, true, 5, 0), WaitCause::Computing);
        assert_eq!(WaitCause::of(KernelState::Running, false, 5, 0), WaitCause::OtherThread);
    }
}
