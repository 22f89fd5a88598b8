//! The table of operations before and after, of a comparison.

use super::phrases::{calls, change_word, changed_operations, shift_interval, some_parts};
use crate::document::{
    Block, Cell, CellKind, ColumnKind, Detail, Fold, Prose, Section, SpanStyle, Table, TableRow, Tone,
    columns,
};
use crate::{Change, Comparison, MeasuredShift, OperationChange, numbers};

/// Operations of a document; unchanged ones are folded.
const MOST: usize = 1_000;

/// Rows in text.
const PREVIEW: u32 = 12;

/// Calls per request that differ by less are shown as one figure.
const CALLS_EQUAL: f64 = 0.005;

const COLUMNS: [(&str, ColumnKind); 9] = columns![
    Name "operation", Text "change", Number "shift", Number "ratio", Number "median before",
    Number "median after", Number "calls", Number "in a request", Number "p"
];

pub(super) fn section(comparison: &Comparison) -> Option<Section> {
    if comparison.operations.is_empty() {
        return None;
    }
    let section = Section::new("operations", "Operations that changed")
        .remark("compared within requests of the same kind")
        .introduction(
            "Requests of the same kind are compared: the shift is the median difference of the self time per call (or \
             of the calls per request) of two requests with the same call tree, or the same entry where too few trees \
             are in both sets. \u{201c}In a request\u{201d} is the change of the mean self time over all requests, \
             \u{201c}calls\u{201d} are those of a request that calls it.",
        );
    let changed: Vec<&OperationChange> = changed_operations(comparison).collect();
    let section = match changed.is_empty() {
        true => section.detail(Detail::Page),
        false => section.block(table("operations", &changed)),
    };
    let others = comparison.operations.iter().filter(|operation| operation.change == Change::None);
    let others: Vec<&OperationChange> = others.collect();
    if others.is_empty() {
        return Some(section);
    }
    let count = numbers::counted(others.len() as u64, "operation");
    let title = format!("{count} without a difference beyond chance");
    let others = Block::from(table("unchanged operations", &others));
    Some(section.block(others.folded(Fold::Closed, title).detail(Detail::Page)))
}

fn table(caption: &str, operations: &[&OperationChange]) -> Table {
    let table = Table::new(caption, &COLUMNS).preview(PREVIEW);
    let table = table.columns_for(Detail::Page, &["median before", "median after", "calls"]);
    table.at_most(MOST, operations, |operation| row(operation))
}

/// The tested difference that made an operation change: in calls, or in time.
fn tested(operation: &OperationChange) -> (Option<&MeasuredShift>, bool) {
    let by_calls = matches!(operation.change, Change::MoreCalls | Change::FewerCalls);
    (if by_calls { operation.calls.as_ref() } else { operation.time.as_ref() }, by_calls)
}

fn row(operation: &OperationChange) -> TableRow {
    let (shift, by_calls) = tested(operation);
    let mut name = Prose::operation(&operation.service, &operation.operation);
    if !operation.kind.is_empty() {
        name = name.plain(" (").named(SpanStyle::Label, &operation.kind).plain(")");
    }
    let cell = |of: &dyn Fn(&MeasuredShift) -> Cell| shift.map_or_else(|| Cell::text("–"), of);
    let median = |value: f64| match by_calls {
        true => Cell::worded(CellKind::Number, calls(value), value),
        false => Cell::duration(value),
    };
    let (before, after) = (operation.before.calls_per_request, operation.after.calls_per_request);
    let per_request = match (before - after).abs() < CALLS_EQUAL {
        true => calls(after),
        false => format!("{} → {}", calls(before), calls(after)),
    };
    let row = TableRow::new([
        Cell::named(name),
        change(operation.change),
        cell(&|shift| match by_calls {
            true => Cell::worded(CellKind::Number, format!("{:+.1} calls", shift.shift), shift.shift),
            false => Cell::difference(shift.shift),
        }),
        cell(&|shift| shift.ratio.map_or_else(|| Cell::text("–"), Cell::factor)),
        cell(&|shift| median(shift.median_before)),
        cell(&|shift| median(shift.median_after)),
        Cell::worded(CellKind::Number, per_request, after),
        Cell::difference(operation.change_per_request_ns),
        cell(&|shift| Cell::p_value(shift.p_value)),
    ]);
    let within = shift.map_or_else(String::new, |shift| match shift.compared_within {
        "category" => "requests with the same call tree".to_owned(),
        _ => "requests with the same entry".to_owned(),
    });
    row.note(Detail::Full, "", remark(operation)).note(Detail::Page, "compared within", within).note(
        Detail::Page,
        "",
        counts(operation),
    )
}

/// `12 → 15 requests with 24 → 30 calls`
fn counts(operation: &OperationChange) -> String {
    let (before, after) = (&operation.before, &operation.after);
    let pair = |before, after| format!("{} → {}", numbers::count(before), numbers::count(after));
    let (requests, calls) = (pair(before.requests, after.requests), pair(before.calls, after.calls));
    format!("{requests} requests with {calls} calls")
}

fn remark(operation: &OperationChange) -> String {
    let (before, after) = (&operation.before, &operation.after);
    match operation.change {
        Change::MoreCalls | Change::FewerCalls => {
            format!(
                "{} → {} calls per request",
                calls(before.calls_per_request),
                calls(after.calls_per_request)
            )
        }
        Change::New | Change::Vanished => {
            let (before, after) = (numbers::count(before.requests), numbers::count(after.requests));
            format!("in {before} requests before, {after} after")
        }
        Change::Slower | Change::Faster | Change::None => {
            if let Some(parts) = some_parts(operation) {
                return parts;
            }
            let interval = operation.time.as_ref().map(shift_interval).unwrap_or_default();
            if interval.is_empty() { interval } else { format!("per call, 95 % interval {interval}") }
        }
    }
}

/// The word of a change, with what it means.
pub(super) fn change(change: Change) -> Cell {
    let tone = match change {
        Change::Slower => Tone::Bad,
        Change::Faster => Tone::Good,
        Change::None => Tone::Neutral,
        Change::MoreCalls | Change::FewerCalls | Change::New | Change::Vanished => Tone::Unsure,
    };
    Cell::mark(change_word(change), tone)
}
