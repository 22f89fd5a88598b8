//! Tables of aligned columns that fit their page.

use super::page::Page;
use super::paint::{Paint, Painted, bar};
use super::{more, paint_of, pieces};
use crate::document::{Cell, ColumnKind, Detail, Emphasis, GraphicShape, Table, TableRow, Tone};
use crate::names::{columns, shorten};

/// Columns between two cells.
const GAP: usize = 2;

/// Names are not made narrower as long as something else can go.
const NAME_MIN: usize = 20;

/// A name is never narrower, unless its content is.
const NAME_LEAST: usize = 8;

/// Columns of a full bar.
const BAR: usize = 13;

/// Rows whose notes are all shown.
const DETAILED: usize = 3;

/// Columns of indentation before a table.
const INDENT: usize = 1;

/// A column on the page.
struct Shown<'a> {
    title: &'a str,
    kind: ColumnKind,
    detail: Detail,
    /// Index of its cells.
    at: usize,
    cells: Vec<Vec<Painted>>,
}

impl Shown<'_> {
    fn natural(&self) -> usize {
        self.cells.iter().map(|cell| width(cell)).chain([columns(self.title)]).max().unwrap_or(0)
    }

    /// The width below which something else should go.
    fn least(&self) -> usize {
        match self.kind {
            ColumnKind::Name => self.natural().min(NAME_MIN),
            ColumnKind::Prose => self.natural().min(2 * NAME_MIN),
            _ => self.natural(),
        }
    }
}

pub(super) fn print(page: &mut Page, table: &Table) {
    let rows = table.excerpt(table.preview as usize);
    let mut shown = shown_columns(table, &rows);
    let headed = make_room(&mut shown, page.width());
    let widths = widths(&shown, page.width());
    if shown.iter().any(|column| !column.title.is_empty()) {
        let titles: Vec<Vec<Painted>> =
            shown.iter().map(|column| vec![Painted::faint(column.title)]).collect();
        page.line(&laid_out(&shown, &titles, &widths));
    }
    let ranked = shown.first().is_some_and(|column| column.kind == ColumnKind::Number);
    let note_indent = if ranked { INDENT + widths[0] + GAP } else { INDENT + GAP };
    for (index, row) in rows.iter().enumerate() {
        print_row(page, &shown, headed.as_ref(), &widths, index);
        for note in row.notes.iter().filter(|note| is_due(note.detail, index)) {
            let label = if note.label.is_empty() { String::new() } else { format!("{} ", note.label) };
            let lead = [Painted::plain(" ".repeat(note_indent)), Painted::faint(label)];
            page.wrapped(&lead, &pieces(&note.text));
        }
    }
    more(page, (table.rows.len() - rows.len()) as u64 + table.omitted, &table.caption.to_lowercase());
}

/// Whether a note of this detail is shown in this row.
fn is_due(detail: Detail, row: usize) -> bool {
    detail == Detail::Summary || (detail == Detail::Full && row < DETAILED)
}

fn shown_columns<'a>(table: &'a Table, rows: &[TableRow]) -> Vec<Shown<'a>> {
    let columns = table.columns.iter().enumerate().filter(|(_, column)| column.detail <= Detail::Full);
    let shown = columns.map(|(index, column)| {
        let cells = rows.iter().map(|row| cell_pieces(row, index, column.kind)).collect();
        Shown { title: &column.title, kind: column.kind, detail: column.detail, at: index, cells }
    });
    // A picture that text cannot draw, and a column without content, take no room.
    shown.filter(|column| column.cells.iter().any(|cell| width(cell) > 0)).collect()
}

fn cell_pieces(row: &TableRow, index: usize, kind: ColumnKind) -> Vec<Painted> {
    let Some(cell) = row.cells.get(index) else { return Vec::new() };
    let mut shown = if kind == ColumnKind::Graphic { bar_of(cell) } else { pieces(&cell.text) };
    if cell.tone != Tone::Neutral {
        shown = shown.iter().map(|piece| Painted::new(piece.text(), paint_of(cell.tone))).collect();
    }
    if row.depth > 0 && index == 0 {
        shown.insert(0, Painted::plain("  ".repeat(row.depth.min(16) as usize)));
    }
    if row.emphasis == Emphasis::Aside {
        shown = shown.iter().map(|piece| Painted::faint(piece.text())).collect();
    }
    shown
}

/// A graphic that starts with a bar from the left end; nothing for others.
fn bar_of(cell: &Cell) -> Vec<Painted> {
    let first = cell.graphic.as_ref().and_then(|graphic| graphic.marks.first());
    match first.filter(|mark| mark.shape == GraphicShape::Bar && mark.from == 0.0) {
        Some(mark) => vec![Painted::new(&bar(mark.to, BAR), Paint::Bad)],
        None => Vec::new(),
    }
}

fn width(cell: &[Painted]) -> usize {
    cell.iter().map(Painted::columns).sum()
}

/// Drops pictures and then columns that are not part of the summary when names have no room, and then puts names on
/// lines of their own: those are returned.
fn make_room<'a>(shown: &mut Vec<Shown<'a>>, page: usize) -> Option<Shown<'a>> {
    let is_spare: [fn(&Shown<'_>) -> bool; 2] =
        [|column| column.kind == ColumnKind::Graphic, |column| column.detail == Detail::Full];
    for is_spare in is_spare {
        if !fits(shown, page) {
            shown.retain(|column| !is_spare(column));
        }
    }
    if fits(shown, page) || shown.len() < 3 {
        return None;
    }
    let name = shown.iter().position(|column| column.kind == ColumnKind::Name)?;
    Some(shown.remove(name))
}

fn fits(shown: &[Shown<'_>], page: usize) -> bool {
    shown.iter().map(Shown::least).sum::<usize>() + gaps(shown) <= page
}

fn gaps(shown: &[Shown<'_>]) -> usize {
    INDENT + GAP * shown.len().saturating_sub(1)
}

/// Natural widths, the widest names shrunk until the rows fit the page.
fn widths(shown: &[Shown<'_>], page: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = shown.iter().map(|column| column.natural().min(page)).collect();
    let is_flexible = |index: &usize| matches!(shown[*index].kind, ColumnKind::Name | ColumnKind::Prose);
    while widths.iter().sum::<usize>() + gaps(shown) > page {
        let widest = (0..widths.len()).filter(is_flexible).max_by_key(|&index| widths[index]);
        let Some(widest) = widest.filter(|&index| widths[index] > NAME_LEAST) else { break };
        widths[widest] -= 1;
    }
    widths
}

fn print_row(page: &mut Page, shown: &[Shown<'_>], headed: Option<&Shown<'_>>, widths: &[usize], row: usize) {
    let mut cells: Vec<Vec<Painted>> = shown.iter().map(|column| column.cells[row].clone()).collect();
    if let Some(name) = headed {
        let mut line = vec![Painted::plain(" ".repeat(INDENT))];
        // A rank stands with its name.
        if let Some(rank) = shown.first().filter(|column| column.at < name.at) {
            line.push(Painted::plain(" ".repeat(widths[0] - width(&cells[0]).min(widths[0]))));
            line.extend(std::mem::take(&mut cells[0]));
            line.push(Painted::plain(" ".repeat(if rank.at == 0 { GAP } else { 0 })));
        }
        line.extend(name.cells[row].clone());
        page.line(&line);
    }
    let prose = shown.last().is_some_and(|column| column.kind == ColumnKind::Prose);
    if !prose {
        return page.line(&laid_out(shown, &cells, widths));
    }
    let last = cells.pop().unwrap_or_default();
    let before = &shown[..shown.len() - 1];
    let mut lead = laid_out(before, &cells, widths);
    lead.push(Painted::plain(" ".repeat(GAP)));
    page.wrapped(&lead, &last);
}

fn laid_out(shown: &[Shown<'_>], cells: &[Vec<Painted>], widths: &[usize]) -> Vec<Painted> {
    let mut line = vec![Painted::plain(" ".repeat(INDENT))];
    for (index, (cell, &room)) in cells.iter().zip(widths).enumerate() {
        let short = shortened(cell, room);
        let padding = Painted::plain(" ".repeat(room - width(&short).min(room)));
        if index > 0 {
            line.push(Painted::plain(" ".repeat(GAP)));
        }
        if shown[index].kind == ColumnKind::Number {
            line.push(padding);
            line.extend(short);
        } else {
            line.extend(short);
            line.push(padding);
        }
    }
    line
}

/// The widest pieces lose their middle until all fit.
fn shortened(cell: &[Painted], room: usize) -> Vec<Painted> {
    let mut rooms: Vec<usize> = cell.iter().map(Painted::columns).collect();
    while rooms.iter().sum::<usize>() > room {
        let Some(widest) = rooms.iter_mut().max_by_key(|room| **room) else { break };
        *widest -= 1;
    }
    cell.iter().zip(rooms).map(|(piece, room)| piece.with_text(&shorten(piece.text(), room))).collect()
}
