//! Kernel traces: critical paths, executions of a sample against normal ones, and the contents of a trace.

mod alignment;
mod call_stacks;
mod cpu_lanes;
mod diagnosis;
mod durations;
pub(crate) mod headline;
mod lanes;
mod path;
pub(crate) mod phrases;
mod stats;
mod timeline;

use super::basis::basis;
use crate::document::{
    Block, Cell, CellKind, Detail, Fold, Prose, Section, SpanStyle, Table, TableRow, columns,
};
use crate::{KernelInput, KernelState, KernelTrace, Setting, names, numbers, rfc3339};

/// Rows of a table; the JSON output has all.
const ROWS: usize = 400;

/// Rows of a table in text.
const PREVIEW: u32 = 12;

/// A length of time.
fn time(ns: u64) -> Cell {
    Cell::duration(ns as f64)
}

/// A length of time, empty for none.
fn time_if_any(ns: u64) -> Cell {
    if ns > 0 { time(ns) } else { Cell::empty() }
}

/// A phrase with names in backticks, as a cell of names.
fn quoted(phrase: &str) -> Cell {
    Cell::named(Prose::quoted(phrase))
}

/// A name that may be empty.
fn name_if_any(style: SpanStyle, name: &str) -> Cell {
    if name.is_empty() { Cell::empty() } else { Cell::name(style, name) }
}

/// The letter of a state; text draws a running thread as a full block.
const fn symbol(state: KernelState) -> char {
    match state {
        KernelState::Running => 'R',
        KernelState::Preempted => 'P',
        KernelState::Blocked => 'B',
        KernelState::Network => 'N',
        KernelState::BlockDevice => 'D',
        KernelState::Timer => 'T',
        KernelState::Interrupted => 'I',
        KernelState::Ipi => 'X',
        KernelState::UserInput => 'U',
        KernelState::Unknown => '?',
        KernelState::Throttled => 'Q',
    }
}

/// When the first trace that knows it was recorded.
fn recorded(input: &KernelInput) -> Option<String> {
    let since = input.traces.iter().find_map(|trace| trace.since)?;
    Some(format!("trace of {}", rfc3339(since)))
}

/// The traces in short.
fn traces(input: &KernelInput) -> Table {
    let columns = columns![
        Name "trace", Text "format", Number "CPUs", Number "events", Number "length", Text "clock",
        Number "size"
    ];
    let row = |trace: &KernelTrace| {
        let clock = if trace.clock.is_empty() { String::new() } else { names::label(&trace.clock, 20) };
        let known = [
            trace.host.as_ref().map(|host| format!("host {}", names::label(host, 40))),
            trace.kernel.as_ref().map(|kernel| format!("kernel {}", names::label(kernel, 40))),
            trace.since.map(|since| format!("from {}", rfc3339(since))),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        let row = TableRow::new([
            Cell::name(SpanStyle::Name, &trace.path),
            Cell::text(names::label(&trace.format, 30)),
            Cell::count(trace.cpus.into()),
            Cell::count(trace.events),
            time(trace.until_ns.saturating_sub(trace.since_ns)),
            Cell::text(clock),
            Cell::worded(CellKind::Number, numbers::bytes(trace.bytes), trace.bytes as f64),
        ]);
        row.note(Detail::Summary, "", Prose::default().faint(known.join(", ")))
    };
    Table::new("Traces", &columns).preview(PREVIEW).at_most(ROWS, &input.traces, row)
}

/// The basis of the answer; pages list the traces as well.
fn basis_section(input: &KernelInput, sentences: Vec<Prose>, settings: &[Setting]) -> Section {
    let traces = Block::from(traces(input)).folded(Fold::Closed, "Traces").detail(Detail::Page);
    let read = std::iter::once(Prose::from(input.sentence()));
    basis(read.chain(sentences), settings).block(traces)
}
