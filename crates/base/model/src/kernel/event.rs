//! One event of a kernel trace, independent of its format.

use super::clock::KernelTime;
use super::texts::TextId;
use super::tid::Tid;

/// A CPU's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cpu(pub u16);

/// The context the record was written in (ftrace's and perf's `common_flags`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ContextFlags(pub u8);

impl ContextFlags {
    /// Inside a hard interrupt.
    pub const HARD_IRQ: u8 = 0x08;
    /// Inside a soft interrupt.
    pub const SOFT_IRQ: u8 = 0x10;

    /// Whether the record was written inside a hard interrupt.
    pub const fn hard_irq(self) -> bool {
        self.0 & ContextFlags::HARD_IRQ != 0
    }

    /// Whether the record was written inside a soft interrupt.
    pub const fn soft_irq(self) -> bool {
        self.0 & ContextFlags::SOFT_IRQ != 0
    }
}

/// `prev_state` of a switch: the kernel's bits. Text representations are converted to the same bits by their first letter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PrevState(pub u32);

impl PrevState {
    /// Runnable: the thread was pre-empted or yielded.
    pub const RUNNABLE: PrevState = PrevState(0);
    /// Interruptible sleep.
    pub const SLEEPING: PrevState = PrevState(1);
    /// Uninterruptible sleep: mostly a disk or a lock in the kernel.
    pub const UNINTERRUPTIBLE: PrevState = PrevState(2);

    /// Whether the thread stays on the run queue. Modern kernels set 0x100 for "pre-empted while runnable" and
    /// 0x80 for an idle kernel thread, which is blocked.
    pub const fn is_runnable(self) -> bool {
        self.0 & 0xff == 0
    }

    /// Whether the thread ends with this switch (X or Z).
    pub const fn is_dead(self) -> bool {
        self.0 & 0x30 != 0
    }
}

/// An interrupt between or on CPUs that has no handler event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IpiVector {
    /// The local timer's tick.
    LocalTimer,
    /// A request to reschedule.
    Reschedule,
    /// A function to be called on this CPU.
    CallFunction,
    /// Work queued by the interrupt side.
    IrqWork,
    /// Any other vector.
    Other,
}

/// The status of a thread in LTTng's state dump.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StatedumpStatus {
    /// 0 and whatever has no other name.
    Unknown,
    /// 1: forked, not yet run.
    WaitFork,
    /// 2: runnable.
    WaitCpu,
    /// 3: ended.
    Exit,
    /// 4: ended, not yet waited for.
    Zombie,
    /// 5: waiting, for what is not known.
    WaitUnknown,
    /// 6: running.
    Running,
    /// 7: dead.
    Dead,
}

/// Identifies one packet on its way: equal on both sides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Socket {
    /// TCP: sequence number, acknowledgment number, flags, and both ports.
    Tcp {
        /// Sequence number.
        sequence: u32,
        /// Acknowledgment number.
        acknowledgment: u32,
        /// The flag bits.
        flags: u16,
        /// Source port in the high half, destination port in the low half; 0 when not recorded.
        ports: u32,
    },
    /// The kernel's buffer address (`skbaddr`): the same on both sides of a loopback transfer only.
    Buffer(u64),
    /// A number the trace itself gives to a message (test traces).
    Message(u64),
}

/// A high-resolution timer that expired.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ExpiredTimer {
    /// Its address, which is the same whenever it expires; 0 if unknown.
    pub address: u64,
    /// The function that it calls; empty when the trace has no symbols.
    pub function: TextId,
}

/// The kind of an event, with its fields.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum EventKind {
    /// `sched_switch`.
    Switch {
        /// The thread that leaves the CPU.
        prev: Tid,
        /// Its name.
        prev_name: TextId,
        /// Why it leaves.
        prev_state: PrevState,
        /// The thread that gets the CPU.
        next: Tid,
        /// Its name.
        next_name: TextId,
    },
    /// `sched_waking`: logged where the waker runs.
    Waking {
        /// The woken thread.
        tid: Tid,
        /// Its name.
        name: TextId,
        /// The CPU it is meant for, if recorded.
        target: Option<Cpu>,
    },
    /// `sched_wakeup`: may be logged where the woken thread will run.
    Wakeup {
        /// The woken thread.
        tid: Tid,
        /// Its name.
        name: TextId,
        /// The CPU it is put on, if recorded.
        target: Option<Cpu>,
    },
    /// `sched_wakeup_new`: a thread's first.
    WakeupNew {
        /// The new thread.
        tid: Tid,
        /// Its name.
        name: TextId,
        /// The CPU it is put on, if recorded.
        target: Option<Cpu>,
    },
    /// LTTng's `sched_ttwu`.
    TryToWakeUp {
        /// The woken thread.
        tid: Tid,
        /// Its name.
        name: TextId,
        /// The CPU it is meant for, if recorded.
        target: Option<Cpu>,
    },
    /// `irq_handler_entry`.
    IrqEntry {
        /// The interrupt's number.
        irq: u32,
        /// The handler's name (`virtio1-req.0`).
        name: TextId,
    },
    /// `irq_handler_exit`.
    IrqExit {
        /// The interrupt's number.
        irq: u32,
    },
    /// `softirq_entry`.
    SoftirqEntry {
        /// The vector: 0 HI, 1 TIMER, 2 NET_TX, 3 NET_RX, 4 BLOCK, 5 IRQ_POLL, 6 TASKLET, 7 SCHED, 8 HRTIMER, 9 RCU.
        vector: u8,
    },
    /// `softirq_exit`.
    SoftirqExit {
        /// The vector.
        vector: u8,
    },
    /// `hrtimer_expire_entry`.
    HrtimerEntry(ExpiredTimer),
    /// `hrtimer_expire_exit`.
    HrtimerExit,
    /// An interrupt of `irq_vectors` begins.
    IpiEntry(IpiVector),
    /// An interrupt of `irq_vectors` ends.
    IpiExit(IpiVector),
    /// `sched_process_fork`.
    Fork {
        /// The parent.
        parent: Tid,
        /// The new thread.
        child: Tid,
        /// The child's name.
        child_name: TextId,
    },
    /// `sched_process_exec`: the thread becomes another program.
    Exec {
        /// The thread, after the call.
        tid: Tid,
        /// The file executed.
        filename: TextId,
    },
    /// `sched_process_exit`.
    Exit {
        /// The thread.
        tid: Tid,
    },
    /// `task_rename`.
    Rename {
        /// The thread.
        tid: Tid,
        /// Its new name.
        name: TextId,
    },
    /// LTTng's state dump of one thread.
    Statedump {
        /// The thread.
        tid: Tid,
        /// Its process.
        pid: Tid,
        /// Its name.
        name: TextId,
        /// Its state.
        status: StatedumpStatus,
    },
    /// LTTng's state dump of one interrupt's name.
    InterruptName {
        /// The interrupt's number.
        irq: u32,
        /// The device's name.
        name: TextId,
        /// The interrupt thread (0: none): its tid.
        thread: Tid,
    },
    /// A thread is in a pid namespace (LTTng's contexts `pid_ns` and `vtid`): once for each thread and namespace, with the first of
    /// its records.
    Namespace {
        /// The thread, by its number on the host.
        tid: Tid,
        /// The namespace's inode.
        pid_ns: u32,
        /// The thread's number in the namespace, if recorded.
        vtid: Option<Tid>,
    },
    /// A text written to `trace_marker` (or to LTTng's logger) by the record's thread.
    Marker {
        /// The text, without its line end.
        text: TextId,
    },
    /// A system call begins (`raw_syscalls:sys_enter`, `syscalls:sys_enter_*`, LTTng's `syscall_entry_*`).
    SyscallEntry {
        /// The call's number; `u32::MAX` when only its name is recorded.
        number: u32,
        /// The call's name, empty when only its number is recorded.
        name: TextId,
    },
    /// A system call ends.
    SyscallExit {
        /// The call's number; `u32::MAX` when only its name is recorded.
        number: u32,
        /// The call's name, empty when only its number is recorded.
        name: TextId,
        /// Its return value.
        returned: i64,
    },
    /// A page fault of a program, not of the kernel (`exceptions:page_fault_user`). Its end is not recorded.
    PageFault,
    /// A packet leaves the thread or soft interrupt that runs (`net_dev_queue`, `net_dev_xmit`, LTTng's packets).
    PacketSent(Socket),
    /// A packet arrives (`netif_receive_skb`).
    PacketReceived(Socket),
    /// Reception of a packet begins: an interrupt context (`netif_receive_skb_entry`, LTTng's `net_if_receive_skb`
    /// pairs).
    ReceptionEntry,
    /// Reception of a packet ends.
    ReceptionExit,
    /// `softirq_raise`.
    SoftirqRaise {
        /// The vector.
        vector: u8,
    },
    /// A call stack: of the thread that the switch before it on this CPU takes the CPU from, or of whoever makes the wake-up before it.
    /// It has no thread of its own: after a switch it is that of the thread before.
    Stack {
        /// Functions of the kernel, the innermost first, separated by blanks.
        frames: TextId,
    },
    /// Any other event, for delimiting executions: uprobes and tracepoints by name.
    Other {
        /// The event's name without its system (`sched_process_free`, a uprobe's name).
        name: TextId,
        /// The fields as `name=value` separated by blanks.
        fields: TextId,
    },
    /// Events of this CPU were lost just before this instant.
    Lost {
        /// The number of lost events, if the format records it.
        count: Option<u64>,
    },
}

/// One event of a kernel trace. Readers deliver them in time order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelEvent {
    /// When.
    pub time: KernelTime,
    /// Where.
    pub cpu: Cpu,
    /// The context's flags, where the format has them.
    pub flags: Option<ContextFlags>,
    /// The thread that wrote the record (`common_pid`), if the format has it.
    pub recorded: Option<Tid>,
    /// What.
    pub kind: EventKind,
}
