//! Call stacks: from addresses to the names of functions.

use super::symbols::Symbols;
use laggard_model::{KernelTexts, KernelTime, TextId, UserFunctions};
use std::collections::HashMap;
use std::fmt::Debug;

// Limit: functions of a call stack | the outermost are left out
/// Functions of a stack: of the kernel, and again as many of the program.
const FRAMES_MAX: usize = 24;
/// Addresses of a stack that are looked at.
const ADDRESSES_MAX: usize = 256;
/// Stacks whose text is kept; there are mostly some hundred.
const KEPT_MAX: usize = 1 << 14;

/// Inner functions that every stack begins with: the probe itself, and the scheduler's own.
const INNER: &[&str] = &[
    "trace_event_",
    "__traceiter_",
    "perf_trace_",
    "perf_",
    "__bpf_trace_",
    "__schedule",
    "schedule",
    "preempt_schedule",
    "io_schedule",
    "ttwu_",
    "try_to_wake_up",
    "default_wake_function",
    "wake_up_process",
    "wake_up_new_task",
];
/// Outer functions that every stack ends with.
const OUTER: &[&str] =
    &["do_syscall_64", "entry_SYSCALL_64", "x64_sys_call", "ret_from_fork", "el0_", "invoke_syscall"];

/// Parts of the names of functions in which an interrupt begins. The program that it interrupts did not call them.
const INTERRUPTS: &[&str] = &["sysvec_", "_interrupt", "irq_exit", "gic_handle_irq"];

/// Functions of programs by address, as far as a trace knows them.
pub(crate) trait Programs: Debug + Send + Sync {
    /// The function of a process at an address: `libc.so.6:read`, without blanks; `None` if it is not known.
    fn function(&self, process: u32, time: KernelTime, address: u64) -> Option<String>;
}

impl Programs for UserFunctions {
    fn function(&self, process: u32, _time: KernelTime, address: u64) -> Option<String> {
        self.name(process, address).map(str::to_owned)
    }
}

/// The addresses of a call stack, the innermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct StackAddresses {
    /// Of the kernel's functions.
    kernel: Vec<u64>,
    /// Of the program's functions.
    program: Vec<u64>,
    /// The process of the program.
    process: u32,
}

impl StackAddresses {
    /// From addresses of both, of which others (perf's marks of contexts) are left out.
    pub(crate) fn new(process: u32, addresses: impl Iterator<Item = u64>) -> StackAddresses {
        let mut stack = StackAddresses { process, ..StackAddresses::default() };
        for address in addresses.take(ADDRESSES_MAX) {
            if is_kernel(address) {
                stack.kernel.push(address);
            } else if is_program(address) {
                stack.program.push(address);
            }
        }
        if stack.program.is_empty() {
            // One text for the stacks of all processes.
            stack.process = 0;
        }
        stack
    }

    /// The same with the program's part of another.
    pub(super) fn with_program(self, of: StackAddresses) -> StackAddresses {
        StackAddresses { program: of.program, process: of.process, ..self }
    }
}

/// The texts of stacks met so far.
#[derive(Debug, Default)]
pub(crate) struct StackNames {
    known: HashMap<StackAddresses, TextId>,
}

impl StackNames {
    /// The functions of a stack, the innermost first: their names, and the address of those without. Empty without any.
    pub(crate) fn frames(
        &mut self,
        stack: StackAddresses,
        time: KernelTime,
        (symbols, programs): (&Symbols, &dyn Programs),
        texts: &mut KernelTexts,
    ) -> TextId {
        if let Some(&known) = self.known.get(&stack) {
            return known;
        }
        let kernel: Vec<String> = stack.kernel.iter().map(|&address| symbols.containing(address)).collect();
        let is_interrupt = kernel.iter().any(|name| INTERRUPTS.iter().any(|part| name.contains(part)));
        let mut names = telling(&kernel).to_vec();
        if !is_interrupt {
            let program = stack.program.iter().take(FRAMES_MAX).map(|&address| {
                // Addresses are those behind calls; the last instruction of a function may be one.
                let function = programs.function(stack.process, time, address - 1);
                function.unwrap_or_else(|| format!("{address:#x}"))
            });
            names.extend(program);
        }
        let id = texts.intern(&names.join(" "));
        if self.known.len() < KEPT_MAX {
            self.known.insert(stack, id);
        }
        id
    }
}

/// Whether an address may be one of a program; the first page is never mapped.
fn is_program(address: u64) -> bool {
    address >= 4096 && address >> 63 == 0
}

/// Whether an address is one of the kernel's; perf marks contexts by the highest ones.
fn is_kernel(address: u64) -> bool {
    const CONTEXT_MARKERS: u64 = -4096_i64 as u64;
    address >> 63 == 1 && address < CONTEXT_MARKERS
}

/// The part of a stack that differs from others; all of it if that is nothing.
fn telling(names: &[String]) -> &[String] {
    let is_any = |name: &String, starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let inner = names.iter().take_while(|name| is_any(name, INNER)).count();
    let outer = names.iter().rev().take_while(|name| is_any(name, OUTER)).count();
    let part = names.get(inner..names.len().saturating_sub(outer)).unwrap_or_default();
    let part = if part.is_empty() { names } else { part };
    &part[..part.len().min(FRAMES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_the_names_of_the_functions_between_scheduler_and_system_call() {
        let lines = b"ffffffff81000000 T entry_SYSCALL_64\nffffffff81001000 T do_syscall_64\n\
            ffffffff81002000 t do_futex [mod]\nffffffff81003000 t futex_wait\nffffffff81004000 T schedule\n\
            ffffffff81005000 D data\nffffffff81006000 T asm_sysvec_apic_timer_interrupt\n";
        let (symbols, mut texts) = (Symbols::from_lines(lines), KernelTexts::default());
        let mut programs = UserFunctions::default();
        programs.add(7, 0x5555_0000..0x5555_0010, "shop:handle");
        let mut frames = |addresses: &[u64]| {
            let stack = StackAddresses::new(7, addresses.iter().copied());
            let names = (&symbols, &programs as &dyn Programs);
            let id = StackNames::default().frames(stack, KernelTime::from_ns(5), names, &mut texts);
            texts.text(id).to_owned()
        };
        let address = |function: u64| 0xffff_ffff_8100_0000 + (function << 12) + 5;
        // The first is perf's mark of the kernel's part, the last an address of the program.
        let stack =
            [0xffff_ffff_ffff_ff80, address(4), address(3), address(2), address(1), address(0), 0x5555_0010];
        assert_eq!(frames(&stack), "futex_wait do_futex shop:handle");
        assert_eq!(frames(&[address(3), 0x5555_0000]), "futex_wait 0x55550000", "what calls it is not known");
        assert_eq!(frames(&[0x5555_0001]), "shop:handle", "without the kernel's part");
        assert_eq!(
            frames(&[address(3), address(6), 0x5555_0001]),
            "futex_wait asm_sysvec_apic_timer_interrupt",
            "the program did not call what interrupts it"
        );
        assert_eq!(frames(&[address(4), address(1)]), "schedule do_syscall_64", "nothing else");
        assert_eq!(frames(&[0xffff_ffff_0000_0000]), "0xffffffff00000000");
        assert_eq!((frames(&[]), frames(&[7, u64::MAX])), (String::new(), String::new()));
    }
}
