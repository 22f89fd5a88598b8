//! The stack of interrupt contexts of a CPU.

use super::thread::{StackOwner, ThreadId};
use laggard_model::{Cpu, KernelTime, TextId};

// Limit: nested interrupts on one CPU | the deeper ones are not separated
/// More than any kernel nests; a deeper stack means that exits were not recorded.
const DEPTH_MAX: usize = 32;

/// One kind of interrupt context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InterruptContext {
    Irq { number: u32, name: TextId },
    Softirq { vector: u8 },
    Hrtimer,
    Ipi,
    Reception,
}

impl InterruptContext {
    /// Whether the exit of `other` ends this context.
    fn is_same_kind(self, other: InterruptContext) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Events of a CPU were lost later than `after` and not later than `until`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossInterval {
    pub(super) after: KernelTime,
    pub(super) until: KernelTime,
}

/// The current state of one CPU.
#[derive(Debug)]
pub(super) struct CpuRecord {
    pub(super) number: Cpu,
    pub(super) current: Option<ThreadId>,
    pub(super) idle: ThreadId,
    pub(super) interrupts: ThreadId,
    /// Innermost last.
    stack: Vec<InterruptContext>,
    pub(super) last_record: KernelTime,
    /// Whose stack the next record is, if it is one.
    pub(super) stack_owner: Option<StackOwner>,
    pub(super) losses: Vec<LossInterval>,
}

impl CpuRecord {
    pub(super) fn new(number: Cpu, idle: ThreadId, interrupts: ThreadId) -> CpuRecord {
        CpuRecord {
            number,
            current: None,
            idle,
            interrupts,
            stack: Vec::new(),
            last_record: KernelTime::from_ns(0),
            stack_owner: None,
            losses: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, context: InterruptContext) {
        if self.stack.len() >= DEPTH_MAX {
            self.stack.remove(0);
        }
        self.stack.push(context);
    }

    /// Ends the innermost context if it is of this kind; returns whether it was.
    pub(super) fn pop(&mut self, kind: InterruptContext) -> bool {
        self.stack.pop_if(|innermost| innermost.is_same_kind(kind)).is_some()
    }

    pub(super) fn innermost(&self) -> Option<InterruptContext> {
        self.stack.last().copied()
    }

    /// Whether an interrupt, not a thread, is running.
    pub(super) fn is_interrupted(&self) -> bool {
        self.stack.iter().any(|context| !matches!(context, InterruptContext::Reception))
    }

    /// Removes hard interrupts: no thread switch happens inside one, so their exits were not recorded. Returns whether
    /// there were any.
    pub(super) fn drop_hard_interrupts(&mut self) -> bool {
        let before = self.stack.len();
        self.stack.retain(|context| !matches!(context, InterruptContext::Irq { .. } | InterruptContext::Ipi));
        self.stack.len() < before
    }

    pub(super) fn clear_contexts(&mut self) {
        self.stack.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu() -> CpuRecord {
        CpuRecord::new(Cpu(0), ThreadId(0), ThreadId(1))
    }

    #[test]
    fn an_exit_ends_only_its_own_kind() {
        let mut cpu = cpu();
        cpu.push(InterruptContext::Softirq { vector: 3 });
        cpu.push(InterruptContext::Irq { number: 7, name: TextId::EMPTY });
        assert!(!cpu.pop(InterruptContext::Softirq { vector: 3 }));
        assert!(cpu.pop(InterruptContext::Irq { number: 0, name: TextId::EMPTY }));
        assert_eq!(cpu.innermost(), Some(InterruptContext::Softirq { vector: 3 }));
        assert!(cpu.pop(InterruptContext::Softirq { vector: 0 }));
        assert!(!cpu.pop(InterruptContext::Hrtimer));
    }

    #[test]
    fn entries_without_exits_do_not_accumulate() {
        let mut cpu = cpu();
        for _ in 0..10 * DEPTH_MAX {
            cpu.push(InterruptContext::Hrtimer);
        }
        assert_eq!(cpu.stack.len(), DEPTH_MAX);
    }

    #[test]
    fn receiving_a_packet_in_a_thread_is_not_an_interrupt() {
        let mut cpu = cpu();
        cpu.push(InterruptContext::Reception);
        assert!(!cpu.is_interrupted());
        cpu.push(InterruptContext::Softirq { vector: 3 });
        assert!(cpu.is_interrupted());
    }
}
