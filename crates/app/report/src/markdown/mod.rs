//! The verdict for an incident channel.

use crate::names::{Part, parts};
use crate::{names, numbers};
use laggard_model::Losses;

const LOSSES: usize = 3;

/// Columns given to a name.
const NAME_ROOM: usize = 48;

/// The most frequent losses on one line.
pub(crate) fn losses(losses: &Losses) -> Option<String> {
    let mut rows: Vec<_> = losses.iter().collect();
    rows.sort_by_key(|(_, found)| std::cmp::Reverse(found.count));
    let shown = rows.iter().take(LOSSES);
    let mut text: Vec<String> =
        shown.map(|(loss, found)| format!("{} {}", numbers::count(found.count), loss.phrase())).collect();
    if rows.len() > LOSSES {
        text.push(numbers::counted((rows.len() - LOSSES) as u64, "further cause"));
    }
    if text.is_empty() { None } else { Some(text.join("; ")) }
}

/// A table's lines; none when there is no row. `align` has one `l` or `r` per column.
pub(crate) fn table(head: &[&str], align: &str, rows: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = rows.collect();
    if lines.is_empty() {
        return lines;
    }
    let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
    let rule: Vec<String> =
        align.split(' ').map(|side| if side == "r" { "---:" } else { "---" }.to_owned()).collect();
    lines.splice(0..0, [row(&head), row(&rule)]);
    lines
}

pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// A column's title, with how many of its rows are shown when not all are.
pub(crate) fn shown_of(title: &str, shown: usize, all: usize) -> String {
    if all <= shown {
        title.to_owned()
    } else {
        format!("{title} ({shown} of {})", numbers::count(all as u64))
    }
}

/// A name as a code span: its fence is longer than any run of backticks inside, and a bar is escaped for
/// the table around it.
pub(crate) fn code(name: &str) -> String {
    let name = names::label(name, NAME_ROOM).replace('|', "\\|");
    let runs = name.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let pad = if name.starts_with(['`', ' ']) || name.ends_with(['`', ' ', '\\']) { " " } else { "" };
    format!("{fence}{pad}{name}{pad}{fence}")
}

/// A sentence of the report, its quoted names as code.
pub(crate) fn sentence(text: &str) -> String {
    let pieces = parts(text).into_iter().map(|part| match part {
        Part::Prose(text) => prose(&text),
        Part::Quoted(name) => code(&name),
    });
    pieces.collect()
}

/// Running text in which no character means anything to Markdown, and no name calls a person.
pub(crate) fn prose(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in names::visible(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '#' | '!') {
            shown.push('\\');
        }
        shown.push(c);
        if c == '@' {
            shown.push('\u{2060}');
        }
    }
    shown
}
