//! A comparison for a person at a terminal.

use super::page::Page;
use super::paint::{Paint, Piece};
use super::table::{Fit, Table};
use super::{TextStyle, WIDTH_MAX, WIDTH_MIN};
use crate::comparison::{
    Change, Comparison, ComparisonVerdict, LatencyChange, OperationChange, ShapeChange, calls, change_word,
    changed_operations, difference, fate_word, interval, latency_parts, relative, set_sentence,
    shift_interval, signed_share, signed_time, verdict_word,
};
use crate::{facts, names, numbers};
use std::io;

/// Rows of each table; the other outputs list all.
const ROWS: usize = 12;

/// Differences told of one shape.
const DIFFERENCES: usize = 3;

/// Columns a name may take.
const NAME_ROOM: usize = 48;

/// Narrower pages have fewer columns.
const WIDE: usize = 90;

pub(crate) fn comparison(
    comparison: &Comparison,
    style: &TextStyle,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let width = usize::from(style.width.clamp(WIDTH_MIN, WIDTH_MAX));
    let mut page = Page::new(width, style.color);
    verdict(&mut page, comparison);
    latency(&mut page, comparison);
    entries(&mut page, comparison);
    operations(&mut page, comparison);
    shapes(&mut page, comparison);
    sentences(&mut page, "Cautions", &comparison.cautions, Paint::Unsure);
    sentences(&mut page, "Looked at and found alike", &comparison.ruled_out, Paint::Good);
    basis(&mut page, comparison);
    out.write_all(page.finish().as_bytes())
}

fn verdict(page: &mut Page, comparison: &Comparison) {
    let (mark, paint) = match comparison.verdict {
        ComparisonVerdict::Slower => ("[!]", Paint::Bad),
        ComparisonVerdict::Changed => ("[~]", Paint::Unsure),
        ComparisonVerdict::Faster | ComparisonVerdict::Unchanged => ("[ok]", Paint::Good),
        ComparisonVerdict::InsufficientData => ("[?]", Paint::Unsure),
    };
    let lead = [Piece::new(mark, paint), Piece::plain(" ")];
    page.wrapped(&lead, &[Piece::new(verdict_word(comparison.verdict), paint)]);
    page.blank();
    page.sentence(&[Piece::plain("  ")], &comparison.headline, Paint::Plain, Paint::Strong);
}

fn latency(page: &mut Page, comparison: &Comparison) {
    let Some(latency) = &comparison.latency else { return };
    page.heading("Mean latency", "the parts sum to the change");
    let columns =
        [("", Fit::Name), ("change", Fit::Number), ("95 % interval", Fit::Number), ("p", Fit::Number)];
    let mut table = Table::new(1, &columns);
    let whole = ("all requests", &latency.total);
    for (name, part) in [whole].into_iter().chain(latency_parts(latency)) {
        table.row(vec![
            Piece::plain(name),
            Piece::strong(signed_time(part.change_ns)),
            Piece::plain(interval(part)),
            Piece::plain(numbers::p_value(part.p_value)),
        ]);
    }
    table.print(page);
}

fn entries(page: &mut Page, comparison: &Comparison) {
    if comparison.entries.len() < 2 {
        return;
    }
    page.heading("By entry", "mean latency of the requests that enter there");
    let columns = [
        ("entry", Fit::Name),
        ("requests", Fit::Number),
        ("before", Fit::Number),
        ("after", Fit::Number),
        ("change", Fit::Number),
        ("same requests", Fit::Number),
        ("p", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for entry in comparison.entries.iter().take(ROWS) {
        let [before, after] = [entry.requests_before, entry.requests_after].map(numbers::count);
        let figure = |of: fn(&LatencyChange) -> String| {
            Piece::plain(entry.latency.as_ref().map_or_else(|| "–".to_owned(), of))
        };
        table.row(vec![
            Piece::plain(facts::operation(&entry.service, &entry.operation, NAME_ROOM)),
            Piece::plain(format!("{before} → {after}")),
            figure(|latency| numbers::time_float(latency.before_ns)),
            figure(|latency| numbers::time_float(latency.after_ns)),
            figure(|latency| {
                relative(latency.before_ns, latency.after_ns).map_or_else(String::new, signed_share)
            }),
            figure(|latency| signed_time(latency.same_requests.change_ns)),
            figure(|latency| numbers::p_value(latency.same_requests.p_value)),
        ]);
    }
    table.print(page);
    more(page, comparison.entries.len(), "entries");
}

fn operations(page: &mut Page, comparison: &Comparison) {
    let changed: Vec<&OperationChange> = changed_operations(comparison).collect();
    if changed.is_empty() {
        return;
    }
    page.heading("Operations that changed", "compared within requests of the same kind");
    let mut table = Table::new(1, &OPERATION_COLUMNS);
    for operation in changed.iter().take(ROWS) {
        operation_row(&mut table, operation, page.width() >= WIDE);
    }
    table.print(page);
    more(page, changed.len(), "operations");
}

const OPERATION_COLUMNS: [(&str, Fit); 6] = [
    ("operation", Fit::Name),
    ("", Fit::Fixed),
    ("shift", Fit::Number),
    ("ratio", Fit::Number),
    ("in a request", Fit::Number),
    ("p", Fit::Number),
];

fn operation_row(table: &mut Table, operation: &OperationChange, wide: bool) {
    let paint = match operation.change {
        Change::Slower => Paint::Bad,
        Change::Faster => Paint::Good,
        _ => Paint::Unsure,
    };
    let (shift, text, detail) = match operation.change {
        Change::MoreCalls | Change::FewerCalls => {
            let shift = operation.calls;
            let text = shift.map(|shift| format!("{:+.1} calls", shift.shift));
            let (before, after) = (operation.before.calls_per_request, operation.after.calls_per_request);
            (shift, text, format!("{} → {} calls per request", calls(before), calls(after)))
        }
        Change::Slower | Change::Faster => {
            let shift = operation.time;
            let interval = shift.as_ref().map_or_else(String::new, shift_interval);
            (
                shift,
                shift.map(|shift| signed_time(shift.shift)),
                format!("per call, 95 % interval {interval}"),
            )
        }
        _ => {
            let (before, after) = (operation.before.requests, operation.after.requests);
            let (before, after) = (numbers::count(before), numbers::count(after));
            (None, None, format!("in {before} requests before, {after} after"))
        }
    };
    let or_dash = |text: Option<String>| Piece::plain(text.unwrap_or_else(|| "–".to_owned()));
    table.row(vec![
        Piece::strong(facts::operation(&operation.service, &operation.operation, NAME_ROOM)),
        Piece::new(change_word(operation.change), paint),
        or_dash(text),
        or_dash(shift.and_then(|shift| shift.ratio).map(numbers::factor)),
        Piece::plain(signed_time(operation.change_per_request_ns)),
        or_dash(shift.map(|shift| numbers::p_value(shift.p_value))),
    ]);
    if wide && !detail.ends_with("interval ") {
        table.note("", vec![Piece::faint(detail)]);
    }
}

fn shapes(page: &mut Page, comparison: &Comparison) {
    let shown: Vec<&ShapeChange> = comparison.shapes.iter().filter(|shape| shape.significant).collect();
    if shown.is_empty() {
        return;
    }
    page.heading("Call trees that are not as frequent as before", "");
    let columns = [
        ("category", Fit::Fixed),
        ("entry", Fit::Name),
        ("", Fit::Fixed),
        ("before", Fit::Number),
        ("after", Fit::Number),
        ("p", Fit::Number),
    ];
    let mut table = Table::new(1, &columns);
    for shape in shown.iter().take(ROWS) {
        table.row(vec![
            Piece::faint(names::label(&shape.id, 12)),
            Piece::plain(facts::operation(&shape.service, &shape.operation, NAME_ROOM)),
            Piece::strong(fate_word(shape.fate)),
            Piece::plain(numbers::count(shape.requests_before)),
            Piece::plain(numbers::count(shape.requests_after)),
            Piece::plain(numbers::p_value(shape.p_value)),
        ]);
        for each in shape.differences.iter().take(DIFFERENCES) {
            table.note("", vec![Piece::plain(difference(each).replace('`', ""))]);
        }
    }
    table.print(page);
    more(page, shown.len(), "call trees");
}

fn sentences(page: &mut Page, title: &str, sentences: &[String], mark: Paint) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title, "");
    for sentence in sentences.iter().take(ROWS) {
        let lead = [Piece::plain(" "), Piece::new("-", mark), Piece::plain(" ")];
        page.sentence(&lead, sentence, Paint::Plain, Paint::Strong);
    }
    more(page, sentences.len(), "remarks");
}

fn basis(page: &mut Page, comparison: &Comparison) {
    page.heading("What this rests on", "");
    for (name, set) in [("Before", &comparison.before), ("After", &comparison.after)] {
        page.sentence(&[Piece::plain("  ")], &set_sentence(name, set), Paint::Plain, Paint::Strong);
        for (loss, found) in set.input.losses.iter() {
            let text = format!("{} {}", numbers::count(found.count), loss.phrase());
            page.wrapped(&[Piece::plain("    ")], &[Piece::faint(text)]);
        }
    }
}

fn more(page: &mut Page, all: usize, what: &str) {
    if all > ROWS {
        let left = numbers::count((all - ROWS) as u64);
        page.line(&[Piece::faint(format!("  ... and {left} more {what}: see the html or json output"))]);
    }
}
