//! A comparison for an incident channel.

use super::words::{
    calls, change_word, changed_operations, difference, fate_word, interval, latency_parts, relative,
    set_sentence, signed_share, signed_time, verdict_word,
};
use super::{Change, Comparison, OperationChange, ShapeChange};
use crate::markdown::{operation, row, sentence, shown_of, table};
use crate::numbers;
use std::io;

/// Rows of each table and lines of each list; together they stay within forty lines.
const ENTRIES: usize = 4;
const OPERATIONS: usize = 5;
const SHAPES: usize = 3;
const CAUTIONS: usize = 2;
const RULED_OUT: usize = 2;

/// Writes the comparison as GitHub-flavored Markdown in at most forty lines, whatever it holds. Names stand in
/// code spans and cannot break out of their cell.
///
/// # Errors
/// Those of `out`.
pub(super) fn markdown(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = [
        vec![
            format!("### Laggard comparison: {}", verdict_word(comparison.verdict).to_lowercase()),
            String::new(),
            sentence(&comparison.headline),
        ],
        latency(comparison),
        entries(comparison),
        operations(comparison),
        shapes(comparison),
        remarks(comparison),
        vec![
            sentence(&set_sentence("Before", &comparison.before)),
            sentence(&set_sentence("After", &comparison.after)),
        ],
    ];
    let blocks = blocks.iter().filter(|block| !block.is_empty());
    let text: Vec<String> = blocks.map(|block| block.join("\n")).collect();
    writeln!(out, "{}", text.join("\n\n"))
}

fn latency(comparison: &Comparison) -> Vec<String> {
    let Some(latency) = &comparison.latency else { return vec![] };
    let rows = [("all requests", &latency.total)].into_iter().chain(latency_parts(latency));
    let rows = rows.map(|(name, part)| {
        row(&[name.to_owned(), signed_time(part.change_ns), interval(part), numbers::p_value(part.p_value)])
    });
    table(&["mean latency", "change", "95 % interval", "p"], "l r r r", rows)
}

fn entries(comparison: &Comparison) -> Vec<String> {
    if comparison.entries.len() < 2 {
        return vec![];
    }
    let title = shown_of("entry", ENTRIES, comparison.entries.len());
    let rows = comparison.entries.iter().take(ENTRIES).map(|entry| {
        let [before, after, change] = entry.latency.as_ref().map_or_else(Default::default, |latency| {
            let change = relative(latency.before_ns, latency.after_ns).map_or_else(String::new, signed_share);
            [numbers::time_float(latency.before_ns), numbers::time_float(latency.after_ns), change]
        });
        let requests =
            format!("{} → {}", numbers::count(entry.requests_before), numbers::count(entry.requests_after));
        row(&[operation(&entry.service, &entry.operation), requests, before, after, change])
    });
    table(&[&title, "requests", "before", "after", "change"], "l r r r r", rows)
}

fn operations(comparison: &Comparison) -> Vec<String> {
    let changed: Vec<&OperationChange> = changed_operations(comparison).collect();
    let title = shown_of("operation", OPERATIONS, changed.len());
    let rows = changed.iter().take(OPERATIONS).map(|found| {
        let shift = match found.change {
            Change::Slower | Change::Faster => found.time,
            Change::MoreCalls | Change::FewerCalls => found.calls,
            _ => None,
        };
        let text = shift.map_or_else(String::new, |shift| match found.change {
            Change::Slower | Change::Faster => signed_time(shift.shift),
            _ => format!(
                "{} → {} calls",
                calls(found.before.calls_per_request),
                calls(found.after.calls_per_request)
            ),
        });
        row(&[
            operation(&found.service, &found.operation),
            change_word(found.change).to_owned(),
            text,
            shift.and_then(|shift| shift.ratio).map_or_else(String::new, numbers::factor),
            signed_time(found.change_per_request_ns),
            shift.map_or_else(String::new, |shift| numbers::p_value(shift.p_value)),
        ])
    });
    table(&[&title, "", "shift", "ratio", "in a request", "p"], "l l r r r r", rows)
}

fn shapes(comparison: &Comparison) -> Vec<String> {
    let changed: Vec<&ShapeChange> = comparison.shapes.iter().filter(|shape| shape.significant).collect();
    let title = shown_of("call tree of", SHAPES, changed.len());
    let rows = changed.iter().take(SHAPES).map(|shape| {
        let requests =
            format!("{} → {}", numbers::count(shape.requests_before), numbers::count(shape.requests_after));
        let what = shape.differences.first().map_or_else(String::new, |found| sentence(&difference(found)));
        row(&[
            operation(&shape.service, &shape.operation),
            fate_word(shape.fate).to_owned(),
            requests,
            numbers::p_value(shape.p_value),
            what,
        ])
    });
    table(&[&title, "", "requests", "p", "against the nearest"], "l l r r l", rows)
}

fn remarks(comparison: &Comparison) -> Vec<String> {
    let cautions =
        comparison.cautions.iter().take(CAUTIONS).map(|text| format!("- Caution: {}", sentence(text)));
    let alike =
        comparison.ruled_out.iter().take(RULED_OUT).map(|text| format!("- Found alike: {}", sentence(text)));
    cautions.chain(alike).collect()
}
