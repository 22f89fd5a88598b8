//! A document for an incident channel: GitHub-flavored Markdown in at most forty lines.

use crate::Document;
use crate::document::{
    BlockContent, Cell, Column, ColumnKind, Detail, Prose, Section, Sentences, Span, SpanStyle, Table,
};
use crate::{names, numbers};

/// Lines of the whole.
const LINES: usize = 40;

/// Rows of a table, and sentences of a list, when there is room for them.
const ROWS: usize = 5;
const SENTENCES: usize = 3;

/// Columns of a name.
const NAME_ROOM: usize = 48;

/// At most forty lines, whatever the document holds: lists give way to each other. Names stand in code spans and
/// cannot break out of their cell.
pub(crate) fn markdown(document: &Document) -> String {
    let mut text = String::new();
    for rows in (1..=ROWS).rev() {
        text = written(document, rows);
        if text.lines().count() <= LINES {
            return text + "\n";
        }
    }
    let cut: Vec<&str> = text.lines().take(LINES - 2).collect();
    format!("{}\n\nMore is in the other outputs.\n", cut.join("\n").trim_end())
}

fn written(document: &Document, rows: usize) -> String {
    let title = format!("### Laggard: {}", prose_text(&document.verdict.to_lowercase()));
    let answer: Vec<String> =
        std::iter::once(&document.headline).chain(&document.remarks).map(inline).collect();
    let mut parts = vec![title, answer.join(" ")];
    let mut bullets: Vec<String> = Vec::new();
    let mut closing = Vec::new();
    for section in document.sections.iter().filter(|section| section.detail == Detail::Summary) {
        let mut titled = false;
        for block in section.blocks.iter().filter(|block| block.detail == Detail::Summary) {
            match &block.content {
                BlockContent::Sentences(list) if list.label.is_empty() => {
                    closing.extend(list.sentences.iter().map(inline));
                }
                BlockContent::Sentences(list) => bullets.extend(listed(list, rows)),
                BlockContent::Table(table) | BlockContent::Tree(table) if !table.rows.is_empty() => {
                    let title = table_title(section, &block.title, titled);
                    titled = true;
                    parts.push(table_lines(table, &title, rows).join("\n"));
                }
                _ => {}
            }
        }
    }
    if !bullets.is_empty() {
        parts.push(bullets.join("\n"));
    }
    if !closing.is_empty() {
        parts.push(closing.join(" "));
    }
    parts.join("\n\n")
}

/// The first table of a section is titled as the section, further ones as their block.
fn table_title(section: &Section, block: &Prose, titled: bool) -> String {
    match (titled, block.is_empty()) {
        (false, true) => section.title.clone(),
        (true, true) => String::new(),
        (_, false) => block.text(),
    }
}

fn listed(list: &Sentences, rows: usize) -> Vec<String> {
    let shown = list.sentences.iter().take(rows.min(SENTENCES));
    shown.map(|sentence| format!("- {}: {}", prose_text(&list.label), inline(sentence))).collect()
}

fn table_lines(table: &Table, title: &str, limit: usize) -> Vec<String> {
    let shown: Vec<(usize, &Column)> = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.detail == Detail::Summary && column.kind != ColumnKind::Graphic)
        .collect();
    let rows = table.excerpt(limit);
    let noted = rows.iter().any(|row| row.notes.iter().any(|note| note.detail != Detail::Page));
    let all = table.rows.len() as u64 + table.omitted;
    let named = shown.iter().position(|(_, column)| column.kind != ColumnKind::Number).unwrap_or(0);
    let mut head: Vec<String> = shown.iter().map(|(_, column)| column_title(column)).collect();
    if !title.is_empty() {
        head[named] = prose_text(title);
    }
    if all > rows.len() as u64 {
        head[named] += &format!(" ({} of {})", rows.len(), numbers::count(all));
    }
    let mut rule: Vec<&str> = shown
        .iter()
        .map(|(_, column)| if column.kind == ColumnKind::Number { "---:" } else { "---" })
        .collect();
    if noted {
        head.push("remarks".to_owned());
        rule.push("---");
    }
    let mut lines = vec![line(&head), line(&rule)];
    for row in &rows {
        let mut cells: Vec<String> = shown
            .iter()
            .map(|&(index, _)| row.cells.get(index).map_or_else(String::new, cell_text))
            .collect();
        if noted {
            let notes = row.notes.iter().filter(|note| note.detail != Detail::Page);
            let notes: Vec<String> = notes
                .map(|note| format!("{} {}", prose_text(&note.label), inline(&note.text)).trim().to_owned())
                .collect();
            cells.push(notes.join("; "));
        }
        lines.push(line(&cells));
    }
    lines
}

/// Only a lone number sign means nothing to Markdown inside a table.
fn column_title(column: &Column) -> String {
    if column.title == "#" { column.title.clone() } else { prose_text(&column.title) }
}

fn cell_text(cell: &Cell) -> String {
    inline(&cell.text)
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |", cells.join(" | "))
}

fn inline(prose: &Prose) -> String {
    let span = |span: &Span| match span.style {
        SpanStyle::Plain | SpanStyle::Strong | SpanStyle::Faint => prose_text(&span.text),
        _ => code(&span.text),
    };
    prose.0.iter().map(span).collect()
}

/// A name as a code span: its fence is longer than any run of backticks inside, and a bar is escaped for
/// the table around it.
fn code(name: &str) -> String {
    let name = names::label(name, NAME_ROOM).replace('|', "\\|");
    let runs = name.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let pad = if name.starts_with(['`', ' ']) || name.ends_with(['`', ' ', '\\']) { " " } else { "" };
    format!("{fence}{pad}{name}{pad}{fence}")
}

/// Running text in which no character means anything to Markdown, and no name calls a person.
fn prose_text(text: &str) -> String {
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
    fn code_spans_contain_their_text() {
        assert_eq!(code("write"), "`write`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a\nb"), "`a\\nb`");
        assert_eq!(code(""), "`(unnamed)`");
    }

    #[test]
    fn markdown_syntax_in_prose_is_escaped() {
        assert_eq!(prose_text("<b>*x*</b> | [y](z)"), "\\<b\\>\\*x\\*\\</b\\> \\| \\[y\\](z)");
        assert_eq!(prose_text("@here"), "@\u{2060}here");
        assert_eq!(inline(&Prose::quoted("`a_b` is slow_er")), "`a_b` is slow\\_er");
    }
}
