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
    /// Runnable, but kept from running by a CPU quota.
    Throttled,
}

impl KernelState {
    /// All states, in the order reports list them.
    pub const ALL: [KernelState; 11] = [
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
        KernelState::Throttled,
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
            KernelState::Throttled => "throttled",
        }
    }
}

/// The cause of a part of an execution's time, in a reader's terms: a state, split by whose it is and by its evidence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitCause {
    /// The thread itself ran.
    Computing,
    /// It waited for another thread that ran.
    OtherThread,
    /// Kept from running by a CPU quota.
    CpuQuota,
    /// Runnable while its CPU ran something else.
    CpuBusy,
    /// Runnable while its CPU was idle: it woke up, or a virtual machine stood still.
    CpuWakeUp,
    /// A disk.
    Disk,
    /// A packet.
    Network,
    /// A timer: a sleep or a timeout.
    Timer,
    /// A lock or a condition of the program (`futex`) that no thread in the trace released: the wait ended by its timeout, or what
    /// ended it is not known.
    Lock,
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
    pub const ALL: [WaitCause; 13] = [
        WaitCause::Computing,
        WaitCause::OtherThread,
        WaitCause::CpuQuota,
        WaitCause::CpuBusy,
        WaitCause::CpuWakeUp,
        WaitCause::Disk,
        WaitCause::Network,
        WaitCause::Timer,
        WaitCause::Lock,
        WaitCause::Interrupt,
        WaitCause::Person,
        WaitCause::Unresolved,
        WaitCause::Unknown,
    ];

    /// The cause of a segment: its state, whether it is the examined thread's own, its length and the part of it during
    /// which the CPU stood idle (nanoseconds).
    pub const fn of(state: KernelState, own: bool, elapsed_ns: u64, idle_ns: u64) -> WaitCause {
        match state {
            KernelState::Running if own => WaitCause::Computing,
            KernelState::Running => WaitCause::OtherThread,
            KernelState::Throttled => WaitCause::CpuQuota,
            KernelState::Preempted if idle_ns == 0 || idle_ns < elapsed_ns / 2 => WaitCause::CpuBusy,
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

    /// The cause of a wait in a system call that is for a lock or a condition of the program (`is_lock`): its timeout is not a sleep.
    #[must_use]
    pub const fn in_call(self, is_lock: bool) -> WaitCause {
        match self {
            WaitCause::Timer | WaitCause::Unresolved if is_lock => WaitCause::Lock,
            cause => cause,
        }
    }

    /// The cause as the end of `62 % of 31.0 ms was …`.
    pub const fn clause(self) -> &'static str {
        match self {
            WaitCause::Computing => "its own computing",
            WaitCause::OtherThread => "waiting for other threads that ran",
            WaitCause::CpuQuota => "waiting for the next period of a CPU quota",
            WaitCause::CpuBusy => "waiting for a CPU that others used",
            WaitCause::CpuWakeUp => "waiting for an idle CPU to wake up",
            WaitCause::Disk => "waiting for a disk",
            WaitCause::Network => "waiting for the network",
            WaitCause::Timer => "waiting for a timer: a sleep or a timeout",
            WaitCause::Lock => "waiting for a lock or a condition",
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
            WaitCause::Lock => "lock",
            WaitCause::Interrupt => "interrupt",
            WaitCause::Person => "user input",
            WaitCause::Unresolved => "blocked, reason unknown",
            WaitCause::Unknown => "unknown",
        }
    }
}

/// How a thread that used a CPU is related to the one that waited for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuUserKind {
    /// Another thread of the same process.
    SameProcess,
    /// Another process, of the same container if there is one.
    OtherProcess,
    /// A process of another container.
    OtherContainer,
    /// A process of the host, outside of the container of the waiting thread.
    Host,
    /// The trace does not say to which processes the threads belong.
    Unknown,
}

impl CpuUserKind {
    /// The relation after a thread's name; empty if it is unknown.
    pub const fn words(self) -> &'static str {
        match self {
            CpuUserKind::SameProcess => "a thread of the same process",
            CpuUserKind::OtherProcess => "another process",
            CpuUserKind::OtherContainer => "a process of another container",
            CpuUserKind::Host => "a process of the host",
            CpuUserKind::Unknown => "",
        }
    }
}

/// Threads of one name that used a CPU for which another thread waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CpuUser {
    /// Their name, with the host's in a trace of several.
    pub thread: String,
    /// The number of the one that used it longest.
    pub tid: Option<u32>,
    /// How they are related to the waiting thread.
    pub kind: CpuUserKind,
    /// Their container, if it is another than that of the waiting thread.
    pub container: Option<String>,
    /// For how long they used it, in nanoseconds.
    pub total_ns: u64,
}

/// Call stacks of waits that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WaitCallStacks {
    /// Functions in which the thread waits, the innermost first: those of the kernel by name, then those of the program with its
    /// file (`shop:handle`, or `shop+0x1234` without a name).
    pub waiting: Vec<String>,
    /// Functions from which it is woken, in the same way; empty if that was not recorded.
    pub waking: Vec<String>,
    /// Time of these waits, in nanoseconds.
    pub total_ns: u64,
}

/// Threads of one name for which another thread waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct OtherThread {
    /// Their name, with the host's in a trace of several.
    pub thread: String,
    /// The number of the thread, if it is only one.
    pub tid: Option<u32>,
    /// Whether they have the waiting thread's name.
    pub is_namesake: bool,
    /// How they are related to the waiting thread, if they have its name or are in another container; else unknown.
    pub kind: CpuUserKind,
    /// Their container, if it is another than that of the waiting thread.
    pub container: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_wait_is_attributed_to_the_longest_use_of_the_cpu() {
        let cause = |elapsed_ns, idle_ns| WaitCause::of(KernelState::Preempted, true, elapsed_ns, idle_ns);
        assert_eq!(WaitCause::of(KernelState::Throttled, true, 9_800_000, 0), WaitCause::CpuQuota);
        assert_eq!(cause(60_000, 60_000), WaitCause::CpuWakeUp);
        assert_eq!(cause(60_000, 0), WaitCause::CpuBusy);
        assert_eq!(cause(90_000_000, 2_000_000), WaitCause::CpuBusy, "mostly used by others");
    }

    #[test]
    fn a_lock_wait_that_times_out_is_not_a_sleep() {
        assert_eq!(WaitCause::Timer.in_call(true), WaitCause::Lock);
        assert_eq!(WaitCause::Unresolved.in_call(true), WaitCause::Lock);
        assert_eq!(WaitCause::Timer.in_call(false), WaitCause::Timer);
        assert_eq!(WaitCause::Disk.in_call(true), WaitCause::Disk, "a page of memory, behind the lock");
    }

    #[test]
    fn running_counts_as_computing_only_for_the_thread_itself() {
        assert_eq!(WaitCause::of(KernelState::Running, true, 5, 0), WaitCause::Computing);
        assert_eq!(WaitCause::of(KernelState::Running, false, 5, 0), WaitCause::OtherThread);
    }
}
