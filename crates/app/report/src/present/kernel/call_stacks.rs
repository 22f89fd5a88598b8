//! Call stacks below a row of waits.

use crate::document::{Detail, Prose, SpanStyle, TableRow};
use crate::{WaitCallStacks, numbers};

/// Functions of each part of a stack that are shown, of the kernel and of the program; JSON has all.
const SHOWN: usize = 6;

/// Adds the stacks of a row's waits: those with the most time to the summary, others with their time to the full text.
pub(super) fn stack_notes(row: TableRow, stacks: &[WaitCallStacks]) -> TableRow {
    stacks.iter().enumerate().fold(row, |row, (index, stack)| {
        let detail = if index == 0 { Detail::Summary } else { Detail::Full };
        let time =
            if stacks.len() > 1 { format!(" ({})", numbers::time(stack.total_ns)) } else { String::new() };
        let row = row.note(detail, "waits in", chain(&stack.waiting).plain(time));
        row.note(detail, "woken by", chain(&stack.waking))
    })
}

/// `futex_wait ← do_futex`: each function is called by the next one. Empty without functions.
fn chain(functions: &[String]) -> Prose {
    let program = functions.iter().position(|name| is_of_program(name)).unwrap_or(functions.len());
    let (kernel, program) = functions.split_at(program);
    let shown = kernel.iter().take(SHOWN).map(Some);
    let shown =
        shown.chain((kernel.len() > SHOWN).then_some(None)).chain(program.iter().take(SHOWN).map(Some));
    let shown = shown.chain((program.len() > SHOWN).then_some(None));
    shown.enumerate().fold(Prose::default(), |prose, (index, name)| {
        let prose = if index > 0 { prose.plain(" ← ") } else { prose };
        match name {
            Some(name) => prose.named(SpanStyle::Name, name),
            None => prose.plain("…"),
        }
    })
}

/// Whether a function is one of a program: `shop:handle`, `libc.so.6+0x1234`, or an address below those of the kernel.
fn is_of_program(name: &str) -> bool {
    let is_kernel_address = name.strip_prefix("0x").is_some_and(|digits| digits.len() == 16);
    name.contains([':', '+']) || name.starts_with("0x") && !is_kernel_address
}
