//! Call stacks: from addresses to the names of functions.

use super::symbols::Symbols;
use laggard_model::{KernelTexts, TextId};
use std::collections::HashMap;

// Limit: functions of a call stack | the outermost are left out
/// Functions of a stack.
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

/// The texts of stacks met so far.
#[derive(Debug, Default)]
pub(super) struct StackNames {
    known: HashMap<Vec<u64>, TextId>,
}

impl StackNames {
    /// The functions at addresses, the innermost first: their names, and the address of those without. Empty if none is of the
    /// kernel.
    pub(super) fn frames(
        &mut self,
        mut addresses: Vec<u64>,
        symbols: &Symbols,
        texts: &mut KernelTexts,
    ) -> TextId {
        addresses.truncate(ADDRESSES_MAX);
        addresses.retain(|&address| is_kernel(address));
        if let Some(&known) = self.known.get(&addresses) {
            return known;
        }
        let names: Vec<String> = addresses.iter().map(|&address| symbols.containing(address)).collect();
        let id = texts.intern(&telling(&names).join(" "));
        if self.known.len() < KEPT_MAX {
            self.known.insert(addresses, id);
        }
        id
    }
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
            ffffffff81005000 D data\n";
        let (symbols, mut texts) = (Symbols::from_lines(lines), KernelTexts::default());
        let mut frames = |addresses: &[u64]| {
            let id = StackNames::default().frames(addresses.to_vec(), &symbols, &mut texts);
            texts.text(id).to_owned()
        };
        let address = |function: u64| 0xffff_ffff_8100_0000 + (function << 12) + 5;
        // The first is perf's mark of the kernel's part, the last an address of the program.
        let stack =
            [0xffff_ffff_ffff_ff80, address(4), address(3), address(2), address(1), address(0), 0x5555_0000];
        assert_eq!(frames(&stack), "futex_wait do_futex");
        assert_eq!(frames(&[address(4), address(1)]), "schedule do_syscall_64", "nothing else");
        assert_eq!(frames(&[0xffff_ffff_0000_0000]), "0xffffffff00000000");
        assert_eq!((frames(&[]), frames(&[7, u64::MAX])), (String::new(), String::new()));
    }
}
