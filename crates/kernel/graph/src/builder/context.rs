//! What a CPU is in the middle of: interrupts nested in whatever it ran.

use super::thread::ThreadId;
use laggard_model::{Cpu, KernelTime, TextId};

/// Deeper nesting than any kernel allows: entries whose exits are missing.
const DEPTH_MAX: usize = 32;

/// One kind of interrupt context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    Irq { number: u32, name: TextId },
    Softirq { vector: u8 },
    Hrtimer,
    Ipi,
    Reception,
}

impl Context {
    /// Whether the exit of `other` ends this context.
    fn is_kind_of(self, other: Context) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Events lost on a CPU: after `before`, not later than `at`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostStretch {
    pub(super) before: KernelTime,
    pub(super) at: KernelTime,
}

/// One CPU's record.
#[derive(Debug)]
pub(super) struct CpuState {
    pub(super) number: Cpu,
    pub(super) current: Option<ThreadId>,
    pub(super) idle: ThreadId,
    pub(super) interrupts: ThreadId,
    /// Innermost last.
    stack: Vec<Context>,
    pub(super) last_record: KernelTime,
    pub(super) losses: Vec<LostStretch>,
}

impl CpuState {
    pub(super) fn new(number: Cpu, idle: ThreadId, interrupts: ThreadId) -> CpuState {
        CpuState {
            number,
            current: None,
            idle,
            interrupts,
            stack: Vec::new(),
            last_record: KernelTime::from_ns(0),
            losses: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, context: Context) {
        if self.stack.len() >= DEPTH_MAX {
            self.stack.remove(0);
        }
        self.stack.push(context);
    }

    /// Ends the innermost context if it is of this kind; says whether it was.
    pub(super) fn pop(&mut self, kind: Context) -> bool {
        self.stack.pop_if(|innermost| innermost.is_kind_of(kind)).is_some()
    }

    pub(super) fn innermost(&self) -> Option<Context> {
        self.stack.last().copied()
    }

    /// Whether an interrupt, not a thread, does the work.
    pub(super) fn is_interrupted(&self) -> bool {
        self.stack.iter().any(|context| !matches!(context, Context::Reception))
    }

    /// Takes out hard interrupts, inside which no thread is switched: their exits were not recorded. Says whether
    /// there were any.
    pub(super) fn drop_hard(&mut self) -> bool {
        let before = self.stack.len();
        self.stack.retain(|context| !matches!(context, Context::Irq { .. } | Context::Ipi));
        self.stack.len() < before
    }

    pub(super) fn clear_contexts(&mut self) {
        self.stack.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu() -> CpuState {
        CpuState::new(Cpu(0), ThreadId(0), ThreadId(1))
    }

    #[test]
    fn an_exit_ends_only_its_own_kind() {
        let mut cpu = cpu();
        cpu.push(Context::Softirq { vector: 3 });
        cpu.push(Context::Irq { number: 7, name: TextId::EMPTY });
        assert!(!cpu.pop(Context::Softirq { vector: 3 }));
        assert!(cpu.pop(Context::Irq { number: 0, name: TextId::EMPTY }));
        assert_eq!(cpu.innermost(), Some(Context::Softirq { vector: 3 }));
        assert!(cpu.pop(Context::Softirq { vector: 0 }));
        assert!(!cpu.pop(Context::Hrtimer));
    }

    #[test]
    fn entries_without_exits_do_not_pile_up() {
        let mut cpu = cpu();
        for _ in 0..10 * DEPTH_MAX {
            cpu.push(Context::Hrtimer);
        }
        assert_eq!(cpu.stack.len(), DEPTH_MAX);
    }

    #[test]
    fn receiving_a_packet_in_a_thread_is_not_an_interrupt() {
        let mut cpu = cpu();
        cpu.push(Context::Reception);
        assert!(!cpu.is_interrupted());
        cpu.push(Context::Softirq { vector: 3 });
        assert!(cpu.is_interrupted());
    }
}
