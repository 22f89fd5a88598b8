//! The verdict for an incident channel.

mod evidence;

use crate::names::{Part, parts};
use crate::{Report, Suspect, facts, names, numbers};
use laggard_model::Losses;
use std::io;

/// Rows of each table, and lines of each list.
struct Limits {
    suspects: usize,
    replicas: usize,
    categories: usize,
    periods: usize,
    cautions: usize,
    ruled_out: usize,
    missing: usize,
}

/// Lines of the whole.
const LINES: usize = 40;

/// What is written when it fits.
const USUAL: Limits =
    Limits { suspects: 5, replicas: 4, categories: 4, periods: 5, cautions: 3, ruled_out: 2, missing: 3 };

/// What is written otherwise: it always fits.
const TIGHT: Limits =
    Limits { suspects: 4, replicas: 2, categories: 2, periods: 3, cautions: 2, ruled_out: 1, missing: 1 };

const TRACES: usize = 3;
const LOSSES: usize = 3;

/// Columns given to a name.
const NAME_ROOM: usize = 48;

/// Writes the verdict as GitHub-flavored Markdown in at most forty lines, whatever the report holds.
/// Names stand in code spans and cannot break out of their cell.
///
/// # Errors
/// Those of `out`.
pub fn markdown(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    let usual = written(report, &USUAL);
    let text = if usual.lines().count() > LINES { written(report, &TIGHT) } else { usual };
    writeln!(out, "{text}")
}

fn written(report: &Report, limits: &Limits) -> String {
    let blocks = [
        title(report),
        suspects(report, limits.suspects),
        evidence::periods(report, limits.periods),
        evidence::baseline(report),
        replicas(report, limits.replicas),
        categories(report, limits.categories),
        traces(report),
        remarks(report, limits),
    ];
    let mut blocks: Vec<Vec<String>> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
    blocks.push(vec![basis(report)]);
    let text: Vec<String> = blocks.iter().map(|block| block.join("\n")).collect();
    text.join("\n\n")
}

fn title(report: &Report) -> Vec<String> {
    vec![
        format!("### Laggard: {}", facts::verdict(report.verdict).to_lowercase()),
        String::new(),
        sentence(&report.headline),
    ]
}

fn suspects(report: &Report, limit: usize) -> Vec<String> {
    let title = shown_of("operation", limit, report.suspects.len());
    let further = evidence::Columns::of(report, limit);
    let mut head = vec!["#", &title, "slow on", "slower by", "factor", "explains", "requests hit"];
    head.extend(further.titles());
    let rows = report.suspects.iter().take(limit).map(|suspect| {
        let mut cells = vec![
            suspect.rank.to_string(),
            operation(&suspect.service, &suspect.operation) + &evidence::link(suspect.between.as_ref()),
            place(suspect),
            numbers::effect(suspect.effect_ns),
            crate::evidence::factor(suspect),
            numbers::share(suspect.share),
            numbers::count(suspect.requests_hit),
        ];
        cells.extend(further.cells(report, suspect));
        row(&cells)
    });
    let align = format!("r l l r r r r{}", " l".repeat(further.titles().len()));
    table(&head, &align, rows)
}

fn place(suspect: &Suspect) -> String {
    let place = facts::place(suspect);
    if suspect.replicas.is_empty() {
        return place;
    }
    let named: Vec<String> = suspect.replicas.iter().take(3).map(|name| code(name)).collect();
    let left = suspect.replicas.len() - named.len();
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    format!("{place}: {}{more}", named.join(", "))
}

fn replicas(report: &Report, limit: usize) -> Vec<String> {
    let title = shown_of("replica", limit, report.replicas.len());
    let head = ["#", &title, "service", "slower by", "slow calls", "p"];
    let rows = report.replicas.iter().take(limit).map(|replica| {
        let slow = format!("{} of {}", numbers::count(replica.slow_calls), numbers::count(replica.calls));
        row(&[
            replica.rank.to_string(),
            code(&replica.replica),
            code(&replica.service),
            numbers::effect(replica.effect_ns),
            slow,
            numbers::p_value(replica.p_value),
        ])
    });
    table(&head, "r l l r r r", rows)
}

fn categories(report: &Report, limit: usize) -> Vec<String> {
    let paying = facts::paying(report);
    let title = shown_of("who pays", limit, paying.len());
    let head = ["category", &title, "requests", "p50", "p99", "CV"];
    let rows = paying.iter().take(limit).map(|category| {
        row(&[
            code(&category.id),
            operation(&category.service, &category.operation),
            numbers::count(category.requests),
            numbers::time(category.latency_p50_ns),
            numbers::time(category.latency_p99_ns),
            numbers::ratio(category.cv),
        ])
    });
    table(&head, "l l r r r r", rows)
}

fn traces(report: &Report) -> Vec<String> {
    let ids: Vec<String> = facts::example_traces(report, TRACES).into_iter().map(code).collect();
    if ids.is_empty() { Vec::new() } else { vec![format!("Example traces: {}", ids.join(", "))] }
}

fn remarks(report: &Report, limits: &Limits) -> Vec<String> {
    let missing =
        report.missing.iter().take(limits.missing).map(|text| format!("- Missing: {}", sentence(text)));
    let cautions =
        report.cautions.iter().take(limits.cautions).map(|text| format!("- Caution: {}", sentence(text)));
    let fine =
        report.ruled_out.iter().take(limits.ruled_out).map(|text| format!("- Ruled out: {}", sentence(text)));
    let lost = losses(&report.input.losses).map(|text| format!("- Lost, repaired or mistrusted: {text}"));
    let clocks = facts::clocks(&report.input.clocks).map(|text| format!("- {}", prose(&text)));
    let sampling = facts::sampling(&report.input.sampling).map(|text| format!("- {}", prose(&text)));
    missing.chain(cautions).chain(fine).chain(lost).chain(sampling).chain(clocks).collect()
}

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

fn basis(report: &Report) -> String {
    let window = facts::window(report).map_or(String::new(), |window| format!(" Requests from {window}."));
    prose(&format!("{}{window} Method: {}.", facts::read(&report.input), facts::method(report)))
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

pub(crate) fn operation(service: &str, operation: &str) -> String {
    if service.is_empty() { code(operation) } else { format!("{} {}", code(service), code(operation)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_spans_hold_their_content() {
        assert_eq!(code("write"), "`write`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a\nb"), "`a\\nb`");
        assert_eq!(code(""), "`(unnamed)`");
    }

    #[test]
    fn prose_means_nothing_to_markdown() {
        assert_eq!(prose("<b>*x*</b> | [y](z)"), "\\<b\\>\\*x\\*\\</b\\> \\| \\[y\\](z)");
        assert_eq!(prose("@here"), "@\u{2060}here");
        assert_eq!(sentence("`a_b` is slow_er"), "`a_b` is slow\\_er");
    }
}
