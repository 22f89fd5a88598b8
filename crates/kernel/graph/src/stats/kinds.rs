//! Names of event kinds.

use laggard_model::EventKind;

/// The number of events of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindCount {
    /// The kind, as ftrace calls it.
    pub name: &'static str,
    /// The count.
    pub count: u64,
}

/// Kinds in the order reports list them; the index is that of [`index_of`].
pub(crate) const KINDS: [&str; 32] = [
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_ttwu",
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_entry",
    "softirq_exit",
    "softirq_raise",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
    "ipi_entry",
    "ipi_exit",
    "sched_process_fork",
    "sched_process_exec",
    "sched_process_exit",
    "task_rename",
    "state dump of a thread",
    "state dump of an interrupt",
    "marker",
    "sys_enter",
    "sys_exit",
    "page_fault_user",
    "packet sent",
    "packet received",
    "reception_entry",
    "reception_exit",
    "other",
    "loss",
    "pid namespace of a thread",
    "call stack",
];

/// A kind's index in [`KINDS`].
pub(crate) fn index_of(kind: &EventKind) -> usize {
    match kind {
        EventKind::Switch { .. } => 0,
        EventKind::Waking { .. } => 1,
        EventKind::Wakeup { .. } => 2,
        EventKind::WakeupNew { .. } => 3,
        EventKind::TryToWakeUp { .. } => 4,
        EventKind::IrqEntry { .. } => 5,
        EventKind::IrqExit { .. } => 6,
        EventKind::SoftirqEntry { .. } => 7,
        EventKind::SoftirqExit { .. } => 8,
        EventKind::SoftirqRaise { .. } => 9,
        EventKind::HrtimerEntry(_) => 10,
        EventKind::HrtimerExit => 11,
        EventKind::IpiEntry(_) => 12,
        EventKind::IpiExit(_) => 13,
        EventKind::Fork { .. } => 14,
        EventKind::Exec { .. } => 15,
        EventKind::Exit { .. } => 16,
        EventKind::Rename { .. } => 17,
        EventKind::Statedump { .. } => 18,
        EventKind::InterruptName { .. } => 19,
        EventKind::Marker { .. } => 20,
        EventKind::SyscallEntry { .. } => 21,
        EventKind::SyscallExit { .. } => 22,
        EventKind::PageFault => 23,
        EventKind::PacketSent(_) => 24,
        EventKind::PacketReceived(_) => 25,
        EventKind::ReceptionEntry => 26,
        EventKind::ReceptionExit => 27,
        EventKind::Other { .. } => 28,
        EventKind::Lost { .. } => 29,
        EventKind::Namespace { .. } => 30,
        EventKind::Stack { .. } => 31,
    }
}
