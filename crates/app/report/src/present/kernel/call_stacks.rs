//! Call stacks below a row of waits.

use crate::document::{Detail, Prose, SpanStyle, TableRow};
use crate::{WaitCallStacks, numbers};

/// Functions of a stack that are shown; JSON has all.
const SHOWN: usize = 8;

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
    let names = functions.iter().take(SHOWN).enumerate().fold(Prose::default(), |prose, (index, name)| {
        let prose = if index > 0 { prose.plain(" ← ") } else { prose };
        prose.named(SpanStyle::Name, name)
    });
    if functions.len() > SHOWN { names.plain(" ← …") } else { names }
}
